package controllers

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestSelect(t *testing.T) {
	without := func(name string) []string {
		return slices.DeleteFunc(Names(), func(s string) bool { return s == name })
	}
	for name, c := range map[string]struct {
		list string
		want []string
	}{
		"all":             {"*", Names()},
		"all but one":     {"*,-job", without("job")},
		"some, in order":  {"replicaset, binder", []string{"binder", "replicaset"}},
		"none":            {"", []string{}},
		"one named twice": {"job,job", []string{"job"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Select(c.list)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	if _, err := Select("*,cronjob"); err == nil || !strings.Contains(err.Error(), `"cronjob"`) {
		t.Errorf("an unknown controller gave %v", err)
	}
}

func TestMisfit(t *testing.T) {
	node := func(unschedulable bool) *corev1.Node {
		return &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"disk": "ssd"}},
			Spec:       corev1.NodeSpec{Unschedulable: unschedulable},
			Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("4")}},
		}
	}
	requests := func(name corev1.ResourceName, q string) *corev1.Pod {
		return &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{name: resource.MustParse(q)}}}}}}
	}
	selects := func(disk string) *corev1.Pod {
		return &corev1.Pod{Spec: corev1.PodSpec{NodeSelector: map[string]string{"disk": disk}}}
	}
	for name, c := range map[string]struct {
		pod  *corev1.Pod
		node *corev1.Node
		want string
	}{
		"a plain pod fits":         {&corev1.Pod{}, node(false), ""},
		"all of the cpu fits":      {requests("cpu", "4"), node(false), ""},
		"more than the cpu":        {requests("cpu", "4001m"), node(false), "1 Insufficient cpu"},
		"a resource nobody has":    {requests("example.com/gpu", "1"), node(false), "1 Insufficient example.com/gpu"},
		"none of it":               {requests("example.com/gpu", "0"), node(false), ""},
		"a selector that matches":  {selects("ssd"), node(false), ""},
		"a selector that does not": {selects("tape"), node(false), "1 node(s) didn't match Pod's node affinity/selector"},
		"a node that is cordoned":  {&corev1.Pod{}, node(true), "1 node(s) were unschedulable"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := misfit(c.pod, c.node); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
