package v1alpha1

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// filler gives every field that can be set a value that is not zero. The same
// seed gives the same values.
type filler struct {
	random *rand.Rand
	// quantities says whether quantities get a value.
	quantities bool
}

func newFiller(seed uint64, quantities bool) *filler {
	return &filler{random: rand.New(rand.NewPCG(seed, 1)), quantities: quantities}
}

func (f *filler) number() int64 { return 1 + f.random.Int64N(1<<30) }

func (f *filler) text() string { return fmt.Sprintf("text-%d", f.number()) }

// fill sets v and all that it holds.
func (f *filler) fill(v reflect.Value) {
	if f.special(v) {
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(f.number() % 120)
		if v.IsZero() {
			v.SetInt(1)
		}
	case reflect.Uint8:
		v.SetUint(uint64(f.number()%100) + 1)
	case reflect.String:
		v.SetString(f.text())
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		f.fill(v.Index(0))
		f.fill(v.Index(1))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range 2 {
			key, element := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			f.fill(key)
			f.fill(element)
			v.SetMapIndex(key, element)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				f.fill(v.Field(i))
			}
		}
	default:
		panic(fmt.Sprintf("no value for a %s", v.Type()))
	}
}

// special sets the types whose fields cannot be filled one by one.
func (f *filler) special(v reflect.Value) bool {
	switch p := v.Addr().Interface().(type) {
	case *metav1.Time:
		*p = metav1.Unix(1_700_000_000+f.number()%1_000_000, 0)
	case *intstr.IntOrString:
		*p = intstr.FromInt32(int32(f.number()%100) + 1)
		if f.random.IntN(2) == 0 {
			*p = intstr.FromString(f.text())
		}
	case *resource.Quantity:
		if f.quantities {
			*p = *resource.NewMilliQuantity(f.number(), resource.DecimalSI)
		}
	case *json.RawMessage:
		*p = json.RawMessage(fmt.Sprintf(`{"n":%d}`, f.number()))
	case *metav1.FieldsV1:
		p.SetRawBytes([]byte(`{"f:spec":{}}`))
	case *[]UndecodedField:
		// Never leaves the process.
	default:
		return false
	}
	return true
}

// filled returns a filled value of any type.
func filled[T any](seed uint64, quantities bool) *T {
	v := new(T)
	newFiller(seed, quantities).fill(reflect.ValueOf(v).Elem())
	return v
}

// sameValues compares times and quantities by what they mean.
func sameValues() cmp.Options {
	return cmp.Options{
		cmp.Comparer(func(a, b metav1.Time) bool { return a.Time.Equal(b.Time) }),
		cmp.Comparer(func(a, b time.Time) bool { return a.Equal(b) }),
		cmp.Comparer(func(a, b resource.Quantity) bool { return a.Cmp(b) == 0 }),
	}
}
