package registry

import (
	"fmt"
	"strings"

	"github.com/sluice-project/sluice/internal/router"
)

// trait is a feature as the table for users names it.
type trait struct {
	feature router.Feature
	title   string
}

func traits() []trait {
	return []trait{
		{router.Weights, "share for the canary"},
		{router.MaxWeight, "`maxTrafficWeight`"},
		{router.SeveralEntrances, "several routes or rules"},
		{router.HeaderExact, "header routes, `exact`"},
		{router.HeaderPrefix, "header routes, `prefix`"},
		{router.HeaderRegex, "header routes, `regex`"},
		{router.Mirrors, "mirror routes"},
		{router.Experiments, "weights for experiments"},
		{router.Subsets, "subsets of its own"},
		{router.PingPong, "`pingPong`"},
		{router.Acknowledges, "tells whether a change is live"},
		{router.ForeignBackends, "other destinations are kept"},
		{router.Creates, "makes objects of its own"},
		{router.StableAlwaysServes, "serves nobody once stable has no pod"},
	}
}

// Table is a Markdown table of the features of adapters: a row for each feature,
// a column for each adapter.
func Table(adapters []router.Adapter) string {
	var b strings.Builder
	b.WriteString("| |")
	for _, a := range adapters {
		fmt.Fprintf(&b, " %s |", a.Name)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(adapters)) + "\n")
	for _, t := range traits() {
		fmt.Fprintf(&b, "| %s |", t.title)
		for _, a := range adapters {
			if a.Has(t.feature) {
				b.WriteString(" yes |")
			} else {
				b.WriteString(" - |")
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}
