package identity

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// The pairs are what a user writes and what a Kubernetes API server stores.
func TestDigestIsBlindToDefaultsOfTheAPIServer(t *testing.T) {
	const (
		pod       = `"restartPolicy":"Always","terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst","securityContext":{},"schedulerName":"default-scheduler"`
		container = `"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File","resources":{}`
	)
	for name, c := range map[string]struct{ written, stored string }{
		"a plain container": {
			`{"containers":[{"name":"c","image":"r/i:v1"}]}`,
			`{"containers":[{"name":"c","image":"r/i:v1","imagePullPolicy":"IfNotPresent",` + container + `}],` + pod + `}`,
		},
		"images without a tag, with latest, with a digest, and behind a port": {
			`{"containers":[{"name":"a","image":"i"},{"name":"b","image":"i:latest"},{"name":"c","image":"i@sha256:00"},{"name":"d","image":"r:5000/i"}]}`,
			`{"containers":[{"name":"a","image":"i","imagePullPolicy":"Always"},{"name":"b","image":"i:latest","imagePullPolicy":"Always"},{"name":"c","image":"i@sha256:00","imagePullPolicy":"IfNotPresent"},{"name":"d","image":"r:5000/i","imagePullPolicy":"Always"}]}`,
		},
		"probes and hooks": {
			`{"initContainers":[{"name":"c","image":"i:1","startupProbe":{"grpc":{"port":1}},"livenessProbe":{"httpGet":{"port":80}},"readinessProbe":{"tcpSocket":{"port":1}},"lifecycle":{"preStop":{"httpGet":{"port":1}}}}]}`,
			`{"initContainers":[{"name":"c","image":"i:1","imagePullPolicy":"IfNotPresent","startupProbe":{"grpc":{"port":1,"service":""},"timeoutSeconds":1,"periodSeconds":10,"successThreshold":1,"failureThreshold":3},"livenessProbe":{"httpGet":{"port":80,"path":"/","scheme":"HTTP"},"timeoutSeconds":1,"periodSeconds":10,"successThreshold":1,"failureThreshold":3},"readinessProbe":{"tcpSocket":{"port":1},"timeoutSeconds":1,"periodSeconds":10,"successThreshold":1,"failureThreshold":3},"lifecycle":{"preStop":{"httpGet":{"port":1,"path":"/","scheme":"HTTP"}}}}]}`,
		},
		"ports on the host's network and fields in the environment": {
			`{"hostNetwork":true,"containers":[{"name":"c","image":"i:1","ports":[{"containerPort":80}],"env":[{"name":"N","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}]}]}`,
			`{"hostNetwork":true,"containers":[{"name":"c","image":"i:1","ports":[{"containerPort":80,"hostPort":80,"protocol":"TCP"}],"env":[{"name":"N","valueFrom":{"fieldRef":{"fieldPath":"metadata.name","apiVersion":"v1"}}}]}]}`,
		},
		"volumes": {
			`{"volumes":[{"name":"a"},{"name":"b","secret":{"secretName":"s"}},{"name":"c","configMap":{"name":"s"}},{"name":"d","hostPath":{"path":"/"}},{"name":"e","projected":{"sources":[{"serviceAccountToken":{"path":"t"}},{"downwardAPI":{"items":[{"path":"x","fieldRef":{"fieldPath":"metadata.name"}}]}}]}},{"name":"f","ephemeral":{"volumeClaimTemplate":{"spec":{"accessModes":["ReadWriteOnce"]}}}},{"name":"g","image":{"reference":"i:1"}}]}`,
			`{"volumes":[{"name":"a","emptyDir":{}},{"name":"b","secret":{"secretName":"s","defaultMode":420}},{"name":"c","configMap":{"name":"s","defaultMode":420}},{"name":"d","hostPath":{"path":"/","type":""}},{"name":"e","projected":{"defaultMode":420,"sources":[{"serviceAccountToken":{"path":"t","expirationSeconds":3600}},{"downwardAPI":{"items":[{"path":"x","fieldRef":{"fieldPath":"metadata.name","apiVersion":"v1"}}]}}]}},{"name":"f","ephemeral":{"volumeClaimTemplate":{"spec":{"accessModes":["ReadWriteOnce"],"volumeMode":"Filesystem"}}}},{"name":"g","image":{"reference":"i:1","pullPolicy":"IfNotPresent"}}]}`,
		},
		"a service account": {
			`{"serviceAccountName":"a"}`,
			`{"serviceAccountName":"a","serviceAccount":"a"}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := template(t, `{"spec":`+c.written+`}`)
			s := template(t, `{"spec":`+c.stored+`}`)
			if Digest(w) != Digest(s) {
				t.Errorf("digests differ:\n%s\n%s", canonical(w), canonical(s))
			}
			if Hash(w, nil) == Hash(s, nil) {
				t.Error("the stored form is not another one: the case proves nothing")
			}
		})
	}
}

func TestDigestSeesValuesThatAreNoDefaults(t *testing.T) {
	base := template(t, `{"spec":{"containers":[{"name":"c","image":"i:1"}]}}`)
	for name, text := range map[string]string{
		"another pull policy": `{"spec":{"containers":[{"name":"c","image":"i:1","imagePullPolicy":"Always"}]}}`,
		"another grace":       `{"spec":{"terminationGracePeriodSeconds":0,"containers":[{"name":"c","image":"i:1"}]}}`,
		"a security context":  `{"spec":{"securityContext":{"runAsUser":0},"containers":[{"name":"c","image":"i:1"}]}}`,
		"a service account":   `{"spec":{"serviceAccountName":"a","containers":[{"name":"c","image":"i:1"}]}}`,
	} {
		if Digest(template(t, text)) == Digest(base) {
			t.Errorf("%s: the digest is the same", name)
		}
	}
}

func TestPlainLeavesItsInputAlone(t *testing.T) {
	in := &corev1.PodTemplateSpec{Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyAlways, Containers: []corev1.Container{{Image: "i", ImagePullPolicy: corev1.PullAlways}}}}
	plain(in)
	if in.Spec.RestartPolicy == "" || in.Spec.Containers[0].ImagePullPolicy == "" {
		t.Error("the template was changed")
	}
}
