package rollout

import (
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// selectorText writes a selector as the scale subresource gives it. Plain labels
// are written here, since checking each label anew costs more than the rest of a
// pass; all else is left to the library.
func selectorText(s *metav1.LabelSelector) string {
	if s == nil || len(s.MatchLabels) == 0 || len(s.MatchExpressions) > 0 {
		return metav1.FormatLabelSelector(s)
	}
	if len(s.MatchLabels) == 1 {
		for k, v := range s.MatchLabels {
			if plainLabel(k) && plainLabel(v) {
				return k + "=" + v
			}
		}
	}
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(s.MatchLabels)) {
		v := s.MatchLabels[k]
		if !plainLabel(k) || !plainLabel(v) {
			return metav1.FormatLabelSelector(s)
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(k)
		b.WriteByte('=')
		b.WriteString(v)
	}
	return b.String()
}

// plainLabel tells that a text is a legal label key and value without a prefix:
// letters and digits, with - _ . in between.
func plainLabel(s string) bool {
	if len(s) == 0 || len(s) > 63 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		alnum := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !alnum && (i == 0 || i == len(s)-1 || c != '-' && c != '_' && c != '.') {
			return false
		}
	}
	return true
}
