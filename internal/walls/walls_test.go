package walls

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestEveryPackageStaysWithinItsWalls(t *testing.T) {
	list, err := List(root(t))
	if err != nil {
		t.Fatal(err)
	}
	report(t, Imports(list, Rules(), Bans()))
}

func TestTheCodeKeepsItsBudgets(t *testing.T) {
	sources, err := ParseTree(root(t))
	if err != nil {
		t.Fatal(err)
	}
	if len(sources) < 20 {
		t.Fatalf("only %d files found: the check looks in the wrong place", len(sources))
	}
	report(t, Code(sources, Exceptions()))
}

func report(t *testing.T, breaches []Breach) {
	t.Helper()
	for _, b := range breaches {
		t.Error(b)
	}
}

// root is the top of the repository.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// module writes a module with the name of ours and the given files.
func module(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	files["go.mod"] = "module " + Module + "\n\ngo 1.26.0\n"
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestAForbiddenImportIsFoundInARealModule(t *testing.T) {
	clean := "// Package plan is a value.\npackage plan\n\nimport (\n\t\"time\"\n)\n\nconst Day = 24 * time.Hour\n"
	tests := map[string]struct {
		files map[string]string
		want  []string // each in some breach; none at all for an empty list
	}{
		"a core that only computes passes": {
			files: map[string]string{"internal/decide/plan/plan.go": clean},
		},
		"a core package that imports context is named with the reason": {
			files: map[string]string{"internal/decide/plan/plan.go": strings.Replace(clean, `"time"`, "\"time\"\n\t_ \"context\"", 1)},
			want:  []string{"internal/decide/plan: imports context: the decision core is a total, pure function"},
		},
		"observe cannot use act": {
			files: map[string]string{
				"internal/act/act.go":         "package act\n",
				"internal/observe/observe.go": "package observe\n\nimport _ \"" + Module + "/internal/act\"\n",
			},
			want: []string{"internal/observe: imports " + Module + "/internal/act: observe reads through the reader"},
		},
		"a package that no rule names is a breach": {
			files: map[string]string{"internal/stray/stray.go": "package stray\n"},
			want:  []string{"internal/stray: no rule names this package"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			list, err := List(module(t, tt.files))
			if err != nil {
				t.Fatal(err)
			}
			compare(t, Imports(list, Rules(), Bans()), tt.want)
		})
	}
}

// compare wants each text at the start of a breach, and as many breaches.
func compare(t *testing.T, got []Breach, want []string) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%d breaches, want %d: %v", len(got), len(want), got)
	}
	for i := range min(len(got), len(want)) {
		if !strings.HasPrefix(got[i].String(), want[i]) {
			t.Errorf("breach %d is\n  %s\nwant one that starts\n  %s", i, got[i], want[i])
		}
	}
}

func TestForeignImportsAreCheckedDirectlyAndThroughOthers(t *testing.T) {
	std := Package{ImportPath: "context", Standard: true}
	client := Package{ImportPath: "sigs.k8s.io/controller-runtime/pkg/client", Imports: []string{"context"}}
	manager := Package{ImportPath: "sigs.k8s.io/controller-runtime/pkg/manager", Imports: []string{client.ImportPath}}
	between := Package{ImportPath: "k8s.io/apimachinery/pkg/watch", Imports: []string{"k8s.io/client-go/rest"}}
	of := func(name string, imports ...string) []Package {
		return []Package{std, client, manager, between, {ImportPath: "k8s.io/client-go/rest"}, {ImportPath: Module + "/" + name, Imports: imports}}
	}
	tests := map[string]struct {
		list []Package
		want []string
	}{
		"the reader interface is open to observe": {of("internal/observe", client.ImportPath, "context"), nil},
		"the manager is the operator's":           {of("internal/operator", manager.ImportPath), nil},
		"the manager is closed to reconcile, by rule and by ban": {of("internal/reconcile", manager.ImportPath),
			[]string{"internal/reconcile: imports " + manager.ImportPath, "internal/reconcile: reaches " + manager.ImportPath}},
		"a client is closed to the core": {of("internal/decide/rollout", "k8s.io/client-go/rest"),
			[]string{"internal/decide/rollout: imports k8s.io/client-go/rest", "internal/decide/rollout: reaches k8s.io/client-go/rest"}},
		"a client is closed to the types, also behind a package that is open to them": {of("api/v1alpha1", between.ImportPath),
			[]string{"api/v1alpha1: reaches k8s.io/apimachinery/pkg/watch -> k8s.io/client-go/rest"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) { compare(t, Imports(tt.list, Rules(), Bans()), tt.want) })
	}
}

func TestCodeThatBreaksARuleIsFound(t *testing.T) {
	long := "package plan\n\nfunc long() {\n" + strings.Repeat("\t_ = 0\n", maxFunctionLines) + "}\n"
	tests := map[string]struct {
		path, text string
		want       []string
	}{
		"what the core may do passes": {"internal/decide/plan/a.go",
			"// Package plan.\npackage plan\n\nimport \"errors\"\n\nvar errNone = errors.New(\"none\")\n\nfunc f(now time.Time) time.Time { return now.Add(time.Second) }\n", nil},
		"reading the clock": {"internal/decide/plan/a.go", "// Package plan.\npackage plan\n\nfunc f() { _ = time.Now() }\n",
			[]string{"internal/decide/plan/a.go:4: time.Now: the decision core"}},
		"starting a goroutine": {"internal/decide/plan/a.go", "// Package plan.\npackage plan\n\nfunc f() { go f() }\n",
			[]string{"internal/decide/plan/a.go:4: go statement: the decision core"}},
		"the shell may read the clock": {"internal/operator/a.go", "// Package operator.\npackage operator\n\nfunc f() { _ = time.Now() }\n", nil},
		"a variable that can change": {"internal/act/a.go", "// Package act.\npackage act\n\nvar cache = map[string]int{}\n",
			[]string{"internal/act/a.go:4: package variable cache"}},
		"a struct of literals is a constant": {"internal/act/a.go", "// Package act.\npackage act\n\nvar a, b = law{\"1\", 2}, api.Law{ID: \"2\"}\n", nil},
		"a named map is not": {"internal/act/a.go", "// Package act.\npackage act\n\nvar a = table{\"x\": 1}\n",
			[]string{"internal/act/a.go:4: package variable a"}},
		"init": {"internal/act/a.go", "// Package act.\npackage act\n\nfunc init() {}\n", []string{"internal/act/a.go:4: function init"}},
		"a function that is too long, in a package without a comment": {"internal/decide/plan/a.go", long,
			[]string{"internal/decide/plan/a.go:3: function long has 62 lines", "internal/decide/plan: no package comment"}},
		"a file that is too long": {"internal/act/a.go", "// Package act.\npackage act\n" + strings.Repeat("\n", maxFileLines),
			[]string{"internal/act/a.go: 502 lines, more than 500"}},
		"a test file may be longer": {"internal/act/a_test.go", "package act\n" + strings.Repeat("\n", maxFileLines), nil},
		"a wide interface": {"internal/act/a.go", "// Package act.\npackage act\n\ntype wide interface{ A(); B(); C(); D(); E() }\n",
			[]string{"internal/act/a.go:4: interface wide has 5 methods"}},
		"a name that says nothing": {"internal/util/a.go", "// Package util.\npackage util\n", []string{"internal/util/a.go: package util"}},
		"the nested module reaching into this one": {"test/cluster/a.go", "// Package main.\npackage main\n\nimport _ \"" + Module + "/internal/act\"\n",
			[]string{"test/cluster/a.go:4: imports " + Module + "/internal/act: the nested module"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s, err := Parse(tt.path, tt.path, tt.text)
			if err != nil {
				t.Fatal(err)
			}
			compare(t, Code([]Source{s}, nil), tt.want)
		})
	}
}

func TestAnExceptionExcusesWhatItNamesAndNothingElse(t *testing.T) {
	s, err := Parse("internal/act/a.go", "internal/act/a.go", "// Package act.\npackage act\n\nvar a, b int\n")
	if err != nil {
		t.Fatal(err)
	}
	compare(t, Code([]Source{s}, []Exception{{Name: "internal/act a"}, {Name: "internal/act c"}}),
		[]string{"internal/act c: an exception that excuses nothing", "internal/act/a.go:4: package variable b"})
}
