package integration

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/explain"
	"github.com/sluice-project/sluice/internal/simulate"
	"github.com/sluice-project/sluice/internal/simulate/script"
)

// milestones keeps what a rollout goes through, as both worlds see it: each
// change of phase, step, abort, current, stable and weights. Revisions are
// named by the order in which they were first current, since numbers move.
type milestones struct {
	mu    sync.Mutex
	names map[string]map[string]string
	story map[string][]string
}

func newMilestones() *milestones {
	return &milestones{names: map[string]map[string]string{}, story: map[string][]string{}}
}

func (m *milestones) see(ro *v1alpha1.Rollout) {
	m.mu.Lock()
	defer m.mu.Unlock()
	st := &ro.Status
	if st.CurrentPodHash == "" {
		return // not looked at yet
	}
	phase, _ := explain.Phase(ro)
	line := fmt.Sprintf("%s, current %s, stable %s", phase, m.name(ro.Name, st.CurrentPodHash), m.name(ro.Name, st.StableRS))
	if st.CurrentStepIndex != nil {
		line += fmt.Sprintf(", step %d", *st.CurrentStepIndex)
	}
	if st.Abort {
		line += ", aborted"
	}
	if w := st.Canary.Weights; w != nil {
		line += fmt.Sprintf(", weights %d/%d", w.Canary.Weight, w.Stable.Weight)
	}
	story := m.story[ro.Name]
	if len(story) == 0 || story[len(story)-1] != line {
		m.story[ro.Name] = append(story, line)
	}
}

func (m *milestones) name(rollout, hash string) string {
	if hash == "" {
		return "none"
	}
	names := m.names[rollout]
	if names == nil {
		names = map[string]string{}
		m.names[rollout] = names
	}
	if names[hash] == "" {
		names[hash] = string(rune('A' + len(names)))
	}
	return names[hash]
}

// String tells the story of each rollout.
func (m *milestones) String() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var b strings.Builder
	for _, name := range slices.Sorted(mapKeys(m.story)) {
		for _, line := range m.story[name] {
			fmt.Fprintf(&b, "%s: %s\n", name, line)
		}
	}
	return b.String()
}

func mapKeys[V any](m map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// virtually plays a script in virtual time and gives its milestones.
func virtually(ctx context.Context, s *script.Script) (*milestones, error) {
	w := &seen{World: simulate.New(simulate.Options{}), milestones: newMilestones()}
	r := &script.Runner{World: w, Namespace: simulate.Namespace}
	return w.milestones, r.Run(ctx, s)
}

// seen is the virtual world with an eye on the milestones.
type seen struct {
	*simulate.World
	milestones *milestones
}

// Run implements script.World.
func (w *seen) Run(limit time.Duration, done func() (bool, error)) (bool, error) {
	return w.World.Run(limit, func() (bool, error) {
		var list v1alpha1.RolloutList
		if err := w.Client().List(context.Background(), &list, client.InNamespace(simulate.Namespace)); err != nil {
			return false, err
		}
		for i := range list.Items {
			w.milestones.see(&list.Items[i])
		}
		return done()
	})
}

// watchMilestones follows the rollouts of a namespace until the context ends.
func (c *cluster) watchMilestones(ctx context.Context, namespace string, m *milestones) error {
	w, err := c.client.Watch(ctx, &v1alpha1.RolloutList{}, client.InNamespace(namespace))
	if err != nil {
		return err
	}
	go func() {
		defer w.Stop()
		for {
			select {
			case e, ok := <-w.ResultChan():
				if !ok {
					return
				}
				if ro, ok := e.Object.(*v1alpha1.Rollout); ok {
					m.see(ro)
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return nil
}
