package prometheus

import (
	"cmp"
	"context"
	"encoding/json"
	"net"
	"os"
	"regexp"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// settle joins changes that come together into one file.
const settle = 100 * time.Millisecond

// hashLabel is how a release tells its pods from those of others; a series keeps
// it, so that a query can name one version whatever leads to it.
const hashLabel = "rollouts-pod-template-hash"

// group is one entry of a file of targets.
type group struct {
	Targets []string          `json:"targets"`
	Labels  map[string]string `json:"labels"`
}

// targets are the ready pods behind each Service, at each of its ports. Labels
// are those that rules of relabelling commonly give: namespace, service and pod;
// app and pod_template_hash from the pod's own labels; and for a Service called
// NAME-canary or NAME-stable what it leads to, as revision and as weight_route.
func targets(services []*corev1.Service, pods []*corev1.Pod) []group {
	role := regexp.MustCompile(`.-(canary|stable)$`)
	var out []group
	for _, s := range services {
		if len(s.Spec.Selector) == 0 {
			continue
		}
		selector := labels.SelectorFromSet(s.Spec.Selector)
		for _, p := range pods {
			if p.Namespace != s.Namespace || !ready(p) || !selector.Matches(labels.Set(p.Labels)) {
				continue
			}
			g := group{Targets: addresses(s, p), Labels: map[string]string{"namespace": p.Namespace, "service": s.Name, "pod": p.Name}}
			if m := role.FindStringSubmatch(s.Name); m != nil {
				g.Labels["revision"], g.Labels["weight_route"] = m[1], m[1]
			}
			if app := p.Labels["app"]; app != "" {
				g.Labels["app"] = app
			}
			if hash := p.Labels[hashLabel]; hash != "" {
				g.Labels["pod_template_hash"] = hash
			}
			if len(g.Targets) > 0 {
				out = append(out, g)
			}
		}
	}
	slices.SortFunc(out, func(a, b group) int {
		return cmp.Or(cmp.Compare(a.Labels["namespace"], b.Labels["namespace"]),
			cmp.Compare(a.Labels["service"], b.Labels["service"]), cmp.Compare(a.Labels["pod"], b.Labels["pod"]))
	})
	return out
}

func ready(p *corev1.Pod) bool {
	if p.DeletionTimestamp != nil || p.Status.PodIP == "" {
		return false
	}
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// addresses are where a pod answers for a Service.
func addresses(s *corev1.Service, p *corev1.Pod) []string {
	var out []string
	for _, port := range s.Spec.Ports {
		if port.Protocol != "" && port.Protocol != corev1.ProtocolTCP {
			continue
		}
		number := port.TargetPort.IntVal
		if port.TargetPort.Type == intstr.String {
			number = named(p, port.TargetPort.StrVal)
		} else if number == 0 {
			number = port.Port
		}
		if number > 0 {
			out = append(out, net.JoinHostPort(p.Status.PodIP, strconv.Itoa(int(number))))
		}
	}
	return out
}

func named(p *corev1.Pod, name string) int32 {
	for _, c := range p.Spec.Containers {
		for _, port := range c.Ports {
			if port.Name == name {
				return port.ContainerPort
			}
		}
	}
	return 0
}

// discover keeps the file of targets true until ctx ends.
func discover(ctx context.Context, client kubernetes.Interface, file string) error {
	factory := informers.NewSharedInformerFactory(client, 0)
	services, pods := factory.Core().V1().Services(), factory.Core().V1().Pods()
	changed := make(chan struct{}, 1)
	signal := func(any) {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	handler := cache.ResourceEventHandlerFuncs{AddFunc: signal, DeleteFunc: signal, UpdateFunc: func(_, now any) { signal(now) }}
	for _, informer := range []cache.SharedIndexInformer{services.Informer(), pods.Informer()} {
		if _, err := informer.AddEventHandler(handler); err != nil {
			return err
		}
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		}
		svc, err := services.Lister().List(labels.Everything())
		if err != nil {
			return err
		}
		po, err := pods.Lister().List(labels.Everything())
		if err != nil {
			return err
		}
		if err := write(file, targets(svc, po)); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(settle):
		}
	}
}

// write replaces the file at once; a reader never meets half of it.
func write(file string, groups []group) error {
	if groups == nil {
		groups = []group{}
	}
	data, err := json.Marshal(groups)
	if err != nil {
		return err
	}
	if err := os.WriteFile(file+".new", data, 0o600); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}
