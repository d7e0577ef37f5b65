package identity

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

// digestVersion names the canonical form. A change of the form needs a new
// name: digests are stored on ReplicaSets for as long as these live.
const digestVersion = "v1:"

// digestLength is the number of hexadecimal digits that are kept (128 bits).
const digestLength = 32

// Digest is the identity of a pod template that outlives serialisations:
// "v1:" and the start of the SHA-256 of its canonical JSON. The canonical form
// has sorted keys and leaves out what says nothing: nulls, empty lists, the
// parts that Go writes although they are empty, the hash label, and every value
// that an API server would fill in.
func Digest(t *corev1.PodTemplateSpec) string {
	sum := sha256.Sum256(canonical(t))
	return digestVersion + hex.EncodeToString(sum[:])[:digestLength]
}

func canonical(t *corev1.PodTemplateSpec) []byte {
	var tree any
	d := json.NewDecoder(bytes.NewReader(marshal(plain(t))))
	d.UseNumber() // 64-bit ids would lose digits as floats
	if d.Decode(&tree) != nil {
		return nil
	}
	root, _ := tree.(map[string]any)
	dropHashLabel(root)
	tree, _ = prune("", root)
	return marshal(tree)
}

func dropHashLabel(root map[string]any) {
	meta, _ := root["metadata"].(map[string]any)
	labels, _ := meta["labels"].(map[string]any)
	delete(labels, v1alpha1.LabelPodTemplateHash)
	if len(labels) == 0 {
		delete(meta, "labels")
	}
}

// prune leaves out of v, the value of key, what says nothing, and tells whether
// anything is left. An empty object is kept unless Go would write it for an
// absent one: `emptyDir: {}` and `namespaceSelector: {}` have a meaning.
func prune(key string, v any) (any, bool) {
	switch v := v.(type) {
	case nil:
		return nil, false
	case []any:
		for i := range v {
			v[i], _ = prune(key+"[]", v[i])
		}
		return v, len(v) > 0
	case map[string]any:
		for k, child := range v {
			kept, ok := prune(k, child)
			if !ok || isDefault(key, k, kept) {
				delete(v, k)
				continue
			}
			v[k] = kept
		}
		return v, len(v) > 0 || !emptyWritten(key)
	}
	return v, true
}

// emptyWritten tells whether key holds a plain struct, which some versions of
// the libraries write as {} and others leave out, or one that an API server adds.
func emptyWritten(key string) bool {
	switch key {
	case "metadata", "spec", "resources", "securityContext":
		return true
	}
	return false
}

// isDefault looks at the holder of the key too, since labels and annotations
// may have any key.
func isDefault(holder, key string, v any) bool {
	switch {
	case holder == "ports[]" && key == "protocol":
		return v == "TCP"
	case holder == "resourceFieldRef" && key == "divisor":
		return v == "0"
	}
	return false
}

// Comparable gives a digest that another build wrote if it is of the same
// version as ours, and nothing if it is not: digests of two versions tell
// nothing about each other, so such a set is found by its hash instead.
func Comparable(digest string) string {
	if !strings.HasPrefix(digest, digestVersion) {
		return ""
	}
	return digest
}
