package rollout

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/plan"
	"github.com/sluice-project/sluice/internal/decide/verdict"
)

// The versions that requests are counted of.
const (
	versionCanary = "canary"
	versionStable = "stable"
)

// countEvery is the time between two counts while a share is not proven.
const countEvery = 10 * time.Second

// verification is how shares are proven; nil where they are not, or where there
// is no share to prove.
func (v *view) verification(r *record) *v1alpha1.TrafficVerification {
	t := v.canary.TrafficRouting
	if t == nil || t.Verification == nil || r.Aborted || v.current == nil || v.stable == nil || v.settled() || v.budget.Replicas == 0 {
		return nil
	}
	return t.Verification
}

// share takes down what was counted at the weight that the entrances have, and
// what follows once it cannot be proven in time.
func share(v *view, r record) record {
	c := v.verification(&r)
	goal := aim(v, &r)
	if c == nil || r.Traffic == nil || goal == 0 || v.flow.most != goal || v.flow.least != goal || !v.proven(&r) {
		if r.Traffic != nil && r.Traffic.Share != nil {
			next := *r.Traffic
			next.Share = nil
			r.Traffic = &next
		}
		return r
	}
	next := *r.Traffic
	r.Traffic = &next
	s := v1alpha1.ShareRecord{Weight: goal, Since: metav1.NewTime(v.now)}
	if next.Share != nil && next.Share.Weight == goal {
		s = *next.Share
	}
	next.Share = &s
	if s.Proven {
		return r
	}
	counted(v, c, &s)
	if s.Proven || s.Unproven || v.now.Before(givenUpAt(c, &s)) {
		return r
	}
	s.Unproven, r.moved = true, true
	text := fmt.Sprintf("the share of the canary cannot be proven at weight %d of %d: %s", goal, v.maxWeight, s.Message)
	r.warn(plan.RankWeight, "TrafficShareUnproven", text)
	if c.OnUnproven == v1alpha1.UnprovenAbort {
		r = abort(v, r, text)
	}
	return r
}

// counted judges the answers of this pass, if both are of the time since the
// weight was seen.
func counted(v *view, c *v1alpha1.TrafficVerification, s *v1alpha1.ShareRecord) {
	canary, one := v.o.Counts[versionCanary]
	stable, two := v.o.Counts[versionStable]
	begin := s.Since.Add(c.WindowOrDefault())
	if !one || !two || canary.StartedAt.Before(begin) || stable.StartedAt.Before(begin) {
		return
	}
	at := metav1.NewTime(canary.StartedAt.Truncate(time.Second))
	s.AskedAt = &at
	a, whyA := requests(canary)
	b, whyB := requests(stable)
	switch {
	case whyA != "":
		s.Message = shortened("requests of the canary: " + whyA)
		return
	case whyB != "":
		s.Message = shortened("requests of stable: " + whyB)
		return
	}
	s.Canary, s.Stable = a, b
	least := c.MinRequestsOrDefault()
	if a+b < least || a+b == 0 {
		s.Message = fmt.Sprintf("only %d requests were answered within %s, %d are needed", a+b, c.WindowOrDefault(), least)
		return
	}
	got, want := float64(a)/float64(a+b)*100, float64(s.Weight)/float64(v.maxWeight)*100
	if math.Abs(got-want) > float64(c.ToleranceOrDefault()) {
		s.Message = fmt.Sprintf("the canary answered %.1f %% of %d requests, wanted are %.1f %%", got, a+b, want)
		return
	}
	s.Proven, s.Message = true, ""
}

// requests is the number in an answer; nothing at all counts as none.
func requests(a verdict.Answer) (n int64, problem string) {
	if a.Failed != "" {
		return 0, a.Failed
	}
	x := a.Sample.Value
	switch list := x.(type) {
	case nil:
		return 0, ""
	case []float64:
		if len(list) == 0 {
			return 0, ""
		}
		if x = list[0]; len(list) > 1 {
			return 0, fmt.Sprintf("the answer has %d numbers; let the query give one, with sum()", len(list))
		}
	case []any:
		if len(list) == 0 {
			return 0, ""
		}
		if x = list[0]; len(list) > 1 {
			return 0, fmt.Sprintf("the answer has %d values; let it give one", len(list))
		}
	}
	f := math.NaN()
	switch y := x.(type) {
	case float64:
		f = y
	case int:
		f = float64(y)
	case int64:
		f = float64(y)
	case string:
		if parsed, err := strconv.ParseFloat(strings.TrimSpace(y), 64); err == nil {
			f = parsed
		}
	}
	if math.IsNaN(f) || f < 0 || f > 1e15 {
		return 0, "the answer " + shortened(a.Sample.Text) + " is no number of requests"
	}
	return int64(math.Round(f)), ""
}

// givenUpAt is when a share that was not proven by then counts as unproven.
func givenUpAt(c *v1alpha1.TrafficVerification, s *v1alpha1.ShareRecord) time.Time {
	return s.Since.Add(c.WindowOrDefault() + c.TimeoutOrDefault())
}

// shareProven tells that the share of real requests does not hold the step.
func (v *view) shareProven(r *record) bool {
	c := v.verification(r)
	if c == nil || aim(v, r) == 0 {
		return true
	}
	s := shareOfRecord(r)
	return s != nil && (s.Proven || s.Unproven && c.OnUnproven == v1alpha1.UnprovenContinue)
}

func shareOfRecord(r *record) *v1alpha1.ShareRecord {
	if r.Traffic == nil {
		return nil
	}
	return r.Traffic.Share
}

// proving tells that a share is being proven: that has a limit of its own.
func (v *view) proving(r *record) bool {
	s := shareOfRecord(r)
	return v.verification(r) != nil && s != nil && !s.Proven && !s.Unproven
}

// countAt is when the requests are to be counted next; zero for never.
func (v *view) countAt(r *record) time.Time {
	c, s := v.verification(r), shareOfRecord(r)
	if c == nil || s == nil || s.Proven || s.Unproven && c.OnUnproven == v1alpha1.UnprovenContinue {
		return time.Time{}
	}
	at := s.Since.Add(c.WindowOrDefault() + time.Second)
	if s.AskedAt != nil {
		if again := s.AskedAt.Add(countEvery); again.After(at) {
			at = again
		}
	}
	return at
}

// questions gives the questions of this pass: for both versions at the same time.
func questions(v *view, r *record) []plan.Ask {
	at := v.countAt(r)
	if at.IsZero() || v.now.Before(at) || len(v.o.Counting) > 0 {
		return nil
	}
	length := strconv.Itoa(int(v.canary.TrafficRouting.Verification.WindowOrDefault()/time.Second)) + "s"
	ask := func(version, hash, service string) plan.Ask {
		return plan.Ask{Name: version, Args: []plan.Pair{{Key: "version", Value: version}, {Key: "hash", Value: hash},
			{Key: "service", Value: service}, {Key: "window", Value: length}}}
	}
	return []plan.Ask{ask(versionCanary, v.hash(), v.canaryService), ask(versionStable, r.stable, v.stableService)}
}

// waitingShare speaks of a share that is not proven yet; nil where none holds.
func waitingShare(v *view, r *record) *plan.Waiting {
	s := shareOfRecord(r)
	if s == nil || v.shareProven(r) {
		return nil
	}
	w := &plan.Waiting{For: fmt.Sprintf("proof that the canary answers %d of %d", s.Weight, v.maxWeight), Since: s.Since.Time,
		Ends: "enough requests within the tolerance", Until: givenUpAt(v.canary.TrafficRouting.Verification, s),
		On: &plan.Ref{Kind: plan.KindRollout, Name: v.ro.Name}}
	if s.Message != "" {
		w.For += " (" + s.Message + ")"
	}
	if s.Unproven {
		w.Until = time.Time{}
		w.Ends += ", or kubectl argo rollouts promote " + v.ro.Name + deadlineText(v, r)
	}
	return w
}
