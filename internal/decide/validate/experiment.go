package validate

import (
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

// Experiment judges an Experiment on its own, without a look at its templates of
// analyses. Of each set its contract's rules come first, in the contract's order.
func Experiment(e *v1alpha1.Experiment) field.ErrorList {
	spec, p := &e.Spec, field.NewPath("spec")
	errs := atLeastPtr(p.Child("progressDeadlineSeconds"), spec.ProgressDeadlineSeconds, 0)
	if len(spec.Templates) == 0 {
		errs = append(errs, field.Required(p.Child("templates"), "nothing would run; add at least one template with a name, a selector and a pod template"))
	}
	seen, services := map[string]bool{}, map[string]bool{}
	for i := range spec.Templates {
		t, tp := &spec.Templates[i], p.Child("templates").Index(i)
		errs = append(errs, experimentSet(e, t, tp, seen)...)
		if t.Service != nil && t.Service.Name != "" {
			sp := tp.Child("service", "name")
			errs = append(errs, serviceName(sp, t.Service.Name)...)
			errs = append(errs, unique(sp, t.Service.Name, services, "Services")...)
		}
	}
	errs = append(errs, duration(p.Child("duration"), spec.Duration)...)
	errs = append(errs, atLeastPtr(p.Child("scaleDownDelaySeconds"), spec.ScaleDownDelaySeconds, 0)...)
	seen = map[string]bool{}
	for i := range spec.Analyses {
		a, ap := &spec.Analyses[i], p.Child("analyses").Index(i)
		errs = append(errs, named(ap.Child("name"), a.Name, "the analysis")...)
		errs = append(errs, unique(ap.Child("name"), a.Name, seen, "analyses")...)
		errs = append(errs, childName(ap.Child("name"), e.Name, a.Name, "AnalysisRun")...)
		errs = append(errs, named(ap.Child("templateName"), a.TemplateName, "the AnalysisTemplate")...)
	}
	errs = append(errs, dryRun(p.Child("dryRun"), spec.DryRun)...)
	return append(errs, runMetadata(p.Child("analysisRunMetadata"), &spec.AnalysisRunMetadata)...)
}

func experimentSet(e *v1alpha1.Experiment, t *v1alpha1.TemplateSpec, p *field.Path, seen map[string]bool) field.ErrorList {
	var errs field.ErrorList
	if t.Selector == nil {
		errs = append(errs, field.Required(p.Child("selector"), "says which pods belong to the set; use labels of the pod template, under matchLabels"))
	} else if bad := labelSelector(p.Child("selector"), t.Selector); bad != nil {
		errs = append(errs, bad...)
	} else {
		errs = append(errs, selectsOwn(p, t)...)
	}
	deadline := v1alpha1.ProgressDeadlineSecondsOrDefault(e.Spec.ProgressDeadlineSeconds)
	if errs = append(errs, atLeast(p.Child("minReadySeconds"), t.MinReadySeconds, 0)...); t.MinReadySeconds > deadline {
		errs = append(errs, field.Invalid(p.Child("minReadySeconds"), t.MinReadySeconds,
			say("no pod can become available in time, since progressDeadlineSeconds is %d; use at most %d", deadline, deadline)))
	}
	errs = append(errs, named(p.Child("name"), t.Name, "the template")...)
	errs = append(errs, unique(p.Child("name"), t.Name, seen, "templates")...)
	errs = append(errs, childName(p.Child("name"), e.Name, t.Name, "ReplicaSet")...)
	errs = append(errs, atLeastPtr(p.Child("replicas"), t.Replicas, 0)...)
	return append(errs, podTemplate(&v1alpha1.RolloutSpec{Template: t.Template}, p.Child("template"))...)
}

// selectsOwn asks that a set finds its own pods. The hash is set on both sides.
func selectsOwn(p *field.Path, t *v1alpha1.TemplateSpec) field.ErrorList {
	s := t.Selector.DeepCopy()
	delete(s.MatchLabels, v1alpha1.LabelPodTemplateHash)
	return selects(p.Child("template", "metadata", "labels"), s, t.Template.Labels)
}

// childName judges a part of the name of an object that is made.
func childName(p *field.Path, experiment, part, kind string) field.ErrorList {
	name := experiment + "-" + part
	if part == "" || len(validation.IsDNS1123Subdomain(name)) == 0 {
		return nil
	}
	return one(field.Invalid(p, part, say("%s is no name for a %s; use lowercase letters, digits, '-' or '.', at most %d characters together with the experiment's name",
		name, kind, validation.DNS1123SubdomainMaxLength)))
}

func serviceName(p *field.Path, name string) field.ErrorList {
	if len(validation.IsDNS1035Label(name)) == 0 {
		return nil
	}
	return one(field.Invalid(p, name, "is no name for a Service; use at most 63 lowercase letters, digits or '-' that begin with a letter and end with a letter or digit"))
}
