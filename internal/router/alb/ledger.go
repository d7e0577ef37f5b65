package alb

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

// ledgerKey is the annotation in which an Ingress says which of its annotations
// belong to which Rollout: a JSON object of lists of keys by name of the Rollout.
const ledgerKey = v1alpha1.AnnotationManagedALB

type ledger []member

func parseLedger(text string) ledger {
	list, _ := members(text)
	return list
}

// of are the annotations of a Rollout.
func (l ledger) of(rollout string) []string {
	var list []string
	for _, m := range l {
		if m.name != rollout {
			continue
		}
		var keys []string
		if json.Unmarshal([]byte(m.value), &keys) == nil {
			list = append(list, keys...)
		}
	}
	return list
}

// holder is another Rollout that has the annotation, or nothing.
func (l ledger) holder(key, but string) string {
	for _, m := range l {
		if m.name != but && slices.Contains(l.of(m.name), key) {
			return m.name
		}
	}
	return ""
}

// with is the ledger with other annotations of a Rollout, empty where nobody has
// any. The entries of others stay as they were written.
func (l ledger) with(rollout string, keys []string) string {
	entry := func() member {
		texts := make([]string, len(keys))
		for i, k := range keys {
			texts[i] = quote(k)
		}
		return member{rollout, "[" + strings.Join(texts, ",") + "]"}
	}
	var list []member
	placed := len(keys) == 0
	for _, m := range l {
		switch {
		case m.name != rollout:
			list = append(list, m)
		case !placed:
			list = append(list, entry())
			placed = true
		}
	}
	if !placed {
		list = append(list, entry())
	}
	if len(list) == 0 {
		return ""
	}
	return object(list)
}

func sameKeys(a, b []string) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b)
}
