package registry_test

import (
	"encoding/json"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/metric"
	"github.com/sluice-project/sluice/internal/metric/registry"
	"github.com/sluice-project/sluice/internal/metric/wire"
)

var rewrite = flag.Bool("rewrite", false, "write the table into docs/analysis/providers.md")

const (
	page  = "../../../docs/analysis/providers.md"
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
	table := "\n" + registry.Table(registry.All()) + "\n"
	if *rewrite {
		if err := os.WriteFile(page, []byte(before+begin+table+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if old != table {
		t.Errorf("the table is out of date (-rewrite writes it):\n%s", cmp.Diff(old, table))
	}
	for _, name := range registry.Built() {
		if !strings.Contains(before+after, "\n## "+name+"\n") {
			t.Errorf("%s does not say how to configure %s: it needs a part of that name", page, name)
		}
	}
	for _, name := range metric.Known() {
		if !slices.Contains(registry.Built(), name) && !strings.Contains(before+after, "`"+name+"`") {
			t.Errorf("%s does not say that %s is not built in", page, name)
		}
	}
}

func TestTableShowsEveryFeature(t *testing.T) {
	all := registry.Table([]registry.Entry{{Name: "all", Features: metric.Features()}})
	if strings.Contains(all, " - |") || strings.Count(all, " yes |") != len(metric.Features()) {
		t.Errorf("the table of a provider that can do everything:\n%s", all)
	}
}

func TestOneProviderAnswersForAMetricOrNone(t *testing.T) {
	r := registry.New(registry.Options{HTTP: wire.New(wire.Options{})})
	built := map[string]bool{}
	for _, name := range registry.Built() {
		built[name] = true
	}
	for _, name := range metric.Known() {
		var m v1alpha1.MetricProvider
		if err := json.Unmarshal([]byte(`{"`+name+`":{}}`), &m); err != nil {
			t.Fatal(err)
		}
		if got := metric.Name(m); got != name {
			t.Errorf("the metric of %s is one of %q", name, got)
		}
		p, err := r.For(m)
		switch {
		case built[name] && (err != nil || p == nil):
			t.Errorf("%s: %v", name, err)
		case !built[name] && (err == nil || !strings.Contains(err.Error(), name)):
			t.Errorf("%s, which is not built in: %v, %v", name, p, err)
		}
	}
	if _, err := r.For(v1alpha1.MetricProvider{}); err == nil {
		t.Error("a metric without a provider has one")
	}
}
