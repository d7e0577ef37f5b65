package node

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-project/sluice/test/cluster/behaviour"
	"github.com/sluice-project/sluice/test/cluster/serve"
)

// leastDrain is what even a pod without a grace period gets to finish requests.
const leastDrain = 100 * time.Millisecond

// serving is a pod's servers, by container.
type serving struct {
	servers map[string]*serve.Server
	ended   chan struct{} // closed when the servers have finished; nil: not told to
}

// close cuts all connections at once.
func (s *serving) close() {
	for _, server := range s.servers {
		server.Close()
	}
	s.servers = nil
}

// serve keeps the pod's servers in step with its containers: one that runs is
// served, one that does not refuses connections.
func (n *Node) serve(e *entry, pod *corev1.Pod, statuses []corev1.ContainerStatus) error {
	if !n.opts.Serve || e.ended != nil {
		return nil
	}
	status := make(map[string]corev1.ContainerStatus, len(statuses))
	for _, s := range statuses {
		status[s.Name] = s
	}
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		server := e.servers[c.Name]
		if status[c.Name].State.Running == nil {
			if server != nil {
				server.Close()
				delete(e.servers, c.Name)
			}
			continue
		}
		script := scriptOf(pod, c, status[c.Name].Ready)
		if server != nil {
			server.Set(script)
			continue
		}
		server, err := serve.Listen(e.facts.PodIP, portsOf(pod, i), script)
		if err != nil {
			return err
		}
		if e.servers == nil {
			e.servers = map[string]*serve.Server{}
		}
		e.servers[c.Name] = server
	}
	return nil
}

func scriptOf(pod *corev1.Pod, c *corev1.Container, ready bool) serve.Script {
	b := behaviour.Of(pod.Annotations[behaviour.Annotation], c.Image)
	return serve.Script{
		Version: behaviour.Version(c.Image), Pod: pod.Name, Ready: ready,
		Errors: b.Errors, Latency: b.Latency,
	}
}

// portsOf gives the TCP ports that a container declares. A pod that declares
// none answers on the usual ones, by its first container.
func portsOf(pod *corev1.Pod, container int) []int32 {
	declared := false
	for _, c := range pod.Spec.Containers {
		declared = declared || len(c.Ports) > 0
	}
	if !declared {
		if container == 0 {
			return []int32{80, 8080}
		}
		return nil
	}
	var ports []int32
	for _, p := range pod.Spec.Containers[container].Ports {
		if p.Protocol == "" || p.Protocol == corev1.ProtocolTCP {
			ports = append(ports, p.ContainerPort)
		}
	}
	return ports
}

// drained says whether the pod's requests are finished. The first time it tells
// the servers to finish, within what is left of the grace period, and comes back
// to the pod when they have.
func (n *Node) drained(e *entry, pod *corev1.Pod, now time.Time) bool {
	if len(e.servers) == 0 {
		return true
	}
	if e.ended == nil {
		limit := max(leastDrain, pod.DeletionTimestamp.Sub(now))
		key := types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
		e.ended = make(chan struct{})
		go finish(e.servers, limit, e.ended, func() { n.queue.Add(key) })
		return false
	}
	select {
	case <-e.ended:
		return true
	default:
		return false
	}
}

// finish shuts all servers down side by side and then says so.
func finish(servers map[string]*serve.Server, limit time.Duration, ended chan<- struct{}, then func()) {
	done := make(chan struct{})
	for _, server := range servers {
		go func() {
			server.Shutdown(limit)
			done <- struct{}{}
		}()
	}
	for range servers {
		<-done
	}
	close(ended)
	then()
}
