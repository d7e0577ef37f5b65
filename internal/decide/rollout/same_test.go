package rollout

import (
	"reflect"
	"testing"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

// TestEveryFieldOfAStatusIsCompared changes each field of a status and of a
// record, one at a time.
func TestEveryFieldOfAStatusIsCompared(t *testing.T) {
	empty := func() *v1alpha1.RolloutStatus { return &v1alpha1.RolloutStatus{Progress: &v1alpha1.RolloutProgress{}} }
	if !sameStatus(empty(), empty()) {
		t.Error("equal statuses are not the same")
	}
	fields := func(v func(*v1alpha1.RolloutStatus) reflect.Value) {
		for i := range v(empty()).NumField() {
			next := empty()
			f := v(next).Field(i)
			if f.Type() == reflect.TypeFor[*v1alpha1.RolloutProgress]() {
				f.SetZero()
			} else {
				change(f)
			}
			if name := v(next).Type().Field(i).Name; sameStatus(empty(), next) || sameStatus(next, empty()) {
				t.Errorf("%s is not compared", name)
			} else if !sameStatus(next, next.DeepCopy()) {
				t.Errorf("a copy with another %s is not the same", name)
			}
		}
	}
	fields(func(s *v1alpha1.RolloutStatus) reflect.Value { return reflect.ValueOf(s).Elem() })
	fields(func(s *v1alpha1.RolloutStatus) reflect.Value { return reflect.ValueOf(s.Progress).Elem() })
	fields(func(s *v1alpha1.RolloutStatus) reflect.Value { return reflect.ValueOf(&s.Canary).Elem() })
	fields(func(s *v1alpha1.RolloutStatus) reflect.Value { return reflect.ValueOf(&s.BlueGreen).Elem() })
}

// change gives a value another one than zero.
func change(f reflect.Value) {
	switch f.Kind() {
	case reflect.Pointer:
		f.Set(reflect.New(f.Type().Elem()))
		if f.Elem().Kind() != reflect.Struct {
			change(f.Elem())
		}
	case reflect.Slice:
		f.Set(reflect.MakeSlice(f.Type(), 1, 1))
	case reflect.String:
		f.SetString("x")
	case reflect.Bool:
		f.SetBool(true)
	case reflect.Int32, reflect.Int64:
		f.SetInt(7)
	case reflect.Struct:
		change(f.Field(0))
	}
}
