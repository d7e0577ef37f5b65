// Package identity tells whether two pod templates, or two lists of steps, are
// the same.
//
// Law: identity is semantic. Hash and LegacyHash are the names that the wire
// contract gives to a template, byte for byte; Digest is the identity that we
// rest on, and it does not change when the controller, the Kubernetes libraries
// or a default of the CRD change. Every function is pure and total.
package identity

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"hash/fnv"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

// Hash is the pod template hash of the wire contract: FNV-32a over the compact
// JSON of the undefaulted template, and over the collision count when there is
// one. It is the value of the rollouts-pod-template-hash label and the suffix of
// ReplicaSet names: at most 10 characters, valid in both places.
func Hash(t *corev1.PodTemplateSpec, collision *int32) string {
	return encode(marshal(t), collision)
}

// LegacyHash is Hash over the serialisation of Kubernetes libraries before
// v0.34, in which the metadata of the template, and that of every volume claim
// template in it, holds "creationTimestamp":null.
func LegacyHash(t *corev1.PodTemplateSpec, collision *int32) string {
	return encode(legacy(t), collision)
}

// StepsHash identifies a list of canary steps, by the construction of Hash. An
// empty list is the same as none.
func StepsHash(steps []v1alpha1.CanaryStep) string {
	if len(steps) == 0 {
		steps = nil
	}
	return encode(marshal(steps), nil)
}

// encode hashes b and the collision count, and writes the sum with letters and
// digits that cannot form a word.
func encode(b []byte, collision *int32) string {
	h := fnv.New32a()
	_, _ = h.Write(b) // a hash never fails to write
	if collision != nil {
		var c [8]byte // the contract writes 4 bytes into a buffer of 8
		binary.LittleEndian.PutUint32(c[:], uint32(*collision))
		_, _ = h.Write(c[:])
	}
	return rand.SafeEncodeString(strconv.FormatUint(uint64(h.Sum32()), 10))
}

// marshal gives no bytes for a value that JSON cannot hold. No value that was
// read from JSON is of that kind, so it is not worth an error.
func marshal(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return b
}

// legacy writes t the way older libraries did. The null has to stand where the
// field stands among the other keys, so a stand-in time is marshalled there and
// then replaced.
func legacy(t *corev1.PodTemplateSpec) []byte {
	plain := marshal(t)
	if t == nil {
		return plain
	}
	if b, ok := spliced(t, plain); ok {
		return b
	}
	mark, text := standIn(plain)
	c := *t
	stamp(&c.ObjectMeta, mark)
	c.Spec.Volumes = append([]corev1.Volume(nil), t.Spec.Volumes...)
	for i := range c.Spec.Volumes {
		v := &c.Spec.Volumes[i]
		if v.Ephemeral == nil || v.Ephemeral.VolumeClaimTemplate == nil {
			continue
		}
		claim := *v.Ephemeral.VolumeClaimTemplate
		stamp(&claim.ObjectMeta, mark)
		v.Ephemeral = &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &claim}
	}
	return bytes.ReplaceAll(marshal(&c), text, []byte("null"))
}

// spliced puts the null where it stands if nothing stands before it, and no volume
// has a claim template: so it is with nearly all templates.
func spliced(t *corev1.PodTemplateSpec, plain []byte) ([]byte, bool) {
	const head, null = `{"metadata":{`, `"creationTimestamp":null`
	for i := range t.Spec.Volumes {
		if t.Spec.Volumes[i].Ephemeral != nil {
			return nil, false
		}
	}
	rest, ok := bytes.CutPrefix(plain, []byte(head))
	switch {
	case !ok:
		return nil, false
	case bytes.HasPrefix(rest, []byte(`"labels":`)), bytes.HasPrefix(rest, []byte(`"annotations":`)):
		return append([]byte(head+null+","), rest...), true
	case bytes.HasPrefix(rest, []byte("}")):
		return append([]byte(head+null), rest...), true
	}
	return nil, false
}

// standIn gives a time, and its JSON, that occurs nowhere in b.
func standIn(b []byte) (metav1.Time, []byte) {
	for at := time.Unix(0, 0); ; at = at.Add(time.Second) {
		mark := metav1.NewTime(at)
		if text := marshal(mark); !bytes.Contains(b, text) {
			return mark, text
		}
	}
}

func stamp(m *metav1.ObjectMeta, mark metav1.Time) {
	if m.CreationTimestamp.IsZero() {
		m.CreationTimestamp = mark
	}
}
