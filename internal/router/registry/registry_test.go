package registry_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-project/sluice/internal/router"
	"github.com/sluice-project/sluice/internal/router/registry"
)

var rewrite = flag.Bool("rewrite", false, "write the table into docs/routers.md")

const (
	page  = "../../../docs/routers.md"
	begin = "<!-- The table is made from the code: make generate -->\n"
	end   = "<!-- End of the table -->\n"
)

func TestDocumentHoldsTheTable(t *testing.T) {
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(data), begin)
	old, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s has no place for the table: it needs the lines %q and %q", page, begin, end)
	}
	adapters := registry.All(router.Options{})
	table := "\n" + registry.Table(adapters) + "\n"
	if *rewrite {
		if err := os.WriteFile(page, []byte(before+begin+table+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if old != table {
		t.Errorf("the table is out of date (-rewrite writes it):\n%s", cmp.Diff(old, table))
	}
	for _, a := range adapters {
		if !strings.Contains(before+after, "\n## "+a.Name+"\n") {
			t.Errorf("%s does not say how to configure %s: it needs a part of that name", page, a.Name)
		}
	}
}

func TestEveryRouterIsListedOnceAndWhole(t *testing.T) {
	names := map[string]bool{}
	for _, a := range registry.All(router.Options{}) {
		if names[a.Name] || names[a.Field] {
			t.Errorf("%s (%s) is listed twice", a.Name, a.Field)
		}
		names[a.Name], names[a.Field] = true, true
		if a.Uses == nil || a.Keys == nil || a.Check == nil || a.Read == nil || a.Write == nil || !a.Has(router.Weights) {
			t.Errorf("%s is not whole", a.Name)
		}
	}
}
