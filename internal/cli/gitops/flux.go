package gitops

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

// kustomization writes the rules for a Flux Kustomization.
func (f *owned) kustomization(b *strings.Builder) {
	comment(b, "Flux, for objects of a Kustomization. Flux writes all fields that Git has, so it has to be told object by object "+
		"to create it and leave it alone from then on. What you change in Git afterwards you apply by hand.")
	started := false
	for _, o := range f.objects {
		if len(o.parts) == 0 || o.key.Kind == v1alpha1.KindRollout {
			continue
		}
		if !started {
			b.WriteString("spec:\n  patches:\n")
			started = true
		}
		b.WriteString("  - target:\n")
		if o.key.Group != "" {
			fmt.Fprintf(b, "      group: %s\n", scalar(o.key.Group))
		}
		fmt.Fprintf(b, "      kind: %s\n      name: %s\n", o.key.Kind, scalar(o.key.Name))
		if o.key.Namespace != "" {
			fmt.Fprintf(b, "      namespace: %s\n", scalar(o.key.Namespace))
		}
		fmt.Fprintf(b, "    patch: |\n      apiVersion: %s\n      kind: %s\n      metadata:\n        name: %s\n", o.key.GroupVersion(), o.key.Kind, scalar(o.key.Name))
		b.WriteString("        annotations:\n          kustomize.toolkit.fluxcd.io/ssa: IfNotPresent\n")
	}
	if slices.ContainsFunc(f.objects, func(o object) bool { return o.key.Kind == v1alpha1.KindRollout }) {
		comment(b, "An autoscaler scales the Rollout: take spec.replicas out of its manifest. Flux then leaves it alone.")
	}
	comment(b, "Narrower, where your Flux has ignore rules for Kustomizations (kubectl explain kustomization.spec.ignore "+
		"tells): put the list that stands below under driftDetection.ignore under spec.ignore in place of these patches.")
}

// helmRelease writes the rules for a Flux HelmRelease.
func (f *owned) helmRelease(b *strings.Builder) {
	comment(b, "Flux, for objects of a HelmRelease. Paths go by position: print them again when you reorder a list. An upgrade of "+
		"the release still writes the lists of the chart; the controller puts its fields right at its next look.")
	b.WriteString("spec:\n  driftDetection:\n    mode: enabled\n    ignore:\n")
	for _, o := range f.objects {
		if len(o.parts) == 0 {
			continue
		}
		var paths []part
		var unplaced []string
		seen := map[string]bool{}
		for _, p := range o.parts {
			fresh := part{what: p.what}
			for _, at := range p.pointers {
				if !seen[at] {
					seen[at] = true
					fresh.pointers = append(fresh.pointers, at)
				}
			}
			switch {
			case len(p.pointers) == 0:
				unplaced = append(unplaced, p.what)
			case len(fresh.pointers) > 0:
				paths = append(paths, fresh)
			}
		}
		for _, what := range unplaced {
			comment(b, fmt.Sprintf("%s could not be looked at, so there is no path for: %s", o.key, what))
		}
		if len(paths) == 0 {
			continue
		}
		b.WriteString("    - paths:\n")
		for _, p := range paths {
			item(b, "      ", p.what, p.pointers...)
		}
		fmt.Fprintf(b, "      target:\n        kind: %s\n        name: %s\n", o.key.Kind, scalar(o.key.Name))
		if o.key.Namespace != "" {
			fmt.Fprintf(b, "        namespace: %s\n", scalar(o.key.Namespace))
		}
	}
}
