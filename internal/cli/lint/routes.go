package lint

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/cli/manifest"
	"github.com/sluice-project/sluice/internal/decide/rollout"
	"github.com/sluice-project/sluice/internal/observe"
	"github.com/sluice-project/sluice/internal/router"
	"github.com/sluice-project/sluice/internal/router/registry"
)

// routes judges the objects of the routers whose objects are all in the manifests.
func (l *linter) routes(i int, ro *v1alpha1.Rollout) {
	if !rollout.Routed(ro) {
		return
	}
	for _, a := range registry.All(router.Options{}) {
		if !a.Uses(ro) {
			continue
		}
		in := observe.RouterInput(ro)
		whole := true
		a.Gather(in, func(fresh []router.Key) {
			for _, k := range fresh {
				at := manifest.Find(l.docs, k.Group, k.Kind, k.Namespace, k.Name, ro.Namespace)
				if at < 0 {
					whole = false
					continue
				}
				obj := (&unstructured.Unstructured{Object: l.docs[at].Raw}).DeepCopy()
				obj.SetGroupVersionKind(k.GroupVersionKind)
				obj.SetNamespace(k.Namespace)
				in.Objects[k] = obj
			}
		})
		if !whole {
			continue
		}
		for _, p := range a.Check(in) {
			message := p.Message
			if p.Value != "" {
				message = "Invalid value: " + p.Value + ": " + message
			}
			l.fail(i, p.Path, message)
		}
	}
}
