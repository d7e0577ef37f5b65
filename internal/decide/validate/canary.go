package validate

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

func canary(ro *v1alpha1.Rollout, p *field.Path) field.ErrorList {
	c := ro.Spec.Strategy.Canary
	errs := canaryServices(c, p)
	errs = append(errs, trafficRouting(c, p.Child("trafficRouting"))...)
	errs = append(errs, pingPong(c, p)...)
	errs = append(errs, budget(c, p)...)
	errs = append(errs, delays(c, p)...)
	errs = append(errs, steps(ro, p)...)
	if a := c.Analysis; a != nil {
		errs = append(errs, analysis(p.Child("analysis"), &a.RolloutAnalysis)...)
		errs = append(errs, startingStep(p.Child("analysis", "startingStep"), a.StartingStep, len(c.Steps))...)
	}
	errs = append(errs, antiAffinity(p.Child("antiAffinity"), c.AntiAffinity)...)
	errs = append(errs, roleMetadata(p.Child("canaryMetadata"), c.CanaryMetadata, ro.Spec.Selector)...)
	errs = append(errs, roleMetadata(p.Child("stableMetadata"), c.StableMetadata, ro.Spec.Selector)...)
	errs = append(errs, atLeastPtr(p.Child("minPodsPerReplicaSet"), c.MinPodsPerReplicaSet, 0)...)
	return append(errs, threshold(p.Child("replicaProgressThreshold"), c.ReplicaProgressThreshold)...)
}

func canaryServices(c *v1alpha1.CanaryStrategy, p *field.Path) field.ErrorList {
	if c.CanaryService != "" && c.CanaryService == c.StableService {
		return one(field.Invalid(p.Child("stableService"), c.StableService, "is canaryService too, and one Service cannot select both versions; name two Services"))
	}
	router := routerInNeed(c)
	if router == "" {
		return nil
	}
	var errs field.ErrorList
	need := say("the router %s divides the traffic between two Services; name the Service of each version", router)
	if c.CanaryService == "" {
		errs = append(errs, field.Required(p.Child("canaryService"), need))
	}
	if c.StableService == "" {
		errs = append(errs, field.Required(p.Child("stableService"), need))
	}
	return errs
}

// budget judges how many pods may come and go at once.
func budget(c *v1alpha1.CanaryStrategy, p *field.Path) field.ErrorList {
	errs := share(p.Child("maxSurge"), c.MaxSurge)
	errs = append(errs, share(p.Child("maxUnavailable"), c.MaxUnavailable)...)
	surge := v1alpha1.MaxSurgeOrDefault(c.MaxSurge)
	if isZero(surge) && isZero(v1alpha1.MaxUnavailableOrDefault(c.MaxUnavailable)) {
		errs = append(errs, field.Invalid(p.Child("maxSurge"), surge.String(),
			"no pod may be added and, since maxUnavailable is 0 too, none be taken away; raise one of them"))
	}
	return errs
}

// delays judges the fields that keep old pods up for a while.
func delays(c *v1alpha1.CanaryStrategy, p *field.Path) field.ErrorList {
	errs := atLeastPtr(p.Child("scaleDownDelaySeconds"), c.ScaleDownDelaySeconds, 0)
	errs = append(errs, atLeastPtr(p.Child("scaleDownDelayRevisionLimit"), c.ScaleDownDelayRevisionLimit, 0)...)
	errs = append(errs, atLeastPtr(p.Child("abortScaleDownDelaySeconds"), c.AbortScaleDownDelaySeconds, 0)...)
	if c.ScaleDownDelaySeconds != nil && c.TrafficRouting == nil {
		errs = append(errs, field.Invalid(p.Child("scaleDownDelaySeconds"), *c.ScaleDownDelaySeconds,
			"without a router the number of pods is the weight, so old pods cannot stay; remove the field or set trafficRouting"))
	}
	if !c.DynamicStableScale {
		return errs
	}
	p = p.Child("dynamicStableScale")
	if c.TrafficRouting == nil {
		errs = append(errs, field.Invalid(p, true, "without a router the stable pods always shrink with their weight; remove the field or set trafficRouting"))
	}
	if c.ScaleDownDelaySeconds != nil {
		errs = append(errs, field.Invalid(p, true, "the stable pods shrink during the release, so scaleDownDelaySeconds has nothing to keep; remove one of the two fields"))
	}
	return errs
}

// startingStep refuses a step behind the end: the analysis would never run.
func startingStep(p *field.Path, v *int32, steps int) field.ErrorList {
	if v == nil || (*v >= 0 && int(*v) <= steps) {
		return nil
	}
	if *v < 0 {
		return atLeast(p, *v, 0)
	}
	return one(field.Invalid(p, *v, say("the analysis would never run, since there are %d steps; use 0 to %d", steps, steps)))
}

func threshold(p *field.Path, t *v1alpha1.ReplicaProgressThreshold) field.ErrorList {
	if t == nil {
		return nil
	}
	var errs field.ErrorList
	switch t.Type {
	case v1alpha1.ProgressTypePercent, v1alpha1.ProgressTypePods:
	default:
		errs = append(errs, field.Invalid(p.Child("type"), string(t.Type), "is no unit of progress; use Percent or Pods"))
	}
	return append(errs, atLeast(p.Child("value"), t.Value, 0)...)
}

func antiAffinity(p *field.Path, a *v1alpha1.AntiAffinity) field.ErrorList {
	if a == nil {
		return nil
	}
	preferred, required := a.PreferredDuringSchedulingIgnoredDuringExecution, a.RequiredDuringSchedulingIgnoredDuringExecution
	switch {
	case preferred == nil && required == nil:
		return one(field.Invalid(p, "{}", "says nothing; set preferredDuringSchedulingIgnoredDuringExecution or requiredDuringSchedulingIgnoredDuringExecution"))
	case preferred != nil && required != nil:
		return one(field.Invalid(p, "preferred, required", "cannot be both; remove preferredDuringSchedulingIgnoredDuringExecution or requiredDuringSchedulingIgnoredDuringExecution"))
	case preferred != nil:
		return within(p.Child("weight"), preferred.Weight, 1, 100)
	}
	return nil
}
