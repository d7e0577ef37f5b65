package verify_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/traffic"
	"github.com/sluice-project/sluice/internal/router"
	"github.com/sluice-project/sluice/internal/router/alb"
	"github.com/sluice-project/sluice/internal/router/alb/verify"
)

const tag = "ingress.k8s.aws/resource"

func host(name string) string { return balancer{name: name}.dns() }

// input has the Ingress web with these hosts and a canary at the weight.
func input(canary int32, hosts ...string) (router.Input, []router.Entrance) {
	ro := &v1alpha1.Rollout{ObjectMeta: metav1.ObjectMeta{Name: "api", Namespace: "ns"}}
	ro.Spec.Strategy.Canary = &v1alpha1.CanaryStrategy{CanaryService: "canary", StableService: "stable",
		TrafficRouting: &v1alpha1.RolloutTrafficRouting{ALB: &v1alpha1.ALBTrafficRouting{Ingress: "web", ServicePort: 80, RootService: "root"}}}
	var addresses []any
	for _, h := range hosts {
		addresses = append(addresses, map[string]any{"hostname": h})
	}
	o := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": map[string]any{"name": "web", "namespace": "ns"},
		"spec": map[string]any{"rules": []any{map[string]any{"http": map[string]any{"paths": []any{map[string]any{
			"path": "/*", "backend": map[string]any{"service": map[string]any{"name": "root", "port": map[string]any{"name": "use-annotation"}}}}}}}}},
		"status": map[string]any{"loadBalancer": map[string]any{"ingress": addresses}},
	}}
	in := router.Input{Rollout: ro, Roles: router.Roles{CanaryService: "canary", StableService: "stable"}, Objects: router.Objects{}}
	a := alb.New(router.Options{})
	in.Objects[a.Keys(ro, in.Roles)[0]] = o
	for _, c := range a.Write(in, traffic.Routing{Split: traffic.New(100, canary)}) {
		in.Objects[c.Key] = c.New
	}
	return in, a.Survey(in)
}

// world is a service with one load balancer that divides 20 to 80, a header route
// and a redirect.
func world() *service {
	canary, stable := groupARN("canary"), groupARN("stable")
	return &service{
		balancers: []balancer{
			{name: "other"},
			{name: "web", groups: []string{canary, stable}, listeners: []listener{
				{arn: "l1", rules: []map[string]string{nil}},
				{arn: "l2", rules: []map[string]string{{canary: "100"}, {canary: "20", stable: "80"}, {groupARN("x"): ""}}},
			}},
		},
		tags: map[string]map[string]string{canary: {tag: "ns/web-canary:80", "a": "b"}, stable: {tag: "ns/web-stable:80"}},
	}
}

func (s *service) rule(weights map[string]string) {
	s.change(func() { s.balancers[1].listeners[1].rules[1] = weights })
}

func look(t *testing.T, c verify.Cloud, in router.Input, entrances []router.Entrance) verify.Report {
	t.Helper()
	r := verify.New(c, router.Options{}).Weights(t.Context(), in, entrances)
	if len(r.Entrances) != len(entrances) {
		t.Fatalf("%d entrances of %d", len(r.Entrances), len(entrances))
	}
	return r
}

func TestWeightsAreAcceptedOnceTheLoadBalancerHasThem(t *testing.T) {
	s := world()
	c := s.start(t)
	in, entrances := input(20, host("web"))
	r := look(t, c, in, entrances)
	if e := r.Entrances[0]; e.Ack != traffic.AckAccepted || e.Message != "" || r.Err != nil {
		t.Errorf("%+v, %v", e, r.Err)
	}
	want := []v1alpha1.ALBStatus{{
		Ingress:           "web",
		LoadBalancer:      v1alpha1.AwsResourceRef{Name: "web", ARN: balancer{name: "web"}.arn(), FullName: "app/web/50dc6c495c0c9188"},
		CanaryTargetGroup: v1alpha1.AwsResourceRef{Name: "canary", ARN: groupARN("canary"), FullName: "targetgroup/canary/73e2d6bc24d8a067"},
		StableTargetGroup: v1alpha1.AwsResourceRef{Name: "stable", ARN: groupARN("stable"), FullName: "targetgroup/stable/73e2d6bc24d8a067"},
	}}
	if d := cmp.Diff(want, r.Status); d != "" {
		t.Errorf("status (-want +got):\n%s", d)
	}

	// A new weight is pending until AWS has it.
	in, entrances = input(40, host("web"))
	if e := look(t, c, in, entrances).Entrances[0]; e.Ack != traffic.AckPending ||
		e.Message != "Ingress web: a rule of load balancer web gives the Service canary 20 of 100, and not yet 40" {
		t.Errorf("before AWS has it: %+v", e)
	}
	s.rule(map[string]string{groupARN("canary"): "40", groupARN("stable"): "60"})
	if e := look(t, c, in, entrances).Entrances[0]; e.Ack != traffic.AckAccepted {
		t.Errorf("once AWS has it: %+v", e)
	}
	if n, m := s.called("DescribeLoadBalancers"), s.called("DescribeTags"); n != 1 || m != 1 {
		t.Errorf("looked up %d and %d times what does not change", n, m)
	}
}

func TestWhatIsNotSeenIsPending(t *testing.T) {
	canary, stable := groupARN("canary"), groupARN("stable")
	for name, c := range map[string]struct {
		hosts  []string
		change func(s *service)
		want   string // within the message
		err    bool
	}{
		"no load balancer yet":        {nil, nil, "Ingress web: has no load balancer in its status yet", false},
		"a load balancer AWS has not": {[]string{"gone.example"}, nil, "Ingress web: AWS has no load balancer with the DNS name gone.example", false},
		"one of two has it not":       {[]string{host("web"), host("other")}, nil, "load balancer other has no target group with the tag ingress.k8s.aws/resource=ns/web-canary:80 yet", false},
		"no tag":                      {[]string{host("web")}, func(s *service) { s.tags[canary] = nil }, "no target group with the tag ingress.k8s.aws/resource=ns/web-canary:80 yet", false},
		"a tag of another namespace":  {[]string{host("web")}, func(s *service) { s.tags[stable][tag] = "n/web-stable:80" }, "=ns/web-stable:80 yet", false},
		"only a header route":         {[]string{host("web")}, func(s *service) { s.balancers[1].listeners[1].rules = []map[string]string{{canary: "100"}} }, "has no rule yet that divides between the Services stable and canary", false},
		"stable has another weight":   {[]string{host("web")}, func(s *service) { s.balancers[1].listeners[1].rules[1] = map[string]string{canary: "20", stable: "20"} }, "gives the Service stable 20 of 100, and not yet 80", false},
		"weights that are not stated": {[]string{host("web")}, func(s *service) { s.balancers[1].listeners[1].rules[1] = map[string]string{canary: "", stable: ""} }, "gives the Service canary 1 of 100, and not yet 20", false},
		"one listener lags behind": {[]string{host("web")}, func(s *service) {
			s.balancers[1].listeners[0].rules = []map[string]string{{canary: "10", stable: "90"}}
		}, "gives the Service canary 10 of 100, and not yet 20", false},
		"no permission": {[]string{host("web")}, func(s *service) {
			s.fails = map[string]failure{"DescribeRules": {"AccessDenied", http.StatusForbidden, 99}}
		}, "Ingress web: AWS did not answer: list the rules of the load balancer web:", true},
		"AWS is down": {[]string{host("web")}, func(s *service) {
			s.fails = map[string]failure{"DescribeTags": {"InternalFailure", http.StatusInternalServerError, 99}}
		}, "AWS did not answer: list the target groups of the load balancer web:", true},
		"throttled without end": {[]string{host("web")}, func(s *service) {
			s.fails = map[string]failure{"DescribeLoadBalancers": {"Throttling", http.StatusBadRequest, 99}}
		}, "AWS did not answer: find the load balancer", true},
	} {
		t.Run(name, func(t *testing.T) {
			s := world()
			if c.change != nil {
				c.change(s)
			}
			in, entrances := input(20, c.hosts...)
			r := look(t, s.start(t), in, entrances)
			if e := r.Entrances[0]; e.Ack != traffic.AckPending || !strings.Contains(e.Message, c.want) || (r.Err != nil) != c.err {
				t.Errorf("%+v, %v; want %q", e, r.Err, c.want)
			}
			if text := fmt.Sprint(r.Err) + r.Entrances[0].Message; strings.Contains(text, secret) {
				t.Errorf("the secret is told: %s", text)
			}
		})
	}
}

func TestPatienceIsKeptWithAThrottlingAWS(t *testing.T) {
	s := world()
	s.fails = map[string]failure{}
	for _, action := range []string{"DescribeLoadBalancers", "DescribeTargetGroups", "DescribeTags", "DescribeListeners", "DescribeRules"} {
		s.fails[action] = failure{"Throttling", http.StatusBadRequest, 2}
	}
	in, entrances := input(20, host("web"))
	if r := look(t, s.start(t), in, entrances); r.Err != nil || r.Entrances[0].Ack != traffic.AckAccepted {
		t.Errorf("%+v, %v", r.Entrances[0], r.Err)
	}
}

func TestLongListsComeInPages(t *testing.T) {
	s := world()
	s.pageSize = 3
	for i := range 10 {
		s.balancers = append([]balancer{{name: fmt.Sprint("b", i)}}, s.balancers...)
	}
	b := &s.balancers[len(s.balancers)-1]
	for i := range 50 {
		b.groups = append([]string{groupARN(fmt.Sprint("g", i))}, b.groups...)
		b.listeners = append([]listener{{arn: fmt.Sprint("x", i), rules: make([]map[string]string, 4)}}, b.listeners...)
	}
	in, entrances := input(20, "dualstack."+host("web"))
	if r := look(t, s.start(t), in, entrances); r.Err != nil || r.Entrances[0].Ack != traffic.AckAccepted {
		t.Errorf("%+v, %v", r.Entrances[0], r.Err)
	}
	if s.mostTags != 20 || s.balancerPage != 300 || s.called("DescribeTags") != 3 || s.called("DescribeLoadBalancers") != 4 || s.called("DescribeTargetGroups") != 18 {
		t.Errorf("%d ARNs in a request for tags, pages of %d, calls %v", s.mostTags, s.balancerPage, s.calls)
	}
}

func TestALoadBalancerThatWasReplacedIsFoundAnew(t *testing.T) {
	s := world()
	c := s.start(t)
	in, entrances := input(20, host("web"))
	look(t, c, in, entrances)
	s.change(func() { s.balancers = nil })
	if r := look(t, c, in, entrances); r.Err == nil || r.Entrances[0].Ack != traffic.AckPending {
		t.Errorf("%+v, %v", r.Entrances[0], r.Err)
	}
	if r := look(t, c, in, entrances); r.Err != nil || !strings.Contains(r.Entrances[0].Message, "AWS has no load balancer") {
		t.Errorf("%+v, %v", r.Entrances[0], r.Err)
	}
	s.change(func() { s.balancers = world().balancers })
	if r := look(t, c, in, entrances); r.Err != nil || r.Entrances[0].Ack != traffic.AckAccepted {
		t.Errorf("%+v, %v", r.Entrances[0], r.Err)
	}
}

func TestExperimentsAreCompared(t *testing.T) {
	s := world()
	x := groupARN("x")
	s.balancers[1].groups = append(s.balancers[1].groups, x)
	s.tags[x] = map[string]string{tag: "ns/web-api-abc-2-1-a:80"}
	c := s.start(t)
	in, entrances := input(20, host("web"))
	entrances[0].Routing.Split = traffic.New(100, 20, traffic.Destination{Name: "a", Service: "api-abc-2-1-a", Weight: 30})
	if e := look(t, c, in, entrances).Entrances[0]; !strings.Contains(e.Message, "gives the Service api-abc-2-1-a 0 of 100, and not yet 30") {
		t.Errorf("%+v", e)
	}
	s.rule(map[string]string{groupARN("canary"): "20", x: "30", groupARN("stable"): "50"})
	if e := look(t, c, in, entrances).Entrances[0]; e.Ack != traffic.AckAccepted {
		t.Errorf("%+v", e)
	}
}

func TestTheKeyOfTheTagIsAnOption(t *testing.T) {
	s := world()
	for arn, tags := range s.tags {
		s.tags[arn] = map[string]string{"example.com/of": tags[tag]}
	}
	in, entrances := input(20, host("web"))
	r := verify.New(s.start(t), router.Options{TargetGroupTag: "example.com/of"}).Weights(t.Context(), in, entrances)
	if r.Entrances[0].Ack != traffic.AckAccepted {
		t.Errorf("%+v", r.Entrances[0])
	}
}

func TestAMissingEntranceIsNotAskedFor(t *testing.T) {
	s := world()
	c := s.start(t)
	in, _ := input(20)
	entrances := []router.Entrance{{Name: "Ingress gone", Missing: true, Message: "not there"}}
	r := look(t, c, in, entrances)
	if d := cmp.Diff(entrances, r.Entrances); d != "" || len(s.calls) > 0 {
		t.Errorf("calls %v, entrances (-want +got):\n%s", s.calls, d)
	}
}

func TestACallThatIsCancelledEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	in, entrances := input(20, host("web"))
	r := verify.New(world().start(t), router.Options{}).Weights(ctx, in, entrances)
	if r.Err == nil || r.Entrances[0].Ack != traffic.AckPending {
		t.Errorf("%+v, %v", r.Entrances[0], r.Err)
	}
}

func binding(name, service string, port any, kind string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "elbv2.k8s.aws/v1beta1", "kind": "TargetGroupBinding", "metadata": map[string]any{"name": name, "namespace": "ns"},
		"spec": map[string]any{"targetGroupARN": groupARN(name), "targetType": kind, "serviceRef": map[string]any{"name": service, "port": port}},
	}}
}

func TestPodsAreComparedWithTargets(t *testing.T) {
	two := []verify.Endpoint{{IP: "10.0.0.1", Port: 8080}, {IP: "10.0.0.2", Port: 8080}}
	ports := []verify.Port{{Name: "http", Number: 80, Endpoints: two}, {Name: "admin", Number: 81}}
	target := func(ip, state string) verify.Target { return verify.Target{ID: ip, Port: 8080, State: state} }
	for name, c := range map[string]struct {
		bindings []*unstructured.Unstructured
		targets  map[string][]verify.Target
		fails    map[string]failure
		ack      traffic.Ack
		message  string
		err      bool
	}{
		"all are there": {[]*unstructured.Unstructured{binding("a", "web", int64(80), "ip")},
			map[string][]verify.Target{groupARN("a"): {target("10.0.0.1", "healthy"), target("10.0.0.2", "initial"), target("10.0.0.9", "healthy")}}, nil,
			traffic.AckAccepted, "TargetGroupBinding a: 2 of 2 pods are targets, 1 healthy, 1 initial", false},
		"a port by its name": {[]*unstructured.Unstructured{binding("a", "web", "http", "ip")},
			map[string][]verify.Target{groupARN("a"): {target("10.0.0.1", "unhealthy"), target("10.0.0.2", "unused")}}, nil,
			traffic.AckAccepted, "TargetGroupBinding a: 2 of 2 pods are targets, 0 healthy, 0 initial", false},
		"one is not there": {[]*unstructured.Unstructured{binding("a", "web", int64(80), "ip")},
			map[string][]verify.Target{groupARN("a"): {target("10.0.0.1", "healthy")}}, nil,
			traffic.AckPending, "TargetGroupBinding a: 1 of 2 pods are targets, 1 healthy, 0 initial; not yet 10.0.0.2:8080", false},
		"one is leaving": {[]*unstructured.Unstructured{binding("a", "web", int64(80), "ip")},
			map[string][]verify.Target{groupARN("a"): {target("10.0.0.1", "draining"), target("10.0.0.2", "healthy")}}, nil,
			traffic.AckPending, "TargetGroupBinding a: 1 of 2 pods are targets, 1 healthy, 0 initial; not yet 10.0.0.1:8080", false},
		"another port of the pod": {[]*unstructured.Unstructured{binding("a", "web", int64(80), "ip")},
			map[string][]verify.Target{groupARN("a"): {{ID: "10.0.0.1", Port: 9090, State: "healthy"}, target("10.0.0.2", "healthy")}}, nil,
			traffic.AckPending, "TargetGroupBinding a: 1 of 2 pods are targets, 1 healthy, 0 initial; not yet 10.0.0.1:8080", false},
		"every binding counts": {[]*unstructured.Unstructured{binding("a", "web", int64(80), "ip"), binding("b", "web", int64(80), "ip")},
			map[string][]verify.Target{groupARN("b"): {target("10.0.0.1", "healthy"), target("10.0.0.2", "healthy")}}, nil,
			traffic.AckPending, "TargetGroupBinding a: 0 of 2 pods are targets, 0 healthy, 0 initial; not yet 10.0.0.1:8080; TargetGroupBinding b: 2 of 2 pods are targets, 2 healthy, 0 initial", false},
		"a Service without pods":     {[]*unstructured.Unstructured{binding("a", "web", int64(81), "ip")}, nil, nil, traffic.AckAccepted, "TargetGroupBinding a: 0 of 0 pods are targets, 0 healthy, 0 initial", false},
		"bindings of other Services": {[]*unstructured.Unstructured{binding("a", "other", int64(80), "ip"), binding("b", "web", int64(8), "ip"), nil}, nil, nil, traffic.AckSilent, "", false},
		"instances are no addresses": {[]*unstructured.Unstructured{binding("a", "web", int64(80), "instance")}, nil, nil, traffic.AckSilent, "", false},
		"an error": {[]*unstructured.Unstructured{binding("a", "web", int64(80), "ip")}, nil,
			map[string]failure{"DescribeTargetHealth": {"TargetGroupNotFound", http.StatusBadRequest, 99}}, traffic.AckPending, "AWS did not answer: list the targets of TargetGroupBinding a:", true},
	} {
		t.Run(name, func(t *testing.T) {
			s := &service{targets: c.targets, fails: c.fails}
			ack, message, err := verify.New(s.start(t), router.Options{}).Targets(t.Context(), c.bindings, "web", ports)
			if ack != c.ack || (err != nil) != c.err || message != c.message && (!c.err || !strings.HasPrefix(message, c.message)) {
				t.Errorf("%q, %q, %v; want %q, %q", ack, message, err, c.ack, c.message)
			}
		})
	}
}
