package simulate

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-project/sluice/internal/decide/plan"
	"github.com/sluice-project/sluice/internal/simulate/dataplane"
	"github.com/sluice-project/sluice/internal/simulate/provider"
)

// requestRate is how many requests come in each second at the entrances of a
// rollout.
const requestRate = 100

// counter answers how many requests a version had: as many as the proxies send to
// it now.
func (i *instance) counter() *provider.Asker {
	return i.w.providers.Counter(func(ro types.NamespacedName) {
		i.due(work{plan.KindRollout, ro}, i.w.line.Now().Add(queueDelay))
	}, func(ro types.NamespacedName, address string) float64 {
		window, err := time.ParseDuration(valueIn(address, "window"))
		if err != nil {
			return 0
		}
		r := i.w.Peek(ro.Namespace, ro.Name)
		if r == nil {
			return 0
		}
		for _, s := range dataplane.Shares(i.w.plane.Flows(r)) {
			if s.Hash == valueIn(address, "hash") {
				return s.Percent / 100 * requestRate * window.Seconds()
			}
		}
		return 0
	})
}

// valueIn is a value of an address: what stands behind NAME= there.
func valueIn(address, name string) string {
	_, rest, _ := strings.Cut(address, name+"=")
	value, _, _ := strings.Cut(rest, "&")
	return value
}
