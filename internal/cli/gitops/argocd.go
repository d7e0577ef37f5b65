package gitops

import (
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"
)

// argo writes the rules for an Application.
func (f *owned) argo(b *strings.Builder) {
	comment(b, "Argo CD: into the Application that holds these objects.")
	comment(b, "ignoreDifferences keeps it in sync; without RespectIgnoreDifferences a sync would still write the fields.")
	if f.inLists() {
		comment(b, "A sync takes a list that holds an ignored entry from the cluster as a whole. What you change in such a list in Git "+
			"shows as a difference and is not written: apply it once with a sync without the option, between two releases.")
	}
	b.WriteString("spec:\n  ignoreDifferences:\n")
	for _, o := range f.objects {
		if len(o.parts) == 0 {
			continue
		}
		fmt.Fprintf(b, "  - group: %s\n    kind: %s\n    name: %s\n", scalar(o.key.Group), o.key.Kind, scalar(o.key.Name))
		if o.key.Namespace != "" {
			fmt.Fprintf(b, "    namespace: %s\n", scalar(o.key.Namespace))
		}
		started := false
		for _, p := range o.parts {
			if p.jq != "" {
				continue
			}
			if !started {
				b.WriteString("    jsonPointers:\n")
				started = true
			}
			item(b, "    ", p.what, p.pointers...)
		}
		started = false
		for _, p := range o.parts {
			if p.jq == "" {
				continue
			}
			if !started {
				b.WriteString("    jqPathExpressions:\n")
				started = true
			}
			item(b, "    ", p.what, p.jq)
		}
	}
	b.WriteString("  syncPolicy:\n    syncOptions:\n    - RespectIgnoreDifferences=true\n")
}

// inLists tells whether a part of a list is written.
func (f *owned) inLists() bool {
	for _, o := range f.objects {
		for _, p := range o.parts {
			if p.jq != "" {
				return true
			}
		}
	}
	return false
}

// item is an entry of a list, with what it is above it.
func item(b *strings.Builder, indent, what string, values ...string) {
	fmt.Fprintf(b, "%s# %s\n", indent, what)
	for _, v := range values {
		fmt.Fprintf(b, "%s- %s\n", indent, scalar(v))
	}
}

// scalar is a text as YAML has it: bare where that reads as the same text.
func scalar(s string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-./~_"
	var read any
	if strings.Trim(s, plain) == "" && yaml.Unmarshal([]byte(s), &read) == nil && read == any(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", "''") + "'"
}
