package operator

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/plan"
	"github.com/sluice-project/sluice/internal/observe"
	"github.com/sluice-project/sluice/internal/reconcile"
)

// plans keeps the last plan of each live rollout, for reading.
type plans struct {
	mu   sync.Mutex
	last map[types.NamespacedName]shownPlan
}

// shownPlan is a plan as it is served.
type shownPlan struct {
	Namespace  string                  `json:"namespace"`
	Name       string                  `json:"name"`
	Generation int64                   `json:"generation,omitempty"`
	At         time.Time               `json:"at"`
	Error      string                  `json:"error,omitempty"`
	Own        *plan.OwnPatch          `json:"own,omitempty"`
	Status     *v1alpha1.RolloutStatus `json:"status,omitempty"`
	Actions    plan.Actions            `json:"actions,omitempty"`
	Notes      []plan.Note             `json:"notes,omitempty"`
	Waiting    *plan.Waiting           `json:"waiting,omitempty"`
	Wake       time.Time               `json:"wake,omitzero"`
}

// pass remembers the plan of a pass; status only where it would be written.
func (p *plans) pass(key types.NamespacedName, o *observe.Observation, pl *reconcile.Plan, out reconcile.Outcome, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if out.Gone {
		delete(p.last, key)
		return
	}
	s := shownPlan{Namespace: key.Namespace, Name: key.Name, At: now}
	if out.Err != nil {
		s.Error = out.Err.Error()
	}
	if o != nil {
		s.Generation = o.Rollout.Generation
	}
	if pl != nil {
		s.Own, s.Actions, s.Notes, s.Waiting, s.Wake = pl.Own, pl.Actions, pl.Notes, pl.Waiting, pl.Wake
		if pl.WriteStatus {
			s.Status = &pl.Status
		}
	}
	if p.last == nil {
		p.last = map[types.NamespacedName]shownPlan{}
	}
	p.last[key] = s
}

// ServeHTTP serves all plans as one JSON list, ordered by namespace and name.
func (p *plans) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		http.Error(w, "this page can only be read", http.StatusMethodNotAllowed)
		return
	}
	p.mu.Lock()
	list := make([]shownPlan, 0, len(p.last))
	for _, s := range p.last {
		list = append(list, s)
	}
	p.mu.Unlock()
	slices.SortFunc(list, func(a, b shownPlan) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	b, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		http.Error(w, fmt.Sprintf("write plans as JSON: %v", err), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(b) // a reader that has gone away is no failure
}
