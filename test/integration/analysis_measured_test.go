package integration

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/hack/install"
	"github.com/sluice-project/sluice/internal/command"
	"github.com/sluice-project/sluice/internal/simulate/script"
	"github.com/sluice-project/sluice/test/controlplane"
)

// TestMeasured takes example manifests with analyses through releases that a real
// Prometheus measures.
//
// What is real: the API server, the controller's program, Prometheus, the pods'
// HTTP servers and their counters, and every request. What is not: of Istio there
// are only the objects. In its place the test reads the weights of the
// VirtualService, whenever they change, and sends requests accordingly through a
// gateway to the Services that it names (type mesh). Requests for stable enter no
// query and are thinned to a tenth.
//
// The manifests are as published but for the address of Prometheus and for time:
// what they give in minutes, the ranges of queries too, passes twelve times as
// fast. The number of requests that they ask for is as written.
func TestMeasured(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: no control plane")
	}
	dir := os.Getenv("SLUICE_COMPAT_DIR")
	if dir == "" {
		t.Skip("SLUICE_COMPAT_DIR is not set: no example manifests")
	}
	plane := controlplane.StartMeasured(t)
	m := &measured{cluster: installed(t, plane), plane: plane, seeds: filepath.Join(dir, "seed")}
	for _, k := range routeKinds[:2] { // Istio's; those of the gateway are there
		if err := client.IgnoreAlreadyExists(m.client.Create(t.Context(), definition(k))); err != nil {
			t.Fatal(err)
		}
	}
	m.start(t, newRecorder(t, m.config, install.User))
	// One after the other: some queries name no namespace.
	t.Run("checkout", m.testCheckout)
	t.Run("api", m.testAPI)
}

// measured is a cluster whose pods a Prometheus measures.
type measured struct {
	*cluster
	plane controlplane.Cluster
	seeds string
}

// faster is by how much time passes faster than manifests have it.
const faster = 12

// read gives example manifests at the test's pace, asking Prometheus at an
// address.
func (m *measured) read(t *testing.T, address string, files ...string) string {
	t.Helper()
	var all []string
	for _, file := range files {
		data, err := os.ReadFile(filepath.Join(m.seeds, file))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(data))
	}
	text := regexp.MustCompile(`(interval: |duration: |\[)(\d+)m\b`).ReplaceAllStringFunc(strings.Join(all, "\n---\n"), func(s string) string {
		at := strings.IndexAny(s, "0123456789")
		minutes, _ := strconv.Atoi(s[at : len(s)-1]) // the pattern's
		return s[:at] + strconv.Itoa(minutes*60/faster) + "s"
	})
	return strings.NewReplacer("https://prometheus.example.invalid", address, "http://prometheus.monitoring:9090", address).Replace(text)
}

// outcome is how a release ends, by its one step of analysis that decides.
type outcome struct {
	phase v1alpha1.AnalysisPhase
	// says are parts of the run's message, or of its metrics'.
	says []string
}

// testCheckout makes one release for each way in which the analysis can end.
func (m *measured) testCheckout(t *testing.T) {
	const manifests, template = "checkout-istio.yaml", "checkout-slo.yaml"
	t.Run("with requests", func(t *testing.T) {
		t.Parallel()
		ns := m.namespace(t, "checkout")
		ro := m.first(t, ns, m.read(t, m.plane.Prometheus, template, manifests))
		m.entrance(t, ns, "canary", "checkout-canary")
		m.entrance(t, ns, "stable", "checkout-stable")
		t.Run("answers of the business that are errors fail it", func(t *testing.T) {
			m.refused(t, ro, 600, "errors=5", outcome{v1alpha1.AnalysisPhaseFailed,
				[]string{`Metric "success-rate" assessed Failed due to failed (2) > failureLimit (1)`}})
		})
		t.Run("too few requests fail it", func(t *testing.T) {
			m.refused(t, ro, 100, "", outcome{v1alpha1.AnalysisPhaseFailed,
				[]string{`Metric "request-volume" assessed Failed due to failed (1) > failureLimit (0)`}})
		})
		t.Run("enough good requests pass", func(t *testing.T) { m.passes(t, ro, 600) })
	})
	t.Run("a wrong token is an error", func(t *testing.T) {
		t.Parallel()
		const right, wrong = "right-5f0c", "wrong-71d2"
		text := m.read(t, m.guarded(t, right), template, manifests)
		text = strings.Replace(text, "spec:\n", "spec:\n  args: [{name: token, valueFrom: {secretKeyRef: {name: prometheus, key: token}}}]\n", 1)
		text = regexp.MustCompile(`( +)(address: .*)`).ReplaceAllString(text, "${1}${2}\n${1}"+`headers: [{key: Authorization, value: "Bearer {{args.token}}"}]`)
		ns := m.namespace(t, "checkout")
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "prometheus"}, StringData: map[string]string{"token": wrong}}
		if err := m.client.Create(t.Context(), secret); err != nil {
			t.Fatal(err)
		}
		m.refused(t, m.first(t, ns, text), 0, "", outcome{v1alpha1.AnalysisPhaseError, []string{"401", "consecutiveErrors (5) > consecutiveErrorLimit (4)"}})
		m.silent(t, ns, wrong)
	})
	t.Run("an address that nobody answers at is an error", func(t *testing.T) {
		t.Parallel()
		gone := httptest.NewServer(nil)
		gone.Close()
		ns := m.namespace(t, "checkout")
		ro := m.first(t, ns, m.read(t, gone.URL, template, manifests))
		m.refused(t, ro, 0, "", outcome{v1alpha1.AnalysisPhaseError, []string{"connection refused", "consecutiveErrors (5) > consecutiveErrorLimit (4)"}})
	})
}

// testAPI takes a manifest whose condition compares the vector itself with a
// number, behind no router: a share of the pods is a share of the requests.
func (m *measured) testAPI(t *testing.T) {
	ns := m.namespace(t, "api")
	ro := m.first(t, ns, m.read(t, m.plane.Prometheus, "api-canary-analysis.yaml"))
	m.objects(t, ns, "{apiVersion: v1, kind: Service, metadata: {name: all}, spec: {selector: {app: api}, ports: [{port: 80, targetPort: 8080}]}}")
	m.entrance(t, ns, "api", "all")
	requests := m.requests(t, ns, "api", 100)
	t.Run("errors fail it", func(t *testing.T) {
		m.change(t, ro, "errors=20")
		if err := m.reaches(t.Context(), ro, "the abort", aborted); err != nil {
			t.Fatal(err)
		}
		m.stands(t, ro, outcome{v1alpha1.AnalysisPhaseFailed, []string{`Metric "error-rate" assessed Failed due to failed (3) > failureLimit (2)`}})
	})
	t.Run("good answers pass", func(t *testing.T) {
		m.change(t, ro, "")
		if err := m.reaches(t.Context(), ro, "the pause for a person", waitsAt(6)); err != nil {
			t.Fatal(err)
		}
		m.promote(t, ro)
		if err := m.reaches(t.Context(), ro, "the end of the release", out(image(ro))); err != nil {
			t.Fatal(err)
		}
		for _, run := range m.runs(t, ro) {
			if run.Status.Phase != v1alpha1.AnalysisPhaseSuccessful || len(run.Status.MetricResults) != 1 || run.Status.MetricResults[0].Successful < 1 {
				t.Errorf("%s is %s: %s", run.Name, run.Status.Phase, run.Status.Message)
			}
		}
	})
	t.Log(requests.Stop())
}

// refused makes a release that the analysis at 5 % is to take back, under a rate
// of requests.
func (m *measured) refused(t *testing.T, ro *v1alpha1.Rollout, rate int, wish string, want outcome) {
	t.Helper()
	mesh := m.mesh(t, ro.Namespace, "checkout", rate)
	m.change(t, ro, wish)
	if err := m.reaches(t.Context(), ro, "the abort", aborted); err != nil {
		t.Fatal(err)
	}
	seen := mesh.stop()
	m.stands(t, ro, want)
	if most := slices.Max(seen); most != 5 {
		t.Errorf("the canary had weights %v; the analysis was to let it have no more than 5", seen)
	}
	if last := seen[len(seen)-1]; last != 0 {
		t.Errorf("the weight after the abort is %d", last)
	}
}

// passes makes a release that both analyses let through.
func (m *measured) passes(t *testing.T, ro *v1alpha1.Rollout, rate int) {
	t.Helper()
	mesh := m.mesh(t, ro.Namespace, "checkout", rate)
	m.change(t, ro, "")
	if err := m.reaches(t.Context(), ro, "the pause for a person", waitsAt(4)); err != nil {
		t.Fatal(err)
	}
	m.promote(t, ro)
	if err := m.reaches(t.Context(), ro, "the end of the release", out(image(ro))); err != nil {
		t.Fatal(err)
	}
	seen := mesh.stop()
	if want := []int64{0, 5, 20, 50}; !slices.Equal(seen[:min(len(want), len(seen))], want) {
		t.Errorf("the canary had weights %v, want first %v", seen, want)
	}
	runs := m.runs(t, ro)
	if len(runs) != 2 {
		t.Errorf("there are %d runs, want one for each step of analysis", len(runs))
	}
	for _, run := range runs {
		if run.Status.Phase != v1alpha1.AnalysisPhaseSuccessful {
			t.Errorf("%s is %s: %s", run.Name, run.Status.Phase, run.Status.Message)
		}
		for _, r := range run.Status.MetricResults {
			if r.Successful != 5 || r.Count != 5 {
				t.Errorf("%s: %d of %d measurements of %s are good, want 5 of 5", run.Name, r.Successful, r.Count, r.Name)
			}
		}
	}
}

// stands checks why a release was taken back.
func (m *measured) stands(t *testing.T, ro *v1alpha1.Rollout, want outcome) {
	t.Helper()
	var told []string
	for _, run := range m.runs(t, ro) {
		if run.Status.Phase != want.phase {
			told = append(told, run.Name+" is "+string(run.Status.Phase)+": "+run.Status.Message)
			continue
		}
		text := run.Status.Message
		for _, r := range run.Status.MetricResults {
			text += "\n" + r.Message
		}
		t.Logf("%s: %s", run.Name, text)
		if !slices.ContainsFunc(want.says, func(part string) bool { return !strings.Contains(text, part) }) {
			return
		}
		told = append(told, run.Name+": "+text)
	}
	t.Errorf("no run is %s because of %q; there are %q", want.phase, want.says, told)
}

// silent checks that a text is in no object that tells of a release.
func (m *measured) silent(t *testing.T, ns, secret string) {
	t.Helper()
	for _, list := range []client.ObjectList{&v1alpha1.RolloutList{}, &v1alpha1.AnalysisRunList{}, &corev1.EventList{}} {
		if err := m.client.List(t.Context(), list, client.InNamespace(ns)); err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(list)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), secret) {
			t.Errorf("the token is in a %T", list)
		}
	}
}

// guarded gives an address of the Prometheus that asks for a token.
func (m *measured) guarded(t *testing.T, token string) string {
	t.Helper()
	target, err := url.Parse(m.plane.Prometheus)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.Header.Get("Authorization") != "Bearer "+token {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		proxy.ServeHTTP(w, q)
	}))
	t.Cleanup(s.Close)
	q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/api/v1/query?query=up", nil)
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Authorization", "Bearer "+token)
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("with the right token the answer is %s", answer.Status)
	}
	return s.URL
}

// first makes the objects of a text and waits until the first version is out.
func (m *measured) first(t *testing.T, ns, text string) *v1alpha1.Rollout {
	t.Helper()
	ro := m.objects(t, ns, text)
	m.create(t, ro)
	if err := m.reaches(t.Context(), ro, "the first version", out(image(ro))); err != nil {
		t.Fatal(err)
	}
	return ro
}

func image(ro *v1alpha1.Rollout) string { return ro.Spec.Template.Spec.Containers[0].Image }

// change releases the next image, whose pods do as they are wished to.
func (m *measured) change(t *testing.T, ro *v1alpha1.Rollout, wish string) {
	t.Helper()
	name, _, _ := strings.Cut(image(ro), "@")
	name, _, _ = strings.Cut(name, ":")
	next := name + ":" + "v" + strconv.FormatInt(ro.Generation+100, 10)
	annotations := map[string]string{}
	if wish != "" {
		annotations[podAnnotation] = wish
	}
	patch, err := json.Marshal([]map[string]any{
		{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": next},
		{"op": "add", "path": "/spec/template/metadata/annotations", "value": annotations},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.client.Patch(t.Context(), ro, client.RawPatch(types.JSONPatchType, patch)); err != nil {
		t.Fatal(err)
	}
}

// aborted tells that the release was taken back and no request meets it.
func aborted(st *script.State) bool {
	s := &st.Rollout.Status
	weights := s.Canary.Weights
	return s.Abort && s.StableRS != s.CurrentPodHash && s.ObservedGeneration == strconv.FormatInt(st.Rollout.Generation, 10) &&
		(weights == nil || weights.Canary.Weight == 0)
}

func (m *measured) promote(t *testing.T, ro *v1alpha1.Rollout) {
	t.Helper()
	s := command.Sender{Client: m.client}
	if err := s.Promote(t.Context(), client.ObjectKeyFromObject(ro), command.Promotion{}); err != nil {
		t.Fatal(err)
	}
}

// runs are those of the newest template.
func (m *measured) runs(t *testing.T, ro *v1alpha1.Rollout) []v1alpha1.AnalysisRun {
	t.Helper()
	ctx := context.Background()
	if err := m.client.Get(ctx, client.ObjectKeyFromObject(ro), ro); err != nil {
		t.Fatal(err)
	}
	var list v1alpha1.AnalysisRunList
	err := m.client.List(ctx, &list, client.InNamespace(ro.Namespace), client.MatchingLabels{v1alpha1.LabelPodTemplateHash: ro.Status.CurrentPodHash})
	if err != nil {
		t.Fatal(err)
	}
	return list.Items
}
