package validate

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

func blueGreen(ro *v1alpha1.Rollout, p *field.Path) field.ErrorList {
	b := ro.Spec.Strategy.BlueGreen
	errs := blueGreenServices(b, p)
	errs = append(errs, atLeastPtr(p.Child("previewReplicaCount"), b.PreviewReplicaCount, 0)...)
	errs = append(errs, atLeast(p.Child("autoPromotionSeconds"), b.AutoPromotionSeconds, 0)...)
	errs = append(errs, share(p.Child("maxUnavailable"), b.MaxUnavailable)...)
	errs = append(errs, atLeastPtr(p.Child("scaleDownDelaySeconds"), b.ScaleDownDelaySeconds, 0)...)
	errs = append(errs, revisionLimit(p.Child("scaleDownDelayRevisionLimit"), b.ScaleDownDelayRevisionLimit, ro.Spec.RevisionHistoryLimit)...)
	if b.PrePromotionAnalysis != nil {
		errs = append(errs, analysis(p.Child("prePromotionAnalysis"), b.PrePromotionAnalysis)...)
	}
	errs = append(errs, antiAffinity(p.Child("antiAffinity"), b.AntiAffinity)...)
	if b.PostPromotionAnalysis != nil {
		errs = append(errs, analysis(p.Child("postPromotionAnalysis"), b.PostPromotionAnalysis)...)
	}
	errs = append(errs, roleMetadata(p.Child("previewMetadata"), b.PreviewMetadata, ro.Spec.Selector)...)
	errs = append(errs, roleMetadata(p.Child("activeMetadata"), b.ActiveMetadata, ro.Spec.Selector)...)
	return append(errs, atLeastPtr(p.Child("abortScaleDownDelaySeconds"), b.AbortScaleDownDelaySeconds, 0)...)
}

func blueGreenServices(b *v1alpha1.BlueGreenStrategy, p *field.Path) field.ErrorList {
	p = p.Child("activeService")
	switch {
	case b.ActiveService == "" && b.PreviewService == "":
		return one(field.Invalid(p, "", "no Service is named, so there is nothing to switch; name the Service that carries the traffic"))
	case b.ActiveService == "":
		return one(field.Required(p, "names the Service that carries the traffic"))
	case b.ActiveService == b.PreviewService:
		return one(field.Invalid(p, b.ActiveService, "is previewService too, and one Service cannot select both versions; name two Services or remove previewService"))
	}
	return nil
}

// revisionLimit refuses to keep more old sets up than are kept at all.
func revisionLimit(p *field.Path, v, history *int32) field.ErrorList {
	if errs := atLeastPtr(p, v, 0); v == nil || errs != nil {
		return errs
	}
	kept := v1alpha1.RevisionHistoryLimitOrDefault(history)
	if *v <= kept {
		return nil
	}
	return one(field.Invalid(p, *v, say("is more than the sets that are kept at all; use at most revisionHistoryLimit, which is %d", kept)))
}
