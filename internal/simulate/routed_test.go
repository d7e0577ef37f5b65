package simulate

import (
	"context"
	"testing"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

const routedToday = `
apiVersion: v1
kind: Service
metadata: {name: front, namespace: shop}
spec: {selector: {app: web}, ports: [{port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: probe, namespace: shop}
spec: {selector: {app: web}, ports: [{port: 80}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web, namespace: shop, uid: of-the-cluster, resourceVersion: "7"}
spec:
  ingressClassName: nginx
  rules: [{host: web.example, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: front, port: {number: 80}}}}]}}]
---
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: web, namespace: shop}
spec:
  replicas: 4
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: app, image: "app:v1"}]}
  strategy:
    canary:
      stableService: front
      canaryService: probe
      dynamicStableScale: true
      trafficRouting: {nginx: {stableIngress: web}}
      steps: [{setWeight: 25}, {pause: {duration: 10m}}]
`

func TestAReleaseBehindARouterIsRehearsed(t *testing.T) {
	out, err := Release(context.Background(), Rehearsal{Objects: objects(t, routedToday), Change: SetImages(map[string]string{"app": "app:v2"})})
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Broken) > 0 {
		t.Fatalf("laws are broken: %v", out.Broken)
	}
	if phase, message := out.State.Phase(); phase != string(v1alpha1.RolloutPhaseHealthy) || len(out.Observed.Entrances) != 1 {
		t.Errorf("the end is %s %s, with %d entrances", phase, message, len(out.Observed.Entrances))
	}
	plateau, all := false, false
	for _, e := range out.Entries {
		if e.Weight == 25 && e.Share == 25 && e.Headroom != nil {
			plateau = true
		}
		if plateau && e.Share == 100 {
			all = true
		}
		if all && e.Share < 100 {
			t.Errorf("at %s the share of the new version falls to %v: %s", e.At, e.Share, e.What)
		}
	}
	if !plateau || !all {
		t.Errorf("a quarter of the requests was seen: %t, all of them: %t", plateau, all)
	}
}
