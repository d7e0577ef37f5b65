package simulate

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/cli/paint"
)

// told are the events that say something which no write and no phase says.
func told() []string {
	return []string{"RolloutStepCompleted", "RolloutUpdated", "RolloutCompleted", "SkipSteps", "SwitchService"}
}

// echoes are the events that repeat a write or a phase.
func echoes() []string {
	return []string{"ScalingReplicaSet", "NewReplicaSetCreated", "RolloutNotCompleted", v1alpha1.ReasonRolloutPaused,
		v1alpha1.ReasonRolloutResumed, v1alpha1.ReasonRolloutAborted, "TrafficWeightUpdated"}
}

// ofAnalysis tells of events that repeat what the runs themselves say.
func ofAnalysis(reason string) bool {
	return strings.HasPrefix(reason, v1alpha1.KindAnalysisRun) || strings.HasPrefix(reason, v1alpha1.KindExperiment)
}

// story is the timeline without what is said twice: each write with its reason,
// each step, each change of phase, and what the cluster and people do.
func (o *outcome) story() []paint.Moment {
	revision := regexp.MustCompile(`\br(\d+)\b`)
	var out []paint.Moment
	phase := string(v1alpha1.RolloutPhaseHealthy)
	for _, e := range o.Entries {
		m := paint.Moment{At: e.At, Who: e.Who, What: revision.ReplaceAllString(e.What, "revision $1"), Why: e.Why,
			Canary: e.Canary, Stable: e.Stable, Available: e.Available, Step: "-"}
		if e.Step != nil {
			m.Step = strconv.Itoa(*e.Step)
		}
		if e.Weight != nil {
			m.Weight = strconv.Itoa(*e.Weight)
		}
		if h := e.Headroom; h != nil {
			m.Headroom = fmt.Sprintf("%d of %d", h.Weight, h.Of)
		}
		switch e.Who {
		case "rollout":
			if e.Phase == phase || strings.HasPrefix(e.Message, unseen) {
				continue
			}
			phase = e.Phase
			m.What = e.Phase
			if e.Message != "" {
				m.What += " (" + e.Message + ")"
			}
			m.Status = e.Phase
		case "event":
			if slices.Contains(echoes(), e.What) || ofAnalysis(e.What) {
				continue
			}
			m.Who = "controller"
			if slices.Contains(told(), e.What) {
				m.What, m.Why = e.Why, ""
			}
		case "write":
			if housekeeping(e.What) {
				continue
			}
			m.Who = "controller"
		}
		out = append(out, m)
	}
	return out
}

// unseen begins the message of a phase that only says that the controller has yet
// to look, which in a rehearsal it does at once.
const unseen = "waiting for rollout spec update to be observed"

// housekeeping are writes that move no pod and no traffic.
func housekeeping(what string) bool {
	return regexp.MustCompile(`^(annotate|patch) r\d+$`).MatchString(what)
}
