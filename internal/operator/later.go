package operator

import (
	"fmt"

	"github.com/spf13/pflag"
)

// laterFlag is a flag that is known so that existing manifests start, and
// refused when it asks for something that this build cannot do.
type laterFlag struct {
	flag *pflag.Flag
	why  string
}

// check refuses a value other than the default.
func (l laterFlag) check() error {
	if !l.flag.Changed || l.flag.Value.String() == l.flag.DefValue {
		return nil
	}
	return fmt.Errorf("--%s=%s is not supported yet: %s", l.flag.Name, l.flag.Value, l.why)
}

// addLater registers the flags of features that are not built.
func addLater(f *pflag.FlagSet) []laterFlag {
	var out []laterFlag
	mark := func(why string, names ...string) {
		for _, n := range names {
			fl := f.Lookup(n)
			fl.Hidden = true
			out = append(out, laterFlag{flag: fl, why: why})
		}
	}
	f.StringSlice("controllers", nil, "run only these controllers")
	mark("this build runs rollouts and Services together", "controllers")

	f.Int("experiment-threads", 10, "workers for experiments")
	f.Int("analysis-threads", 30, "workers for analysis runs")
	f.Int("ingress-threads", 10, "workers for ingresses")
	mark("this build has no workers of that kind", "experiment-threads", "analysis-threads", "ingress-threads")

	f.Int("ephemeral-metadata-threads", 10, "pods whose metadata is updated at the same time")
	f.Int("ephemeral-metadata-update-pod-retries", 3, "tries to update a pod's metadata")
	mark("this build does not write pod metadata", "ephemeral-metadata-threads", "ephemeral-metadata-update-pod-retries")

	f.Bool("self-service-notification-enabled", false, "read notification settings of each namespace")
	mark("this build sends no notifications", "self-service-notification-enabled")

	f.String("istio-api-version", "v1alpha3", "version of the Istio networking API")
	f.String("ambassador-api-version", "getambassador.io/v2", "version of the Ambassador API")
	f.String("traffic-split-api-version", "v1alpha1", "version of the SMI TrafficSplit API")
	f.String("traefik-api-group", "traefik.io", "group of the Traefik API")
	f.String("traefik-api-version", "traefik.io/v1alpha1", "version of the Traefik API")
	f.String("ingress-api-version", "", "version of the Ingress API")
	f.String("appmesh-crd-version", "v1beta2", "version of the App Mesh API")
	f.StringArray("alb-ingress-classes", []string{"alb"}, "ingress classes of the AWS load balancer controller")
	f.StringArray("nginx-ingress-classes", []string{"nginx"}, "ingress classes of ingress-nginx")
	f.Bool("aws-verify-target-group", false, "verify weights and target groups at AWS")
	f.Bool("alb-verify-weight", false, "verify weights at AWS")
	f.String("aws-target-group-binding-api-version", "elbv2.k8s.aws/v1beta1", "version of the TargetGroupBinding API")
	f.String("alb-tag-key-resource-id", "ingress.k8s.aws/resource", "tag that names the resource of a target group")
	mark("this build has no traffic router that uses it",
		"istio-api-version", "ambassador-api-version", "traffic-split-api-version", "traefik-api-group",
		"traefik-api-version", "ingress-api-version", "appmesh-crd-version", "alb-ingress-classes",
		"nginx-ingress-classes", "aws-verify-target-group", "alb-verify-weight",
		"aws-target-group-binding-api-version", "alb-tag-key-resource-id")
	return out
}
