package node

import (
	"context"
	"encoding/json"
	"log"
	"runtime"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// beat is the time between two signs of life.
const beat = 10 * time.Second

func everything() labels.Selector { return labels.Everything() }

// register makes the Node object, or takes over the one that is there.
func (n *Node) register(ctx context.Context) error {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: n.opts.Name, Labels: map[string]string{
			corev1.LabelHostname:   n.opts.Name,
			corev1.LabelOSStable:   "linux",
			corev1.LabelArchStable: runtime.GOARCH,
		}},
	}
	_, err := n.client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	return n.report(ctx)
}

// heartbeat renews the node's lease and status until ctx ends.
func (n *Node) heartbeat(ctx context.Context) {
	tick := time.NewTicker(beat)
	defer tick.Stop()
	for {
		if err := n.renew(ctx); err != nil && ctx.Err() == nil {
			log.Printf("lease: %v", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := n.report(ctx); err != nil && ctx.Err() == nil {
			log.Printf("node status: %v", err)
		}
	}
}

func (n *Node) renew(ctx context.Context) error {
	leases := n.client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	now, seconds := metav1.NewMicroTime(time.Now()), int32(40)
	lease, err := leases.Get(ctx, n.opts.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		_, err = leases.Create(ctx, &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Name: n.opts.Name},
			Spec: coordinationv1.LeaseSpec{
				HolderIdentity: &n.opts.Name, LeaseDurationSeconds: &seconds, RenewTime: &now,
			},
		}, metav1.CreateOptions{})
		return err
	}
	if err != nil {
		return err
	}
	lease.Spec.RenewTime = &now
	_, err = leases.Update(ctx, lease, metav1.UpdateOptions{})
	return err
}

// report patches the node's status: ready, and large enough for any test.
func (n *Node) report(ctx context.Context) error {
	size := corev1.ResourceList{
		corev1.ResourceCPU:              resource.MustParse("1000"),
		corev1.ResourceMemory:           resource.MustParse("4Ti"),
		corev1.ResourceEphemeralStorage: resource.MustParse("4Ti"),
		corev1.ResourcePods:             resource.MustParse("10000"),
	}
	now := metav1.Now()
	node, err := n.client.CoreV1().Nodes().Get(ctx, n.opts.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	since := now
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
			since = c.LastTransitionTime
		}
	}
	patch, err := json.Marshal(map[string]any{"status": corev1.NodeStatus{
		Capacity: size, Allocatable: size,
		Addresses: []corev1.NodeAddress{
			{Type: corev1.NodeInternalIP, Address: HostIP},
			{Type: corev1.NodeHostName, Address: n.opts.Name},
		},
		Conditions: []corev1.NodeCondition{{
			Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "NodeReady",
			Message: "the node plays its pods", LastHeartbeatTime: now, LastTransitionTime: since,
		}},
		NodeInfo: corev1.NodeSystemInfo{
			OperatingSystem: "linux", Architecture: runtime.GOARCH,
			KubeletVersion: "v1.37.2", ContainerRuntimeVersion: "sluice://1",
		},
	}})
	if err != nil {
		return err
	}
	_, err = n.client.CoreV1().Nodes().Patch(ctx, n.opts.Name,
		types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	return err
}
