package v1alpha1

import (
	"bufio"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// contractFile opens a file of the wire contract, or skips the test.
func contractFile(t *testing.T, name string) *os.File {
	t.Helper()
	dir := os.Getenv("SLUICE_COMPAT_DIR")
	if dir == "" {
		dir = "../../../shared/compat"
	}
	f, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		t.Skipf("the wire contract is not at hand: %v", err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// Plugins match fields by their Go names, so names and types are part of the wire.
func TestGoNamesAreThoseOfTheContract(t *testing.T) {
	types := map[string]reflect.Type{}
	for _, root := range []any{
		RolloutList{}, AnalysisRunList{}, AnalysisTemplateList{}, ClusterAnalysisTemplateList{}, ExperimentList{},
	} {
		collectTypes(reflect.TypeOf(root), types)
	}
	lines := bufio.NewScanner(contractFile(t, "gonames.tsv"))
	rows := 0
	for lines.Scan() {
		cols := strings.Split(lines.Text(), "\t")
		if len(cols) != 4 {
			t.Fatalf("row %q has %d columns", lines.Text(), len(cols))
		}
		if cols[0] == "type" {
			continue
		}
		rows++
		checkGoName(t, types[cols[0]], cols)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	if rows < 500 {
		t.Errorf("only %d rows were read", rows)
	}
}

func checkGoName(t *testing.T, typ reflect.Type, cols []string) {
	t.Helper()
	name, field, want, tag := cols[0], cols[1], cols[2], cols[3]
	switch {
	case typ == nil:
		t.Errorf("no type %s", name)
		return
	case field == "":
		if typ.Kind().String() != strings.TrimPrefix(want, "= ") {
			t.Errorf("%s is a %s, want %s", name, typ.Kind(), want)
		}
		return
	}
	if i := strings.LastIndex(field, "."); i >= 0 {
		field = field[i+1:]
	}
	f, ok := typ.FieldByName(field)
	if !ok || len(f.Index) != 1 {
		t.Errorf("%s has no field %s", name, field)
		return
	}
	if embedded := want == "(embedded)" || want == ""; embedded != f.Anonymous {
		t.Errorf("%s.%s: embedded is %v", name, field, f.Anonymous)
	} else if have := contractName(f.Type); !embedded && have != strings.ReplaceAll(want, "intstrutil.", "intstr.") {
		t.Errorf("%s.%s is a %s, want %s", name, field, have, want)
	}
	if f.Tag.Get("json") != tag {
		t.Errorf("%s.%s has tag %q, want %q", name, field, f.Tag.Get("json"), tag)
	}
}

// collectTypes finds the named types of this package below a type.
func collectTypes(typ reflect.Type, into map[string]reflect.Type) {
	if typ.PkgPath() == reflect.TypeOf(Rollout{}).PkgPath() {
		if into[typ.Name()] != nil {
			return
		}
		into[typ.Name()] = typ
	}
	switch typ.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		collectTypes(typ.Elem(), into)
	case reflect.Struct:
		if strings.HasPrefix(typ.PkgPath(), "k8s.io/") {
			return
		}
		for i := range typ.NumField() {
			collectTypes(typ.Field(i).Type, into)
		}
	}
}

// contractName writes a type as the contract does.
func contractName(t reflect.Type) string {
	switch {
	case t.Name() != "":
		return contractPackage(t) + t.Name()
	case t.Kind() == reflect.Pointer:
		return "*" + contractName(t.Elem())
	case t.Kind() == reflect.Slice:
		return "[]" + contractName(t.Elem())
	case t.Kind() == reflect.Map:
		return "map[" + contractName(t.Key()) + "]" + contractName(t.Elem())
	}
	return t.String()
}

func contractPackage(t reflect.Type) string {
	api := regexp.MustCompile(`^k8s\.io/(?:api/([a-z]+)/v1|apimachinery/pkg/apis/(meta)/v1)$`)
	switch m := api.FindStringSubmatch(t.PkgPath()); {
	case m != nil:
		return m[1] + m[2] + "v1."
	case t.PkgPath() == "" || t.PkgPath() == reflect.TypeOf(Rollout{}).PkgPath():
		return ""
	}
	return t.PkgPath()[strings.LastIndex(t.PkgPath(), "/")+1:] + "."
}
