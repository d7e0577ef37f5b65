package validate

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

func TestWhatIsBuiltIsNotReported(t *testing.T) {
	for name, patch := range map[string]string{
		"the base":             ``,
		"a rolling update":     `strategy: {canary: {steps: null}}`,
		"explicit empty parts": `strategy: {canary: {dynamicStableScale: false, canaryService: ""}}`,
		"every field that is built": `{minReadySeconds: 1, rollbackWindow: {revisions: 1}, revisionHistoryLimit: 1, paused: true,
			progressDeadlineSeconds: 60, progressDeadlineAbort: true, restartAt: "2026-01-01T00:00:00Z",
			analysis: {successfulRunHistoryLimit: 1, unsuccessfulRunHistoryLimit: 1},
			strategy: {canary: {steps: [{setWeight: 1}, {pause: {duration: 1}}], maxSurge: 1, maxUnavailable: 0, stableService: s, canaryService: c,
				abortScaleDownDelaySeconds: 0, scaleDownDelayRevisionLimit: 2, minPodsPerReplicaSet: 1}}}`,
		"routers and what rests on them": canaryPatch(`trafficRouting: {istio: {}, settleSeconds: 1}, scaleDownDelaySeconds: 0, dynamicStableScale: true,
			steps: [{setCanaryScale: {replicas: 1}}, {setHeaderRoute: {name: a}}, {setMirrorRoute: {name: b}}]`),
		"analyses": canaryPatch(`analysis: {templates: [{templateName: t}], startingStep: 1, requirePass: true},
			steps: [{setWeight: 1}, {analysis: {templates: [{templateName: t}], onFailure: Pause}}]`),
	} {
		t.Run(name, func(t *testing.T) { check(t, Unsupported(rollout(t, patch))) })
	}
}

func TestWhatIsNotBuiltIsNamed(t *testing.T) {
	for name, c := range map[string]specCase{
		"blue-green": {`strategy: {canary: null, blueGreen: {activeService: a}}`,
			wants("spec.strategy.blueGreen: Forbidden: this version does not carry out blueGreen yet; use strategy.canary")},
		"a workload": {`workloadRef: {kind: Deployment, name: d}`, wants("spec.workloadRef: does not carry out workloadRef yet")},
		"a plugin that is not built in": {canaryPatch(`trafficRouting: {plugins: {b/c: {}, argoproj-labs/gatewayAPI: {}, a/b: {}}}`),
			wants(canaryPath+"trafficRouting.plugins[a/b]: only argoproj-labs/gatewayAPI is built in", canaryPath+"trafficRouting.plugins[b/c]: only argoproj-labs/gatewayAPI is built in")},
		"each step by its index": {
			`strategy: {canary: {steps: [{setWeight: 1}, {plugin: {name: o}}, {pause: {}}, {plugin: {name: p}}]}}`,
			wants(canaryPath+"steps[1].plugin: does not carry out plugin yet; remove it", canaryPath+"steps[3].plugin: does not carry out plugin yet")},
	} {
		t.Run(name, func(t *testing.T) { check(t, Unsupported(rollout(t, c.patch)), c.want...) })
	}
}

// TestNoFieldSlipsThrough sets one field of the spec after the other: each is
// either in the table or reported by its own name.
func TestNoFieldSlipsThrough(t *testing.T) {
	table := built()
	met := map[string]bool{}
	var visit func(path string, typ reflect.Type, wrap func(reflect.Value) *v1alpha1.Rollout)
	visit = func(path string, typ reflect.Type, wrap func(reflect.Value) *v1alpha1.Rollout) {
		for i := range typ.NumField() {
			f := typ.Field(i)
			name, _ := jsonName(f)
			if name == "" {
				continue
			}
			at := path + "." + name
			met[at] = true
			set := func(v reflect.Value) *v1alpha1.Rollout {
				owner := reflect.New(typ).Elem()
				owner.Field(i).Set(v)
				return wrap(owner)
			}
			errs := Unsupported(set(something(f.Type)))
			names := slices.ContainsFunc(errs, func(e *field.Error) bool {
				return strings.ReplaceAll(e.Field, "[0]", "") == at
			})
			if _, known := table[at]; known == names {
				t.Errorf("%s: in the table: %t, reported: %t (%v)", at, known, names, errs)
			}
			if table[at] == opened {
				inner, open := structIn(f.Type, set)
				visit(at, inner, open)
			}
		}
	}
	visit("spec", reflect.TypeFor[v1alpha1.RolloutSpec](), func(v reflect.Value) *v1alpha1.Rollout {
		return &v1alpha1.Rollout{Spec: v.Interface().(v1alpha1.RolloutSpec)}
	})
	for _, path := range slices.Sorted(maps.Keys(table)) {
		if !met[path] {
			t.Errorf("the table has %s, which is no field", path)
		}
	}
	if len(met) < 40 {
		t.Errorf("only %d fields were met", len(met))
	}
}

// something is a value that is given.
func something(t reflect.Type) reflect.Value {
	v := reflect.New(t).Elem()
	switch t.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(t.Elem()))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(t, 1, 1))
	case reflect.Map:
		v.Set(reflect.MakeMap(t))
		v.SetMapIndex(reflect.Zero(t.Key()), reflect.Zero(t.Elem()))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.String:
		v.SetString("x")
	case reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Struct:
		for i := range t.NumField() {
			if f := something(t.Field(i).Type); f.IsValid() && v.Field(i).CanSet() {
				v.Field(i).Set(f)
			}
		}
	}
	return v
}

// structIn looks through a pointer or list to the struct in it.
func structIn(t reflect.Type, set func(reflect.Value) *v1alpha1.Rollout) (reflect.Type, func(reflect.Value) *v1alpha1.Rollout) {
	switch t.Kind() {
	case reflect.Pointer:
		return t.Elem(), func(v reflect.Value) *v1alpha1.Rollout {
			p := reflect.New(t.Elem())
			p.Elem().Set(v)
			return set(p)
		}
	case reflect.Slice:
		return t.Elem(), func(v reflect.Value) *v1alpha1.Rollout {
			s := reflect.MakeSlice(t, 1, 1)
			s.Index(0).Set(v)
			return set(s)
		}
	}
	return t, set
}
