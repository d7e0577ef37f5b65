package validate

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

// podTemplate finds what the API server would refuse in every ReplicaSet that is
// made from the template. It refuses nothing that the API server accepts.
func podTemplate(spec *v1alpha1.RolloutSpec, p *field.Path) field.ErrorList {
	meta, pod := &spec.Template.ObjectMeta, &spec.Template.Spec
	errs := labels(p.Child("metadata", "labels"), meta.Labels)
	errs = append(errs, annotations(p.Child("metadata", "annotations"), meta.Annotations)...)
	p = p.Child("spec")
	if r := pod.RestartPolicy; r != "" && r != corev1.RestartPolicyAlways {
		errs = append(errs, field.Invalid(p.Child("restartPolicy"), string(r), "pods of a ReplicaSet are always restarted; use Always or remove the field"))
	}
	if pod.ActiveDeadlineSeconds != nil {
		errs = append(errs, field.Forbidden(p.Child("activeDeadlineSeconds"), "pods of a ReplicaSet have no end; remove the field"))
	}
	if s := pod.TerminationGracePeriodSeconds; s != nil {
		errs = append(errs, atLeast(p.Child("terminationGracePeriodSeconds"), *s, 0)...)
	}
	if len(pod.EphemeralContainers) > 0 {
		errs = append(errs, field.Forbidden(p.Child("ephemeralContainers"), "they can only be added to a running pod; remove them"))
	}
	volumes, more := volumeNames(p.Child("volumes"), pod.Volumes)
	return append(append(errs, more...), containers(p, pod, volumes)...)
}

func volumeNames(p *field.Path, list []corev1.Volume) (map[string]bool, field.ErrorList) {
	var errs field.ErrorList
	names := map[string]bool{}
	for i := range list {
		np := p.Index(i).Child("name")
		errs = append(errs, dnsLabel(np, list[i].Name)...)
		errs = append(errs, unique(np, list[i].Name, names, "volumes")...)
	}
	return names, errs
}

func containers(p *field.Path, pod *corev1.PodSpec, volumes map[string]bool) field.ErrorList {
	if len(pod.Containers) == 0 {
		return one(field.Required(p.Child("containers"), "a pod needs at least one container; add one with a name and an image"))
	}
	var errs field.ErrorList
	seen := map[string]bool{}
	for i := range pod.Containers {
		errs = append(errs, container(p.Child("containers").Index(i), &pod.Containers[i], seen, volumes)...)
	}
	for i := range pod.InitContainers {
		errs = append(errs, container(p.Child("initContainers").Index(i), &pod.InitContainers[i], seen, volumes)...)
	}
	return errs
}

func container(p *field.Path, c *corev1.Container, seen, volumes map[string]bool) field.ErrorList {
	errs := dnsLabel(p.Child("name"), c.Name)
	errs = append(errs, unique(p.Child("name"), c.Name, seen, "containers")...)
	switch {
	case c.Image == "":
		errs = append(errs, field.Required(p.Child("image"), "names what the container runs"))
	case strings.TrimSpace(c.Image) != c.Image:
		errs = append(errs, field.Invalid(p.Child("image"), c.Image, "begins or ends with a space; remove it"))
	}
	errs = append(errs, ports(p.Child("ports"), c.Ports)...)
	errs = append(errs, environment(p.Child("env"), c.Env)...)
	errs = append(errs, resources(p.Child("resources"), &c.Resources)...)
	errs = append(errs, mounts(p.Child("volumeMounts"), c.VolumeMounts, volumes)...)
	errs = append(errs, probe(p.Child("livenessProbe"), c.LivenessProbe)...)
	errs = append(errs, probe(p.Child("readinessProbe"), c.ReadinessProbe)...)
	return append(errs, probe(p.Child("startupProbe"), c.StartupProbe)...)
}

func ports(p *field.Path, list []corev1.ContainerPort) field.ErrorList {
	var errs field.ErrorList
	seen := map[string]bool{}
	for i, port := range list {
		p := p.Index(i)
		if port.Name != "" {
			if len(validation.IsValidPortName(port.Name)) > 0 {
				errs = append(errs, field.Invalid(p.Child("name"), port.Name, "is no port name; use at most 15 lowercase letters, digits or single '-', with a letter among them"))
			}
			errs = append(errs, unique(p.Child("name"), port.Name, seen, "ports of one container")...)
		}
		errs = append(errs, within(p.Child("containerPort"), port.ContainerPort, 1, 65535)...)
		errs = append(errs, within(p.Child("hostPort"), port.HostPort, 0, 65535)...)
		switch port.Protocol {
		case "", corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP:
		default:
			errs = append(errs, field.Invalid(p.Child("protocol"), string(port.Protocol), "is no protocol; use TCP, UDP or SCTP"))
		}
	}
	return errs
}

func environment(p *field.Path, list []corev1.EnvVar) field.ErrorList {
	var errs field.ErrorList
	for i := range list {
		e, p := &list[i], p.Index(i)
		if e.Name == "" {
			errs = append(errs, field.Required(p.Child("name"), "names the variable"))
		}
		if e.Value != "" && e.ValueFrom != nil {
			errs = append(errs, field.Invalid(p.Child("valueFrom"), e.Name, "has a value as well; remove value or valueFrom"))
		}
	}
	return errs
}

func resources(p *field.Path, r *corev1.ResourceRequirements) field.ErrorList {
	errs := quantities(p.Child("limits"), r.Limits)
	errs = append(errs, quantities(p.Child("requests"), r.Requests)...)
	for _, name := range sortedResources(r.Requests) {
		request := r.Requests[name]
		if limit, ok := r.Limits[name]; ok && request.Cmp(limit) > 0 {
			errs = append(errs, field.Invalid(p.Child("requests").Key(string(name)), request.String(),
				say("is more than the limit; use at most %s or raise the limit", limit.String())))
		}
	}
	return errs
}

func quantities(p *field.Path, list corev1.ResourceList) field.ErrorList {
	var errs field.ErrorList
	for _, name := range sortedResources(list) {
		if q := list[name]; q.Sign() < 0 {
			errs = append(errs, field.Invalid(p.Key(string(name)), q.String(), "is negative; use 0 or more"))
		}
	}
	return errs
}

func mounts(p *field.Path, list []corev1.VolumeMount, volumes map[string]bool) field.ErrorList {
	var errs field.ErrorList
	seen := map[string]bool{}
	for i := range list {
		m, p := &list[i], p.Index(i)
		switch {
		case m.Name == "":
			errs = append(errs, field.Required(p.Child("name"), "names the volume to mount"))
		case !volumes[m.Name]:
			errs = append(errs, field.Invalid(p.Child("name"), m.Name, "is no volume of the pod; add it to volumes or use the name of one"))
		}
		if m.MountPath == "" {
			errs = append(errs, field.Required(p.Child("mountPath"), "says where the volume appears in the container"))
		}
		if m.MountPath != "" && seen[m.MountPath] {
			errs = append(errs, field.Invalid(p.Child("mountPath"), m.MountPath, "is the place of two mounts; give each a path of its own"))
		}
		seen[m.MountPath] = true
	}
	return errs
}

func probe(p *field.Path, b *corev1.Probe) field.ErrorList {
	if b == nil {
		return nil
	}
	handlers := count(b.Exec != nil, b.HTTPGet != nil, b.TCPSocket != nil, b.GRPC != nil)
	var errs field.ErrorList
	if handlers != 1 {
		errs = append(errs, field.Invalid(p, say("%d handlers", handlers), "a probe looks in exactly one way; use one of exec, httpGet, tcpSocket and grpc"))
	}
	errs = append(errs, atLeast(p.Child("initialDelaySeconds"), b.InitialDelaySeconds, 0)...)
	errs = append(errs, atLeast(p.Child("timeoutSeconds"), b.TimeoutSeconds, 0)...)
	errs = append(errs, atLeast(p.Child("periodSeconds"), b.PeriodSeconds, 0)...)
	errs = append(errs, atLeast(p.Child("successThreshold"), b.SuccessThreshold, 0)...)
	return append(errs, atLeast(p.Child("failureThreshold"), b.FailureThreshold, 0)...)
}

func sortedResources(list corev1.ResourceList) []corev1.ResourceName {
	return slices.Sorted(maps.Keys(list))
}
