package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// primaryLabel marks the Secret that holds the kubeconfig of the mesh's primary
// cluster. Source: the wire contract, "Istio".
const primaryLabel = "istio.argoproj.io/primary-cluster"

// primaryPatience bounds that look, during which readers of Istio's objects wait.
const primaryPatience = 3 * time.Second

// primaryEvery is how often that Secret is looked for.
const primaryEvery = time.Minute

// primary is the cluster that Istio's objects live in, where it is not the one
// that the controller serves.
type primary struct {
	// local reads the Secrets of the controller's own namespace.
	local     client.Reader
	namespace string
	scheme    *runtime.Scheme
	log       logr.Logger
	clock     func() time.Time

	mu      sync.Mutex
	looked  time.Time
	version string
	client  client.Client
	err     error
}

// get gives the client for the primary cluster; nil where none is configured. A
// configuration that cannot be used gives a client that fails, so that nothing
// is read from the wrong cluster.
func (p *primary) get() client.Client {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := p.clock(); now.Sub(p.looked) >= primaryEvery {
		p.looked = now
		ctx, cancel := context.WithTimeout(context.Background(), primaryPatience)
		defer cancel()
		p.look(ctx)
	}
	if p.err != nil {
		return broken{err: p.err}
	}
	return p.client
}

func (p *primary) look(ctx context.Context) {
	var list corev1.SecretList
	err := p.local.List(ctx, &list, client.InNamespace(p.namespace), client.MatchingLabels{primaryLabel: "true"})
	if apierrors.IsForbidden(err) {
		err = nil // without the right to look there is no such configuration
	}
	if err != nil {
		if p.client == nil { // unknown: better no answer than that of the wrong cluster
			p.err = fmt.Errorf("look for the Secret of Istio's primary cluster in namespace %s: %w", p.namespace, err)
		}
		return
	}
	slices.SortFunc(list.Items, func(a, b corev1.Secret) int { return strings.Compare(a.Name, b.Name) })
	if len(list.Items) == 0 {
		p.client, p.err, p.version = nil, nil, ""
		return
	}
	secret := &list.Items[0]
	version := secret.Name + "/" + secret.ResourceVersion
	if version == p.version {
		return
	}
	made, cluster, err := connect(secret, p.scheme)
	p.version, p.client, p.err = version, made, err
	if err != nil {
		p.log.Error(err, "Istio's primary cluster cannot be used", "secret", secret.Name)
		return
	}
	p.log.Info("Istio's objects are those of the primary cluster", "secret", secret.Name, "cluster", cluster)
}

// connect makes a client of the kubeconfig under the first key of a Secret.
// Errors name the Secret and never show its content.
func connect(secret *corev1.Secret, scheme *runtime.Scheme) (client.Client, string, error) {
	cluster := ""
	for key := range secret.Data {
		if cluster == "" || key < cluster {
			cluster = key
		}
	}
	if cluster == "" {
		return nil, "", fmt.Errorf("the Secret %s has no data; its first key is to hold a kubeconfig", secret.Name)
	}
	cfg, err := clientcmd.RESTConfigFromKubeConfig(secret.Data[cluster])
	if err != nil {
		return nil, "", fmt.Errorf("the Secret %s holds no kubeconfig that can be read under %s", secret.Name, cluster)
	}
	cfg.QPS = -1
	c, err := client.New(cfg, client.Options{Scheme: scheme})
	if err != nil {
		return nil, "", errors.New("the cluster of the kubeconfig in Secret " + secret.Name + " does not answer")
	}
	return c, cluster, nil
}

// broken is a client that gives an error for every read, and for the writes of a
// pass whose reads were made before it broke.
type broken struct {
	client.Client
	err error
}

// Get implements client.Reader.
func (b broken) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return b.err
}

// Create implements client.Writer.
func (b broken) Create(context.Context, client.Object, ...client.CreateOption) error { return b.err }

// Patch implements client.Writer.
func (b broken) Patch(context.Context, client.Object, client.Patch, ...client.PatchOption) error {
	return b.err
}

// Delete implements client.Writer.
func (b broken) Delete(context.Context, client.Object, ...client.DeleteOption) error { return b.err }
