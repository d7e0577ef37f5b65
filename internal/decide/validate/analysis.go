package validate

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

// proofs judges the steps that ask something: analyses, experiments, plugins.
func (s step) proofs() field.ErrorList {
	var errs field.ErrorList
	if a := s.Analysis; a != nil {
		errs = append(errs, analysis(s.path.Child("analysis"), a)...)
		for _, arg := range a.Args {
			errs = append(errs, metadataPath(s.path.Child("analyses"), &arg)...)
		}
	}
	if e := s.Experiment; e != nil {
		errs = append(errs, s.experiment(s.path.Child("experiment"), e)...)
	}
	if s.Plugin != nil {
		errs = append(errs, named(s.path.Child("plugin", "name"), s.Plugin.Name, "the step plugin to run")...)
	}
	return errs
}

func analysis(p *field.Path, a *v1alpha1.RolloutAnalysis) field.ErrorList {
	var errs field.ErrorList
	if len(a.Templates) == 0 {
		errs = append(errs, field.Required(p.Child("templates"), "nothing would be measured; name at least one AnalysisTemplate, or remove the analysis"))
	}
	for i, t := range a.Templates {
		errs = append(errs, named(p.Child("templates").Index(i).Child("templateName"), t.TemplateName, "the AnalysisTemplate")...)
	}
	errs = append(errs, arguments(p.Child("args"), a.Args)...)
	errs = append(errs, dryRun(p.Child("dryRun"), a.DryRun)...)
	seen := map[string]bool{}
	for i, r := range a.MeasurementRetention {
		rp := p.Child("measurementRetention").Index(i)
		errs = append(errs, named(rp.Child("metricName"), r.MetricName, "the metrics, as a regular expression")...)
		errs = append(errs, unique(rp.Child("metricName"), r.MetricName, seen, "rules")...)
		errs = append(errs, atLeast(rp.Child("limit"), r.Limit, 0)...)
	}
	return append(errs, runMetadata(p.Child("analysisRunMetadata"), a.AnalysisRunMetadata)...)
}

func dryRun(p *field.Path, list []v1alpha1.DryRun) field.ErrorList {
	var errs field.ErrorList
	seen := map[string]bool{}
	for i, d := range list {
		np := p.Index(i).Child("metricName")
		errs = append(errs, named(np, d.MetricName, "the metrics, as a regular expression")...)
		errs = append(errs, unique(np, d.MetricName, seen, "rules")...)
	}
	return errs
}

func arguments(p *field.Path, list []v1alpha1.AnalysisRunArgument) field.ErrorList {
	var errs field.ErrorList
	for i := range list {
		a, p := &list[i], p.Index(i)
		errs = append(errs, named(p.Child("name"), a.Name, "the argument")...)
		from := a.ValueFrom
		if from == nil {
			continue
		}
		p = p.Child("valueFrom")
		if from.PodTemplateHashValue == nil && from.FieldRef == nil {
			errs = append(errs, field.Required(p, "says where the value comes from; set podTemplateHashValue or fieldRef, or use value instead"))
		}
		if h := from.PodTemplateHashValue; h != nil && *h != v1alpha1.PodTemplateHashStable && *h != v1alpha1.PodTemplateHashLatest {
			errs = append(errs, field.Invalid(p.Child("podTemplateHashValue"), string(*h), "is neither version; use Stable or Latest"))
		}
		if from.FieldRef != nil {
			errs = append(errs, named(p.Child("fieldRef", "fieldPath"), from.FieldRef.FieldPath, "a field of the Rollout, such as metadata.name")...)
		}
	}
	return errs
}

// metadataPath asks that a path into the metadata is one that pods could use too.
func metadataPath(p *field.Path, a *v1alpha1.AnalysisRunArgument) field.ErrorList {
	if a.ValueFrom == nil || a.ValueFrom.FieldRef == nil {
		return nil
	}
	path := a.ValueFrom.FieldRef.FieldPath
	if !strings.HasPrefix(path, "metadata") || knownMetadata(path) {
		return nil
	}
	return one(field.Invalid(p, path,
		say("the argument %s would have no value; use metadata.name, metadata.namespace, metadata.uid, metadata.labels['KEY'] or metadata.annotations['KEY']", a.Name)))
}

func knownMetadata(path string) bool {
	if slices.Contains([]string{"metadata.name", "metadata.namespace", "metadata.uid", "metadata.labels", "metadata.annotations"}, path) {
		return true
	}
	holder, rest, ok := strings.Cut(path, "['")
	key, closed := strings.CutSuffix(rest, "']")
	switch {
	case !ok || !closed:
		return false
	case holder == "metadata.labels":
		return len(validation.IsQualifiedName(key)) == 0
	case holder == "metadata.annotations":
		return len(validation.IsQualifiedName(strings.ToLower(key))) == 0
	}
	return false
}

func (s step) experiment(p *field.Path, e *v1alpha1.RolloutExperimentStep) field.ErrorList {
	var errs field.ErrorList
	if len(e.Templates) == 0 {
		errs = append(errs, field.Required(p.Child("templates"), "nothing would run; add at least one template with a name and a specRef"))
	}
	seen := map[string]bool{}
	for i := range e.Templates {
		np := p.Child("templates").Index(i)
		errs = append(errs, unique(np.Child("name"), e.Templates[i].Name, seen, "templates")...)
		errs = append(errs, s.experimentTemplate(np, &e.Templates[i])...)
	}
	errs = append(errs, duration(p.Child("duration"), e.Duration)...)
	seen = map[string]bool{}
	for i := range e.Analyses {
		a, ap := &e.Analyses[i], p.Child("analyses").Index(i)
		errs = append(errs, named(ap.Child("name"), a.Name, "the analysis")...)
		errs = append(errs, unique(ap.Child("name"), a.Name, seen, "analyses")...)
		errs = append(errs, named(ap.Child("templateName"), a.TemplateName, "the AnalysisTemplate")...)
		errs = append(errs, arguments(ap.Child("args"), a.Args)...)
	}
	errs = append(errs, dryRun(p.Child("dryRun"), e.DryRun)...)
	errs = append(errs, runMetadata(p.Child("analysisRunMetadata"), &e.AnalysisRunMetadata)...)
	return append(errs, atLeastPtr(p.Child("scaleDownDelaySeconds"), e.ScaleDownDelaySeconds, 0)...)
}

func (s step) experimentTemplate(p *field.Path, t *v1alpha1.RolloutExperimentTemplate) field.ErrorList {
	errs := named(p.Child("name"), t.Name, "the template")
	switch t.SpecRef {
	case v1alpha1.ReplicaSetSpecRefCanary, v1alpha1.ReplicaSetSpecRefStable:
	default:
		errs = append(errs, field.Invalid(p.Child("specRef"), string(t.SpecRef), "is neither version; use canary or stable"))
	}
	errs = append(errs, atLeastPtr(p.Child("replicas"), t.Replicas, 0)...)
	errs = append(errs, labels(p.Child("metadata", "labels"), t.Metadata.Labels)...)
	errs = append(errs, annotations(p.Child("metadata", "annotations"), t.Metadata.Annotations)...)
	if t.Selector != nil {
		errs = append(errs, labelSelector(p.Child("selector"), t.Selector)...)
	}
	if t.Weight == nil {
		return errs
	}
	p = p.Child("weight")
	if !weightRouters(s.of.TrafficRouting) {
		errs = append(errs, field.Invalid(p, *t.Weight, "no router here can send traffic to an experiment; set trafficRouting to alb, smi, istio, gatewayAPI or plugins, or remove the weight"))
	}
	return append(errs, within(p, *t.Weight, 0, s.of.TrafficRouting.MaxTrafficWeightOrDefault())...)
}

func weightRouters(t *v1alpha1.RolloutTrafficRouting) bool {
	return t != nil && (t.ALB != nil || t.SMI != nil || t.Istio != nil || t.GatewayAPI != nil || len(t.Plugins) > 0)
}
