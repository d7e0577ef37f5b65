package operator

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// secrets is a reader of Secrets alone.
type secrets struct {
	client.Reader
	items []corev1.Secret
	err   error
}

func (s *secrets) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	list.(*corev1.SecretList).Items = s.items
	return s.err
}

func TestPrimaryCluster(t *testing.T) {
	now := time.Unix(1000, 0)
	world := &secrets{}
	p := &primary{local: world, namespace: "argo-rollouts", log: logr.Discard(), clock: func() time.Time { return now }}
	if p.get() != nil {
		t.Error("without a Secret there is another cluster")
	}
	world.items = []corev1.Secret{{ObjectMeta: metav1.ObjectMeta{Name: "mesh", ResourceVersion: "1"}, Data: map[string][]byte{"main": []byte("token: hunter2: {")}}}
	if p.get() != nil {
		t.Error("the Secret was looked for again within its minute")
	}
	now = now.Add(primaryEvery)
	c := p.get()
	if c == nil {
		t.Fatal("a kubeconfig that cannot be read stands for no other cluster: objects would be read from the wrong one")
	}
	err := c.Get(t.Context(), client.ObjectKey{}, nil)
	if err == nil || !strings.Contains(err.Error(), "mesh") || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("the error is %v; it should name the Secret and not show what is in it", err)
	}
	world.items = nil
	now = now.Add(primaryEvery)
	if p.get() != nil {
		t.Error("the Secret is gone and its cluster is still used")
	}
	world.err = errors.New("no answer")
	now = now.Add(primaryEvery)
	if c := p.get(); c == nil || c.Get(t.Context(), client.ObjectKey{}, nil) == nil {
		t.Error("nobody knows whether there is another cluster, and this one is read")
	}
}

// TestABrokenPrimaryRefusesWrites: its Secret may turn bad between the read and
// the write of one pass.
func TestABrokenPrimaryRefusesWrites(t *testing.T) {
	c := client.Client(broken{err: errors.New("no kubeconfig")})
	obj, ctx := &corev1.ConfigMap{}, t.Context()
	for verb, err := range map[string]error{
		"create": c.Create(ctx, obj),
		"patch":  c.Patch(ctx, obj, client.RawPatch(types.MergePatchType, []byte("{}"))),
		"delete": c.Delete(ctx, obj),
	} {
		if err == nil || err.Error() != "no kubeconfig" {
			t.Errorf("%s: %v", verb, err)
		}
	}
}
