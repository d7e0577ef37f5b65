package integration

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

// refused are the published example manifests that are not whole, each with a
// word of the API server's reason. All others must be accepted.
func refused() map[string]string {
	const unknown, missing = "unknown field", "Required value"
	return map[string]string{
		"033.yaml": missing, "034.yaml": unknown, "035.yaml": unknown, "036.yaml": unknown,
		"046.yaml": "Invalid value", "047.yaml": "Invalid value", "048.yaml": "RFC 1123", "049.yaml": "RFC 1123",
		"054.yaml": missing, "060.yaml": unknown, "062.yaml": missing, "063.yaml": missing, "065.yaml": missing,
		"080.yaml": unknown, "081.yaml": unknown, "082.yaml": unknown, "083.yaml": unknown, "084.yaml": unknown,
	}
}

// testManifests sends every published example manifest to the API server, with
// strict field validation and without storing it.
func (c *cluster) testManifests(t *testing.T) {
	dir := os.Getenv("SLUICE_COMPAT_DIR")
	if dir == "" {
		t.Skip("SLUICE_COMPAT_DIR is not set: there are no example manifests")
	}
	files, err := filepath.Glob(filepath.Join(dir, "manifests", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no manifests in %s: %v", dir, err)
	}
	want, accepted := refused(), 0
	for _, file := range files {
		name := filepath.Base(file)
		err := c.dryRun(t, file)
		switch reason, no := want[name]; {
		case no && err == nil:
			t.Errorf("%s is accepted; it was refused for %q", name, reason)
		case no && !strings.Contains(err.Error(), reason):
			t.Errorf("%s is refused, but not for %q: %v", name, reason, err)
		case !no && err != nil:
			t.Errorf("%s is refused: %v", name, err)
		case !no:
			accepted++
		}
	}
	t.Logf("%d of %d files are accepted whole", accepted, len(files))
}

// dryRun creates the objects of our kinds in a file without storing them, and
// gives the first refusal.
func (c *cluster) dryRun(t *testing.T, file string) error {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	docs := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for {
		doc, err := docs.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		obj := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(doc, &obj.Object); err != nil {
			return err
		}
		if obj.GroupVersionKind().Group != v1alpha1.GroupVersion.Group {
			continue
		}
		if obj.GetKind() != v1alpha1.KindClusterAnalysisTemplate {
			obj.SetNamespace("default")
		}
		if obj.GetName() == "" && obj.GetGenerateName() == "" {
			obj.SetName("part") // a part of an example, for a reader to name
		}
		err = c.client.Create(t.Context(), obj, client.DryRunAll, client.FieldValidation(metav1.FieldValidationStrict))
		if err != nil {
			return err
		}
	}
}
