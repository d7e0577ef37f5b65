package gateway

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOnlyProseIsDropped(t *testing.T) {
	got := map[string]any{
		"description": "prose",
		"properties": map[string]any{
			"description": map[string]any{"type": "string", "description": "prose"},
			"list":        map[string]any{"anyOf": []any{map[string]any{"description": "prose", "type": "object"}}},
		},
	}
	undescribe(got)
	want := map[string]any{
		"properties": map[string]any{
			"description": map[string]any{"type": "string"},
			"list":        map[string]any{"anyOf": []any{map[string]any{"type": "object"}}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestCheckTellsWhatIsNotBuilt(t *testing.T) {
	program := filepath.Join(t.TempDir(), "sluice-traefik")
	if err := Check(program); err == nil || !strings.Contains(err.Error(), "hack/build-dataplane.sh") {
		t.Errorf("no program: %v", err)
	}
	if err := os.WriteFile(program, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Check(program); err == nil || !strings.Contains(err.Error(), "definitions") {
		t.Errorf("no definitions: %v", err)
	}
	if err := os.Mkdir(program+DefinitionsSuffix, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(program+DefinitionsSuffix, "a.yaml"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Check(program); err != nil {
		t.Error(err)
	}
}
