package simulate

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/internal/simulate/script"
	"github.com/sluice-project/sluice/internal/simulate/store"
)

// TestNobodyChangesWhatIsStored holds the controller, the models and the judges
// to their promise, which lets the store hand out its objects without copying
// them.
func TestNobodyChangesWhatIsStored(t *testing.T) {
	for seed := uint64(1); seed <= 40; seed++ {
		s, err := script.Parse(fmt.Sprintf("seed %d", seed), strings.Join(Generate(seed), "\n"))
		if err != nil {
			t.Fatal(err)
		}
		w := New(Options{Seed: seed})
		type kept struct{ stored, copied client.Object }
		var all []kept
		w.store.Subscribe(func(e *store.Event) {
			if e.New != nil {
				all = append(all, kept{e.New, e.New.DeepCopyObject().(client.Object)})
			}
		})
		ctx := context.Background()
		run := &script.Runner{World: w, Namespace: Namespace, Lenient: true}
		if err := run.Run(ctx, s); err == nil {
			w.Settle(ctx)
		}
		if len(all) == 0 {
			t.Fatalf("seed %d stores nothing", seed)
		}
		for _, k := range all {
			if diff := cmp.Diff(k.copied, k.stored); diff != "" {
				t.Fatalf("seed %d: a stored %T was changed (-stored +now):\n%s", seed, k.stored, diff)
			}
		}
	}
}
