package validate

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

func one(e *field.Error) field.ErrorList { return field.ErrorList{e} }

func say(format string, args ...any) string { return fmt.Sprintf(format, args...) }

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func atLeast[N int32 | int64](p *field.Path, v, low N) field.ErrorList {
	if v >= low {
		return nil
	}
	return one(field.Invalid(p, v, say("is too small; use %d or more", low)))
}

func atLeastPtr(p *field.Path, v *int32, low int32) field.ErrorList {
	if v == nil {
		return nil
	}
	return atLeast(p, *v, low)
}

func within[N int32 | int64](p *field.Path, v, low, high N) field.ErrorList {
	if v >= low && v <= high {
		return nil
	}
	return one(field.Invalid(p, v, say("is out of range; use %d to %d", low, high)))
}

// share judges maxSurge or maxUnavailable. A bare number as text is a percentage.
func share(p *field.Path, v *intstr.IntOrString) field.ErrorList {
	if v == nil {
		return nil
	}
	n, ok := amount(v1alpha1.MaxSurgeOrDefault(v))
	switch {
	case !ok:
		return one(field.Invalid(p, v.String(), `is neither a number of pods nor a percentage; use a value such as 2 or "25%"`))
	case n < 0:
		return one(field.Invalid(p, v.String(), "is negative; use 0 or more"))
	}
	return nil
}

// amount is the number in v, of pods or of percent.
func amount(v intstr.IntOrString) (int, bool) {
	if v.Type == intstr.Int {
		return int(v.IntVal), true
	}
	digits, isPercent := strings.CutSuffix(v.StrVal, "%")
	n, err := strconv.Atoi(digits)
	return n, isPercent && err == nil && n <= math.MaxInt32
}

func isZero(v intstr.IntOrString) bool {
	n, ok := amount(v)
	return ok && n == 0
}

const (
	labelKeyForm   = "use at most 63 letters, digits, '-', '_' or '.' that begin and end with a letter or digit, if need be behind a DNS name and '/'"
	labelValueForm = "use nothing, or at most 63 letters, digits, '-', '_' or '.' that begin and end with a letter or digit"
	dnsLabelForm   = "use at most 63 lowercase letters, digits or '-' that begin and end with a letter or digit"
)

func labels(p *field.Path, m map[string]string) field.ErrorList {
	var errs field.ErrorList
	for _, k := range sorted(m) {
		errs = append(errs, labelKey(p, k)...)
		errs = append(errs, labelValue(p.Key(k), m[k])...)
	}
	return errs
}

func labelKey(p *field.Path, k string) field.ErrorList {
	if len(validation.IsQualifiedName(k)) == 0 {
		return nil
	}
	return one(field.Invalid(p, k, "is no label key; "+labelKeyForm))
}

func labelValue(p *field.Path, v string) field.ErrorList {
	if len(validation.IsValidLabelValue(v)) == 0 {
		return nil
	}
	return one(field.Invalid(p, v, "is no label value; "+labelValueForm))
}

// annotationBytes is what Kubernetes stores at most on one object.
const annotationBytes = 256 << 10

func annotations(p *field.Path, m map[string]string) field.ErrorList {
	var errs field.ErrorList
	size := 0
	for _, k := range sorted(m) {
		size += len(k) + len(m[k])
		if len(validation.IsQualifiedName(strings.ToLower(k))) > 0 {
			errs = append(errs, field.Invalid(p, k, "is no annotation key; "+labelKeyForm))
		}
	}
	if size > annotationBytes {
		errs = append(errs, field.Invalid(p, say("%d bytes", size), say("are too many; use at most %d in all", annotationBytes)))
	}
	return errs
}

func dnsLabel(p *field.Path, name string) field.ErrorList {
	switch {
	case name == "":
		return one(field.Required(p, "a name is needed; "+dnsLabelForm))
	case len(validation.IsDNS1123Label(name)) > 0:
		return one(field.Invalid(p, name, "is no DNS label; "+dnsLabelForm))
	}
	return nil
}

// unique reports a name that was seen before. The empty name is another error.
func unique(p *field.Path, name string, seen map[string]bool, of string) field.ErrorList {
	if name == "" || !seen[name] {
		seen[name] = true
		return nil
	}
	return one(field.Invalid(p, name, say("is the name of two %s; give each a name of its own", of)))
}

func duration(p *field.Path, s v1alpha1.DurationString) field.ErrorList {
	d, err := s.Duration()
	switch {
	case err != nil:
		return one(field.Invalid(p, string(s), `is no duration; use a value with a unit such as "90s" or "1h30m"`))
	case d < 0:
		return one(field.Invalid(p, string(s), "is negative; use 0s or more"))
	}
	return nil
}

func inGroup(apiVersion, group string) bool {
	g, v, ok := strings.Cut(apiVersion, "/")
	if !ok {
		g, v = "", apiVersion
	}
	return g == group && v != ""
}

func count(facts ...bool) int {
	n := 0
	for _, f := range facts {
		if f {
			n++
		}
	}
	return n
}
