package verify

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/config"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/logging"
)

const (
	// balancersPerPage and tagsPerCall are how much one request may ask for.
	balancersPerPage = 300
	tagsPerCall      = 20
	// mostPages bounds every list.
	mostPages = 200
	// mostBalancers and mostGroups bound what is remembered.
	mostBalancers = 1000
	mostGroups    = 5000
	// A request is tried that often while AWS asks for patience or fails itself.
	attempts       = 5
	longestBackoff = 5 * time.Second
	// unstatedWeight is what AWS takes a weight for that is not stated.
	unstatedWeight = 1
)

// Client is the Cloud at AWS.
type Client struct {
	api *elb.Client
	// Load balancers by DNS name, and tags of target groups by ARN: they are looked
	// up once, since neither changes in the life of what bears them.
	balancers *memory[LoadBalancer]
	tags      *memory[map[string]string]
}

var _ Cloud = (*Client)(nil)

// Connect uses the credentials and the region that the SDK finds in its
// environment, unless the options say otherwise. Nothing is sent yet, and nothing
// is ever logged from within the SDK.
func Connect(ctx context.Context, options ...func(*config.LoadOptions) error) (*Client, error) {
	standard := []func(*config.LoadOptions) error{
		config.WithLogger(logging.Nop{}),
		config.WithRetryer(func() aws.Retryer {
			return retry.NewStandard(func(o *retry.StandardOptions) { o.MaxAttempts, o.MaxBackoff = attempts, longestBackoff })
		}),
	}
	cfg, err := config.LoadDefaultConfig(ctx, append(standard, options...)...)
	if err != nil {
		return nil, fmt.Errorf("find credentials and region for AWS: %w", err)
	}
	return &Client{api: elb.NewFromConfig(cfg), balancers: remember[LoadBalancer](mostBalancers), tags: remember[map[string]string](mostGroups)}, nil
}

// LoadBalancer looks through all load balancers: AWS has no look-up by DNS name.
func (c *Client) LoadBalancer(ctx context.Context, dnsName string) (*LoadBalancer, error) {
	name := strings.ToLower(strings.TrimPrefix(dnsName, "dualstack."))
	if found, ok := c.balancers.get(name); ok {
		return &found, nil
	}
	pages := elb.NewDescribeLoadBalancersPaginator(c.api, &elb.DescribeLoadBalancersInput{PageSize: aws.Int32(balancersPerPage)})
	for range mostPages {
		if !pages.HasMorePages() {
			break
		}
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, b := range page.LoadBalancers {
			if strings.ToLower(aws.ToString(b.DNSName)) == name {
				found := LoadBalancer{Name: aws.ToString(b.LoadBalancerName), ARN: aws.ToString(b.LoadBalancerArn), DNSName: aws.ToString(b.DNSName)}
				c.balancers.put(name, found)
				return &found, nil
			}
		}
	}
	return nil, nil
}

// TargetGroups asks for tags only of groups that are new.
func (c *Client) TargetGroups(ctx context.Context, loadBalancer string) ([]TargetGroup, error) {
	var groups []TargetGroup
	pages := elb.NewDescribeTargetGroupsPaginator(c.api, &elb.DescribeTargetGroupsInput{LoadBalancerArn: &loadBalancer})
	for range mostPages {
		if !pages.HasMorePages() {
			break
		}
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, c.forget(loadBalancer, err)
		}
		for _, g := range page.TargetGroups {
			groups = append(groups, TargetGroup{Name: aws.ToString(g.TargetGroupName), ARN: aws.ToString(g.TargetGroupArn)})
		}
	}
	return groups, c.addTags(ctx, groups)
}

// forget drops a load balancer that is gone, so that its successor under the same
// name is found.
func (c *Client) forget(loadBalancer string, err error) error {
	var code smithy.APIError
	if errors.As(err, &code) && code.ErrorCode() == "LoadBalancerNotFound" {
		c.balancers.dropIf(func(b LoadBalancer) bool { return b.ARN == loadBalancer })
	}
	return err
}

func (c *Client) addTags(ctx context.Context, groups []TargetGroup) error {
	var unknown []string
	for _, g := range groups {
		if _, known := c.tags.get(g.ARN); !known {
			unknown = append(unknown, g.ARN)
		}
	}
	fresh := map[string]map[string]string{}
	for len(unknown) > 0 {
		n := min(tagsPerCall, len(unknown))
		out, err := c.api.DescribeTags(ctx, &elb.DescribeTagsInput{ResourceArns: unknown[:n]})
		if err != nil {
			return err
		}
		unknown = unknown[n:]
		for _, d := range out.TagDescriptions {
			tags := map[string]string{}
			for _, t := range d.Tags {
				tags[aws.ToString(t.Key)] = aws.ToString(t.Value)
			}
			fresh[aws.ToString(d.ResourceArn)] = tags
			if len(tags) > 0 { // they may still come
				c.tags.put(aws.ToString(d.ResourceArn), tags)
			}
		}
	}
	for i := range groups {
		tags, there := fresh[groups[i].ARN]
		if !there {
			tags, _ = c.tags.get(groups[i].ARN)
		}
		groups[i].Tags = tags
	}
	return nil
}

// Forwards reads every rule, default ones included.
func (c *Client) Forwards(ctx context.Context, loadBalancer string) ([]Forward, error) {
	var forwards []Forward
	listeners := elb.NewDescribeListenersPaginator(c.api, &elb.DescribeListenersInput{LoadBalancerArn: &loadBalancer})
	for range mostPages {
		if !listeners.HasMorePages() {
			break
		}
		page, err := listeners.NextPage(ctx)
		if err != nil {
			return nil, c.forget(loadBalancer, err)
		}
		for _, l := range page.Listeners {
			of, err := c.forwardsOf(ctx, aws.ToString(l.ListenerArn))
			if err != nil {
				return nil, err
			}
			forwards = append(forwards, of...)
		}
	}
	return forwards, nil
}

func (c *Client) forwardsOf(ctx context.Context, listener string) ([]Forward, error) {
	var forwards []Forward
	rules := elb.NewDescribeRulesPaginator(c.api, &elb.DescribeRulesInput{ListenerArn: &listener})
	for range mostPages {
		if !rules.HasMorePages() {
			break
		}
		page, err := rules.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, r := range page.Rules {
			for _, a := range r.Actions {
				if w := weightsOf(a); len(w) > 0 {
					forwards = append(forwards, Forward{Rule: aws.ToString(r.RuleArn), Weights: w})
				}
			}
		}
	}
	return forwards, nil
}

func weightsOf(a types.Action) map[string]int32 {
	weights := map[string]int32{}
	if a.TargetGroupArn != nil {
		weights[*a.TargetGroupArn] = unstatedWeight
	}
	if a.ForwardConfig != nil {
		for _, g := range a.ForwardConfig.TargetGroups {
			weight := int32(unstatedWeight)
			if g.Weight != nil {
				weight = *g.Weight
			}
			weights[aws.ToString(g.TargetGroupArn)] = weight
		}
	}
	return weights
}

// Targets are asked for anew each time.
func (c *Client) Targets(ctx context.Context, targetGroup string) ([]Target, error) {
	out, err := c.api.DescribeTargetHealth(ctx, &elb.DescribeTargetHealthInput{TargetGroupArn: &targetGroup})
	if err != nil {
		return nil, err
	}
	var targets []Target
	for _, d := range out.TargetHealthDescriptions {
		if d.Target == nil {
			continue
		}
		t := Target{ID: aws.ToString(d.Target.Id), Port: aws.ToInt32(d.Target.Port)}
		if d.TargetHealth != nil {
			t.State = string(d.TargetHealth.State)
		}
		targets = append(targets, t)
	}
	return targets, nil
}
