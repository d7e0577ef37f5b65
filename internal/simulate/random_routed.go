package simulate

import (
	"fmt"
	"slices"
	"strings"
)

// routed makes up a script of a rollout whose traffic is divided by routers.
func (g *generator) routed() []string {
	entrances := g.entrances()
	g.weighs = !slices.ContainsFunc(entrances, func(e string) bool {
		return !strings.HasPrefix(e, "istio") && !strings.HasPrefix(e, "gateway") && !strings.HasPrefix(e, "smi") && !strings.HasPrefix(e, "subsets")
	})
	early := g.chance(85)
	g.add("service front for web")
	g.add("service probe for web")
	if early {
		for _, e := range entrances {
			g.add("route %s stable front canary probe", e)
		}
	}
	if g.chance(10) {
		g.add("budget web minAvailable %s for web", g.pick("1", "2", "50%"))
	}
	g.routedSpec(entrances)
	if !early {
		g.add("advance %s", g.pick("0s", "1s", "30s"))
		for _, e := range entrances {
			g.add("route %s stable front canary probe", e)
		}
	}
	g.add("advance %s", g.pick("1s", "5s", "1m", "20m"))
	for range 3 + g.IntN(12) {
		switch {
		case g.trialEvent():
		case g.proofEvent():
		case g.chance(25):
			g.routedEvent(entrances)
		default:
			g.event()
		}
		g.add("advance %s", g.pick("0s", "3ms", "20ms", "100ms", "500ms", "1s", "2s", "5s", "12s", "30s", "2m", "10m"))
	}
	return g.lines
}

// entrances are one or several places where traffic is divided: a router and the
// name of its object.
func (g *generator) entrances() []string {
	var out []string
	for range 1 + g.IntN(5)/3 {
		e := g.pick("nginx web", "istio web", "traefik web", "gateway web", "apisix web", "ambassador web", "smi web", "nginx api", "istio api", "gateway api")
		if !slices.Contains(out, e) {
			out = append(out, e)
		}
	}
	if g.chance(20) {
		out = []string{"subsets web"}
	}
	return out
}

func (g *generator) routedSpec(entrances []string) {
	all := strings.Join(entrances, ",")
	g.add("rollout web")
	g.add("  replicas %d", []int{0, 1, 1, 2, 3, 3, 4, 5, 6, 8, 10, 12}[g.IntN(12)])
	g.add("  image app:v1%s", g.port())
	surge, unavailable := g.amount(), g.amount()
	if (surge == "0" || surge == "0%") && (unavailable == "0" || unavailable == "0%") {
		surge = "1"
	}
	if surge != "" {
		g.add("  maxSurge %s", surge)
	}
	if unavailable != "" {
		g.add("  maxUnavailable %s", unavailable)
	}
	headers := strings.Contains(all, "istio") || strings.Contains(all, "gateway") || strings.Contains(all, "subsets") || all == "apisix web"
	if g.chance(90) {
		g.add("  steps %s", g.routedSteps(headers))
	}
	switch {
	case strings.Contains(all, "subsets"):
	case g.chance(30) && !slices.ContainsFunc(entrances, func(e string) bool { return !strings.HasPrefix(e, "istio") && !strings.HasPrefix(e, "gateway") }):
		g.add("  pingPong probe front")
	default:
		g.add("  stableService front, canaryService probe")
	}
	for _, e := range entrances {
		g.add("  router %s", e)
	}
	if headers {
		g.add("  managedRoute beta")
	}
	dynamic := g.chance(45)
	if dynamic {
		g.add("  dynamicStableScale")
	}
	if g.chance(25) {
		g.add("  minPods %d", 1+g.IntN(4))
	}
	if !dynamic && g.chance(40) {
		g.add("  scaleDownDelay %s", g.pick("0s", "1s", "5s", "30s", "2m"))
	}
	if g.chance(40) {
		g.add("  abortScaleDownDelay %s", g.pick("0s", "1s", "5s", "30s", "2m"))
	}
	if g.chance(20) {
		g.add("  scaleDownDelayLimit %d", g.IntN(3))
	}
	if g.chance(25) {
		g.add("  settle %s", g.pick("1s", "5s", "20s"))
	}
	g.proofSettings()
	g.habits()
}

// habits are settings that have nothing to do with traffic.
func (g *generator) habits() {
	if g.chance(30) {
		g.add("  minReady %s", g.pick("3s", "10s", "20s"))
	}
	if g.chance(60) {
		g.add("  deadline %s", g.pick("30s", "1m", "5m"))
	}
	if g.chance(35) {
		g.add("  deadlineAbort")
	}
	if g.chance(15) {
		g.add("  rollbackWindow %d", 1+g.IntN(3))
	}
	if g.chance(30) {
		g.add("  historyLimit %d", g.IntN(3))
	}
}

func (g *generator) routedSteps(headers bool) string {
	var out []string
	for range 1 + g.IntN(7) {
		switch n := g.IntN(100); {
		case n < 50:
			out = append(out, "setWeight "+g.pick("0", "1", "10", "20", "25", "33", "50", "50", "75", "99", "100"))
		case n < 60:
			out = append(out, "setCanaryScale "+g.pick("1", "2", "5", "10%", "50%", "100%", "match", "match"))
		case n < 68 && headers:
			out = append(out, "setHeaderRoute beta"+g.pick("", " X-Beta=yes", " X-Beta=yes", " X-Team=blue"))
		default:
			out = append(out, g.pick("pause", "pause", "pause 2s", "pause 30s", "pause 2m"))
		}
	}
	return strings.Join(g.withTrials(g.withProof(out)), ", ")
}

// routedEvent is what happens to routes and routers.
func (g *generator) routedEvent(entrances []string) {
	router, name, _ := strings.Cut(entrances[g.IntN(len(entrances))], " ")
	kind := map[string]string{"nginx": "Ingress", "istio": "VirtualService", "subsets": g.pick("VirtualService", "DestinationRule"), "traefik": "TraefikService",
		"gateway": "HTTPRoute", "apisix": "ApisixRoute", "ambassador": "Mapping", "smi": "TrafficSplit"}[router]
	switch g.IntN(10) {
	case 0, 1, 2:
		again := ""
		if g.chance(30) {
			again = fmt.Sprintf(" every %s times %d", g.pick("500ms", "3s", "20s"), 2+g.IntN(6))
		}
		g.add("rival weight %s as %s%s", g.pick("0", "0", "10", "50", "100"), g.pick("argocd-controller", "kubectl-edit"), again)
	case 3:
		g.add("router lag %s", g.pick("0s", "100ms", "2s", "9s", "30s"))
	case 4:
		g.add("router refuse for %s", g.pick("2s", "30s", "3m"))
	case 5:
		g.add("router silent for %s", g.pick("2s", "30s", "3m"))
	case 6, 7:
		g.add("delete %s %s", kind, name)
		g.add("advance %s", g.pick("0s", "20ms", "2s", "30s"))
		g.add("route %s %s stable front canary probe", router, name)
	case 8:
		g.add("fault refuse %s %s for %s", g.pick("Router", kind), g.pick("500", "403", "409", "422", "504"), g.pick("2s", "12s", "40s"))
	case 9:
		g.add("fault drop Router for %s", g.pick("2s", "12s", "40s"))
	}
}
