package decode

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

func TestStrictNamesEveryFault(t *testing.T) {
	cases := map[string]struct {
		document string
		want     []string
	}{
		"a good document":          {"spec:\n  replicas: 3\n", nil},
		"JSON is YAML":             {`{"spec":{"replicas":3}}`, nil},
		"an unknown field":         {"spec:\n  replica: 3\n", []string{"spec.replica: unknown field"}},
		"an unknown field at root": {"specs: {}\n", []string{"specs: unknown field"}},
		"a field in another case":  {"spec:\n  Replicas: 3\n", []string{"spec.Replicas: unknown field"}},
		"an unknown field in a step": {
			"spec:\n  strategy:\n    canary:\n      steps:\n      - setWeight: 5\n      - setWeigth: 5\n",
			[]string{"spec.strategy.canary.steps[1].setWeigth: unknown field"},
		},
		"an unknown field in an inlined struct": {
			"spec:\n  strategy:\n    canary:\n      analysis:\n        startingStep: 1\n        template: x\n",
			[]string{"spec.strategy.canary.analysis.template: unknown field"},
		},
		"free-form configuration knows no unknown fields": {
			"spec:\n  strategy:\n    canary:\n      trafficRouting:\n        plugins:\n          a/b:\n            anything: [1]\n", nil,
		},
		"maps know no unknown keys": {
			"spec:\n  selector:\n    matchLabels:\n      some.key/x: z\n", nil,
		},
		"a malformed quantity": {
			"spec:\n  template:\n    spec:\n      containers:\n      - resources:\n          limits:\n            cpu: one\n",
			[]string{"spec.template.spec.containers[0].resources.limits.cpu: quantities must match the regular expression " +
				"'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"},
		},
		"several faults in the order of their paths": {
			"zzz: 1\nspec:\n  aaa: 1\n", []string{"spec.aaa: unknown field", "zzz: unknown field"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			err := Strict(([]byte)(c.document), &v1alpha1.Rollout{})
			var got []string
			if err != nil {
				got = strings.Split(err.Error(), "\n")
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	if err := Strict([]byte("spec:\n  paused: true\n  paused: false\n"), &v1alpha1.Rollout{}); err == nil {
		t.Error("a duplicate field is accepted")
	}
	if err := Strict([]byte("- a\n"), &v1alpha1.Rollout{}); err == nil {
		t.Error("a list is accepted")
	}
}

func TestStrictKeepsWhatItCan(t *testing.T) {
	var r v1alpha1.Rollout
	err := Strict([]byte("metadata:\n  name: web\nspec:\n  replica: 3\n  paused: true\n"), &r)
	if err == nil || r.Name != "web" || !r.Spec.Paused {
		t.Errorf("%v, %+v", err, r)
	}
}

// refusedManifests are the public manifests that do not decode strictly, and why.
func refusedManifests() map[string]string {
	const (
		misspelt = "spec.metrics[0].provider.kayenta.thresholds: unknown field"
		proposed = "spec.resourcePlugin: unknown field"
		number   = "spec.args[1].value: json: cannot unmarshal number"
	)
	return map[string]string{
		"034.yaml": misspelt,
		"035.yaml": "spec.templates[0].spec: unknown field",
		"036.yaml": misspelt,
		"046.yaml": number,
		"047.yaml": number,
		"060.yaml": `status.pauseConditions[0].startTime: parsing time "2019-10-00T1234"`,
		"080.yaml": proposed,
		"081.yaml": proposed,
		"082.yaml": proposed,
		"083.yaml": proposed,
		"084.yaml": proposed,
	}
}

func TestPublicManifestsDecodeStrictly(t *testing.T) {
	dir := os.Getenv("SLUICE_COMPAT_DIR")
	if dir == "" {
		dir = "../../../shared/compat"
	}
	files, err := filepath.Glob(filepath.Join(dir, "manifests", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Skipf("the public manifests are not at hand: %v", err)
	}
	refused := refusedManifests()
	for _, f := range files {
		name := filepath.Base(f)
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			err = strictDocuments(text)
			switch want := refused[name]; {
			case want == "" && err != nil:
				t.Error(err)
			case want != "" && err == nil:
				t.Errorf("it is accepted, but the list says %q", want)
			case want != "" && !strings.Contains(err.Error(), want):
				t.Errorf("refused for %q, the list says %q", err, want)
			}
		})
	}
}

// strictDocuments decodes the documents of our kinds in a stream.
func strictDocuments(stream []byte) error {
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(stream)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		var head struct{ Kind string }
		if err := yaml.Unmarshal(document, &head); err != nil {
			return err
		}
		if err := strictKind(head.Kind, bytes.TrimSpace(document)); err != nil {
			return err
		}
	}
}

func strictKind(kind string, document []byte) error {
	switch kind {
	case v1alpha1.KindRollout:
		return Strict(document, &v1alpha1.Rollout{})
	case v1alpha1.KindAnalysisRun:
		return Strict(document, &v1alpha1.AnalysisRun{})
	case v1alpha1.KindAnalysisTemplate:
		return Strict(document, &v1alpha1.AnalysisTemplate{})
	case v1alpha1.KindClusterAnalysisTemplate:
		return Strict(document, &v1alpha1.ClusterAnalysisTemplate{})
	case v1alpha1.KindExperiment:
		return Strict(document, &v1alpha1.Experiment{})
	}
	return nil
}
