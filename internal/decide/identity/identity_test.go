package identity

import (
	"encoding/json"
	"reflect"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

const (
	goldenA = `{"metadata":{"labels":{"app":"canary-scaledowndelay"}},"spec":{"containers":[{"name":"canary-scaledowndelay","image":"nginx:1.19-alpine","ports":[{"name":"http","containerPort":80,"protocol":"TCP"}],"resources":{"requests":{"cpu":"5m","memory":"16Mi"}}}]}}`
	goldenB = `{"metadata":{"labels":{"app":"dynamic-stable-scale"}},"spec":{"containers":[{"name":"dynamic-stable-scale","image":"nginx:1.19-alpine","ports":[{"name":"http","containerPort":80,"protocol":"TCP"}],"resources":{"requests":{"cpu":"5m","memory":"16Mi"}}}],"readinessGates":[{"conditionType":"argoproj.io/e2e-readiness"}]}}`
)

func template(t testing.TB, text string) *corev1.PodTemplateSpec {
	t.Helper()
	var out corev1.PodTemplateSpec
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return &out
}

func TestHashesOfTheContract(t *testing.T) {
	if got := Hash(template(t, goldenA), nil); got != "674d8cf959" {
		t.Errorf("Hash = %s, want 674d8cf959", got)
	}
	if got := Hash(template(t, goldenB), nil); got != "6b56c8cdb4" {
		t.Errorf("Hash = %s, want 6b56c8cdb4", got)
	}
	if got := LegacyHash(template(t, goldenA), nil); got != "66597877b7" {
		t.Errorf("LegacyHash = %s, want 66597877b7", got)
	}
}

func TestLegacySerialisation(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"the null stands first in metadata that has labels only": {
			in:   `{"metadata":{"labels":{"a":"b"}},"spec":{"containers":null}}`,
			want: `{"metadata":{"creationTimestamp":null,"labels":{"a":"b"}},"spec":{"containers":null}}`,
		},
		"the null stands in empty metadata": {
			in:   `{"metadata":{},"spec":{"containers":null}}`,
			want: `{"metadata":{"creationTimestamp":null},"spec":{"containers":null}}`,
		},
		"the null stands behind a name": {
			in:   `{"metadata":{"name":"n","annotations":{"a":"b"}},"spec":{"containers":null}}`,
			want: `{"metadata":{"name":"n","creationTimestamp":null,"annotations":{"a":"b"}},"spec":{"containers":null}}`,
		},
		"a time that is given stays": {
			in:   `{"metadata":{"creationTimestamp":"2020-01-01T00:00:00Z"},"spec":{"containers":null}}`,
			want: `{"metadata":{"creationTimestamp":"2020-01-01T00:00:00Z"},"spec":{"containers":null}}`,
		},
		"text that looks like the stand-in stays": {
			in:   `{"metadata":{"annotations":{"t":"1970-01-01T00:00:00Z"}},"spec":{"containers":null}}`,
			want: `{"metadata":{"creationTimestamp":null,"annotations":{"t":"1970-01-01T00:00:00Z"}},"spec":{"containers":null}}`,
		},
		"the claim template of an ephemeral volume has the null too": {
			in:   `{"metadata":{},"spec":{"volumes":[{"name":"e","ephemeral":{"volumeClaimTemplate":{"metadata":{"labels":{"l":"v"}},"spec":{"resources":{}}}}},{"name":"f","emptyDir":{}}],"containers":null}}`,
			want: `{"metadata":{"creationTimestamp":null},"spec":{"volumes":[{"name":"e","ephemeral":{"volumeClaimTemplate":{"metadata":{"creationTimestamp":null,"labels":{"l":"v"}},"spec":{"resources":{}}}}},{"name":"f","emptyDir":{}}],"containers":null}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			tmpl := template(t, c.in)
			if got := string(legacy(tmpl)); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if got := string(marshal(tmpl)); got != string(marshal(template(t, c.in))) {
				t.Errorf("the template was changed: %s", got)
			}
		})
	}
}

func TestCollisionCountChangesHashesButNotTheDigest(t *testing.T) {
	tmpl := template(t, goldenA)
	seen := map[string]bool{Hash(tmpl, nil): true, LegacyHash(tmpl, nil): true}
	for _, n := range []int32{0, 1, 2, 1 << 20} {
		for _, h := range []string{Hash(tmpl, &n), LegacyHash(tmpl, &n)} {
			if seen[h] {
				t.Errorf("collision count %d gives a hash that was seen: %s", n, h)
			}
			seen[h] = true
			if !regexp.MustCompile(`^[0-9a-z]{1,10}$`).MatchString(h) {
				t.Errorf("%q is no safe name", h)
			}
		}
	}
}

func TestOrderOfKeysDoesNotMatter(t *testing.T) {
	a := template(t, `{"metadata":{"labels":{"a":"1","b":"2","c":"3"}},"spec":{"containers":[{"name":"x","image":"i"}],"nodeSelector":{"x":"1","y":"2"}}}`)
	b := template(t, `{"spec":{"nodeSelector":{"y":"2","x":"1"},"containers":[{"image":"i","name":"x"}]},"metadata":{"labels":{"c":"3","b":"2","a":"1"}}}`)
	if Hash(a, nil) != Hash(b, nil) || LegacyHash(a, nil) != LegacyHash(b, nil) || Digest(a) != Digest(b) {
		t.Error("the order of keys made a difference")
	}
}

func TestDigestIsFrozen(t *testing.T) {
	// The values are stored in clusters. A failure here means that an upgrade
	// would no longer know its own ReplicaSets.
	for in, want := range map[string]string{
		goldenA: "v1:df9235ec494dd1f224d6eb65d38f377d",
		goldenB: "v1:7ccefb8ce25018b97a774c62f1320dce",
	} {
		if got := Digest(template(t, in)); got != want {
			t.Errorf("Digest = %s, want %s", got, want)
		}
	}
}

func TestDigestIsBlindToWhatSaysNothing(t *testing.T) {
	base := template(t, `{"metadata":{"labels":{"app":"a"}},"spec":{"containers":[{"name":"c","image":"i","ports":[{"containerPort":80}],"env":[{"name":"CPU","valueFrom":{"resourceFieldRef":{"resource":"limits.cpu"}}}]}]}}`)
	for name, change := range map[string]func(*corev1.PodTemplateSpec){
		"the hash label":       func(t *corev1.PodTemplateSpec) { t.Labels[v1alpha1.LabelPodTemplateHash] = "abc" },
		"an empty map":         func(t *corev1.PodTemplateSpec) { t.Annotations = map[string]string{} },
		"an empty list":        func(t *corev1.PodTemplateSpec) { t.Spec.Volumes = []corev1.Volume{} },
		"the default protocol": func(t *corev1.PodTemplateSpec) { t.Spec.Containers[0].Ports[0].Protocol = corev1.ProtocolTCP },
		"the default divisor":  func(t *corev1.PodTemplateSpec) { divisor(t, "0") },
	} {
		t.Run(name, func(t *testing.T) {
			c := base.DeepCopy()
			change(c)
			if Digest(c) != Digest(base) {
				t.Errorf("digest changed:\n%s\n%s", canonical(c), canonical(base))
			}
		})
	}
	a := template(t, `{"spec":{"containers":[{"name":"c","resources":{"limits":{"cpu":"0.5","memory":"1024Mi"}}}]}}`)
	b := template(t, `{"metadata":{"creationTimestamp":null},"spec":{"containers":[{"name":"c","resources":{"limits":{"cpu":"500m","memory":"1Gi"}}}]}}`)
	if Digest(a) != Digest(b) {
		t.Errorf("the same quantities differ:\n%s\n%s", canonical(a), canonical(b))
	}
	only := template(t, `{"metadata":{"labels":{"rollouts-pod-template-hash":"x"}},"spec":{"containers":[]}}`)
	if Digest(only) != Digest(&corev1.PodTemplateSpec{}) {
		t.Errorf("a lone hash label leaves a trace: %s", canonical(only))
	}
}

func divisor(t *corev1.PodTemplateSpec, q string) {
	t.Spec.Containers[0].Env[0].ValueFrom.ResourceFieldRef.Divisor = resource.MustParse(q)
}

func TestDigestSeesEveryChangeThatMatters(t *testing.T) {
	base := template(t, `{"metadata":{"labels":{"app":"a"},"annotations":{"protocol":"TCP","divisor":"0"}},"spec":{"containers":[{"name":"c","image":"i","ports":[{"containerPort":80}],"env":[{"name":"CPU","valueFrom":{"resourceFieldRef":{"resource":"limits.cpu"}}}]}],"securityContext":{"runAsUser":9007199254740993},"volumes":[{"name":"v"}],"affinity":{"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"k"}]}}}}`)
	for name, change := range map[string]func(*corev1.PodTemplateSpec){
		"an image":                          func(t *corev1.PodTemplateSpec) { t.Spec.Containers[0].Image = "j" },
		"a label":                           func(t *corev1.PodTemplateSpec) { t.Labels["x"] = "y" },
		"an annotation that names protocol": func(t *corev1.PodTemplateSpec) { delete(t.Annotations, "protocol") },
		"an annotation that names divisor":  func(t *corev1.PodTemplateSpec) { delete(t.Annotations, "divisor") },
		"an annotation with an empty value": func(t *corev1.PodTemplateSpec) { t.Annotations["e"] = "" },
		"another protocol":                  func(t *corev1.PodTemplateSpec) { t.Spec.Containers[0].Ports[0].Protocol = corev1.ProtocolUDP },
		"another divisor":                   func(t *corev1.PodTemplateSpec) { divisor(t, "1m") },
		"the last digit of a long number":   func(t *corev1.PodTemplateSpec) { *t.Spec.SecurityContext.RunAsUser = 9007199254740992 },
		"a hostPath": func(t *corev1.PodTemplateSpec) {
			t.Spec.Volumes[0].HostPath = &corev1.HostPathVolumeSource{Path: "/x"}
		},
		"a selector for all namespaces": func(t *corev1.PodTemplateSpec) {
			terms := t.Spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution
			if err := json.Unmarshal([]byte(`{"namespaceSelector":{}}`), &terms[0]); err != nil {
				panic(err)
			}
		},
		"a false that is given": func(t *corev1.PodTemplateSpec) {
			no := false
			t.Spec.AutomountServiceAccountToken = &no
		},
		"the order of containers' arguments": func(t *corev1.PodTemplateSpec) { t.Spec.Containers[0].Args = []string{"a", "b"} },
		"a probe on port 0": func(t *corev1.PodTemplateSpec) {
			t.Spec.Containers[0].LivenessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(0)}}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := base.DeepCopy()
			change(c)
			if Digest(c) == Digest(base) {
				t.Errorf("digest did not change: %s", canonical(c))
			}
		})
	}
}

// TestPlainStructsAreKnown fails when the libraries add a plain struct to the
// pod template: an absent one would be written as {} and change every digest.
func TestPlainStructsAreKnown(t *testing.T) {
	seen := map[reflect.Type]bool{}
	var walk func(reflect.Type, string)
	walk = func(typ reflect.Type, path string) {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice || typ.Kind() == reflect.Map {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct || seen[typ] || !strings.HasPrefix(typ.PkgPath(), "k8s.io/") || strings.HasSuffix(typ.PkgPath(), "/resource") {
			return
		}
		seen[typ] = true
		for f := range typ.Fields() {
			key, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			if f.Type.Kind() == reflect.Struct && key != "" && !emptyWritten(key) && strings.Contains(options, "omitempty") && key != "creationTimestamp" && key != "divisor" {
				t.Errorf("%s.%s is a plain struct that prune does not know", path, key)
			}
			walk(f.Type, path+"."+key)
		}
	}
	walk(reflect.TypeFor[corev1.PodTemplateSpec](), "template")
	if len(seen) < 50 {
		t.Errorf("only %d types were looked at", len(seen))
	}
}

func TestStepsHash(t *testing.T) {
	w := func(n int32) []v1alpha1.CanaryStep { return []v1alpha1.CanaryStep{{SetWeight: &n}} }
	if StepsHash(w(10)) == StepsHash(w(20)) {
		t.Error("another weight gives the same hash")
	}
	if one, two := StepsHash(w(10)), StepsHash(w(10)); one != two {
		t.Error("equal steps differ")
	}
	if StepsHash(nil) != StepsHash([]v1alpha1.CanaryStep{}) {
		t.Error("an empty list differs from none")
	}
	if got, want := StepsHash(w(10)), encode([]byte(`[{"setWeight":10}]`), nil); got != want {
		t.Errorf("StepsHash = %s, want the hash of the compact JSON, %s", got, want)
	}
	pause := []v1alpha1.CanaryStep{{Pause: &v1alpha1.RolloutPause{}}}
	if StepsHash(append(w(10), pause...)) == StepsHash(append(pause, w(10)...)) {
		t.Error("the order of steps does not matter")
	}
}

func TestNoTemplateIsNoPanic(t *testing.T) {
	for _, got := range []string{Hash(nil, nil), LegacyHash(nil, nil), Digest(nil), Hash(&corev1.PodTemplateSpec{}, nil)} {
		if got == "" {
			t.Error("an empty identity")
		}
	}
}

func BenchmarkHash(b *testing.B) { bench(b, func(t *corev1.PodTemplateSpec) { Hash(t, nil) }) }
func BenchmarkLegacyHash(b *testing.B) {
	bench(b, func(t *corev1.PodTemplateSpec) { LegacyHash(t, nil) })
}
func BenchmarkDigest(b *testing.B) { bench(b, func(t *corev1.PodTemplateSpec) { Digest(t) }) }

func bench(b *testing.B, f func(*corev1.PodTemplateSpec)) {
	tmpl := template(b, goldenB)
	b.ReportAllocs()
	for b.Loop() {
		f(tmpl)
	}
}
