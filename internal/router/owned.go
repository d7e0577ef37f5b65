package router

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

// Field is a part of an object that the release writes while the rollout names
// the router, and that others who write the object have to leave alone.
type Field struct {
	Object Key
	// What says what it is, for a person.
	What string
	// Pointer is the part as a JSON pointer (RFC 6901) in the object as it was
	// read; where entries of a list come and go, it is the list. It is empty for a
	// part of a list in an object that was not read.
	Pointer string
	// JQ is the same part by names in place of positions, as jq's del() takes it:
	// set for what lies in a list, where a position does not last.
	JQ string
	// Whole is set for an object that the release makes itself; the two above are
	// then empty.
	Whole bool
}

// Pointer is a JSON pointer to what lies below the path.
func Pointer(path ...any) string {
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	var b strings.Builder
	for _, p := range path {
		b.WriteByte('/')
		switch x := p.(type) {
		case int:
			b.WriteString(strconv.Itoa(x))
		default:
			b.WriteString(escape.Replace(fmt.Sprint(x)))
		}
	}
	return b.String()
}

// AnnotationField is an annotation of an object.
func AnnotationField(k Key, name, what string) Field {
	return Field{Object: k, What: what, Pointer: Pointer("metadata", "annotations", name)}
}

// ManagedByField is the mark that says which rollout manages an object.
func ManagedByField(k Key) Field {
	return AnnotationField(k, v1alpha1.AnnotationManagedBy, "the mark of the rollout that manages it")
}

// WholeField is an object of the release's own.
func WholeField(k Key, what string) Field { return Field{Object: k, What: what, Whole: true} }

// Quoted is a text as jq has it.
func Quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil { // a string always encodes
		return `""`
	}
	return string(b)
}

// Selecting is jq's select for entries of which a field has one of the values,
// each once and sorted.
func Selecting(field string, values ...string) string {
	values = slices.Clone(values)
	slices.Sort(values)
	var terms []string
	for _, v := range slices.Compact(values) {
		terms = append(terms, field+" == "+Quoted(v))
	}
	return "select(" + strings.Join(terms, " or ") + ")"
}

// Both names two Services for a person.
func (r Roles) Both() string { return r.StableService + " and " + r.CanaryService }

// WeightFields is one field for each entry of a list that is the release's, or
// the field without a place where none is: the list lies at the path of the
// object.
func WeightFields(f Field, list []any, ours func(entry map[string]any) bool, path ...any) []Field {
	var fields []Field
	for i, item := range list {
		if entry := Map(item); entry != nil && ours(entry) {
			f.Pointer = Pointer(append(slices.Clone(path), i, "weight")...)
			fields = append(fields, f)
		}
	}
	if len(fields) == 0 {
		return []Field{f}
	}
	return fields
}

// Object is the content of an object that was read, nil for none.
func (in Input) Object(k Key) map[string]any {
	if obj := in.Objects[k]; obj != nil {
		return obj.Object
	}
	return nil
}
