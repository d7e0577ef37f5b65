package validate

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

// extent tells how much of a field's value is carried out.
type extent int

const (
	// opened objects are looked at field by field.
	opened extent = iota + 1
	// whole values are carried out with all that is in them.
	whole
	// routers are plugins of which those that are built in are carried out.
	routers
)

// built are the fields of a Rollout's spec that this version carries out. Every
// other field is reported by Unsupported when it is set, so that a field which is
// new in the types cannot be ignored in silence. To build a field is to add its
// line here.
func built() map[string]extent {
	return map[string]extent{
		"spec.replicas":                                        whole,
		"spec.selector":                                        whole,
		"spec.template":                                        whole,
		"spec.minReadySeconds":                                 whole,
		"spec.rollbackWindow":                                  opened,
		"spec.rollbackWindow.revisions":                        whole,
		"spec.strategy":                                        opened,
		"spec.strategy.canary":                                 opened,
		"spec.strategy.canary.canaryService":                   whole,
		"spec.strategy.canary.stableService":                   whole,
		"spec.strategy.canary.steps":                           opened,
		"spec.strategy.canary.steps.setWeight":                 whole,
		"spec.strategy.canary.steps.pause":                     opened,
		"spec.strategy.canary.steps.pause.duration":            whole,
		"spec.strategy.canary.maxUnavailable":                  whole,
		"spec.strategy.canary.maxSurge":                        whole,
		"spec.strategy.canary.steps.setCanaryScale":            whole,
		"spec.strategy.canary.steps.setHeaderRoute":            whole,
		"spec.strategy.canary.steps.setMirrorRoute":            whole,
		"spec.strategy.canary.pingPong":                        whole,
		"spec.strategy.canary.dynamicStableScale":              whole,
		"spec.strategy.canary.scaleDownDelaySeconds":           whole,
		"spec.strategy.canary.replicaProgressThreshold":        whole,
		"spec.strategy.canary.trafficRouting":                  opened,
		"spec.strategy.canary.trafficRouting.istio":            whole,
		"spec.strategy.canary.trafficRouting.nginx":            whole,
		"spec.strategy.canary.trafficRouting.alb":              whole,
		"spec.strategy.canary.trafficRouting.smi":              whole,
		"spec.strategy.canary.trafficRouting.ambassador":       whole,
		"spec.strategy.canary.trafficRouting.appMesh":          whole,
		"spec.strategy.canary.trafficRouting.traefik":          whole,
		"spec.strategy.canary.trafficRouting.apisix":           whole,
		"spec.strategy.canary.trafficRouting.gatewayAPI":       whole,
		"spec.strategy.canary.trafficRouting.managedRoutes":    whole,
		"spec.strategy.canary.trafficRouting.maxTrafficWeight": whole,
		"spec.strategy.canary.trafficRouting.settleSeconds":    whole,
		"spec.strategy.canary.trafficRouting.verification":     whole,
		"spec.strategy.canary.trafficRouting.plugins":          routers,
		// These have a meaning with a traffic router only; without one the wire
		// contract gives them no effect, so nothing is missing.
		"spec.strategy.canary.abortScaleDownDelaySeconds":  whole,
		"spec.strategy.canary.scaleDownDelayRevisionLimit": whole,
		"spec.strategy.canary.minPodsPerReplicaSet":        whole,
		"spec.revisionHistoryLimit":                        whole,
		"spec.paused":                                      whole,
		"spec.progressDeadlineSeconds":                     whole,
		"spec.progressDeadlineAbort":                       whole,
		"spec.restartAt":                                   whole,
		"spec.strategy.canary.analysis":                    whole,
		"spec.strategy.canary.steps.experiment":            whole,
		"spec.strategy.canary.steps.analysis":              whole,
		"spec.analysis":                                    opened,
		"spec.analysis.successfulRunHistoryLimit":          whole,
		"spec.analysis.unsuccessfulRunHistoryLimit":        whole,
	}
}

// instead says, for fields that people will miss most, what works today.
func instead(path string) string {
	switch path {
	case "spec.strategy.blueGreen":
		return "use strategy.canary"
	case "spec.workloadRef":
		return "write the pod template under spec.template, and scale the workload to 0"
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
	built map[string]extent
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
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	switch extent := w.built[plain]; {
	case extent == whole:
	case extent == routers:
		for _, name := range slices.Sorted(maps.Keys(v.Interface().(map[string]json.RawMessage))) {
			if name != v1alpha1.GatewayAPIPlugin {
				w.errs = append(w.errs, field.Forbidden(p.Key(name), "this version does not run router plugins yet; only "+v1alpha1.GatewayAPIPlugin+" is built in, remove this one"))
			}
		}
	case extent != opened:
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
