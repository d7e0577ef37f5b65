package experiment

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

const (
	successful   = v1alpha1.AnalysisPhaseSuccessful
	failed       = v1alpha1.AnalysisPhaseFailed
	erroneous    = v1alpha1.AnalysisPhaseError
	inconclusive = v1alpha1.AnalysisPhaseInconclusive
)

func TestTheWayOfAnExperimentWithADuration(t *testing.T) {
	w := newWorld(t, template("a", 1), template("b", 2))
	w.e.Spec.Duration = "60s"
	w.e.Spec.Templates[1].Service = &v1alpha1.TemplateService{}
	w.settle()
	w.expect("Running a:Running b:Running exp-a=1 exp-b=2 svc/exp-b")
	if at := w.e.Status.AvailableAt; at == nil || !at.Time.Equal(w.now) {
		t.Fatalf("availableAt is %v", at)
	}
	if want := w.now.Add(61 * time.Second); !w.last.Wake.Equal(want) {
		t.Errorf("it wakes at %v, want %v", w.last.Wake, want)
	}
	w.later(59 * time.Second)
	w.expect("Running a:Running b:Running exp-a=1 exp-b=2 svc/exp-b")
	w.later(2 * time.Second)
	w.expect("Successful a:Successful b:Successful exp-a=1 exp-b=2 svc/exp-b")
	if s := w.e.Status.TemplateStatuses[1]; s.ServiceName != "exp-b" || s.PodTemplateHash != w.set("exp-b").Hash {
		t.Errorf("status of b: %+v", s)
	}
	w.later(29 * time.Second)
	w.expect("Successful a:Successful b:Successful exp-a=1 exp-b=2 svc/exp-b")
	w.later(2 * time.Second)
	w.expect("Successful a:Successful b:Successful")
	w.clean()
	if s := w.e.Status.TemplateStatuses[1]; s.ServiceName != "" || s.PodTemplateHash != "" || s.Replicas != 0 {
		t.Errorf("status of b at the end: %+v", s)
	}
	want := "TemplateProgressing TemplateProgressing ExperimentPending TemplateRunning TemplateRunning ExperimentRunning TemplateSuccessful TemplateSuccessful ExperimentSuccessful"
	if got := strings.Join(w.events, " "); got != want {
		t.Errorf("events:\n got %s\nwant %s", got, want)
	}
	c := w.e.Status.Conditions
	if len(c) != 1 || c[0].Type != v1alpha1.ExperimentProgressing || c[0].Status != corev1.ConditionFalse || c[0].Reason != v1alpha1.ReasonExperimentCompleted {
		t.Errorf("conditions %+v", c)
	}
}

// TestPhases goes through the contract's table: how the templates do, how the
// analyses do, and what the experiment then is.
func TestPhases(t *testing.T) {
	type analysed struct {
		required bool
		outcome  v1alpha1.AnalysisPhase // "" goes on
	}
	tests := map[string]struct {
		bad      bool
		duration v1alpha1.DurationString
		analyses []analysed
		after    time.Duration
		want     v1alpha1.AnalysisPhase
		message  string
	}{
		"pods that are not there make it Pending":                                 {bad: true, want: "Pending"},
		"pods that are there make it Running":                                     {want: "Running"},
		"the deadline of a template makes it Failed":                              {bad: true, after: 601 * time.Second, want: failed, message: "Template 'a' exceeded its progressDeadlineSeconds (600)"},
		"without analyses the duration makes it Successful":                       {duration: "60s", after: 61 * time.Second, want: successful},
		"an analysis that goes on leaves it Running":                              {analyses: []analysed{{false, ""}}, want: "Running"},
		"the duration ends it although an analysis goes on":                       {duration: "60s", analyses: []analysed{{false, ""}}, after: 61 * time.Second, want: successful},
		"the duration does not end it while a required analysis goes on":          {duration: "60s", analyses: []analysed{{true, ""}}, after: 61 * time.Second, want: "Running"},
		"a failed analysis fails it at once":                                      {duration: "60s", analyses: []analysed{{false, failed}}, want: failed},
		"an error of an analysis is its own":                                      {analyses: []analysed{{false, erroneous}}, want: erroneous},
		"an inconclusive analysis makes it Inconclusive":                          {analyses: []analysed{{true, inconclusive}}, want: inconclusive},
		"the worst analysis counts":                                               {analyses: []analysed{{false, inconclusive}, {true, failed}, {false, erroneous}}, want: failed},
		"a required pass ends it before its time":                                 {duration: "1h", analyses: []analysed{{true, successful}}, want: successful},
		"a required pass ends it although another goes on":                        {analyses: []analysed{{true, successful}, {false, ""}}, want: successful, message: "Required AnalysisRuns completed"},
		"one of two required passes is not enough":                                {duration: "60s", analyses: []analysed{{true, successful}, {true, ""}}, after: 61 * time.Second, want: "Running"},
		"a pass that is not required ends nothing":                                {analyses: []analysed{{false, successful}}, want: "Running"},
		"a failure beside a required pass is a failure":                           {analyses: []analysed{{true, successful}, {false, failed}}, want: failed},
		"with the duration over, a pass that is not required makes it Successful": {duration: "60s", analyses: []analysed{{false, successful}}, after: 61 * time.Second, want: successful},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, template("a", 1))
			w.e.Spec.Duration = tc.duration
			w.bad["a"] = tc.bad
			for i, a := range tc.analyses {
				n := string(rune('x' + i))
				w.analyse(n, a.required)
				w.outcome["exp-"+n] = a.outcome
			}
			w.settle()
			w.later(tc.after)
			if w.e.Status.Phase != tc.want || w.e.Status.Message != tc.message {
				t.Fatalf("it is %s (%s), want %s (%s): %s", w.e.Status.Phase, w.e.Status.Message, tc.want, tc.message, w.text())
			}
			if tc.want.Completed() {
				w.later(31 * time.Second)
				w.clean()
			}
		})
	}
}

func TestAnalysesBeginWhenAllSetsAreAvailable(t *testing.T) {
	w := newWorld(t, template("a", 1), template("b", 1))
	value := "{{templates.a.podTemplateHash}} {{templates.b.podTemplateHash}} {{ templates.b.replicaset.name }} {{experiment.availableAt}} {{experiment.finishedAt}}"
	w.analyse("x", false, v1alpha1.Argument{Name: "facts", Value: &value})
	w.analyse("y", false)
	w.e.Spec.Duration = "60s"
	w.e.Labels = map[string]string{v1alpha1.LabelInstanceID: "one"}
	w.bad["b"] = true
	w.settle()
	w.expect("Pending a:Running b:Progressing exp-a=1 exp-b=1")
	w.later(100 * time.Second)
	w.bad["b"] = false
	w.follow()
	w.settle()
	w.expect("Running a:Running b:Running exp-a=1 exp-b=1 run/exp-x:Running run/exp-y:Running")
	at := w.now.UTC()
	want := w.set("exp-a").Hash + " " + w.set("exp-b").Hash + " exp-b " + at.Format(time.RFC3339) + " " + at.Add(time.Minute).Format(time.RFC3339)
	if args := w.specs["exp-x"].Args; len(args) != 1 || *args[0].Value != want {
		t.Errorf("args %+v, want %s", args, want)
	}
}

func TestEnding(t *testing.T) {
	for name, tc := range map[string]struct {
		bad, required bool
		outcome       v1alpha1.AnalysisPhase
		want          v1alpha1.AnalysisPhase
	}{
		"without analyses it is Successful":                               {want: successful},
		"before its pods are there it leaves nothing":                     {bad: true, want: successful},
		"before a required analysis began it is Inconclusive":             {bad: true, required: true, outcome: "none", want: inconclusive},
		"a required analysis that was cut off is no pass":                 {required: true, outcome: "", want: inconclusive},
		"a required analysis that was cut off well inside is no pass yet": {required: true, outcome: successful, want: inconclusive},
		"an analysis that is not required does not hold the end up":       {outcome: inconclusive, want: successful},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, template("a", 1))
			w.bad["a"] = tc.bad
			if tc.required || tc.outcome != "" {
				w.analyse("x", tc.required)
			}
			w.settle()
			w.e.Spec.Terminate = true
			w.outcome["exp-x"] = tc.outcome
			w.settle()
			if w.e.Status.Phase != tc.want {
				t.Errorf("it is %s (%s), want %s: %s", w.e.Status.Phase, w.e.Status.Message, tc.want, w.text())
			}
			w.later(31 * time.Second)
			w.clean()
		})
	}
}

// TestAStuckExperimentCanBeEnded: public fault P209.
func TestAStuckExperimentCanBeEnded(t *testing.T) {
	t.Run("its own deadline fails it", func(t *testing.T) {
		w := newWorld(t, template("a", 2))
		deadline := int32(60)
		w.e.Spec.ProgressDeadlineSeconds = &deadline
		w.bad["a"] = true
		w.settle()
		w.later(61 * time.Second)
		w.expect("Failed a:Failed exp-a=2")
		w.later(31 * time.Second)
		w.clean()
	})
	t.Run("pods that come and go are no progress", func(t *testing.T) {
		w := newWorld(t, template("a", 2))
		w.bad["a"] = true
		w.settle()
		for i := range int32(70) {
			w.now = w.now.Add(10 * time.Second)
			w.set("exp-a").Ready, w.set("exp-a").Available = i%2, i%2
			w.pass()
		}
		w.settle()
		if w.e.Status.Phase != failed {
			t.Errorf("it is %s", w.text())
		}
	})
	t.Run("it is ended in the middle of waiting", func(t *testing.T) {
		w := newWorld(t, template("a", 2))
		w.bad["a"] = true
		none := int32(0)
		w.e.Spec.ScaleDownDelaySeconds = &none
		w.settle()
		w.e.Spec.Terminate = true
		w.settle()
		w.expect("Successful a:Successful")
		w.clean()
	})
	t.Run("it is ended although its spec became invalid", func(t *testing.T) {
		w := newWorld(t, template("a", 2))
		w.settle()
		w.e.Spec.Templates[0].Selector = nil
		w.settle()
		if c := w.e.Status.Conditions; c[len(c)-1].Type != v1alpha1.ExperimentInvalidSpec || w.e.Status.Phase != "Running" {
			t.Fatalf("%s %+v", w.text(), c)
		}
		w.e.Spec.Terminate = true
		w.settle()
		w.later(31 * time.Second)
		w.expect("Error a:Successful")
		w.clean()
	})
}

// TestTheServiceOfAFormerExperiment: public fault P208.
func TestTheServiceOfAFormerExperiment(t *testing.T) {
	begin := func(t *testing.T, s Service) *world {
		w := newWorld(t, template("a", 1))
		w.e.Spec.Templates[0].Service = &v1alpha1.TemplateService{Name: "fixed"}
		w.services["fixed"] = s
		w.settle()
		return w
	}
	t.Run("is waited for", func(t *testing.T) {
		w := begin(t, Service{Name: "fixed", UID: "old", Experiment: "former"})
		w.expect("Pending a:Progressing exp-a=1")
		if !strings.Contains(w.e.Status.Message, "still belongs to Experiment 'former'") {
			t.Errorf("message %q", w.e.Status.Message)
		}
		if d := w.last.Wake.Sub(w.now); d <= 0 || d > 10*time.Second {
			t.Errorf("it looks again in %v", d)
		}
		w.services["fixed"] = Service{Name: "fixed", UID: "old", Experiment: "former", Deleting: true}
		w.later(40 * time.Second)
		w.expect("Pending a:Progressing exp-a=1")
		delete(w.services, "fixed")
		w.later(5 * time.Second)
		w.expect("Running a:Running exp-a=1 svc/fixed")
	})
	t.Run("is waited for no longer than the deadline", func(t *testing.T) {
		w := begin(t, Service{Name: "fixed", UID: "old", Experiment: "former"})
		w.later(601 * time.Second)
		w.expect("Failed a:Failed exp-a=1")
		w.later(31 * time.Second)
		w.clean()
		if w.services["fixed"].UID != "old" {
			t.Error("the Service of another was touched")
		}
	})
	t.Run("of nobody's experiment is an error", func(t *testing.T) {
		w := begin(t, Service{Name: "fixed", UID: "theirs"})
		w.expect("Error a:Error exp-a=1")
	})
	t.Run("without a name of the user's another name is taken", func(t *testing.T) {
		w := newWorld(t, template("a", 1))
		w.e.Spec.Templates[0].Service = &v1alpha1.TemplateService{}
		w.services["exp-a"] = Service{Name: "exp-a", UID: "theirs"}
		w.settle()
		w.expect("Running a:Running exp-a=1 svc/exp-a-" + w.set("exp-a").Hash)
	})
}

func TestNamesThatAreTaken(t *testing.T) {
	t.Run("a set takes the next name", func(t *testing.T) {
		w := newWorld(t, template("a", 1))
		w.taken["exp-a"] = true
		value := "{{templates.a.replicaset.name}}"
		w.analyse("x", false, v1alpha1.Argument{Name: "set", Value: &value})
		w.settle()
		name := "exp-a-" + w.sets[0].Hash
		w.expect("Running a:Running " + name + "=1 run/exp-x:Running")
		if got := *w.specs["exp-x"].Args[0].Value; got != name {
			t.Errorf("the argument is %s, want %s", got, name)
		}
	})
	t.Run("two equal templates get two hashes", func(t *testing.T) {
		a, b := template("a", 1), template("a", 1)
		b.Name = "b"
		w := newWorld(t, a, b)
		w.settle()
		if len(w.sets) != 2 || w.sets[0].Hash == w.sets[1].Hash {
			t.Errorf("sets %+v", w.sets)
		}
	})
	t.Run("a run takes the next name", func(t *testing.T) {
		w := newWorld(t, template("a", 1))
		w.analyse("x", false)
		w.runs["exp-x"] = Run{Name: "exp-x", UID: "theirs", Phase: successful}
		w.settle()
		w.expect("Running a:Running exp-a=1 run/exp-x.1:Running")
	})
}

func TestRefusedWritesUseUpTheDeadlineAndNothingElse(t *testing.T) {
	t.Run("a set", func(t *testing.T) {
		w := newWorld(t, template("a", 1))
		w.refuse["ReplicaSet exp-a"] = "exceeded quota"
		w.settle()
		w.later(100 * time.Second)
		if w.e.Status.Phase != "Pending" || !strings.Contains(w.e.Status.Message, "exceeded quota") {
			t.Fatalf("%s %q", w.text(), w.e.Status.Message)
		}
		delete(w.refuse, "ReplicaSet exp-a")
		w.settle()
		w.expect("Running a:Running exp-a=1")
		if n := strings.Count(strings.Join(w.events, " "), "ReplicaSetCreateError"); n != 1 {
			t.Errorf("%d events of it", n)
		}
	})
	t.Run("a set, for ever", func(t *testing.T) {
		w := newWorld(t, template("a", 1))
		w.refuse["ReplicaSet exp-a"] = "exceeded quota"
		w.settle()
		w.later(601 * time.Second)
		if w.e.Status.Phase != failed || !strings.Contains(w.e.Status.Message, "exceeded quota") {
			t.Errorf("%s %q", w.text(), w.e.Status.Message)
		}
	})
	t.Run("a Service", func(t *testing.T) {
		w := newWorld(t, template("a", 1))
		w.e.Spec.Templates[0].Service = &v1alpha1.TemplateService{}
		w.refuse["Service exp-a"] = "no"
		w.settle()
		w.expect("Pending a:Progressing exp-a=1")
		delete(w.refuse, "Service exp-a")
		w.settle()
		w.expect("Running a:Running exp-a=1 svc/exp-a")
	})
	t.Run("a run", func(t *testing.T) {
		w := newWorld(t, template("a", 1))
		w.analyse("x", true)
		w.refuse["AnalysisRun exp-x"] = "denied"
		w.settle()
		w.expect("Running a:Running exp-a=1 run/exp-x:Pending")
		w.later(601 * time.Second)
		if w.e.Status.Phase != erroneous || !strings.Contains(w.e.Status.Message, "denied") {
			t.Errorf("%s %q", w.text(), w.e.Status.Message)
		}
	})
}

func TestTemplatesOfAnalyses(t *testing.T) {
	t.Run("one that comes a little later is waited for", func(t *testing.T) {
		w := newWorld(t, template("a", 1))
		w.analyse("x", false)
		w.lost["t-x"] = true
		w.settle()
		w.expect("Running a:Running exp-a=1")
		delete(w.lost, "t-x")
		w.later(5 * time.Second)
		w.expect("Running a:Running exp-a=1 run/exp-x:Running")
	})
	t.Run("one that does not come is an error", func(t *testing.T) {
		w := newWorld(t, template("a", 1))
		w.bad["a"] = true
		w.analyse("x", false)
		w.lost["t-x"] = true
		w.settle()
		w.later(31 * time.Second)
		if want := "AnalysisTemplate verification failed for analysis 'x': there is no t-x"; w.e.Status.Phase != erroneous || w.e.Status.Message != want {
			t.Errorf("%s %q", w.text(), w.e.Status.Message)
		}
		w.later(31 * time.Second)
		w.clean()
	})
	t.Run("a required one has to end by itself", func(t *testing.T) {
		w := newWorld(t, template("a", 1))
		w.analyse("x", true)
		w.metrics["x"][0].Count, w.metrics["x"][0].Interval = nil, "10s"
		w.settle()
		w.later(31 * time.Second)
		if w.e.Status.Phase != erroneous || !strings.Contains(w.e.Status.Message, "never ends") {
			t.Errorf("%s %q", w.text(), w.e.Status.Message)
		}
	})
	t.Run("a dry-run rule goes to the analysis that it speaks of", func(t *testing.T) {
		w := newWorld(t, template("a", 1))
		w.analyse("x", false)
		w.analyse("y", false)
		w.e.Spec.DryRun = []v1alpha1.DryRun{{MetricName: "m-x"}}
		w.settle()
		if x, y := w.specs["exp-x"].DryRun, w.specs["exp-y"].DryRun; len(x) != 1 || len(y) != 0 {
			t.Errorf("x has %v, y has %v", x, y)
		}
	})
}

func TestARunThatIsGoneIsAnError(t *testing.T) {
	w := newWorld(t, template("a", 1))
	w.analyse("x", true)
	w.settle()
	delete(w.runs, "exp-x")
	w.settle()
	if w.e.Status.Phase != erroneous || w.e.Status.Message != "AnalysisRun 'exp-x' is gone" {
		t.Errorf("%s %q", w.text(), w.e.Status.Message)
	}
}

// TestARetryMeasuresAnew: the status is wiped, and no verdict of before counts.
func TestARetryMeasuresAnew(t *testing.T) {
	for name, before := range map[string]v1alpha1.AnalysisPhase{"after a pass": successful, "after a failure": failed, "in the middle": ""} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, template("a", 1))
			w.analyse("x", true)
			w.e.Spec.Templates[0].Service = &v1alpha1.TemplateService{}
			w.outcome["exp-x"] = before
			w.settle()
			if before != "" {
				w.later(10 * time.Second) // the pods are still there, with an order to go
			}
			w.e.Status = v1alpha1.ExperimentStatus{}
			w.settle()
			w.expect("Running a:Running exp-a=1 run/exp-x.1:Running svc/exp-a")
			if !w.set("exp-a").ScaleDownAt.IsZero() {
				t.Error("the order to go still stands")
			}
			if r := w.runs["exp-x"]; !r.Phase.Completed() {
				t.Errorf("the former run goes on: %+v", r)
			}
			w.outcome["exp-x.1"] = successful
			w.follow()
			w.settle()
			w.later(31 * time.Second)
			w.expect("Successful a:Successful run/exp-x.1:Successful")
			w.clean()
		})
	}
}

func TestPodsStayWhileARequiredAnalysisMeasures(t *testing.T) {
	w := newWorld(t, template("a", 1))
	w.e.Spec.Duration = "60s"
	w.analyse("x", true)
	w.settle()
	w.later(61 * time.Second)
	w.later(300 * time.Second)
	w.expect("Running a:Successful exp-a=1 run/exp-x:Running")
	w.outcome["exp-x"] = successful
	w.follow()
	w.settle()
	w.later(31 * time.Second)
	w.expect("Successful a:Successful run/exp-x:Successful")
	w.clean()
}

func TestARunningTemplateThatLosesPods(t *testing.T) {
	w := newWorld(t, template("a", 2))
	w.settle()
	w.later(1000 * time.Second)
	w.bad["a"] = true
	w.follow()
	w.settle()
	w.expect("Pending a:Progressing exp-a=2")
	w.later(599 * time.Second)
	w.expect("Pending a:Progressing exp-a=2")
	w.bad["a"] = false
	w.follow()
	w.settle()
	w.expect("Running a:Running exp-a=2")
}

func TestTheDelayOfRoutesHolds(t *testing.T) {
	w := newWorld(t, template("a", 1))
	yes, none := true, int32(0)
	w.e.OwnerReferences = []metav1.OwnerReference{{Kind: v1alpha1.KindRollout, Name: "web", UID: "r", Controller: &yes}}
	w.e.Spec.ScaleDownDelaySeconds = &none
	w.e.Spec.Templates[0].Service = &v1alpha1.TemplateService{}
	w.settle()
	w.e.Spec.Terminate = true
	w.settle()
	w.expect("Successful a:Successful exp-a=1 svc/exp-a")
	w.later(6 * time.Second)
	w.expect("Successful a:Successful")
	w.clean()
}

func TestPodsStayWhileRoutesMayNameTheirService(t *testing.T) {
	w := newWorld(t, template("a", 1), template("b", 1))
	yes := true
	w.e.OwnerReferences = []metav1.OwnerReference{{Kind: v1alpha1.KindRollout, Name: "web", UID: "r", Controller: &yes}}
	w.e.Spec.Templates[0].Service = &v1alpha1.TemplateService{}
	w.settle()
	w.e.Annotations = map[string]string{v1alpha1.AnnotationRouted: "exp-a"}
	w.e.Spec.Terminate = true
	w.later(time.Hour)
	w.expect("Successful a:Successful b:Successful exp-a=1 exp-b=1 svc/exp-a")
	w.e.Status = v1alpha1.ExperimentStatus{} // nor does a lost record let go of them
	w.later(time.Hour)
	w.expect("Successful a:Successful b:Successful exp-a=1 exp-b=1 svc/exp-a")
	w.e.Annotations = nil
	w.later(time.Second)
	w.expect("Successful a:Successful b:Successful exp-a=1 exp-b=1 svc/exp-a")
	w.later(31 * time.Second)
	w.expect("Successful a:Successful b:Successful")
	w.clean()
}

func TestChangesOfTheSpec(t *testing.T) {
	w := newWorld(t, template("a", 1), template("b", 1))
	w.settle()
	three := int32(3)
	w.e.Spec.Templates = []v1alpha1.TemplateSpec{w.e.Spec.Templates[0]}
	w.e.Spec.Templates[0].Replicas = &three
	w.settle()
	w.expect("Running a:Running exp-a=3")
}

func TestWhatIsInvalidDoesNothing(t *testing.T) {
	w := newWorld(t, template("a", 1))
	w.e.Spec.Templates[0].Selector = nil
	w.settle()
	w.expect("")
	if c := w.e.Status.Conditions; len(c) != 1 || c[0].Reason != v1alpha1.ReasonInvalidSpec || !strings.Contains(c[0].Message, "spec.templates[0].selector") {
		t.Errorf("conditions %+v", c)
	}
	w.e.Spec.Templates[0] = template("a", 1)
	w.settle()
	w.expect("Running a:Running exp-a=1")
	if c := w.e.Status.Conditions; len(c) != 1 || c[0].Type != v1alpha1.ExperimentProgressing {
		t.Errorf("conditions %+v", c)
	}
}
