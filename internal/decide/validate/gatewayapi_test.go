package validate

import "testing"

func TestGatewayAPI(t *testing.T) {
	const p = canaryPath + "trafficRouting"
	const plugin = p + `.plugins[argoproj-labs/gatewayAPI]`
	routing := func(text string) string {
		return canaryPatch(`canaryService: c, stableService: s, trafficRouting: {` + text + `}`)
	}
	block := func(text string) string { return routing(`plugins: {argoproj-labs/gatewayAPI: {` + text + `}}`) }
	step := func(router, step string) string { return routedStep(router+`, managedRoutes: [{name: r}]`, step) }
	const header, mirror = `setHeaderRoute: {name: r, match: [{headerName: X, headerValue: {prefix: a}}]}`, `setMirrorRoute: {name: r, match: [{method: {exact: GET}}]}`
	runSpecs(t, map[string]specCase{
		"a route of each kind":               {routing(`gatewayAPI: {httpRoute: a, grpcRoute: b, tlsRoute: c, tcpRoute: d, namespace: team}`), nil},
		"lists of routes with rules":         {routing(`gatewayAPI: {httpRoutes: [{name: a, rules: [x, y]}, {name: b}], tcpRoutes: [{name: a}]}`), nil},
		"both forms at once":                 {routing(`gatewayAPI: {httpRoute: a, httpRoutes: [{name: b}]}`), nil},
		"one route twice":                    {routing(`gatewayAPI: {httpRoute: a, httpRoutes: [{name: a}]}`), wants(p + ".gatewayAPI.httpRoutes[1].name: \"a\": is named twice; keep one")},
		"no route":                           {routing(`gatewayAPI: {namespace: team}`), wants(p + ".gatewayAPI: Required value: names no route")},
		"a route without name":               {routing(`gatewayAPI: {tlsRoutes: [{}]}`), wants(p + ".gatewayAPI.tlsRoutes[0].name: Required")},
		"a malformed namespace":              {routing(`gatewayAPI: {httpRoute: a, namespace: A_B}`), wants(p + ".gatewayAPI.namespace: \"A_B\"")},
		"no Services":                        {canaryPatch(`trafficRouting: {gatewayAPI: {httpRoute: a}}`), wants(canaryPath+"canaryService: Required value: the router gatewayAPI", canaryPath+"stableService: the router gatewayAPI")},
		"ping-pong in place of Services":     {canaryPatch(`pingPong: {pingService: a, pongService: b}, trafficRouting: {gatewayAPI: {httpRoute: a}}`), nil},
		"another maximum":                    {routing(`gatewayAPI: {httpRoute: a}, maxTrafficWeight: 1000000`), nil},
		"a maximum that no route takes":      {routing(`gatewayAPI: {httpRoute: a}, maxTrafficWeight: 1000001`), wants(p + ".maxTrafficWeight: use 1 to 1000000")},
		"the plugin's block":                 {block(`httpRoute: a, namespace: team, configMap: m, httpRoutes: [{name: b, useHeaderRoutes: true}]`), nil},
		"the plugin's block and ours":        {routing(`gatewayAPI: {httpRoute: a}, plugins: {argoproj-labs/gatewayAPI: {httpRoute: a}}`), wants(plugin + ": says the same as gatewayAPI; keep one of the two")},
		"the plugin's block of another type": {block(`httpRoute: [a]`), wants(plugin + ": cannot be read")},
		"the plugin's block without routes":  {block(``), wants(plugin + ": Required value: names no route")},
		"the plugin's block with labels":     {block(`httpRouteSelector: {matchLabels: {a: b}}`), wants(plugin + ": routes are not chosen by labels here; name them")},
		"the plugin's block, no Services":    {canaryPatch(`trafficRouting: {plugins: {argoproj-labs/gatewayAPI: {httpRoute: a}}}`), wants(canaryPath+"canaryService: Required value: the router gatewayAPI", canaryPath+"stableService: the router gatewayAPI")},
		"a header route":                     {step(`gatewayAPI: {httpRoute: a}`, header), nil},
		"a header route by gRPC":             {step(`gatewayAPI: {grpcRoute: a}`, header), nil},
		"a header route by TCP":              {step(`gatewayAPI: {tcpRoute: a}`, header), wants(firstStep + ".setHeaderRoute: no router here can carry it")},
		"a header route that none takes":     {step(`gatewayAPI: {httpRoutes: [{name: a, noHeaderRoutes: true}]}`, header), wants(firstStep + ".setHeaderRoute: no router here can carry it")},
		"a header route of the plugin":       {step(`plugins: {argoproj-labs/gatewayAPI: {httpRoute: a}}`, header), nil},
		"a header route the plugin leaves":   {step(`plugins: {argoproj-labs/gatewayAPI: {httpRoutes: [{name: a}]}}`, header), wants(firstStep + ".setHeaderRoute: no router here can carry it")},
		"a mirror route":                     {step(`gatewayAPI: {httpRoute: a}`, mirror), nil},
		"a mirror route by gRPC":             {step(`gatewayAPI: {grpcRoute: a}`, mirror), wants(firstStep + ".setMirrorRoute: no router here can carry it")},
		"a mirror route by part of a method": {step(`gatewayAPI: {httpRoute: a}`, `setMirrorRoute: {name: r, match: [{method: {prefix: G}}]}`), wants(firstStep + ".setMirrorRoute.match[0].method: \"prefix\": gatewayAPI compares whole methods; use exact")},
		"traffic to an experiment":           {step(`gatewayAPI: {httpRoute: a}`, `experiment: {templates: [{name: a, specRef: stable, weight: 5}]}`), nil},
	})
}
