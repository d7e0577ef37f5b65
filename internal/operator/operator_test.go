package operator

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/act"
	"github.com/sluice-project/sluice/internal/decide/plan"
	"github.com/sluice-project/sluice/internal/observe"
	"github.com/sluice-project/sluice/internal/reconcile"
)

// answering is a lock that answers as it is told, after some time.
type answering struct {
	resourcelock.Interface
	err  error
	then func()
}

func (a answering) Identity() string { return "me" }
func (a answering) Update(context.Context, resourcelock.LeaderElectionRecord) error {
	a.then()
	return a.err
}

func TestTimeLeftOnTheLease(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	type write struct {
		holder string
		err    error
	}
	tests := map[string]struct {
		writes []write
		after  time.Duration // after the end of the last write; each takes 2 s
		want   time.Duration
	}{
		"none before the first renewal":          {},
		"counted from before the request":        {writes: []write{{"me", nil}}, want: 8 * time.Second},
		"it runs out":                            {writes: []write{{"me", nil}}, after: 9 * time.Second, want: -time.Second},
		"a renewal that fails adds nothing":      {writes: []write{{"me", nil}, {"me", errors.New("x")}}, want: 6 * time.Second},
		"none once it is given back":             {writes: []write{{"me", nil}, {"", nil}}},
		"none even if giving back has no answer": {writes: []write{{"me", nil}, {"", errors.New("x")}}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			now := start
			l := &lease{deadline: 10 * time.Second, clock: func() time.Time { return now }}
			for _, w := range tc.writes {
				l.Interface = answering{err: w.err, then: func() { now = now.Add(2 * time.Second) }}
				_ = l.Update(context.Background(), resourcelock.LeaderElectionRecord{HolderIdentity: w.holder})
			}
			if got := l.Left(now.Add(tc.after)); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

func TestTargetsOfRequests(t *testing.T) {
	tests := map[string]struct {
		method, url    string
		kind, ns, name string
		verb           string
	}{
		"a list":              {"GET", "/apis/argoproj.io/v1alpha1/rollouts", "rollouts", "", "N/A", "List"},
		"a watch":             {"GET", "/apis/argoproj.io/v1alpha1/rollouts?watch=true", "rollouts", "", "N/A", "Watch"},
		"one rollout":         {"GET", "/apis/argoproj.io/v1alpha1/namespaces/a/rollouts/web", "rollouts", "a", "web", "Get"},
		"the status of one":   {"PATCH", "/apis/argoproj.io/v1alpha1/namespaces/a/rollouts/web/status", "rollouts", "a", "web", "Patch"},
		"a set has no name":   {"PATCH", "/apis/apps/v1/namespaces/a/replicasets/web-1", "replicasets", "a", "N/A", "Patch"},
		"one set":             {"GET", "/apis/apps/v1/namespaces/a/replicasets/web-1", "replicasets", "a", "N/A", "Get"},
		"an event":            {"POST", "/api/v1/namespaces/a/events", "events", "a", "N/A", "Create"},
		"an eviction":         {"POST", "/api/v1/namespaces/a/pods/web-1-x/eviction", "pods", "a", "N/A", "Create"},
		"the lease":           {"GET", "/apis/coordination.k8s.io/v1/namespaces/a/leases/l", "leases", "a", "N/A", "Get"},
		"what the server has": {"GET", "/apis", "Unknown", "", "N/A", "List"},
		"nothing":             {"GET", "/", "Unknown", "", "N/A", "List"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest(tc.method, tc.url, nil)
			to := requestTarget(r.URL.Path)
			if verb := requestVerb(r, to.one); to.kind != tc.kind || to.namespace != tc.ns || to.name != tc.name || verb != tc.verb {
				t.Errorf("got %s %+v, want %s %s %s %s", verb, to, tc.verb, tc.kind, tc.ns, tc.name)
			}
		})
	}
}

// series counts the series of one name in a scrape.
func series(t *testing.T, m *metrics, name string) int {
	t.Helper()
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			return len(f.GetMetric())
		}
	}
	return 0
}

func TestSeriesOfARolloutGoWithIt(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	m := newMetrics()
	m.gone.clock = func() time.Time { return now }
	web, api := types.NamespacedName{Namespace: "a", Name: "web"}, types.NamespacedName{Namespace: "a", Name: "api"}
	for _, key := range []types.NamespacedName{web, api} {
		m.pass(key, reconcile.Outcome{Err: errors.New("x")}, time.Second, time.Second)
	}
	count := func() int {
		series(t, m, "rollout_reconcile_error") // a scrape drops what is due
		return series(t, m, "rollout_reconcile_error")
	}
	if got := count(); got != 2 {
		t.Fatalf("%d series, want 2", got)
	}
	m.pass(types.NamespacedName{Namespace: "a", Name: "calm"}, reconcile.Outcome{Err: errors.New("x"), Class: act.Conflict}, 0, 0)
	if got := count(); got != 2 {
		t.Errorf("a conflict counts as an error: %d series, want 2", got)
	}
	m.pass(web, reconcile.Outcome{Gone: true}, 0, 0)
	now = now.Add(64 * time.Second)
	if got := count(); got != 2 {
		t.Errorf("after 64 s: %d series, want 2", got)
	}
	now = now.Add(time.Second)
	if got := count(); got != 1 {
		t.Errorf("after 65 s: %d series, want 1", got)
	}
	m.pass(api, reconcile.Outcome{Gone: true}, 0, 0)
	m.pass(api, reconcile.Outcome{Err: errors.New("x")}, 0, 0)
	now = now.Add(time.Hour)
	if got := count(); got != 1 {
		t.Errorf("one that came back: %d series, want 1", got)
	}
}

func TestReleasesAreMeasuredOnce(t *testing.T) {
	start := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	end := metav1.NewTime(start.Add(90 * time.Second))
	pause, how := int64(30), v1alpha1.CompletionAborted
	done := &v1alpha1.RolloutDurationStatus{RolloutStartedAt: &start, FinishedAt: &end, TotalManualPauseDurationSeconds: &pause, CompletionStatus: &how}
	running := &v1alpha1.RolloutDurationStatus{RolloutStartedAt: &start}
	tests := map[string]struct {
		was, is *v1alpha1.RolloutDurationStatus
		wrote   bool
		want    int
	}{
		"one that ends now":             {running, done, true, 1},
		"one that had ended before":     {done, done, true, 0},
		"one whose end was not written": {running, done, false, 0},
		"one that runs on":              {running, running, true, 0},
		"none":                          {nil, nil, true, 0},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			m := newMetrics()
			o := &observe.Observation{}
			o.Rollout = &v1alpha1.Rollout{Status: v1alpha1.RolloutStatus{Duration: tc.was}}
			m.ended(o, &reconcile.Plan{WriteStatus: true, Status: v1alpha1.RolloutStatus{Duration: tc.is}}, reconcile.Outcome{Wrote: tc.wrote})
			if got := series(t, m, "rollout_progression_duration_seconds"); got != tc.want {
				t.Errorf("%d series, want %d", got, tc.want)
			}
		})
	}
}

func TestPhaseOfTheMetrics(t *testing.T) {
	progressing := func(reason string) []v1alpha1.RolloutCondition {
		return []v1alpha1.RolloutCondition{{Type: v1alpha1.RolloutProgressing, Reason: reason}}
	}
	tests := map[string]struct {
		conditions []v1alpha1.RolloutCondition
		want       string
	}{
		"no condition":        {nil, "Progressing"},
		"on its way":          {progressing("ReplicaSetUpdated"), "Progressing"},
		"there":               {progressing("NewReplicaSetAvailable"), "Completed"},
		"completed is not it": {progressing("RolloutCompleted"), "Progressing"},
		"paused":              {progressing("RolloutPaused"), "Paused"},
		"aborted":             {progressing("RolloutAborted"), "Abort"},
		"too late":            {progressing("ProgressDeadlineExceeded"), "Timeout"},
		"cannot be created":   {progressing("ReplicaSetCreateError"), "Error"},
		"invalid, above all":  {append(progressing("RolloutPaused"), v1alpha1.RolloutCondition{Type: v1alpha1.RolloutInvalidSpec, Status: "True"}), "InvalidSpec"},
		"no longer invalid":   {append(progressing("RolloutPaused"), v1alpha1.RolloutCondition{Type: v1alpha1.RolloutInvalidSpec, Status: "False"}), "Paused"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			ro := &v1alpha1.Rollout{Status: v1alpha1.RolloutStatus{Conditions: tc.conditions}}
			if got := metricPhase(ro); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

func TestWhatTheCacheKeeps(t *testing.T) {
	meta := func(annotations map[string]string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "a", Name: "web", UID: "u", ResourceVersion: "7", Generation: 3, Annotations: annotations,
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "x"}}}
	}
	kept := func(annotations map[string]string) metav1.ObjectMeta {
		m := meta(annotations)
		m.ManagedFields = nil
		return m
	}
	two := int32(2)
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	template := corev1.PodTemplateSpec{Spec: corev1.PodSpec{Hostname: "h"}}
	applied := map[string]string{v1alpha1.AnnotationLastApplied: "{}", "k": "v"}
	tests := map[string]struct {
		strip    func(any) (any, error)
		in, want any
	}{
		"of a rollout all but what others manage": {stripRollout,
			&v1alpha1.Rollout{ObjectMeta: meta(applied), Spec: v1alpha1.RolloutSpec{Template: template}},
			&v1alpha1.Rollout{ObjectMeta: kept(map[string]string{"k": "v"}), Spec: v1alpha1.RolloutSpec{Template: template}}},
		"of a ReplicaSet all but the template": {stripReplicaSet,
			&appsv1.ReplicaSet{ObjectMeta: meta(applied), Spec: appsv1.ReplicaSetSpec{Replicas: &two, Selector: selector, Template: template}, Status: appsv1.ReplicaSetStatus{Replicas: 1}},
			&appsv1.ReplicaSet{ObjectMeta: kept(map[string]string{"k": "v"}), Spec: appsv1.ReplicaSetSpec{Replicas: &two, Selector: selector}, Status: appsv1.ReplicaSetStatus{Replicas: 1}}},
		"of a Service its selector and who manages it": {stripService,
			&corev1.Service{ObjectMeta: meta(map[string]string{v1alpha1.AnnotationManagedBy: "web", "k": "v"}),
				Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "web"}, ClusterIP: "10.0.0.1"}},
			&corev1.Service{ObjectMeta: kept(map[string]string{v1alpha1.AnnotationManagedBy: "web"}),
				Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "web"}}}},
		"of a Deployment its selector and size": {stripDeployment,
			&appsv1.Deployment{ObjectMeta: meta(applied), Spec: appsv1.DeploymentSpec{Replicas: &two, Selector: selector, Template: template}, Status: appsv1.DeploymentStatus{Replicas: 1}},
			&appsv1.Deployment{ObjectMeta: kept(nil), Spec: appsv1.DeploymentSpec{Replicas: &two, Selector: selector}}},
		"what is no such object passes": {stripService, "x", "x"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			for range 2 { // a resync strips again
				got, err := tc.strip(tc.in)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestWorkerKeepsWakeTimes(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	wake := now.Add(10 * time.Second)
	var late time.Duration
	w := &worker{
		clock: func() time.Time { return now },
		pass: func(context.Context, types.NamespacedName, time.Time) reconcile.Outcome {
			return reconcile.Outcome{Wake: wake, Err: errors.New("is for logs only")}
		},
		after: func(_ types.NamespacedName, _ reconcile.Outcome, _, l time.Duration) { late = l },
	}
	r := requestFor("a", "web")
	res, err := w.Reconcile(context.Background(), r)
	if err != nil || res.RequeueAfter != 10*time.Second {
		t.Fatalf("requeue after %v, error %v", res.RequeueAfter, err)
	}
	now = wake.Add(3 * time.Second)
	wake = time.Time{}
	if res, err = w.Reconcile(context.Background(), r); err != nil || res.RequeueAfter != 0 {
		t.Errorf("at rest: requeue after %v, error %v", res.RequeueAfter, err)
	}
	if late != 3*time.Second {
		t.Errorf("late by %v, want 3s", late)
	}
	if len(w.wakes) != 0 {
		t.Errorf("%d wakes are remembered at rest", len(w.wakes))
	}
	wake = now.Add(-time.Second)
	if res, _ = w.Reconcile(context.Background(), r); res.RequeueAfter <= 0 {
		t.Errorf("a wake in the past must come at once, got %v", res.RequeueAfter)
	}
}

func TestPlansPage(t *testing.T) {
	p := &plans{}
	key := types.NamespacedName{Namespace: "a", Name: "web"}
	pl := &reconcile.Plan{Actions: plan.Actions{plan.DeleteReplicaSet{Ref: plan.Ref{Kind: plan.KindReplicaSet, Name: "web-1"}, Why: "old"}}}
	p.pass(types.NamespacedName{Namespace: "b", Name: "api"}, nil, nil, reconcile.Outcome{Err: errors.New("unreachable")}, time.Unix(1, 0))
	p.pass(key, nil, pl, reconcile.Outcome{}, time.Unix(1, 0))

	read := func(method string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		p.ServeHTTP(w, httptest.NewRequest(method, "/plans", nil))
		return w
	}
	var got []struct {
		Name, Error string
		Actions     plan.Actions
	}
	if err := json.Unmarshal(read(http.MethodGet).Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got[0].Name != "web" || len(got[0].Actions) != 1 || got[1].Error != "unreachable" {
		t.Errorf("got %+v", got)
	}
	if w := read(http.MethodPost); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("a POST gives %d", w.Code)
	}
	p.pass(key, nil, nil, reconcile.Outcome{Gone: true}, time.Unix(2, 0))
	if bytes.Contains(read(http.MethodGet).Body.Bytes(), []byte(`"web"`)) {
		t.Error("a rollout that is gone is still shown")
	}
}
