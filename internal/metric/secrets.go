package metric

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ClusterSecrets reads Secrets of a cluster. Reader should ask the API server
// itself: a cache would keep every Secret of the cluster in memory.
type ClusterSecrets struct {
	Reader client.Reader
}

// Get implements Secrets.
func (s ClusterSecrets) Get(ctx context.Context, namespace, name, key string) (string, error) {
	var secret corev1.Secret
	err := s.Reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &secret)
	switch {
	case apierrors.IsNotFound(err):
		return "", errors.New("there is no such Secret")
	case err != nil:
		return "", fmt.Errorf("read the Secret: %w", err)
	}
	value, ok := secret.Data[key]
	if !ok {
		return "", errors.New("the Secret has no such key")
	}
	return string(value), nil
}
