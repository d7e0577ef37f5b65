package operator

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/sluice-project/sluice/internal/router"
)

// routerFlags are the flags about routers.
type routerFlags struct {
	istio, ambassador, smi, traefikGroup, traefikVersion, appMesh string
	tag, binding                                                  string
	verify                                                        bool
}

func (r *routerFlags) add(f *pflag.FlagSet) {
	f.StringVar(&r.istio, "istio-api-version", "v1alpha3", "version of networking.istio.io")
	f.StringVar(&r.ambassador, "ambassador-api-version", "getambassador.io/v2", "group and version of Ambassador's Mappings")
	f.StringVar(&r.smi, "traffic-split-api-version", "v1alpha1", "version of the SMI TrafficSplit")
	f.StringVar(&r.traefikGroup, "traefik-api-group", "traefik.io", "group of Traefik's objects")
	f.StringVar(&r.traefikVersion, "traefik-api-version", "traefik.io/v1alpha1", "version of Traefik's objects, with or without its group")
	f.StringVar(&r.appMesh, "appmesh-crd-version", "v1beta2", "version of the App Mesh objects")
	f.BoolVar(&r.verify, "aws-verify-target-group", false, "ask AWS whether load balancers carry out the weights before a release goes on")
	f.BoolVar(&r.verify, "alb-verify-weight", false, "ask AWS whether load balancers carry out the weights before a release goes on")
	_ = f.MarkDeprecated("alb-verify-weight", "use --aws-verify-target-group")
	f.StringVar(&r.binding, "aws-target-group-binding-api-version", "elbv2.k8s.aws/v1beta1", "group and version of TargetGroupBindings")
	f.StringVar(&r.tag, "alb-tag-key-resource-id", "ingress.k8s.aws/resource", "tag that names the resource of a target group")
	// Objects that a rollout names are heard of whatever their class is.
	f.StringSlice("alb-ingress-classes", []string{"alb"}, "without effect: every Ingress that a rollout names is heard of")
	f.StringSlice("nginx-ingress-classes", []string{"nginx"}, "without effect: every Ingress that a rollout names is heard of")
	for _, name := range []string{"alb-ingress-classes", "nginx-ingress-classes"} {
		_ = f.MarkHidden(name)
	}
}

// options are the versions that the adapters work with.
func (r *routerFlags) options() router.Options {
	o := router.Options{IstioVersion: r.istio, SMIVersion: r.smi, AppMeshVersion: r.appMesh, AmbassadorVersion: r.ambassador,
		TraefikGroup: r.traefikGroup, TraefikVersion: r.traefikVersion, TargetGroupTag: r.tag}
	if group, version, both := strings.Cut(r.traefikVersion, "/"); both {
		if o.TraefikVersion = version; r.traefikGroup == "traefik.io" {
			o.TraefikGroup = group
		}
	}
	return o
}

// check refuses names that no API can have.
func (r *routerFlags) check() []error {
	var errs []error
	for flag, value := range map[string]string{"istio-api-version": r.istio, "traffic-split-api-version": r.smi, "appmesh-crd-version": r.appMesh} {
		if msgs := validation.IsDNS1035Label(value); len(msgs) > 0 {
			errs = append(errs, fmt.Errorf("--%s=%q: is no version of an API; give one such as v1beta1", flag, value))
		}
	}
	for flag, value := range map[string]string{"ambassador-api-version": r.ambassador, "aws-target-group-binding-api-version": r.binding} {
		if group, version, ok := strings.Cut(value, "/"); !ok || group == "" || version == "" {
			errs = append(errs, fmt.Errorf("--%s=%q: give a group and a version, such as getambassador.io/v2", flag, value))
		}
	}
	return errs
}
