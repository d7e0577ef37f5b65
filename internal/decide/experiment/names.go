package experiment

import (
	"cmp"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/analysis"
	"github.com/sluice-project/sluice/internal/decide/identity"
)

// SetNames are the names that the missing ReplicaSets of an experiment would get.
// Sets must be known.
func SetNames(o *Observed) []string {
	if o.Experiment.Status.Phase.Completed() {
		return nil
	}
	var out []string
	for i := range o.Experiment.Spec.Templates {
		t := &o.Experiment.Spec.Templates[i]
		if current(o.Sets, t.Name) == nil {
			out = append(out, setName(o.Experiment, t, templateStatus(&o.Experiment.Status, t.Name).CollisionCount))
		}
	}
	return out
}

// ServiceNames are the names that Services of an experiment have or would get. Sets
// must be known.
func ServiceNames(o *Observed) []string {
	seen := map[string]bool{}
	for i := range o.Experiment.Spec.Templates {
		t := &o.Experiment.Spec.Templates[i]
		if t.Service == nil {
			continue
		}
		n := templateStatus(&o.Experiment.Status, t.Name).CollisionCount
		set := current(o.Sets, t.Name)
		for _, name := range serviceNames(o.Experiment, t, set, n) {
			seen[name] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// NeedsRun tells that the i-th analysis has no run and may get one now: all sets
// are, or once were, available.
func NeedsRun(o *Observed, i int) bool {
	e := o.Experiment
	s, recorded := analysisStatus(&e.Status, e.Spec.Analyses[i].Name)
	if run, ok := o.Runs[s.AnalysisRun]; recorded && (s.Phase.Completed() || ok && run.Ours) || e.Status.Phase.Completed() {
		return false
	}
	return e.Status.AvailableAt != nil || available(o)
}

// RunName is the n-th name that the run of the i-th analysis tries.
func RunName(e *v1alpha1.Experiment, i, n int) string { return runName(e, &e.Spec.Analyses[i], n) }

// available tells that all pods are.
func available(o *Observed) bool {
	return !slices.ContainsFunc(o.Experiment.Spec.Templates, func(t v1alpha1.TemplateSpec) bool {
		want := v1alpha1.ReplicasOrDefault(t.Replicas)
		set := current(o.Sets, t.Name)
		return want > 0 && (set == nil || set.Available != want)
	})
}

// setName is the name by the contract; after a collision the hash makes it differ.
func setName(e *v1alpha1.Experiment, t *v1alpha1.TemplateSpec, collision *int32) string {
	name := e.Name + "-" + t.Name
	if collision == nil || *collision == 0 {
		return name
	}
	return name + "-" + hash(t, collision)
}

// hash is the pod template hash, over the template without a hash label.
func hash(t *v1alpha1.TemplateSpec, collision *int32) string {
	plain := t.Template
	plain.Labels = maps.Clone(plain.Labels)
	delete(plain.Labels, v1alpha1.LabelPodTemplateHash)
	return identity.Hash(&plain, collision)
}

// serviceNames are the names that the Service of a template may have, in order.
// A name that the user gave is the only one.
func serviceNames(e *v1alpha1.Experiment, t *v1alpha1.TemplateSpec, set *Set, collision *int32) []string {
	if t.Service.Name != "" {
		return []string{t.Service.Name}
	}
	name := setName(e, t, collision)
	if set != nil {
		name = set.Name
	}
	return []string{serviceName(name), serviceName(name + "-" + hash(t, collision))}
}

// serviceName is the name, if a Service can have it: ReplicaSets may have longer
// names, and such with dots. Otherwise it is cut, and a sum makes it differ.
func serviceName(name string) string {
	if len(validation.IsDNS1035Label(name)) == 0 {
		return name
	}
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(name)) // a hash never fails to write
	tail := "-" + strconv.FormatUint(uint64(sum.Sum32()), 16)
	head := "exp-" + strings.ToLower(strings.ReplaceAll(name, ".", "-"))
	return strings.TrimRight(head[:min(len(head), validation.DNS1035LabelMaxLength-len(tail))], "-") + tail
}

// runName is the n-th name that the run of an analysis tries.
func runName(e *v1alpha1.Experiment, a *v1alpha1.ExperimentAnalysisTemplateRef, n int) string {
	return analysis.TryName(analysis.ExperimentRunName(e.Name, a.Name), v1alpha1.RunStep, int32(n))
}

// current is the set of a template; nil for none. Of several the oldest counts.
func current(sets []Set, template string) *Set {
	for i := range sets {
		if s := &sets[i]; s.Template == template && !s.Deleting {
			return s
		}
	}
	return nil
}

// templateStatus is what was recorded of a template; only its name when nothing was.
func templateStatus(st *v1alpha1.ExperimentStatus, name string) v1alpha1.TemplateStatus {
	for i := range st.TemplateStatuses {
		if st.TemplateStatuses[i].Name == name {
			return st.TemplateStatuses[i]
		}
	}
	return v1alpha1.TemplateStatus{Name: name}
}

// analysisStatus is what was recorded of an analysis.
func analysisStatus(st *v1alpha1.ExperimentStatus, name string) (v1alpha1.ExperimentAnalysisRunStatus, bool) {
	for i := range st.AnalysisRuns {
		if st.AnalysisRuns[i].Name == name {
			return st.AnalysisRuns[i], true
		}
	}
	return v1alpha1.ExperimentAnalysisRunStatus{Name: name}, false
}

// ports are those of a Service in front of the pods, one for each that a container
// declares. Where the API server asks for names of their own, they get them.
func ports(t *v1alpha1.TemplateSpec) []corev1.ServicePort {
	var out []corev1.ServicePort
	seen := map[string]bool{}
	for i := range t.Template.Spec.Containers {
		for _, p := range t.Template.Spec.Containers[i].Ports {
			number := strconv.Itoa(int(p.ContainerPort)) + "-" + strings.ToLower(string(cmp.Or(p.Protocol, corev1.ProtocolTCP)))
			if seen[number] {
				continue
			}
			name := p.Name
			if name != "" && seen[name] {
				name = "port-" + number
			}
			seen[number], seen[name] = true, true
			out = append(out, corev1.ServicePort{Name: name, Protocol: p.Protocol, Port: p.ContainerPort, TargetPort: intstr.FromInt32(p.ContainerPort)})
		}
	}
	for i := range out {
		if len(out) > 1 && out[i].Name == "" {
			out[i].Name = "port-" + strconv.Itoa(int(out[i].Port)) + "-" + strings.ToLower(string(cmp.Or(out[i].Protocol, corev1.ProtocolTCP)))
		}
	}
	return out
}
