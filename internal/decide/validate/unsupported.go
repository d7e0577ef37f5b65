package validate

import (
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

// built are the fields of a Rollout's spec that this version carries out. Every
// other field is reported by Unsupported when it is set, so that a field which is
// new in the types cannot be ignored in silence. To build a field is to add its
// line. A line without an end of its own, such as spec.strategy.canary, opens the
// object: its fields are looked at one by one. A line that ends in ".*" takes in
// the whole value.
func built() map[string]bool {
	set := map[string]bool{}
	for line := range strings.Lines(`
spec.replicas.*
spec.selector.*
spec.template.*
spec.minReadySeconds.*
spec.rollbackWindow
spec.rollbackWindow.revisions.*
spec.strategy
spec.strategy.canary
spec.strategy.canary.canaryService.*
spec.strategy.canary.stableService.*
spec.strategy.canary.steps
spec.strategy.canary.steps.setWeight.*
spec.strategy.canary.steps.pause
spec.strategy.canary.steps.pause.duration.*
spec.strategy.canary.maxUnavailable.*
spec.strategy.canary.maxSurge.*
spec.revisionHistoryLimit.*
spec.paused.*
spec.progressDeadlineSeconds.*
spec.progressDeadlineAbort.*
spec.restartAt.*
spec.analysis
spec.analysis.successfulRunHistoryLimit.*
spec.analysis.unsuccessfulRunHistoryLimit.*
`) {
		set[strings.TrimSpace(line)] = true
	}
	return set
}

// instead says, for fields that people will miss most, what works today.
func instead(path string) string {
	switch path {
	case "spec.strategy.blueGreen":
		return "use strategy.canary"
	case "spec.workloadRef":
		return "write the pod template under spec.template, and scale the workload to 0"
	case "spec.strategy.canary.trafficRouting":
		return "remove it; the traffic is then divided by the number of pods"
	case "spec.strategy.canary.analysis", "spec.strategy.canary.steps.analysis", "spec.strategy.canary.steps.experiment":
		return "remove it; a pause step gives time to look at the new version"
	}
	return "remove it"
}

// Unsupported tells of every field that is set and that this version does not
// carry out yet, in the order of the types. None of them is ever just ignored.
func Unsupported(ro *v1alpha1.Rollout) field.ErrorList {
	w := &fields{built: built()}
	w.look(field.NewPath("spec"), "spec", reflect.ValueOf(&ro.Spec).Elem())
	return w.errs
}

type fields struct {
	built map[string]bool
	errs  field.ErrorList
}

// look judges the fields of the struct v. The plain path has no indices.
func (w *fields) look(p *field.Path, plain string, v reflect.Value) {
	for i := range v.NumField() {
		name, inline := jsonName(v.Type().Field(i))
		switch f := v.Field(i); {
		case inline:
			w.look(p, plain, f)
		case name != "" && given(f):
			w.judge(p.Child(name), plain+"."+name, f)
		}
	}
}

func (w *fields) judge(p *field.Path, plain string, v reflect.Value) {
	if w.built[plain+".*"] {
		return
	}
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	switch {
	case !w.built[plain]:
		name := plain[strings.LastIndexByte(plain, '.')+1:]
		w.errs = append(w.errs, field.Forbidden(p, "this version does not carry out "+name+" yet; "+instead(plain)))
	case v.Kind() == reflect.Struct:
		w.look(p, plain, v)
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			w.look(p.Index(i), plain, v.Index(i))
		}
	}
}

// given tells whether a value says anything: a pointer that is set, or a value
// that is not empty.
func given(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Map, reflect.Slice:
		return v.Len() > 0
	}
	return !v.IsZero()
}

// jsonName is the key of a field, nothing for one that is not on the wire.
func jsonName(f reflect.StructField) (name string, inline bool) {
	name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	switch {
	case name == "-":
		return "", false
	case name == "":
		return "", f.Anonymous || strings.Contains(options, "inline")
	}
	return name, false
}
