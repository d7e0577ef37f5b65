// Package verify asks AWS whether a load balancer does what the annotations of its
// Ingresses say, and whether the pods of a Service are among its targets.
//
// Law: what was not seen at AWS is not accepted. An error, an answer that is not
// there yet and an answer that says something else all leave a change pending, each
// with its reason. Judging is pure; only a Cloud speaks to the network.
package verify

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/traffic"
	"github.com/sluice-project/sluice/internal/router"
)

// Cloud is what AWS is asked. What does not exist is an empty answer; an error
// means that nothing is known.
type Cloud interface {
	// LoadBalancer is the one with the DNS name.
	LoadBalancer(ctx context.Context, dnsName string) (*LoadBalancer, error)
	// TargetGroups are those that the load balancer uses.
	TargetGroups(ctx context.Context, loadBalancer string) ([]TargetGroup, error)
	// Forwards are the forward actions of all rules of all listeners.
	Forwards(ctx context.Context, loadBalancer string) ([]Forward, error)
	// Targets are those registered with the target group.
	Targets(ctx context.Context, targetGroup string) ([]Target, error)
}

// LoadBalancer is one at AWS.
type LoadBalancer struct{ Name, ARN, DNSName string }

// TargetGroup is one at AWS, with its tags by key.
type TargetGroup struct {
	Name, ARN string
	Tags      map[string]string
}

// Forward is the action of one rule.
type Forward struct {
	// Rule is the ARN of the rule.
	Rule string
	// Weights by the ARN of the target group, 0 to 999.
	Weights map[string]int32
}

// defaultTag is the key under which the controller at AWS notes for which backend
// it made a target group.
const defaultTag = "ingress.k8s.aws/resource"

// longestError bounds what a message repeats of an error.
const longestError = 300

// Verifier asks one Cloud.
type Verifier struct {
	cloud Cloud
	tag   string
}

// New is a verifier that knows target groups by the tag of the options.
func New(cloud Cloud, o router.Options) *Verifier {
	v := &Verifier{cloud: cloud, tag: o.TargetGroupTag}
	if v.tag == "" {
		v.tag = defaultTag
	}
	return v
}

// Report is what a look at AWS brought.
type Report struct {
	// Entrances are those that were handed in, with Ack and Message.
	Entrances []router.Entrance
	// Status has an entry for each load balancer that was found.
	Status []v1alpha1.ALBStatus
	// Err joins what went wrong on the way; the entrances it met are pending.
	Err error
}

// Weights compares the entrances of an ALB router, as it has read them, with the
// rules of their load balancers.
func (v *Verifier) Weights(ctx context.Context, in router.Input, entrances []router.Entrance) Report {
	var r Report
	for _, e := range entrances {
		if e.Missing {
			r.Entrances = append(r.Entrances, e)
			continue
		}
		ask := askFor(in, e, v.tag)
		seen, err := v.look(ctx, ask.Hosts)
		if err != nil {
			e.Ack, e.Message = traffic.AckPending, e.Name+": AWS did not answer: "+shortened(err)
			r.Err = errors.Join(r.Err, fmt.Errorf("%s: %w", e.Name, err))
		} else {
			var status []v1alpha1.ALBStatus
			e.Ack, e.Message, status = Judge(ask, seen)
			r.Status = append(r.Status, status...)
		}
		r.Entrances = append(r.Entrances, e)
	}
	return r
}

func (v *Verifier) look(ctx context.Context, hosts []string) ([]Seen, error) {
	var all []Seen
	for _, host := range hosts {
		s := Seen{Host: host}
		var err error
		if s.LoadBalancer, err = v.cloud.LoadBalancer(ctx, host); err != nil {
			return nil, fmt.Errorf("find the load balancer %s: %w", host, err)
		}
		if s.LoadBalancer != nil {
			if s.Groups, err = v.cloud.TargetGroups(ctx, s.LoadBalancer.ARN); err != nil {
				return nil, fmt.Errorf("list the target groups of the load balancer %s: %w", s.LoadBalancer.Name, err)
			}
			if s.Forwards, err = v.cloud.Forwards(ctx, s.LoadBalancer.ARN); err != nil {
				return nil, fmt.Errorf("list the rules of the load balancer %s: %w", s.LoadBalancer.Name, err)
			}
		}
		all = append(all, s)
	}
	return all, nil
}

func shortened(err error) string {
	text := strings.Join(strings.Fields(err.Error()), " ")
	if r := []rune(text); len(r) > longestError {
		return string(r[:longestError]) + "..."
	}
	return text
}

// Ask is what the load balancers of an Ingress should do.
type Ask struct {
	Namespace, Ingress string
	// Hosts are the DNS names in the status of the Ingress.
	Hosts []string
	// Tag is the key of the tag that tells target groups apart, Port the port of
	// all Services.
	Tag  string
	Port int32
	// CanaryService and StableService get what Split says, as do the Services of
	// its further destinations.
	CanaryService, StableService string
	Split                        traffic.Split
}

// Seen is what was found behind one DNS name.
type Seen struct {
	Host         string
	LoadBalancer *LoadBalancer
	Groups       []TargetGroup
	Forwards     []Forward
}

func askFor(in router.Input, e router.Entrance, tag string) Ask {
	a := Ask{
		Namespace: e.Object.Namespace, Ingress: e.Object.Name, Hosts: hostsOf(in.Objects[e.Object]), Tag: tag,
		CanaryService: in.Roles.CanaryService, StableService: in.Roles.StableService, Split: e.Routing.Split,
	}
	if t := router.Configured(in.Rollout); t != nil && t.ALB != nil {
		a.Port = t.ALB.ServicePort
	}
	return a
}

func hostsOf(o *unstructured.Unstructured) []string {
	if o == nil {
		return nil
	}
	var hosts []string
	for _, entry := range router.List(o.Object, "status", "loadBalancer", "ingress") {
		if host := router.Text(entry, "hostname"); host != "" {
			hosts = append(hosts, host)
		}
	}
	return hosts
}

// Judge compares what is asked with what was seen: every load balancer of the
// Ingress must divide as asked, in every rule that divides at all.
func Judge(a Ask, seen []Seen) (ack traffic.Ack, message string, status []v1alpha1.ALBStatus) {
	ack = traffic.AckAccepted
	pending := func(format string, args ...any) {
		if ack == traffic.AckAccepted {
			ack, message = traffic.AckPending, "Ingress "+a.Ingress+": "+fmt.Sprintf(format, args...)
		}
	}
	if len(seen) == 0 {
		pending("has no load balancer in its status yet")
	}
	for _, s := range seen {
		if s.LoadBalancer == nil {
			pending("AWS has no load balancer with the DNS name %s", s.Host)
			continue
		}
		status = append(status, a.statusOf(s))
		if why := a.divides(s); why != "" {
			pending("%s", why)
		}
	}
	return ack, message, status
}

// share is what a Service should get.
type share struct {
	service string
	weight  int32
}

func (a Ask) shares() []share {
	list := []share{{a.CanaryService, a.Split.Canary}}
	for _, d := range a.Split.Extra {
		list = append(list, share{d.Service, d.Weight})
	}
	return append(list, share{a.StableService, a.Split.Stable})
}

// divides tells why a load balancer does not divide as asked, or is empty.
func (a Ask) divides(s Seen) string {
	shares := a.shares()
	arns := make([]string, len(shares))
	for i, sh := range shares {
		g := a.groupOf(s.Groups, sh.service)
		if g == nil {
			return fmt.Sprintf("load balancer %s has no target group with the tag %s=%s yet", s.LoadBalancer.Name, a.Tag, a.resource(sh.service))
		}
		arns[i] = g.ARN
	}
	found := false
	canary, stable := arns[0], arns[len(arns)-1]
	for _, f := range s.Forwards {
		_, toCanary := f.Weights[canary]
		_, toStable := f.Weights[stable]
		if !toCanary || !toStable {
			continue // a header route, or somebody else's
		}
		found = true
		for i, sh := range shares {
			if got := f.Weights[arns[i]]; got != sh.weight {
				return fmt.Sprintf("a rule of load balancer %s gives the Service %s %d of %d, and not yet %d", s.LoadBalancer.Name, sh.service, got, a.Split.Max, sh.weight)
			}
		}
	}
	if !found {
		return fmt.Sprintf("load balancer %s has no rule yet that divides between the Services %s and %s", s.LoadBalancer.Name, a.StableService, a.CanaryService)
	}
	return ""
}

// resource is the value of the tag for a Service.
func (a Ask) resource(service string) string {
	return fmt.Sprintf("%s/%s-%s:%d", a.Namespace, a.Ingress, service, a.Port)
}

func (a Ask) groupOf(groups []TargetGroup, service string) *TargetGroup {
	for i := range groups {
		if groups[i].Tags[a.Tag] == a.resource(service) {
			return &groups[i]
		}
	}
	return nil
}

func (a Ask) statusOf(s Seen) v1alpha1.ALBStatus {
	status := v1alpha1.ALBStatus{
		Ingress:      a.Ingress,
		LoadBalancer: v1alpha1.AwsResourceRef{Name: s.LoadBalancer.Name, ARN: s.LoadBalancer.ARN, FullName: fullName(s.LoadBalancer.ARN)},
	}
	if g := a.groupOf(s.Groups, a.CanaryService); g != nil {
		status.CanaryTargetGroup = v1alpha1.AwsResourceRef{Name: g.Name, ARN: g.ARN, FullName: fullName(g.ARN)}
	}
	if g := a.groupOf(s.Groups, a.StableService); g != nil {
		status.StableTargetGroup = v1alpha1.AwsResourceRef{Name: g.Name, ARN: g.ARN, FullName: fullName(g.ARN)}
	}
	return status
}

// fullName is the name by which metrics know a resource: the last part of its
// ARN, for a load balancer without its kind.
func fullName(arn string) string {
	return strings.TrimPrefix(arn[strings.LastIndex(arn, ":")+1:], "loadbalancer/")
}
