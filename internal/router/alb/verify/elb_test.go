package verify_test

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sort"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/sluice-project/sluice/internal/router/alb/verify"
)

// secret must never be seen.
const secret = "the-secret-key-of-this-test"

// service speaks the query protocol of the load balancers at AWS.
type service struct {
	mu sync.Mutex
	// pageSize is how many entries of a list go into one answer.
	pageSize  int
	balancers []balancer
	// tags by the ARN of the target group.
	tags map[string]map[string]string
	// targets by the ARN of the target group.
	targets map[string][]verify.Target
	// fails gives the code with which an action fails, and how often.
	fails map[string]failure
	calls map[string]int
	// mostTags is the largest number of ARNs in one request for tags, and
	// balancerPage the page size that was asked for.
	mostTags, balancerPage int
}

type failure struct {
	code   string
	status int
	times  int
}

type balancer struct {
	name      string
	groups    []string // ARNs
	listeners []listener
}

type listener struct {
	arn string
	// rules have the weights by ARN of the target group, nil for a redirect.
	rules []map[string]string
}

func (b balancer) arn() string {
	return "arn:aws:elasticloadbalancing:eu-west-1:1:loadbalancer/app/" + b.name + "/50dc6c495c0c9188"
}

func (b balancer) dns() string { return b.name + "-1.Eu-West-1.elb.amazonaws.com" }

func groupARN(name string) string {
	return "arn:aws:elasticloadbalancing:eu-west-1:1:targetgroup/" + name + "/73e2d6bc24d8a067"
}

// start serves on this machine and gives a client for it.
func (s *service) start(t *testing.T) *verify.Client {
	t.Helper()
	s.calls = map[string]int{}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	c, err := verify.Connect(t.Context(),
		config.WithRegion("eu-west-1"), config.WithBaseEndpoint(server.URL),
		config.WithSharedConfigFiles(nil), config.WithSharedCredentialsFiles(nil),
		config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider("AKID", secret, "")),
		config.WithRetryer(func() aws.Retryer {
			return retry.NewStandard(func(o *retry.StandardOptions) { o.MaxAttempts, o.MaxBackoff = 4, time.Millisecond })
		}))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (s *service) called(action string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[action]
}

func (s *service) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := r.ParseForm(); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	action := r.Form.Get("Action")
	s.calls[action]++
	if f := s.fails[action]; f.times > 0 {
		f.times--
		s.fails[action] = f
		refuse(w, f.status, f.code)
		return
	}
	var body string
	ok := true
	switch action {
	case "DescribeLoadBalancers":
		s.balancerPage, _ = strconv.Atoi(r.Form.Get("PageSize"))
		body = s.page(r, "LoadBalancers", len(s.balancers), func(i int) string {
			b := s.balancers[i]
			return element("LoadBalancerArn", b.arn()) + element("DNSName", b.dns()) + element("LoadBalancerName", b.name)
		})
	case "DescribeTargetGroups":
		var b balancer
		if b, ok = s.balancer(r); ok {
			body = s.page(r, "TargetGroups", len(b.groups), func(i int) string {
				return element("TargetGroupArn", b.groups[i]) + element("TargetGroupName", strings.Split(b.groups[i], "/")[1])
			})
		}
	case "DescribeTags":
		body = s.describeTags(r)
	case "DescribeListeners":
		var b balancer
		if b, ok = s.balancer(r); ok {
			body = s.page(r, "Listeners", len(b.listeners), func(i int) string { return element("ListenerArn", b.listeners[i].arn) })
		}
	case "DescribeRules":
		body = s.describeRules(r)
	case "DescribeTargetHealth":
		for _, target := range s.targets[r.Form.Get("TargetGroupArn")] {
			body += "<member><Target>" + element("Id", target.ID) + element("Port", fmt.Sprint(target.Port)) + "</Target><TargetHealth>" + element("State", target.State) + "</TargetHealth></member>"
		}
		body = "<TargetHealthDescriptions>" + body + "</TargetHealthDescriptions>"
	default:
		refuse(w, http.StatusBadRequest, "InvalidAction")
		return
	}
	if !ok {
		refuse(w, http.StatusBadRequest, "LoadBalancerNotFound")
		return
	}
	fmt.Fprintf(w, `<%[1]sResponse xmlns="http://elasticloadbalancing.amazonaws.com/doc/2015-12-01/"><%[1]sResult>%[2]s</%[1]sResult><ResponseMetadata><RequestId>r</RequestId></ResponseMetadata></%[1]sResponse>`, action, body)
}

func (s *service) balancer(r *http.Request) (balancer, bool) {
	for _, b := range s.balancers {
		if b.arn() == r.Form.Get("LoadBalancerArn") {
			return b, true
		}
	}
	return balancer{}, false
}

func (s *service) describeTags(r *http.Request) string {
	var body string
	n := 1
	for ; r.Form.Get(fmt.Sprintf("ResourceArns.member.%d", n)) != ""; n++ {
		arn := r.Form.Get(fmt.Sprintf("ResourceArns.member.%d", n))
		var tags string
		for k, v := range s.tags[arn] {
			tags += "<member>" + element("Key", k) + element("Value", v) + "</member>"
		}
		body += "<member>" + element("ResourceArn", arn) + "<Tags>" + tags + "</Tags></member>"
	}
	s.mostTags = max(s.mostTags, n-1)
	return "<TagDescriptions>" + body + "</TagDescriptions>"
}

func (s *service) describeRules(r *http.Request) string {
	for _, b := range s.balancers {
		for _, l := range b.listeners {
			if l.arn != r.Form.Get("ListenerArn") {
				continue
			}
			return s.page(r, "Rules", len(l.rules), func(i int) string {
				return element("RuleArn", fmt.Sprintf("%s/rule-%d", l.arn, i)) + "<Actions><member>" + actionText(l.rules[i]) + "</member></Actions>"
			})
		}
	}
	return "<Rules></Rules>"
}

func actionText(weights map[string]string) string {
	if weights == nil {
		return element("Type", "redirect")
	}
	var arns []string
	for arn := range weights {
		arns = append(arns, arn)
	}
	sort.Strings(arns)
	var groups string
	for _, arn := range arns {
		groups += "<member>" + element("TargetGroupArn", arn)
		if weights[arn] != "" {
			groups += element("Weight", weights[arn])
		}
		groups += "</member>"
	}
	return element("Type", "forward") + "<ForwardConfig><TargetGroups>" + groups + "</TargetGroups></ForwardConfig>"
}

// page is one page of a list; the marker is the index of the next entry.
func (s *service) page(r *http.Request, list string, n int, entry func(i int) string) string {
	from, _ := strconv.Atoi(r.Form.Get("Marker"))
	to := n
	if s.pageSize > 0 {
		to = min(n, from+s.pageSize)
	}
	var body string
	for i := from; i < to; i++ {
		body += "<member>" + entry(i) + "</member>"
	}
	body = "<" + list + ">" + body + "</" + list + ">"
	if to < n {
		body += element("NextMarker", fmt.Sprint(to))
	}
	return body
}

func element(name, text string) string {
	var b strings.Builder
	if err := xml.EscapeText(&b, []byte(text)); err != nil {
		return err.Error()
	}
	return "<" + name + ">" + b.String() + "</" + name + ">"
}

func refuse(w http.ResponseWriter, status int, code string) {
	w.WriteHeader(status)
	fmt.Fprintf(w, `<ErrorResponse><Error><Type>Sender</Type>%s<Message>no</Message></Error><RequestId>r</RequestId></ErrorResponse>`, element("Code", code))
}
