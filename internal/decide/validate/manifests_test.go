package validate

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/util/yaml"
)

// refused are documents that describe rather than work, with the field that is
// wrong with each.
func refused() map[string][]string {
	const resourcePlugin = "spec.resourcePlugin" // a proposal that was never built
	return map[string][]string{
		"060.yaml": {"spec.strategy.strategy", canaryPath + "steps[6].replicaProgressThreshold"},
		"064.yaml": {canaryPath + "trafficRouting.alb.rootService"},
		"080.yaml": {"spec.workloadRef", resourcePlugin},
		"081.yaml": {"spec.workloadRef", resourcePlugin, "spec.strategy.blueGreen.analysis"},
		"082.yaml": {"spec.workloadRef", resourcePlugin},
		"083.yaml": {resourcePlugin},
		"084.yaml": {resourcePlugin},
	}
}

// TestPublishedManifestsAreAccepted reads every Rollout of the folders below
// SLUICE_COMPAT_DIR: none may be refused that is meant to work.
func TestPublishedManifestsAreAccepted(t *testing.T) {
	dir := os.Getenv("SLUICE_COMPAT_DIR")
	if dir == "" {
		t.Skip("SLUICE_COMPAT_DIR names no folder of published manifests")
	}
	seen := 0
	for _, sub := range []string{"manifests", "seed"} {
		files, err := filepath.Glob(filepath.Join(dir, sub, "*.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			t.Run(sub+"/"+filepath.Base(file), func(t *testing.T) {
				for _, raw := range documents(t, file) {
					if raw["kind"] != "Rollout" || !isWhole(raw) {
						continue
					}
					seen++
					check(t, append(Rollout(decode(t, raw)), Strict(raw)...), refused()[filepath.Base(file)]...)
				}
			})
		}
	}
	if seen < 25 {
		t.Errorf("only %d Rollouts were found", seen)
	}
}

// isWhole tells a manifest from a part of one, as it stands in documentation.
func isWhole(raw map[string]any) bool {
	spec, _ := raw["spec"].(map[string]any)
	if spec["workloadRef"] != nil {
		return true
	}
	template, _ := spec["template"].(map[string]any)
	pod, _ := template["spec"].(map[string]any)
	return spec["selector"] != nil && pod["containers"] != nil
}

func documents(t *testing.T, file string) []map[string]any {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all []map[string]any
	for d := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(b), 4096); ; {
		raw := map[string]any{}
		err := d.Decode(&raw)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, raw)
	}
}
