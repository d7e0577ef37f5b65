package experiment

import (
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/plan"
)

// askAgain is how often to look whether a name has become free.
const askAgain = 5 * time.Second

// service sees to the Service of a template. It says whether the template has what
// it asks for, what it waits for, and what no waiting will mend.
func (d *decision) service(t *v1alpha1.TemplateSpec, s *v1alpha1.TemplateStatus, set *Set, want int32) (served bool, wait, fatal string) {
	if want == 0 && (set == nil || set.Spec == 0 && set.Available == 0) {
		s.ServiceName, s.PodTemplateHash = "", ""
		return true, "", ""
	}
	labels := map[string]string(nil)
	if set != nil {
		s.PodTemplateHash, labels = set.Hash, set.Labels
	} else {
		s.PodTemplateHash = hash(t, s.CollisionCount)
		labels = labelled(t, s.PodTemplateHash)
	}
	wished := ports(t)
	switch {
	case want == 0:
		// There are pods behind it, also where a wiped status names it no longer.
		if t.Service != nil && s.ServiceName == "" {
			if name, svc, _ := d.chosen(t, s, set); svc.Ours {
				s.ServiceName = name
			}
		}
		d.keep[s.ServiceName] = true
		return true, "", ""
	case t.Service == nil || len(wished) == 0:
		s.ServiceName = ""
		return true, "", ""
	}
	name, svc, exists := d.chosen(t, s, set)
	d.keep[name] = true
	switch {
	case exists && svc.Ours && !svc.Deleting:
		s.ServiceName = name
		return true, "", ""
	case exists && svc.Deleting:
		d.later(d.now.Add(askAgain))
		return false, fmt.Sprintf("Service '%s' for template '%s' is still being deleted", name, t.Name), ""
	case exists && svc.Experiment != "":
		d.later(d.now.Add(askAgain))
		return false, fmt.Sprintf("Service '%s' for template '%s' still belongs to Experiment '%s'", name, t.Name, svc.Experiment), ""
	case exists:
		return false, "", fmt.Sprintf("Service '%s' for template '%s' exists and is not of this experiment: name another one in the template, or remove it", name, t.Name)
	}
	spec, err := json.Marshal(corev1.ServiceSpec{Selector: labels, Ports: wished})
	if err != nil {
		return false, fmt.Sprintf("Service '%s' for template '%s' cannot be written: %v", name, t.Name, err), ""
	}
	s.ServiceName = name
	d.ups = append(d.ups, plan.CreateChild{Kind: plan.KindService, Name: name, Annotations: d.marks(t.Name), Spec: spec,
		Why: fmt.Sprintf("template '%s' asks for a Service", t.Name)})
	if text := d.o.Failure.of("Service " + name); text != "" {
		return false, fmt.Sprintf("Failed to create Service '%s' for template '%s': %s", name, t.Name, text), ""
	}
	return false, "", ""
}

// chosen is the name of a template's Service: the one that it has, else the first
// that nobody else has.
func (d *decision) chosen(t *v1alpha1.TemplateSpec, s *v1alpha1.TemplateStatus, set *Set) (string, Service, bool) {
	names := serviceNames(d.e, t, set, s.CollisionCount)
	for _, n := range names {
		if svc := d.o.Services[n]; svc.Ours && !svc.Deleting {
			return n, svc, true
		}
	}
	for _, n := range names {
		if svc, exists := d.o.Services[n]; !exists {
			return n, svc, false
		}
	}
	n := names[len(names)-1]
	return n, d.o.Services[n], true
}
