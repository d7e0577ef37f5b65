package analysis

import (
	"hash/fnv"
	"strconv"
	"strings"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

// maxName is the longest name of an AnalysisRun or Experiment.
const maxName = 253

// RunName is the name of a run of a rollout: <rollout>-<hash>-<revision>, with the
// step for those of a step, and -pre or -post around a promotion.
func RunName(rollout, hash, revision string, use v1alpha1.RunUse, step int32) string {
	end := "-" + hash + "-" + revision
	switch use {
	case v1alpha1.RunStep, v1alpha1.RunExperiment:
		end += "-" + strconv.Itoa(int(step))
	case v1alpha1.RolloutTypePrePromotion:
		end += "-pre"
	case v1alpha1.RolloutTypePostPromotion:
		end += "-post"
	}
	return joined(rollout, end)
}

// ExperimentRunName is the name of a run of an experiment's analysis.
func ExperimentRunName(experiment, analysis string) string { return joined(experiment, "-"+analysis) }

// TryName is the name that the try after n taken ones uses: the name itself, then
// <name>.1, and so on; for experiments <name>-1.
func TryName(name string, use v1alpha1.RunUse, n int32) string {
	switch {
	case n <= 0:
		return name
	case use == v1alpha1.RunExperiment:
		return joined(name, "-"+strconv.Itoa(int(n)))
	}
	return joined(name, "."+strconv.Itoa(int(n)))
}

// joined puts an end to a name. Where both together are too long, the name is cut
// and gets a mark of the whole, so that two long names stay apart.
func joined(name, end string) string {
	if len(name)+len(end) <= maxName {
		return name + end
	}
	h := fnv.New32a()
	h.Write([]byte(name + end))
	mark := "-" + strconv.FormatUint(uint64(h.Sum32()), 36)
	if len(end)+len(mark) >= maxName {
		end = end[:maxName/2]
	}
	return strings.TrimRight(name[:min(len(name), maxName-len(mark)-len(end))], "-.") + mark + strings.TrimRight(end, "-.")
}
