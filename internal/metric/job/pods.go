package job

import (
	"context"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// mostPods are looked at of one Job.
const mostPods = 100

// pods are those of the Job.
func (p *Provider) pods(ctx context.Context, j *batchv1.Job) ([]corev1.Pod, error) {
	var list corev1.PodList
	err := p.options.Client.List(ctx, &list, client.InNamespace(j.Namespace),
		client.MatchingLabels{batchv1.JobNameLabel: j.Name}, client.Limit(mostPods))
	if err != nil {
		return nil, fmt.Errorf("look at the pods of the Job %s/%s: %w", j.Namespace, j.Name, err)
	}
	return slices.DeleteFunc(list.Items, func(pod corev1.Pod) bool { return !controlled(&pod, j) }), nil
}

func controlled(pod *corev1.Pod, j *batchv1.Job) bool {
	for _, o := range pod.OwnerReferences {
		if o.UID == j.UID {
			return true
		}
	}
	return false
}

// begun tells that a pod of the Job has started: then the Job has limits of its
// own (activeDeadlineSeconds, backoffLimit), or runs as long as its owner wants.
func begun(j *batchv1.Job, pods []corev1.Pod) bool {
	if j.Status.Succeeded+j.Status.Failed > 0 || j.Status.Ready != nil && *j.Status.Ready > 0 {
		return true
	}
	return slices.ContainsFunc(pods, func(pod corev1.Pod) bool {
		return pod.Status.Phase != corev1.PodPending && pod.Status.Phase != ""
	})
}

// unpullable are the reasons of a container that cannot get its image.
func unpullable() []string {
	return []string{"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "RegistryUnavailable"}
}

// hindered says what keeps the pods from running: stuck where it is the image,
// waits where it is something else that may pass.
func hindered(pods []corev1.Pod) (stuck, waits string) {
	for i := range pods {
		pod := &pods[i]
		for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
			w := c.State.Waiting
			if w == nil || w.Reason == "" || w.Reason == "ContainerCreating" || w.Reason == "PodInitializing" {
				continue
			}
			text := fmt.Sprintf("pod %s, container %s: %s: %s", pod.Name, c.Name, w.Reason, w.Message)
			if slices.Contains(unpullable(), w.Reason) {
				return text, ""
			}
			waits = text
		}
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
				waits = fmt.Sprintf("pod %s: %s: %s", pod.Name, c.Reason, c.Message)
			}
		}
	}
	return "", waits
}
