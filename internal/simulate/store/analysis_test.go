package store

import (
	"context"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/plan"
)

func TestRunsAreWrittenAsAWhole(t *testing.T) {
	ctx := context.Background()
	s, c := newStore()
	run := &v1alpha1.AnalysisRun{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "run"},
		Spec: v1alpha1.AnalysisRunSpec{Metrics: []v1alpha1.Metric{{Name: "errors", Interval: "10s"}}}}
	if err := c.Create(ctx, run); err != nil {
		t.Fatal(err)
	}
	first := run.ResourceVersion
	if err := c.Status().Patch(ctx, run, patch(`{"status":{"phase":"Running"}}`)); !apierrors.IsNotFound(err) {
		t.Errorf("a request to the status, which is no resource of its own, gives %v", err)
	}
	body := `{"metadata":{"resourceVersion":"` + first + `"},"status":{"phase":"Running","metricResults":[{"name":"errors","phase":"Running",` +
		`"measurements":[{"phase":"Failed","value":"\"0.5\"","startedAt":"2030-01-07T08:00:00Z","metadata":{"a":"b"}}],"failed":1}],"runSummary":{"count":1}}}`
	if err := c.Patch(ctx, run, patch(body)); err != nil {
		t.Fatal(err)
	}
	got := &v1alpha1.AnalysisRun{}
	if err := c.Get(ctx, client.ObjectKeyFromObject(run), got); err != nil {
		t.Fatal(err)
	}
	if m := got.Status.MetricResults; got.Status.Phase != "Running" || len(m) != 1 || m[0].Failed != 1 || m[0].Measurements[0].Value != `"0.5"` || m[0].Measurements[0].Metadata["a"] != "b" {
		t.Errorf("the status is %+v", got.Status)
	}
	if len(got.Spec.Metrics) != 1 || got.Generation != 2 || got.Status.RunSummary.Count != 1 {
		t.Errorf("the run is %+v", got)
	}
	if err := c.Patch(ctx, run, patch(`{"metadata":{"resourceVersion":"`+first+`"},"spec":{"terminate":true}}`)); !apierrors.IsConflict(err) {
		t.Errorf("a patch of an old version gives %v", err)
	}
	if err := c.Patch(ctx, run, patch(`{"status":{"phase":"Running"}}`)); err != nil || s.Peek(plan.KindAnalysisRun, client.ObjectKeyFromObject(run)).GetResourceVersion() != got.ResourceVersion {
		t.Errorf("a patch that changes nothing gives %v, or a new version", err)
	}
}

func TestClusterTemplatesHaveNoNamespace(t *testing.T) {
	ctx := context.Background()
	s, c := newStore()
	if err := c.Create(ctx, &v1alpha1.ClusterAnalysisTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "shared"}}); err != nil {
		t.Fatal(err)
	}
	var list v1alpha1.ClusterAnalysisTemplateList
	if err := s.View().List(ctx, &list); err != nil || len(list.Items) != 1 || list.Items[0].Namespace != "" {
		t.Errorf("%v, %+v", err, list.Items)
	}
	if err := c.Get(ctx, client.ObjectKey{Name: "shared"}, &v1alpha1.ClusterAnalysisTemplate{}); err != nil {
		t.Error(err)
	}
}
