package command

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/identity"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func parse(t *testing.T, text string) map[string]any {
	t.Helper()
	out := map[string]any{}
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func hashOf(t *testing.T, text string) string {
	t.Helper()
	template := &corev1.PodTemplateSpec{}
	if err := json.Unmarshal([]byte(text), template); err != nil {
		t.Fatal(err)
	}
	return identity.Hash(template, nil)
}

// setOf is the ReplicaSet made from a template as written, holding it as the API
// server keeps it, defaults filled in.
func setOf(t *testing.T, written, kept string) *unstructured.Unstructured {
	t.Helper()
	hash := hashOf(t, written)
	template := parse(t, kept)
	if err := unstructured.SetNestedField(template, hash, "metadata", "labels", v1alpha1.LabelPodTemplateHash); err != nil {
		t.Fatal(err)
	}
	set := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "web-" + hash, "labels": map[string]any{v1alpha1.LabelPodTemplateHash: hash}},
		"spec":     map[string]any{"template": template},
	}}
	return set
}

const defaults = `"restartPolicy":"Always","dnsPolicy":"ClusterFirst","schedulerName":"default-scheduler","securityContext":{},"terminationGracePeriodSeconds":30`

func container(image, more string) string {
	return `{"name":"web","image":"` + image + `"` + more + `}`
}

const filled = `,"imagePullPolicy":"IfNotPresent","resources":{},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File"`

func TestUndoRestoresWhatTheRevisionWasMadeFrom(t *testing.T) {
	wrap := func(containers, more string) string {
		return `{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[` + containers + `]` + more + `}}`
	}
	env := `,"env":[{"name":"A","value":"1"}]`
	latest := `,"imagePullPolicy":"Always","resources":{},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File"`
	for name, tc := range map[string]struct {
		then, thenKept, now, nowKept string
	}{
		"another image": {
			wrap(container("r/web:1", ""), ""), wrap(container("r/web:1", filled), ","+defaults),
			wrap(container("r/web:2", ""), ""), wrap(container("r/web:2", filled), ","+defaults)},
		"an image whose pull policy is another by default": {
			wrap(container("r/web:1", ""), ""), wrap(container("r/web:1", filled), ","+defaults),
			wrap(container("r/web", ""), ""), wrap(container("r/web", latest), ","+defaults)},
		"an environment that was not there": {
			wrap(container("r/web:1", ""), ""), wrap(container("r/web:1", filled), ","+defaults),
			wrap(container("r/web:2", env), ""), wrap(container("r/web:2", env+filled), ","+defaults)},
		"an environment that is gone": {
			wrap(container("r/web:1", env), ""), wrap(container("r/web:1", env+filled), ","+defaults),
			wrap(container("r/web:2", ""), ""), wrap(container("r/web:2", filled), ","+defaults)},
		"a container that was added, named after the first": {
			wrap(container("r/web:1", ""), ""), wrap(container("r/web:1", filled), ","+defaults),
			wrap(`{"name":"side","image":"s:1"},`+container("r/web:2", ""), ""),
			wrap(`{"name":"side","image":"s:1"`+filled+`},`+container("r/web:2", filled), ","+defaults)},
	} {
		t.Run(name, func(t *testing.T) {
			then, now := setOf(t, tc.then, tc.thenKept), setOf(t, tc.now, tc.nowKept)
			ro := &unstructured.Unstructured{Object: map[string]any{
				"metadata": map[string]any{"name": "web", "generation": int64(2)},
				"spec":     map[string]any{"template": parse(t, tc.now)},
				"status":   map[string]any{"observedGeneration": "2", "currentPodHash": now.GetLabels()[v1alpha1.LabelPodTemplateHash]},
			}}
			h := holder{object: ro, template: []string{"spec", "template"}}
			got, err := restored(ro, h, []*unstructured.Unstructured{now, then}, then)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(parse(t, tc.then), got); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
			if current(ro, h, then) || !current(ro, h, now) {
				t.Error("the current revision is mistaken")
			}
		})
	}
}

func TestUndoFallsBackToTheTemplateAsKept(t *testing.T) {
	kept := `{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[` + container("r/web:1", filled) + `],` + defaults + `}}`
	set := setOf(t, `{"spec":{}}`, kept)
	ro := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{}}}}}
	got, err := restored(ro, holder{object: ro, template: []string{"spec", "template"}}, []*unstructured.Unstructured{set}, set)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(parse(t, kept), got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

func TestUndoLeavesOutWhatAControllerInjected(t *testing.T) {
	term := `{"labelSelector":{"matchExpressions":[{"key":"rollouts-pod-template-hash","operator":"In","values":["abc"]}]},"topologyKey":"kubernetes.io/hostname"}`
	own := `{"labelSelector":{"matchLabels":{"app":"db"}},"topologyKey":"zone"}`
	for name, tc := range map[string]struct {
		annotation, template, want string
	}{
		"metadata of a role": {
			`{"labels":{"role":"canary"},"annotations":{"note":"x"}}`,
			`{"metadata":{"labels":{"app":"web","role":"canary"},"annotations":{"note":"x"}},"spec":{}}`,
			`{"metadata":{"labels":{"app":"web"}},"spec":{}}`},
		"metadata that somebody changed stays": {
			`{"labels":{"role":"canary"}}`,
			`{"metadata":{"labels":{"app":"web","role":"mine"}},"spec":{}}`,
			`{"metadata":{"labels":{"app":"web","role":"mine"}},"spec":{}}`},
		"an anti-affinity between revisions": {
			``, `{"metadata":{"labels":{"app":"web"}},"spec":{"affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[` + term + `]}}}}`,
			`{"metadata":{"labels":{"app":"web"}},"spec":{}}`},
		"an anti-affinity of the user stays": {
			``, `{"metadata":{"labels":{"app":"web"}},"spec":{"affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[` + own + `,` + term + `]}}}}`,
			`{"metadata":{"labels":{"app":"web"}},"spec":{"affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[` + own + `]}}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			set := setOf(t, `{"spec":{}}`, tc.template)
			set.SetAnnotations(map[string]string{v1alpha1.AnnotationEphemeralMetadata: tc.annotation})
			got, err := plain(set)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(parse(t, tc.want), got); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

func TestPickFindsTheRevision(t *testing.T) {
	set := func(revision string) *unstructured.Unstructured {
		s := &unstructured.Unstructured{Object: map[string]any{}}
		s.SetName("web-" + revision)
		s.SetAnnotations(map[string]string{v1alpha1.AnnotationRevision: revision})
		return s
	}
	sets := []*unstructured.Unstructured{set("7"), set("5"), set("4")}
	for name, tc := range map[string]struct {
		sets     []*unstructured.Unstructured
		revision int64
		want     string
		err      string
	}{
		"the one before":       {sets, 0, "web-5", ""},
		"a given one":          {sets, 4, "web-4", ""},
		"one that is not kept": {sets, 6, "", "unable to find specified revision 6 in history"},
		"no one before":        {sets[:1], 0, "", `no revision found for rollout "web"`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := pick(tc.sets, tc.revision, "web")
			if tc.err != "" {
				if err == nil || err.Error() != tc.err {
					t.Fatalf("got error %v, want %s", err, tc.err)
				}
				return
			}
			if err != nil || got.GetName() != tc.want {
				t.Errorf("got %v, %v; want %s", got, err, tc.want)
			}
		})
	}
}
