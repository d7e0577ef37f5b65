package store

import (
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

// setDefaults fills in what the API server fills in, as far as it shows in the
// objects that releases are made of. The object may share what it points at
// with a stored one, so whatever is changed below the top is copied first.
func setDefaults(obj client.Object) {
	switch o := obj.(type) {
	case *v1alpha1.Rollout:
		o.Spec.Template.Spec = defaultPorts(o.Spec.Template.Spec)
	case *appsv1.ReplicaSet:
		if o.Spec.Replicas == nil {
			o.Spec.Replicas = new(int32(1))
		}
		o.Spec.Template.Spec = defaultPodSpec(o.Spec.Template.Spec)
	case *appsv1.Deployment:
		if o.Spec.Replicas == nil {
			o.Spec.Replicas = new(int32(1))
		}
		o.Spec.Template.Spec = defaultPodSpec(o.Spec.Template.Spec)
	case *corev1.Pod:
		o.Spec = defaultPodSpec(o.Spec)
	case *corev1.Service:
		if o.Spec.Type == "" {
			o.Spec.Type = corev1.ServiceTypeClusterIP
		}
	}
}

// defaultPorts sets what the CRD's schema defaults: the protocol of a port,
// which is part of a list's key.
func defaultPorts(s corev1.PodSpec) corev1.PodSpec {
	need := false
	for i := range s.Containers {
		for _, p := range s.Containers[i].Ports {
			need = need || p.Protocol == ""
		}
	}
	if !need {
		return s
	}
	s = *s.DeepCopy()
	for i := range s.Containers {
		setProtocols(&s.Containers[i])
	}
	return s
}

func setProtocols(c *corev1.Container) {
	for j := range c.Ports {
		if c.Ports[j].Protocol == "" {
			c.Ports[j].Protocol = corev1.ProtocolTCP
		}
	}
}

func defaultPodSpec(s corev1.PodSpec) corev1.PodSpec {
	if s.RestartPolicy != "" && s.DNSPolicy != "" && s.SchedulerName != "" && s.SecurityContext != nil {
		return s // defaulted before
	}
	s = *s.DeepCopy()
	set(&s.RestartPolicy, corev1.RestartPolicyAlways)
	set(&s.DNSPolicy, corev1.DNSClusterFirst)
	set(&s.SchedulerName, corev1.DefaultSchedulerName)
	if s.TerminationGracePeriodSeconds == nil {
		s.TerminationGracePeriodSeconds = new(int64(corev1.DefaultTerminationGracePeriodSeconds))
	}
	if s.SecurityContext == nil {
		s.SecurityContext = &corev1.PodSecurityContext{}
	}
	for i := range s.Containers {
		c := &s.Containers[i]
		set(&c.TerminationMessagePath, corev1.TerminationMessagePathDefault)
		set(&c.TerminationMessagePolicy, corev1.TerminationMessageReadFile)
		set(&c.ImagePullPolicy, pullPolicy(c.Image))
		setProtocols(c)
	}
	return s
}

func pullPolicy(image string) corev1.PullPolicy {
	_, tag, ok := strings.Cut(image[strings.LastIndexByte(image, '/')+1:], ":")
	if !ok || tag == "latest" {
		return corev1.PullAlways
	}
	return corev1.PullIfNotPresent
}

func set[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
