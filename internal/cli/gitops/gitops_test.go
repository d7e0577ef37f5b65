package gitops

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/sluice-project/sluice/internal/cli/session"
)

const manifests = `
apiVersion: v1
kind: Service
metadata: {name: web-stable, namespace: shop}
spec: {selector: {app: web}}
---
apiVersion: v1
kind: Service
metadata: {name: web-canary, namespace: shop}
spec: {selector: {app: web}}
---
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: web, namespace: shop}
spec:
  http:
  - name: primary
    route:
    - {destination: {host: web-stable}, weight: 100}
    - {destination: {host: somebody}, weight: 0}
    - {destination: {host: web-canary}, weight: 0}
---
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: web, namespace: shop}
spec:
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: "r/web:1"}]}}
  strategy:
    canary:
      stableService: web-stable
      canaryService: web-canary
      trafficRouting: {istio: {virtualService: {name: web}}}
      steps: [{setWeight: 20}, {pause: {}}]
`

// documents runs the command and gives its output as YAML documents.
func documents(t *testing.T, output string) []map[string]any {
	t.Helper()
	out := &bytes.Buffer{}
	s := &session.Session{IOStreams: genericclioptions.IOStreams{In: strings.NewReader(manifests), Out: out, ErrOut: out}}
	if err := Run(context.Background(), &Options{Session: s, Files: []string{"-"}, Output: output}); err != nil {
		t.Fatal(err)
	}
	var docs []map[string]any
	for _, text := range strings.Split(out.String(), "---\n")[1:] {
		doc := map[string]any{}
		if err := yaml.UnmarshalStrict([]byte(text), &doc); err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		docs = append(docs, doc)
	}
	return docs
}

func TestArgoCDIgnoresWhatIsWrittenAndNothingElse(t *testing.T) {
	service := func(name string) any {
		return map[string]any{"group": "", "kind": "Service", "name": name, "namespace": "shop", "jsonPointers": []any{
			"/spec/selector/rollouts-pod-template-hash", "/metadata/annotations/argo-rollouts.argoproj.io~1managed-by-rollouts"}}
	}
	want := []map[string]any{{"spec": map[string]any{
		"ignoreDifferences": []any{
			service("web-canary"), service("web-stable"),
			map[string]any{"group": "networking.istio.io", "kind": "VirtualService", "name": "web", "namespace": "shop", "jqPathExpressions": []any{
				`.spec.http[]? | select(.name == "primary") | .route[]? | select(.destination.host == "web-canary" or .destination.host == "web-stable") | .weight`}},
		},
		"syncPolicy": map[string]any{"syncOptions": []any{"RespectIgnoreDifferences=true"}},
	}}}
	if d := cmp.Diff(want, documents(t, argoCD)); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

func TestFluxPatchesReachEveryObjectThatIsWritten(t *testing.T) {
	docs := documents(t, flux)
	spec, _ := docs[0]["spec"].(map[string]any)
	dir := t.TempDir()
	kustomization, err := yaml.Marshal(map[string]any{"resources": []string{"all.yaml"}, "patches": spec["patches"]})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"all.yaml": manifests, "kustomization.yaml": string(kustomization)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, r := range built.Resources() {
		got[r.GetKind()+" "+r.GetName()] = r.GetAnnotations()["kustomize.toolkit.fluxcd.io/ssa"]
	}
	want := map[string]string{"Service web-stable": "IfNotPresent", "Service web-canary": "IfNotPresent", "VirtualService web": "IfNotPresent", "Rollout web": ""}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

func TestHelmReleaseIgnoresByPosition(t *testing.T) {
	spec, _ := documents(t, flux)[1]["spec"].(map[string]any)
	drift, _ := spec["driftDetection"].(map[string]any)
	rules, _ := drift["ignore"].([]any)
	want := map[string]any{"paths": []any{"/spec/http/0/route/0/weight", "/spec/http/0/route/2/weight"},
		"target": map[string]any{"kind": "VirtualService", "name": "web", "namespace": "shop"}}
	if len(rules) != 3 || !cmp.Equal(any(want), rules[2]) {
		t.Errorf("-want +got:\n%s", cmp.Diff([]any{nil, nil, want}, rules))
	}
}

func TestScalarsAreReadAsTheyWereMeant(t *testing.T) {
	for _, text := range []string{"", "web", "1.5", "on", "a b", "it's", `.a[]? | select(.b == "c")`, "/x/y~1z", "0", "1e3", "true", "null", "~", "-"} {
		var got any
		if err := yaml.Unmarshal([]byte(scalar(text)), &got); err != nil || got != any(text) {
			t.Errorf("%q is written as %s and read as %#v (%v)", text, scalar(text), got, err)
		}
	}
}
