package observe

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/internal/decide/rollout"
)

// SetOf reads what views show of a ReplicaSet that no rollout controls.
func SetOf(rs *appsv1.ReplicaSet) rollout.Set { return set(rs, false) }

// PodsOf lists some pods of a ReplicaSet that no rollout controls, 50 at most.
func PodsOf(ctx context.Context, r client.Reader, ns string, s rollout.Set) ([]rollout.Pod, error) {
	return few(ctx, r, ns, labels.Everything(), &s)
}
