package script

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

func TestTemplatesAreWrittenInWords(t *testing.T) {
	s, err := Parse("x.txt", `
template errors interval 10s, count 3, success "result < 0.05"
  failureLimit 1, noData Ignore, minSamples 2
  metric latency, interval 1m, failure "result > 5", canary, arg hash, arg unit=ms
  metric smoke, job, uses base+cluster/shared, dryRun smoke
rollout web
  steps analysis errors+cluster/shared arg hash=@Latest arg app=@metadata.name arg unit=s onFailure Pause, setWeight 5
  background errors from 2 requirePass
`)
	if err != nil {
		t.Fatal(err)
	}
	p := Pace{Divisor: 10}
	spec := s.At(p).Steps[0].do.(template).build(func(metric string) string { return "http://x/" + metric })
	m := spec.Metrics
	if len(m) != 3 || m[0].Name != "errors" || m[0].Interval != "1s" || m[1].Interval != "6s" || *m[0].Count != intstr.FromInt32(3) || *m[0].MinSamples != 2 || m[0].NoData != v1alpha1.NoDataIgnore {
		t.Errorf("metrics %+v", m)
	}
	if m[0].Provider.Web.URL != "http://x/errors" || m[1].Provider.Web.URL != "http://x/latency?hash={{args.hash}}" || m[2].Provider.Job == nil || m[2].Provider.Web != nil {
		t.Errorf("providers %+v", m)
	}
	if len(spec.Templates) != 2 || spec.Templates[1].ClusterScope == nil || len(spec.Args) != 2 || spec.Args[0].Value != nil || *spec.Args[1].Value != "ms" || len(spec.DryRun) != 1 {
		t.Errorf("spec %+v", spec)
	}
	again := s.Steps[0].do.(template).build(func(string) string { return "" })
	if again.Metrics[0].Interval != "10s" {
		t.Error("a script at another pace changes the script itself")
	}
	c := s.Steps[1].do.(declare).fields.build("ns").Spec.Strategy.Canary
	a := c.Steps[0].Analysis
	if len(c.Steps) != 2 || len(a.Templates) != 2 || a.OnFailure != v1alpha1.FailurePause || *a.Args[0].ValueFrom.PodTemplateHashValue != v1alpha1.PodTemplateHashLatest ||
		a.Args[1].ValueFrom.FieldRef.FieldPath != "metadata.name" || a.Args[2].Value != "s" {
		t.Errorf("steps %+v", c.Steps)
	}
	if *c.Analysis.StartingStep != 2 || !c.Analysis.RequirePass {
		t.Errorf("background %+v", c.Analysis)
	}
}

func TestAnswersAreReadInOrder(t *testing.T) {
	s, err := Parse("x.txt", `metric errors of r2 0.5 slow 40s [1;2] nodata slow 0s nan error job fails job succeeds after 20s up`)
	if err != nil {
		t.Fatal(err)
	}
	a := s.Steps[0].do.(measure)
	want := []Answer{{Kind: Value, Value: 0.5}, {Kind: Value, Value: []any{1.0, 2.0}, Late: 40 * time.Second}, {Kind: Value, Late: 40 * time.Second}, {Kind: NaN},
		{Kind: Failure}, {Kind: JobFails, Late: 5 * time.Second}, {Kind: JobSucceeds, Late: 20 * time.Second}, {Kind: Value, Value: "up"}}
	if d := cmp.Diff(want, a.answers); d != "" || a.of != 2 {
		t.Errorf("of %d\n%s", a.of, d)
	}
	if got := a.answers[1].JSON(); got != "[1,2]" {
		t.Errorf("%s", got)
	}
	if n := s.Needs(); !n.Metrics || len(n.Answers) != 10 {
		t.Errorf("%+v", n)
	}
	if late := s.At(Pace{Divisor: 10}).Steps[0].do.(measure).answers[1].Late; late != 4*time.Second || a.answers[1].Late != 40*time.Second {
		t.Errorf("late by %s", late)
	}
}
