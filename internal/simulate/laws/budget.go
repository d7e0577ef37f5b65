package laws

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

// Allowance is what the spec allows: pods wanted, pods too many, pods too few.
type Allowance struct{ Replicas, Surge, Unavailable int32 }

// AllowanceOf reads the allowance of a rollout.
func AllowanceOf(ro *v1alpha1.Rollout) Allowance {
	a := Allowance{Replicas: 1}
	if ro.Spec.Replicas != nil {
		a.Replicas = *ro.Spec.Replicas
	}
	var surge, unavailable *intstr.IntOrString
	if c := ro.Spec.Strategy.Canary; c != nil {
		surge, unavailable = c.MaxSurge, c.MaxUnavailable
	}
	a.Surge = share(surge, a.Replicas, math.Ceil)
	a.Unavailable = min(share(unavailable, a.Replicas, math.Floor), a.Replicas)
	if a.Surge == 0 && a.Unavailable == 0 {
		a.Unavailable = min(1, a.Replicas)
	}
	return a
}

// share reads a number or a part of the whole; a quarter when not given.
func share(v *intstr.IntOrString, of int32, round func(float64) float64) int32 {
	if v == nil {
		return int32(round(float64(of) / 4))
	}
	if v.Type == intstr.Int {
		return v.IntVal
	}
	p, err := strconv.Atoi(strings.TrimSuffix(v.StrVal, "%"))
	if err != nil {
		return 0
	}
	return int32(round(float64(of) * float64(p) / 100))
}

// Size is one set at one moment.
type Size struct {
	Name string
	// Spec is the ordered size; Kept are the available pods that the order keeps.
	Spec, Kept int32
}

// JudgeBudget compares the sets before and after one write of ours. It gives
// what is wrong, or nothing.
func JudgeBudget(a Allowance, before, after []Size) string {
	specBefore, keptBefore := sum(before)
	specAfter, keptAfter := sum(after)
	if most := max(a.Replicas+a.Surge, specBefore); specAfter > most {
		return fmt.Sprintf("ordered pods go from %d to %d where replicas %d + surge %d allow %d", specBefore, specAfter, a.Replicas, a.Surge, a.Replicas+a.Surge)
	}
	if least := min(a.Replicas-a.Unavailable, keptBefore); keptAfter < least {
		return fmt.Sprintf("available pods kept go from %d to %d where replicas %d - unavailable %d demand %d", keptBefore, keptAfter, a.Replicas, a.Unavailable, a.Replicas-a.Unavailable)
	}
	return ""
}

func sum(sizes []Size) (spec, kept int32) {
	for _, s := range sizes {
		spec += s.Spec
		kept += s.Kept
	}
	return spec, kept
}

// JudgeAbort judges one change of size while the release is aborted. canary and
// stable tell which set it is.
func JudgeAbort(replicas, before, after int32, canary, stable bool) string {
	switch {
	case canary && after > before:
		return fmt.Sprintf("the aborted set grows from %d to %d", before, after)
	case stable && after < before && after < replicas:
		return fmt.Sprintf("stable is lowered from %d to %d of %d while the release is aborted", before, after, replicas)
	}
	return ""
}

// Heading is the direction in which a set's size last moved, and for what target.
type Heading struct {
	Target string
	Up     bool
}

// JudgeMonotone judges one more change of size of the same set.
func JudgeMonotone(last *Heading, next Heading, before, after int32) string {
	if last == nil || last.Target != next.Target || last.Up == next.Up {
		return ""
	}
	return fmt.Sprintf("the size turns round, from %d to %d, though the target is the same (%s)", before, after, next.Target)
}
