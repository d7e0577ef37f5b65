package istio

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/router"
)

// kinds are the two kinds in the version that the cluster is used with.
type kinds struct{ service, rule schema.GroupVersionKind }

// reference is one VirtualService as the spec names it.
type reference struct {
	v1alpha1.IstioVirtualService
	key router.Key
	// path is its place in the spec.
	path string
	// label is what users know it by: the namespace is told where it is not the
	// rollout's.
	label string
	// listed are the lists of the object of which the spec names routes, here or
	// where it names the same object again.
	listed []string
}

// sections are the lists of which the reference itself names routes.
func (r *reference) sections() []string {
	var out []string
	if len(r.Routes) > 0 {
		out = append(out, http)
	}
	if len(r.TLSRoutes) > 0 {
		out = append(out, tls)
	}
	if len(r.TCPRoutes) > 0 {
		out = append(out, tcp)
	}
	return out
}

// references are the VirtualServices of the spec in its order.
func (k kinds) references(ro *v1alpha1.Rollout) []reference {
	s := settings(ro)
	if s == nil {
		return nil
	}
	var refs []reference
	add := func(path string, vs v1alpha1.IstioVirtualService) {
		name, namespace := splitName(vs.Name, ro.Namespace)
		r := reference{IstioVirtualService: vs, path: path, label: k.service.Kind + " " + name,
			key: router.Key{GroupVersionKind: k.service, Namespace: namespace, Name: name, Primary: true}}
		if namespace != ro.Namespace {
			r.label += "." + namespace
		}
		refs = append(refs, r)
	}
	if s.VirtualService != nil {
		add(field+".virtualService", *s.VirtualService)
	}
	for i := range s.VirtualServices {
		add(fmt.Sprintf("%s.virtualServices[%d]", field, i), s.VirtualServices[i])
	}
	return refs
}

// ruleKey is the DestinationRule, always in the rollout's own namespace.
func (k kinds) ruleKey(ro *v1alpha1.Rollout, r *v1alpha1.IstioDestinationRule) router.Key {
	return router.Key{GroupVersionKind: k.rule, Namespace: ro.Namespace, Name: r.Name, Primary: true}
}

func (k kinds) keys(ro *v1alpha1.Rollout) []router.Key {
	var keys []router.Key
	seen := map[router.Key]bool{}
	for _, r := range k.references(ro) {
		if !seen[r.key] {
			seen[r.key] = true
			keys = append(keys, r.key)
		}
	}
	if s := settings(ro); s != nil && s.DestinationRule != nil {
		keys = append(keys, k.ruleKey(ro, s.DestinationRule))
	}
	return keys
}

// splitName takes "name.namespace" apart. The name may be written as a host of
// the cluster, whose domain is dropped; without a dot it is in the namespace
// given.
func splitName(name, namespace string) (string, string) {
	short := strings.TrimSuffix(strings.TrimSuffix(name, ".cluster.local"), ".svc")
	dot := strings.LastIndexByte(short, '.')
	if dot <= 0 || dot == len(short)-1 {
		return short, namespace
	}
	return short[:dot], short[dot+1:]
}

// splitHost takes the first two labels of a host: a Service and, where the host
// has more than one label, its namespace.
func splitHost(host string) (service, namespace string) {
	service, rest, _ := strings.Cut(host, ".")
	namespace, _, _ = strings.Cut(rest, ".")
	return service, namespace
}

// localService is the Service of the namespace that a host stands for, empty for
// hosts elsewhere. A host of one label is taken to be of the namespace.
func localService(host, namespace string) string {
	service, in := splitHost(host)
	if in != "" && in != namespace {
		return ""
	}
	return service
}

// sameHost tells whether two hosts, seen from the namespace, are one.
func sameHost(a, b, namespace string) bool {
	if a == b {
		return true
	}
	s, in := splitHost(a)
	t, on := splitHost(b)
	if in == "" {
		in = namespace
	}
	if on == "" {
		on = namespace
	}
	return s == t && in == on
}

// hostLike is the host of a Service, written in the way of another host: short
// where that is short, with namespace and domain where that has them.
func hostLike(host, service string) string {
	if _, rest, ok := strings.Cut(host, "."); ok {
		return service + "." + rest
	}
	return service
}
