package integration

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/hack/install"
	"github.com/sluice-project/sluice/internal/cli/root"
	"github.com/sluice-project/sluice/internal/command"
	"github.com/sluice-project/sluice/internal/decide/explain"
	"github.com/sluice-project/sluice/internal/simulate/script"
)

// terminal is a command line against the cluster.
type terminal struct {
	cluster               *cluster
	namespace, kubeconfig string
}

// answer is what a command printed, and its exit code.
type answer struct {
	out, err string
	code     int
}

// buffer is a writer that a test may read while a command writes.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func (c *cluster) terminal(t *testing.T, user string) *terminal {
	t.Helper()
	via := newRecorder(t, c.config, user)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(kubeconfig, kubeconfigOf(via.url), 0o600); err != nil {
		t.Fatal(err)
	}
	return &terminal{cluster: c, namespace: c.namespace(t, "cli"), kubeconfig: kubeconfig}
}

// run runs one command to its end.
func (k *terminal) run(t *testing.T, args ...string) answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var out, err buffer
	code := k.start(ctx, &out, &err, args...)
	return answer{out.String(), err.String(), code}
}

func (k *terminal) start(ctx context.Context, out, err *buffer, args ...string) int {
	s := root.NewSession("kubectl-argo-rollouts", genericclioptions.IOStreams{In: strings.NewReader(""), Out: out, ErrOut: err})
	return root.Execute(ctx, s, append([]string{"--kubeconfig", k.kubeconfig, "-n", k.namespace}, args...))
}

// says runs a command that must succeed and print exactly the text.
func (k *terminal) says(t *testing.T, want string, args ...string) {
	t.Helper()
	if got := k.run(t, args...); got != (answer{want, "", 0}) {
		t.Fatalf("%s:\ngot  %+v\nwant %q", strings.Join(args, " "), got, want)
	}
}

// fails runs a command that must fail and say exactly the text on standard error.
func (k *terminal) fails(t *testing.T, want string, args ...string) {
	t.Helper()
	if got := k.run(t, args...); got.code != 1 || got.err != want {
		t.Fatalf("%s:\ngot  %+v\nwant exit code 1 and %q", strings.Join(args, " "), got, want)
	}
}

// shows runs a command that must succeed and print a match of each pattern.
func (k *terminal) shows(t *testing.T, patterns []string, args ...string) {
	t.Helper()
	got := k.run(t, args...)
	if got.code != 0 || got.err != "" {
		t.Fatalf("%s: %+v", strings.Join(args, " "), got)
	}
	for _, p := range patterns {
		if !regexp.MustCompile("(?m)" + p).MatchString(got.out) {
			t.Errorf("%s: no match of %q in\n%s", strings.Join(args, " "), p, got.out)
		}
	}
}

// manual is a rollout of two pods that waits for a person at half of them.
func (k *terminal) manual(t *testing.T, name string) *v1alpha1.Rollout {
	t.Helper()
	ro := canary(k.namespace, name, "", 2, setWeight(50), pauseFor(0))
	ro.Spec.ProgressDeadlineAbort = false
	k.cluster.create(t, ro)
	k.reaches(t, ro, "the first version to be out", out("app:v0"))
	return ro
}

func (k *terminal) reaches(t *testing.T, ro *v1alpha1.Rollout, what string, want func(*script.State) bool) {
	t.Helper()
	if err := k.cluster.reaches(t.Context(), ro, what, want); err != nil {
		t.Fatal(err)
	}
}

func (k *terminal) stored(t *testing.T, name string) *v1alpha1.Rollout {
	t.Helper()
	ro := &v1alpha1.Rollout{}
	if err := k.cluster.client.Get(t.Context(), client.ObjectKey{Namespace: k.namespace, Name: name}, ro); err != nil {
		t.Fatal(err)
	}
	return ro
}

// testCLI sends every command of the command line to a real API server and looks
// at what becomes of the rollout.
func (c *cluster) testCLI(t *testing.T) {
	via := newRecorder(t, c.config, install.User)
	c.start(t, via)
	t.Run("Commands", func(t *testing.T) {
		for name, test := range map[string]func(*testing.T, *terminal){
			"a release by hand from the first look to the undo": testRelease,
			"pause, promote and restart":                        testPauseAndRestart,
			"status waits for the end and tells it by its code": testStatus,
			"a watch draws changes and ends when told":          testWatch,
			"what is not there is named":                        testMissing,
			"a problem of the spec is shown":                    testProblem,
			"a template that is elsewhere is changed there":     testReferences,
			"a user without wide rights sees the rollout":       testNarrowRights,
			"a command meets another one":                       testConflicts,
			"a cluster without the status subresource":          testNoSubresource,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t, c.terminal(t, ""))
			})
		}
	})
}

func testRelease(t *testing.T, k *terminal) {
	ro := k.manual(t, "web")
	k.shows(t, []string{`^Status: +✔ Healthy$`, `^Images: +app:v0 \(stable\)$`, `^  Available: +2$`,
		`^⟳ web +Rollout +✔ Healthy +\S+ +$`, `^└──# revision:1 +$`, `^   └──⧉ web-\w+ +ReplicaSet +✔ Healthy +\S+ +stable$`,
		`^      └──□ web-\w+-\w+ +Pod +✔ Running +\S+ +ready:1/1$`}, "get", "rollout", "web")
	k.shows(t, []string{`^NAME +STRATEGY +STATUS +STEP +SET-WEIGHT +READY +DESIRED +UP-TO-DATE +AVAILABLE$`,
		`^web +Canary +Healthy +2/2 +100 +2/2 +2 +2 +2 +$`}, "list", "rollouts")

	k.says(t, "rollout \"web\" image updated\n", "set", "image", "web", "app=app:v1")
	k.reaches(t, ro, "the pause", waitsAt(1))
	k.shows(t, []string{`^Status: +॥ Paused$`, `^Message: +CanaryPauseStep$`, `^Waiting: +a person: .*promote web`, `^  Step: +1/2$`, `^  SetWeight: +50$`,
		`^Images: +app:v0 \(stable\)$`, `^ +app:v1 \(canary\)$`, `^├──# revision:2 +$`}, "get", "ro", "web", "--no-color")

	k.says(t, "rollout 'web' aborted\n", "abort", "web")
	k.reaches(t, ro, "the abort", back("app:v1"))
	k.says(t, "rollout 'web' retried\n", "retry", "rollout", "web")
	k.reaches(t, ro, "the pause of the second attempt", waitsAt(1))
	k.says(t, "rollout 'web' promoted\n", "promote", "web")
	k.reaches(t, ro, "the release", out("app:v1"))

	k.says(t, "rollout \"web\" image updated\n", "set", "image", "web", "*=app:v2")
	k.says(t, "rollout 'web' fully promoted\n", "promote", "web", "--full")
	k.reaches(t, ro, "the full promotion", out("app:v2"))

	before := k.stored(t, "web").Status.CurrentPodHash
	k.says(t, "rollout 'web' undo\n", "undo", "web", "--to-revision", "1")
	k.reaches(t, ro, "the pause of the undo", waitsAt(1))
	restored := k.stored(t, "web")
	if got := restored.Spec.Template.Spec; got.Containers[0].Image != "app:v0" || got.RestartPolicy != "" || got.Containers[0].TerminationMessagePath != "" {
		t.Errorf("the template is not the one that revision 1 was made from: %+v", got)
	}
	var sets appsv1.ReplicaSetList
	if err := k.cluster.client.List(t.Context(), &sets, client.InNamespace(k.namespace)); err != nil {
		t.Fatal(err)
	}
	if len(sets.Items) != 3 || restored.Status.CurrentPodHash == before {
		t.Errorf("the ReplicaSet of revision 1 is not used again: there are %d, and the current one is %s after %s", len(sets.Items), restored.Status.CurrentPodHash, before)
	}
	current := restored.Annotations[v1alpha1.AnnotationRevision]
	k.says(t, "skipped rollback (current template already matches revision "+current+")", "undo", "web", "--to-revision", current)
	got := k.run(t, "promote", "web", "--skip-all-steps")
	if got.code != 0 || got.out != "rollout 'web' promoted\n" || !strings.Contains(got.err, "deprecated") {
		t.Errorf("skipping all steps: %+v", got)
	}
	k.reaches(t, ro, "the end of the undo", out("app:v0"))
}

func testPauseAndRestart(t *testing.T, k *terminal) {
	ro := k.manual(t, "web")
	k.says(t, "rollout 'web' paused\n", "pause", "web")
	if !k.stored(t, "web").Spec.Paused {
		t.Error("the spec is not paused")
	}
	k.reaches(t, ro, "the pause", func(st *script.State) bool { p, _ := explain.Phase(st.Rollout); return p == "Paused" })
	k.says(t, "Paused - manually paused\n", "status", "web", "--watch=false")
	k.shows(t, []string{`^Waiting: +a person: spec.paused is set`}, "get", "rollout", "web")
	k.says(t, "rollout 'web' promoted\n", "promote", "web")
	k.reaches(t, ro, "the end of the pause", out("app:v0"))
	if k.stored(t, "web").Spec.Paused {
		t.Error("the spec is still paused")
	}

	var pods corev1.PodList
	if err := k.cluster.client.List(t.Context(), &pods, client.InNamespace(k.namespace)); err != nil {
		t.Fatal(err)
	}
	old := map[string]bool{}
	for _, p := range pods.Items {
		old[p.Name] = true
	}
	k.says(t, "rollout 'web' restarts in 2s\n", "restart", "web", "--in", "2s")
	k.reaches(t, ro, "new pods", func(st *script.State) bool {
		for _, p := range st.Pods {
			if old[p.Name] {
				return false
			}
		}
		return out("app:v0")(st) && st.Rollout.Status.RestartedAt != nil
	})
	k.says(t, "rollout 'web' restarts in 0s\n", "restart", "web")
	if at := k.stored(t, "web").Spec.RestartAt; at == nil || time.Since(at.Time) > time.Minute || time.Until(at.Time) > time.Minute {
		t.Errorf("restartAt is %v", at)
	}
}

func testStatus(t *testing.T, k *terminal) {
	ro := k.manual(t, "web")
	k.says(t, "Healthy\n", "status", "web")
	k.says(t, "Healthy\n", "status", "web", "--watch=false")
	k.says(t, "rollout \"web\" image updated\n", "set", "image", "web", "app=app:v1")
	k.reaches(t, ro, "the pause", waitsAt(1))
	k.says(t, "Paused - CanaryPauseStep\n", "status", "web", "--watch=false")
	k.fails(t, "Error: Rollout status watch exceeded timeout\n", "status", "web", "--timeout", "1s")

	var stdout, stderr buffer
	ended := make(chan int, 1)
	go func() { ended <- k.start(t.Context(), &stdout, &stderr, "status", "web") }()
	k.says(t, "rollout 'web' promoted\n", "promote", "web")
	select {
	case code := <-ended:
		if lines := strings.Split(strings.TrimSpace(stdout.String()), "\n"); code != 0 || stderr.String() != "" || lines[len(lines)-1] != "Healthy" {
			t.Errorf("a status that was watched to the end: code %d, %q, %q", code, stdout.String(), stderr.String())
		}
	case <-time.After(patience):
		t.Fatalf("the watch does not end: %q", stdout.String())
	}

	k.says(t, "rollout \"web\" image updated\n", "set", "image", "web", "app=app:v2")
	k.reaches(t, ro, "the next pause", waitsAt(1))
	k.says(t, "rollout 'web' aborted\n", "abort", "web")
	k.reaches(t, ro, "the abort", back("app:v2"))
	got := k.run(t, "status", "web", "--watch=false")
	if got.code != 1 || got.out != "Degraded\n" || !strings.HasPrefix(got.err, "Error: The rollout is in a degraded state with message: RolloutAborted: ") {
		t.Errorf("a degraded rollout: %+v", got)
	}
	if got := k.run(t, "status", "web"); got.code != 1 || !strings.HasPrefix(got.out, "Degraded - RolloutAborted: ") {
		t.Errorf("a degraded rollout that is watched: %+v", got)
	}
}

func testWatch(t *testing.T, k *terminal) {
	ro := k.manual(t, "web")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var tree, list, complaints buffer
	ended := make(chan int, 2)
	go func() { ended <- k.start(ctx, &tree, &complaints, "get", "rollout", "web", "--watch") }()
	go func() { ended <- k.start(ctx, &list, &complaints, "list", "rollouts", "--watch", "--timestamps") }()
	seen := func(b *buffer, pattern string) func() bool {
		r := regexp.MustCompile("(?m)" + pattern)
		return func() bool { return r.MatchString(b.String()) }
	}
	draws := func(what string, done func() bool) {
		t.Helper()
		if err := eventually(t.Context(), done); err != nil {
			t.Fatalf("%s is not drawn\n%s\n%s", what, tree.String(), list.String())
		}
	}
	k.says(t, "rollout \"web\" image updated\n", "set", "image", "web", "app=app:v1")
	k.reaches(t, ro, "the pause", waitsAt(1))
	draws("the tree with both images", seen(&tree, `^ +app:v1 \(canary\)$`))
	draws("the row of the pause", seen(&list, `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ  web +Canary +Paused +1/2 +50 `))
	k.says(t, "rollout 'web' promoted\n", "promote", "web")
	k.reaches(t, ro, "the release", out("app:v1"))
	draws("the tree of the new image", seen(&tree, `^Images: +app:v1 \(stable\)$`))
	draws("the row of the end", seen(&list, `web +Canary +Healthy +2/2 +100 +2/2 +2 +2 +2`))
	stop()
	for range 2 {
		if code := <-ended; code != 0 {
			t.Errorf("an interrupted watch ends with %d: %s", code, complaints.String())
		}
	}
	if n := strings.Count(list.String(), "NAME "); n != 1 {
		t.Errorf("the header is printed %d times", n)
	}
	if strings.Contains(tree.String(), "\x1b") {
		t.Error("there are escape codes in what is no terminal")
	}
	k.shows(t, []string{`^Status: +✔ Healthy$`}, "get", "rollout", "web", "--watch", "--timeout-seconds", "1")
}

// eventually asks until it is so; what it asks of is in this process and changes
// without a signal.
func eventually(ctx context.Context, done func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for !done() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
	return nil
}

func testMissing(t *testing.T, k *terminal) {
	const missing = "Error: rollouts.argoproj.io \"nobody\" not found\n"
	for _, args := range [][]string{
		{"abort", "nobody"}, {"get", "rollout", "nobody"}, {"pause", "nobody"}, {"promote", "nobody"}, {"restart", "nobody"},
		{"retry", "rollout", "nobody"}, {"set", "image", "nobody", "a=b"}, {"status", "nobody"}, {"undo", "nobody"},
		{"get", "rollout", "nobody", "--watch"}, {"status", "nobody", "--watch=false"},
	} {
		k.fails(t, missing, args...)
	}
	if got := k.run(t, "list", "rollouts"); got != (answer{"", "No resources found.\n", 0}) {
		t.Errorf("an empty list: %+v", got)
	}
	if got := k.run(t, "list", "rollouts", "--name", "nobody"); got != (answer{"", "No resources found.\n", 0}) {
		t.Errorf("an empty list by name: %+v", got)
	}
	k.manual(t, "one")
	k.manual(t, "two")
	if got := k.run(t, "pause", "one", "nobody", "two"); got.out != "rollout 'one' paused\n" || got.err != missing || got.code != 1 {
		t.Errorf("several names, one missing: %+v", got)
	}
	if k.stored(t, "two").Spec.Paused {
		t.Error("what comes after a failure is done all the same")
	}
	k.shows(t, []string{`^one +Canary `}, "list", "rollouts", "--name", "one")
	k.shows(t, []string{`^` + k.namespace + ` +one +Canary `, `^` + k.namespace + ` +two +Canary `}, "list", "rollouts", "--all-namespaces")
	k.fails(t, "Error: unable to find container named \"nobody\"\n", "set", "image", "one", "nobody=app:v1")
	k.fails(t, "Error: no revision found for rollout \"one\"\n", "undo", "one")
	k.fails(t, "Error: unable to find specified revision 7 in history\n", "undo", "one", "--to-revision", "7")
	if got := k.run(t, "__complete", "abort", "o"); !strings.HasPrefix(got.out, "one\n:4\n") {
		t.Errorf("completion: %+v", got)
	}
}

func testProblem(t *testing.T, k *terminal) {
	ro := canary(k.namespace, "web", "", 1, setWeight(500))
	k.cluster.create(t, ro)
	k.reaches(t, ro, "the refusal", func(st *script.State) bool { p, _ := explain.Phase(st.Rollout); return p == "Degraded" })
	k.shows(t, []string{`^Status: +✖ Degraded$`, `^Message: +InvalidSpec: .*setWeight`, `^Problem: +spec\.strategy\.canary\.steps\[0\]\.setWeight: Invalid value: 500: `},
		"get", "rollout", "web")
	unseen := canary(k.namespace, "unseen", "nobody-handles-this", 1)
	k.cluster.create(t, unseen)
	k.shows(t, []string{`^Status: +◌ Progressing$`, `^Waiting: +a controller to take the rollout up`}, "get", "rollout", "unseen")
}

func testReferences(t *testing.T, k *terminal) {
	labels := map[string]string{"app": "web"}
	none := int32(0)
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "app:v0"}}}}
	selector := &metav1.LabelSelector{MatchLabels: labels}
	meta := metav1.ObjectMeta{Namespace: k.namespace, Name: "held"}
	for _, o := range []client.Object{
		&appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{Replicas: &none, Selector: selector, Template: template}},
		&appsv1.ReplicaSet{ObjectMeta: meta, Spec: appsv1.ReplicaSetSpec{Replicas: &none, Selector: selector, Template: template}},
		&corev1.PodTemplate{ObjectMeta: meta, Template: template},
	} {
		if err := k.cluster.client.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	for kind, version := range map[string]string{"Deployment": "apps/v1", "ReplicaSet": "apps/v1", "PodTemplate": "v1"} {
		name := "by-" + strings.ToLower(kind)
		ro := canary(k.namespace, name, "nobody-handles-this", 1)
		ro.Spec.Template, ro.Spec.Selector = corev1.PodTemplateSpec{}, selector
		ro.Spec.WorkloadRef = &v1alpha1.ObjectRef{APIVersion: version, Kind: kind, Name: "held"}
		k.cluster.create(t, ro)
		k.says(t, fmt.Sprintf("%s \"held\" image updated\n", strings.ToLower(kind)), "set", "image", name, "app=app:v1")
		held := &unstructured.Unstructured{}
		held.SetGroupVersionKind(schema.FromAPIVersionAndKind(version, kind))
		if err := k.cluster.client.Get(t.Context(), client.ObjectKey{Namespace: k.namespace, Name: "held"}, held); err != nil {
			t.Fatal(err)
		}
		path := []string{"spec", "template", "spec", "containers"}
		if kind == "PodTemplate" {
			path = path[1:]
		}
		if list, _, _ := unstructured.NestedSlice(held.Object, path...); len(list) != 1 || list[0].(map[string]any)["image"] != "app:v1" {
			t.Errorf("the image of the %s is not changed: %v", kind, list)
		}
	}
	ro := canary(k.namespace, "by-other", "nobody-handles-this", 1)
	ro.Spec.WorkloadRef = &v1alpha1.ObjectRef{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "held"}
	k.cluster.create(t, ro)
	k.fails(t, "Error: rollout \"by-other\" takes its template from a apps StatefulSet, which is none of Deployment, ReplicaSet and PodTemplate\n", "set", "image", "by-other", "app=app:v1")
}

func testNarrowRights(t *testing.T, k *terminal) {
	ro := k.manual(t, "web")
	_ = ro
	if err := k.cluster.reader(t, k.namespace, "narrow"); err != nil {
		t.Fatal(err)
	}
	narrow := k.cluster.terminal(t, "narrow")
	narrow.namespace = k.namespace
	narrow.shows(t, []string{`^Status: +✔ Healthy$`, `^      └──□ web-`}, "get", "rollout", "web")
	got := narrow.run(t, "abort", "web")
	if got.code != 1 || !strings.Contains(got.err, "is forbidden") || got.out != "" {
		t.Errorf("an abort without the right to: %+v", got)
	}
}

// testConflicts lets somebody else write between the look and the write of a
// command.
func testConflicts(t *testing.T, k *terminal) {
	ro := k.manual(t, "web")
	key := client.ObjectKeyFromObject(ro)
	k.says(t, "rollout \"web\" image updated\n", "set", "image", "web", "app=app:v1")
	k.reaches(t, ro, "the pause", waitsAt(1))
	// between wraps the client so that change happens before its first n writes.
	between := func(n int, change func(context.Context) error) *command.Sender {
		first := func(ctx context.Context) {
			if n > 0 {
				n--
				if err := change(ctx); err != nil {
					t.Error(err)
				}
			}
		}
		return &command.Sender{Client: interceptor.NewClient(k.cluster.client, interceptor.Funcs{
			Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
				first(ctx)
				return c.Update(ctx, o, opts...)
			},
			Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
				first(ctx)
				return c.Patch(ctx, o, p, opts...)
			},
			SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
				first(ctx)
				return c.SubResource(sub).Patch(ctx, o, p, opts...)
			},
		})}
	}
	times := 0
	annotate := func(ctx context.Context) error {
		times++
		patch := fmt.Sprintf(`{"metadata":{"annotations":{"touched":"%d"}}}`, times)
		return k.cluster.client.Patch(ctx, &v1alpha1.Rollout{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}, client.RawPatch("application/merge-patch+json", []byte(patch)))
	}
	for what, send := range map[string]func(*command.Sender) error{
		"pause":   func(s *command.Sender) error { return s.Pause(t.Context(), key) },
		"restart": func(s *command.Sender) error { return s.Restart(t.Context(), key, time.Now().Add(-time.Hour)) },
	} {
		if err := send(between(2, annotate)); err != nil {
			t.Errorf("%s, with two writes in between: %v", what, err)
		}
	}
	if _, err := between(2, annotate).SetImage(t.Context(), key, "app", "app:v1"); err != nil {
		t.Errorf("set image, with two writes in between: %v", err)
	}
	err := between(99, annotate).Resume(t.Context(), key)
	if err == nil || !strings.Contains(err.Error(), "changed 5 times") {
		t.Errorf("resume, with a write in between each time: %v", err)
	}
	if !k.stored(t, "web").Spec.Paused {
		t.Error("a command that failed has been carried out")
	}
	if err := between(0, nil).Resume(t.Context(), key); err != nil {
		t.Error(err)
	}
	// The step goes on while somebody promotes it: they did not mean the next one.
	skip := func(ctx context.Context) error {
		return (&command.Sender{Client: k.cluster.client}).Promote(ctx, key, command.Promotion{SkipStep: true})
	}
	err = between(1, skip).Promote(t.Context(), key, command.Promotion{})
	if err == nil || !strings.Contains(err.Error(), "while the command was under way; nothing was changed") {
		t.Errorf("a promotion of a step that has gone by: %v", err)
	}
	k.reaches(t, ro, "the end of the release", out("app:v1"))
}

func testNoSubresource(t *testing.T, k *terminal) {
	ro := k.manual(t, "web")
	key := client.ObjectKeyFromObject(ro)
	k.says(t, "rollout 'web' paused\n", "pause", "web")
	refused := 0
	s := &command.Sender{Client: interceptor.NewClient(k.cluster.client, interceptor.Funcs{
		SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
			refused++
			return apierrors.NewNotFound(schema.GroupResource{Group: "argoproj.io", Resource: "rollouts/status"}, key.Name)
		},
	})}
	if err := s.Promote(t.Context(), key, command.Promotion{}); err != nil {
		t.Fatal(err)
	}
	if refused == 0 || k.stored(t, "web").Spec.Paused {
		t.Errorf("the patch of the object itself, after %d refusals, has left it paused: %v", refused, k.stored(t, "web").Spec.Paused)
	}
}

// reader lets a user read rollouts, their ReplicaSets and pods, and no more.
func (c *cluster) reader(t *testing.T, namespace, user string) error {
	t.Helper()
	rule := func(group string, resources ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: []string{"get", "list", "watch"}}
	}
	meta := metav1.ObjectMeta{Namespace: namespace, Name: user}
	role := &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{rule("argoproj.io", "rollouts"), rule("apps", "replicasets"), rule("", "pods")}}
	binding := &rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: user},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}}}
	if err := c.client.Create(t.Context(), role); err != nil {
		return err
	}
	return c.client.Create(t.Context(), binding)
}
