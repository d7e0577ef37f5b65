package identity

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// plain gives the template without what an API server fills in. A client that
// copies the template of a ReplicaSet back, as an undo does, brings all of that
// along, and the pods are the same with and without it.
func plain(t *corev1.PodTemplateSpec) *corev1.PodTemplateSpec {
	if t == nil {
		return nil
	}
	c := t.DeepCopy()
	s := &c.Spec // its empty securityContext goes with the other empty structs
	unset(&s.RestartPolicy, corev1.RestartPolicyAlways)
	unset(&s.DNSPolicy, corev1.DNSClusterFirst)
	unset(&s.SchedulerName, corev1.DefaultSchedulerName)
	unsetPointer(&s.TerminationGracePeriodSeconds, corev1.DefaultTerminationGracePeriodSeconds)
	if s.ServiceAccountName == "" {
		s.ServiceAccountName = s.DeprecatedServiceAccount
	}
	unset(&s.DeprecatedServiceAccount, s.ServiceAccountName)
	for _, list := range [][]corev1.Container{s.InitContainers, s.Containers} {
		for i := range list {
			plainContainer(&list[i], s.HostNetwork)
		}
	}
	for i := range s.EphemeralContainers {
		e := (*corev1.Container)(&s.EphemeralContainers[i].EphemeralContainerCommon)
		plainContainer(e, s.HostNetwork)
	}
	for i := range s.Volumes {
		plainVolume(&s.Volumes[i].VolumeSource)
	}
	return c
}

// unset empties a field that holds the default.
func unset[T comparable](field *T, value T) {
	if *field == value {
		var zero T
		*field = zero
	}
}

func unsetPointer[T comparable](field **T, value T) {
	if *field != nil && **field == value {
		*field = nil
	}
}

func plainContainer(c *corev1.Container, hostNetwork bool) {
	unset(&c.TerminationMessagePath, corev1.TerminationMessagePathDefault)
	unset(&c.TerminationMessagePolicy, corev1.TerminationMessageReadFile)
	unset(&c.ImagePullPolicy, pullPolicy(c.Image))
	for i := range c.Ports {
		if hostNetwork {
			unset(&c.Ports[i].HostPort, c.Ports[i].ContainerPort)
		}
	}
	for i := range c.Env {
		if from := c.Env[i].ValueFrom; from != nil {
			plainFieldRef(from.FieldRef)
			if from.FileKeyRef != nil {
				unsetPointer(&from.FileKeyRef.Optional, false)
			}
		}
	}
	for _, p := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
		plainProbe(p)
	}
	if c.Lifecycle != nil {
		for _, h := range []*corev1.LifecycleHandler{c.Lifecycle.PostStart, c.Lifecycle.PreStop} {
			if h != nil {
				plainGet(h.HTTPGet)
			}
		}
	}
}

// pullPolicy is the default for an image: Always for the tag latest, which also
// stands for no tag and no digest.
func pullPolicy(image string) corev1.PullPolicy {
	name, _, digested := strings.Cut(image, "@")
	_, tag, tagged := strings.Cut(name[strings.LastIndexByte(name, '/')+1:], ":")
	if image != "" && (tag == "latest" || !tagged && !digested) {
		return corev1.PullAlways
	}
	return corev1.PullIfNotPresent
}

func plainProbe(p *corev1.Probe) {
	if p == nil {
		return
	}
	unset(&p.TimeoutSeconds, 1)
	unset(&p.PeriodSeconds, 10)
	unset(&p.SuccessThreshold, 1)
	unset(&p.FailureThreshold, 3)
	plainGet(p.HTTPGet)
	if p.GRPC != nil {
		unsetPointer(&p.GRPC.Service, "")
	}
}

func plainGet(g *corev1.HTTPGetAction) {
	if g != nil {
		unset(&g.Path, "/")
		unset(&g.Scheme, corev1.URISchemeHTTP)
	}
}

func plainFieldRef(r *corev1.ObjectFieldSelector) {
	if r != nil {
		unset(&r.APIVersion, "v1")
	}
}

// plainVolume knows the sources that are in use today.
func plainVolume(v *corev1.VolumeSource) {
	const mode = corev1.SecretVolumeSourceDefaultMode // of all files that a node writes
	switch {
	case *v == corev1.VolumeSource{}:
		v.EmptyDir = &corev1.EmptyDirVolumeSource{} // what no source means
	case v.Secret != nil:
		unsetPointer(&v.Secret.DefaultMode, mode)
	case v.ConfigMap != nil:
		unsetPointer(&v.ConfigMap.DefaultMode, mode)
	case v.HostPath != nil:
		unsetPointer(&v.HostPath.Type, corev1.HostPathUnset)
	case v.DownwardAPI != nil:
		unsetPointer(&v.DownwardAPI.DefaultMode, mode)
		plainFiles(v.DownwardAPI.Items)
	case v.Projected != nil:
		unsetPointer(&v.Projected.DefaultMode, mode)
		for _, s := range v.Projected.Sources {
			if s.ServiceAccountToken != nil {
				unsetPointer(&s.ServiceAccountToken.ExpirationSeconds, 3600)
			}
			if s.DownwardAPI != nil {
				plainFiles(s.DownwardAPI.Items)
			}
		}
	case v.Ephemeral != nil && v.Ephemeral.VolumeClaimTemplate != nil:
		unsetPointer(&v.Ephemeral.VolumeClaimTemplate.Spec.VolumeMode, corev1.PersistentVolumeFilesystem)
	case v.Image != nil:
		unset(&v.Image.PullPolicy, pullPolicy(v.Image.Reference))
	case v.ISCSI != nil:
		unset(&v.ISCSI.ISCSIInterface, "default")
	}
}

func plainFiles(items []corev1.DownwardAPIVolumeFile) {
	for i := range items {
		plainFieldRef(items[i].FieldRef)
	}
}
