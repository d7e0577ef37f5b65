package integration

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/explain"
	"github.com/sluice-project/sluice/internal/simulate"
	"github.com/sluice-project/sluice/internal/simulate/script"
)

// milestones keeps what rollouts go through, as both worlds see it: each change of
// step, abort, current, stable and weights, with the phase in which the rollout
// then rested. Revisions are named by the order in which they were first current,
// since numbers move.
type milestones struct {
	mu    sync.Mutex
	names map[string]map[string]string
	story map[string][]milestone
	// version is the newest that was seen of each rollout.
	version map[string]string
	news    chan struct{}
}

type milestone struct{ place, phase string }

// String implements fmt.Stringer.
func (m milestone) String() string { return m.place + ": " + m.phase }

func newMilestones() *milestones {
	return &milestones{names: map[string]map[string]string{}, story: map[string][]milestone{}, version: map[string]string{}, news: make(chan struct{}, 1)}
}

func (m *milestones) see(ro *v1alpha1.Rollout) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.version[ro.Name] = ro.ResourceVersion
	select {
	case m.news <- struct{}{}:
	default:
	}
	st := &ro.Status
	if st.CurrentPodHash == "" {
		return // not looked at yet
	}
	phase, _ := explain.Phase(ro)
	next := milestone{place: m.place(ro), phase: string(phase)}
	story := m.story[ro.Name]
	if n := len(story); n > 0 && story[n-1].place == next.place {
		story[n-1] = next
		return
	}
	m.story[ro.Name] = append(story, next)
}

func (m *milestones) place(ro *v1alpha1.Rollout) string {
	st := &ro.Status
	text := fmt.Sprintf("current %s, stable %s", m.name(ro.Name, st.CurrentPodHash), m.name(ro.Name, st.StableRS))
	if st.CurrentStepIndex != nil {
		text += fmt.Sprintf(", step %d", *st.CurrentStepIndex)
	}
	if st.Abort {
		text += ", aborted"
	}
	if w := st.Canary.Weights; w != nil {
		text += fmt.Sprintf(", weights %d/%d", w.Canary.Weight, w.Stable.Weight)
	}
	return text
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
	for _, name := range slices.Sorted(maps.Keys(m.story)) {
		for _, line := range m.story[name] {
			fmt.Fprintf(&b, "%s: %s\n", name, line)
		}
	}
	return b.String()
}

// differ tells whether two stories differ. Progressing is the phase in which a
// rollout is until it rests: how much of it is seen lies with the pods, so it
// agrees with every other phase.
func differ(a, b *milestones) bool {
	same := func(x, y milestone) bool {
		const between = string(v1alpha1.RolloutPhaseProgressing)
		return x.place == y.place && (x.phase == y.phase || x.phase == between || y.phase == between)
	}
	return !maps.EqualFunc(a.story, b.story, func(x, y []milestone) bool { return slices.EqualFunc(x, y, same) })
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

// caughtUp waits until all is seen that is stored now.
func (c *cluster) caughtUp(ctx context.Context, namespace string, m *milestones) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var list v1alpha1.RolloutList
	if err := c.client.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		return err
	}
	for i := range list.Items {
		for m.behind(&list.Items[i]) {
			select {
			case <-m.news:
			case <-ctx.Done():
				return fmt.Errorf("the watch did not show version %s of %s", list.Items[i].ResourceVersion, list.Items[i].Name)
			}
		}
	}
	return nil
}

func (m *milestones) behind(ro *v1alpha1.Rollout) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	order, err := resourceversion.CompareResourceVersion(m.version[ro.Name], ro.ResourceVersion)
	return err != nil || order < 0
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
