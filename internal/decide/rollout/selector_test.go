package rollout

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestTheSelectorIsWrittenAsTheLibraryWritesIt(t *testing.T) {
	labels := func(pairs ...string) *metav1.LabelSelector {
		m := map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i]] = pairs[i+1]
		}
		return &metav1.LabelSelector{MatchLabels: m}
	}
	cases := map[string]*metav1.LabelSelector{
		"none":                      nil,
		"empty":                     {},
		"one label":                 labels("app", "web"),
		"labels in order":           labels("b", "2", "a", "1", "a-b", "3", "a.b", "4", "A_b", "5"),
		"a prefix":                  labels("example.org/app", "web"),
		"an empty value":            labels("app", ""),
		"an illegal value":          labels("app", "a b"),
		"a value that ends badly":   labels("app", "web-"),
		"a key that begins badly":   labels(".app", "web"),
		"a value of 63 characters":  labels("app", strings.Repeat("x", 63)),
		"a value of 64 characters":  labels("app", strings.Repeat("x", 64)),
		"a value that is not ASCII": labels("app", "wéb"),
		"an expression": {MatchLabels: map[string]string{"app": "web"},
			MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "tier", Operator: metav1.LabelSelectorOpExists}}},
	}
	for name, s := range cases {
		t.Run(name, func(t *testing.T) {
			if got, want := selectorText(s), metav1.FormatLabelSelector(s); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}
