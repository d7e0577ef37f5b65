package validate

import "testing"

const canaryPath = "spec.strategy.canary."

func canaryPatch(text string) string { return `strategy: {canary: {steps: null, ` + text + `}}` }

func TestCanary(t *testing.T) {
	const p = canaryPath
	runSpecs(t, map[string]specCase{
		"Services without a router":                       {canaryPatch(`canaryService: c, stableService: s`), nil},
		"one Service without a router":                    {canaryPatch(`stableService: s`), nil},
		"one Service for both":                            {canaryPatch(`canaryService: s, stableService: s`), wants(p + "stableService: Invalid value: \"s\": is canaryService too")},
		"shares as number and percentage":                 {canaryPatch(`maxSurge: 2, maxUnavailable: "10%"`), nil},
		"a bare number as text is a percentage":           {canaryPatch(`maxSurge: "25", maxUnavailable: 0`), nil},
		"a surge above 100 %":                             {canaryPatch(`maxSurge: "150%"`), nil},
		"a surge that is no number":                       {canaryPatch(`maxSurge: "2x"`), wants(p + "maxSurge: Invalid value: \"2x\": is neither a number of pods nor a percentage")},
		"a surge with a fraction":                         {canaryPatch(`maxSurge: "2.5%"`), wants(p + "maxSurge: \"2.5%\"")},
		"a surge of nothing":                              {canaryPatch(`maxSurge: ""`), wants(p + "maxSurge: \"\"")},
		"a percentage beyond all numbers":                 {canaryPatch(`maxSurge: "99999999999%"`), wants(p + "maxSurge: 99999999999%")},
		"negative shares":                                 {canaryPatch(`maxSurge: -1, maxUnavailable: "-5%"`), wants(p+"maxSurge: \"-1\": is negative; use 0 or more", p+"maxUnavailable: \"-5%\": is negative")},
		"no pod may come or go":                           {canaryPatch(`maxSurge: 0, maxUnavailable: 0`), wants(p + "maxSurge: Invalid value: \"0\": no pod may be added and, since maxUnavailable is 0 too, none be taken away")},
		"no pod may come or go, in percent":               {canaryPatch(`maxSurge: "0%", maxUnavailable: "0"`), wants(p + "maxSurge: \"0%\"")},
		"no surge alone":                                  {canaryPatch(`maxSurge: 0`), nil},
		"delays that are kept":                            {canaryPatch(`abortScaleDownDelaySeconds: 0, scaleDownDelayRevisionLimit: 0, minPodsPerReplicaSet: 0`), nil},
		"negative numbers":                                {canaryPatch(`abortScaleDownDelaySeconds: -1, scaleDownDelayRevisionLimit: -1, minPodsPerReplicaSet: -1, replicaProgressThreshold: {type: Pods, value: -1}`), wants(p+"scaleDownDelayRevisionLimit: -1", p+"abortScaleDownDelaySeconds: -1", p+"minPodsPerReplicaSet: -1", p+"replicaProgressThreshold.value: -1")},
		"a scale-down delay without a router":             {canaryPatch(`scaleDownDelaySeconds: 30`), wants(p + "scaleDownDelaySeconds: Invalid value: 30: without a router")},
		"a negative scale-down delay":                     {canaryPatch(`scaleDownDelaySeconds: -1, trafficRouting: {plugins: {x: {}}}`), wants(p + "scaleDownDelaySeconds: use 0 or more")},
		"a scale-down delay with a router":                {canaryPatch(`scaleDownDelaySeconds: 30, trafficRouting: {plugins: {x: {}}}`), nil},
		"a dynamic stable scale with a router":            {canaryPatch(`dynamicStableScale: true, trafficRouting: {plugins: {x: {}}}`), nil},
		"a dynamic stable scale without":                  {canaryPatch(`dynamicStableScale: true`), wants(p + "dynamicStableScale: Invalid value: true: without a router")},
		"a dynamic stable scale that is off":              {canaryPatch(`dynamicStableScale: false`), nil},
		"a dynamic stable scale with a delay":             {canaryPatch(`dynamicStableScale: true, scaleDownDelaySeconds: 1, trafficRouting: {plugins: {x: {}}}`), wants(p + "dynamicStableScale: remove one of the two fields")},
		"a threshold in percent":                          {canaryPatch(`replicaProgressThreshold: {type: Percent, value: 90}`), nil},
		"a threshold in an unknown unit":                  {canaryPatch(`replicaProgressThreshold: {type: percent, value: 90}`), wants(p + "replicaProgressThreshold.type: \"percent\": is no unit of progress; use Percent or Pods")},
		"preferred anti-affinity":                         {canaryPatch(`antiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: {weight: 100}}`), nil},
		"preferred anti-affinity of weight 0":             {canaryPatch(`antiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: {weight: 0}}`), wants(p + "antiAffinity.weight: Invalid value: 0: is out of range; use 1 to 100")},
		"preferred anti-affinity of weight 101":           {canaryPatch(`antiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: {weight: 101}}`), wants(p + "antiAffinity.weight: 101")},
		"required anti-affinity":                          {canaryPatch(`antiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {}}`), nil},
		"anti-affinity that says nothing":                 {canaryPatch(`antiAffinity: {}`), wants(p + "antiAffinity: says nothing")},
		"anti-affinity of both kinds":                     {canaryPatch(`antiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {}, preferredDuringSchedulingIgnoredDuringExecution: {weight: 1}}`), wants(p + "antiAffinity: cannot be both")},
		"metadata of each role":                           {canaryPatch(`canaryMetadata: {labels: {role: canary}, annotations: {a/b: c}}, stableMetadata: {labels: {app: shop}}`), nil},
		"metadata that loses the pods":                    {canaryPatch(`canaryMetadata: {labels: {app: x}}`), wants(p + "canaryMetadata.labels[app]: use shop, as in the selector")},
		"metadata that is malformed":                      {canaryPatch(`stableMetadata: {labels: {a: "b c"}, annotations: {"d e": f}}`), wants(p+"stableMetadata.labels[a]: \"b c\"", p+"stableMetadata.annotations: \"d e\"")},
		"background analysis":                             {`strategy: {canary: {analysis: {templates: [{templateName: t}], startingStep: 2}}}`, nil},
		"background analysis that starts behind the end":  {`strategy: {canary: {analysis: {templates: [{templateName: t}], startingStep: 3}}}`, wants(p + "analysis.startingStep: Invalid value: 3: the analysis would never run, since there are 2 steps; use 0 to 2")},
		"background analysis that starts before all":      {`strategy: {canary: {analysis: {templates: [{templateName: t}], startingStep: -1}}}`, wants(p + "analysis.startingStep: -1: is too small")},
		"background analysis of nothing":                  {`strategy: {canary: {analysis: {}}}`, wants(p + "analysis.templates: Required value: nothing would be measured")},
		"ping-pong with a router":                         {canaryPatch(`pingPong: {pingService: a, pongService: b}, trafficRouting: {alb: {ingress: i, servicePort: 80, rootService: r}}`), nil},
		"ping-pong with Istio":                            {canaryPatch(`pingPong: {pingService: a, pongService: b}, trafficRouting: {istio: {virtualService: {name: v}}}`), nil},
		"ping-pong with one Service":                      {canaryPatch(`pingPong: {pingService: a, pongService: a}`), wants(p + "pingPong.pingService: is pongService too")},
		"ping-pong without Services":                      {canaryPatch(`pingPong: {pingService: "", pongService: ""}`), wants(p+"pingPong.pingService: Required", p+"pingPong.pongService: Required")},
		"ping-pong with a router that cannot":             {canaryPatch(`canaryService: c, stableService: s, pingPong: {pingService: a, pongService: b}, trafficRouting: {smi: {}}`), wants(p + "trafficRouting.alb: pingPong works with alb, istio, gatewayAPI or plugins")},
		"ping-pong with ALB but without a root Service":   {canaryPatch(`pingPong: {pingService: a, pongService: b}, trafficRouting: {alb: {ingress: i, servicePort: 80}}`), wants(p + "trafficRouting.alb.rootService: Required value")},
		"weights may go down, and 100 need not come last": {`strategy: {canary: {steps: [{setWeight: 100}, {pause: {}}, {setWeight: 10}, {pause: {duration: 0}}]}}`, nil},
	})
}

func TestRouters(t *testing.T) {
	const p = canaryPath + "trafficRouting"
	routing := func(text string) string {
		return canaryPatch(`canaryService: c, stableService: s, trafficRouting: {` + text + `}`)
	}
	bare := func(text string) string { return canaryPatch(`trafficRouting: {` + text + `}`) }
	runSpecs(t, map[string]specCase{
		"routing without a router":                 {routing(``), wants(p + ": Required value: no known router is named, so no traffic would ever move")},
		"routing with managed routes alone":        {routing(`managedRoutes: [{name: a}]`), wants(p + ": no known router is named")},
		"plugins need no Services":                 {bare(`plugins: {x/y: {}}`), nil},
		"no plugin is no router":                   {bare(`plugins: {}`), wants(p + ": no known router is named")},
		"several routers at once":                  {routing(`nginx: {stableIngress: i}, smi: {}, plugins: {x: {}}`), nil},
		"Istio by Services":                        {routing(`istio: {virtualService: {name: v}}`), nil},
		"Istio without Services":                   {bare(`istio: {virtualService: {name: v}}`), wants(canaryPath+"canaryService: Required value: the router istio", canaryPath+"stableService: the router istio")},
		"Istio by subsets needs no Services":       {bare(`istio: {virtualService: {name: v}, destinationRule: {name: d, canarySubsetName: c, stableSubsetName: s}}`), nil},
		"Istio with a list":                        {routing(`istio: {virtualServices: [{name: v}, {name: w}]}`), nil},
		"Istio with both forms":                    {routing(`istio: {virtualService: {name: v}, virtualServices: [{name: w}]}`), wants(p + ".istio: cannot be both; remove virtualService or virtualServices")},
		"Istio with neither form":                  {routing(`istio: {}`), wants(p + ".istio: set virtualService or virtualServices")},
		"Istio without names":                      {routing(`istio: {virtualServices: [{}]}`), wants(p + ".istio.virtualServices[0].name: Required")},
		"Istio with one nameless VirtualService":   {routing(`istio: {virtualService: {}}`), wants(p + ".istio.virtualService.name: Required")},
		"a DestinationRule without names":          {routing(`istio: {virtualService: {name: v}, destinationRule: {}}`), wants(p+".istio.destinationRule.name: Required", p+".istio.destinationRule.canarySubsetName: Required", p+".istio.destinationRule.stableSubsetName: Required")},
		"a DestinationRule with one subset":        {routing(`istio: {virtualService: {name: v}, destinationRule: {name: d, canarySubsetName: a, stableSubsetName: a}}`), wants(p + ".istio.destinationRule.stableSubsetName: is canarySubsetName too")},
		"nginx":                                    {routing(`nginx: {stableIngress: i}`), nil},
		"nginx with a list":                        {routing(`nginx: {stableIngresses: [i, j]}`), nil},
		"nginx with both forms":                    {routing(`nginx: {stableIngress: i, stableIngresses: [j]}`), wants(p + ".nginx: cannot be both; remove stableIngress or stableIngresses")},
		"nginx with neither form":                  {routing(`nginx: {}`), wants(p + ".nginx: set stableIngress or stableIngresses")},
		"nginx without Services":                   {bare(`nginx: {stableIngress: i}`), wants(canaryPath+"canaryService: the router nginx", canaryPath+"stableService: the router nginx")},
		"ALB":                                      {routing(`alb: {ingress: i, servicePort: 80, stickinessConfig: {enabled: true, durationSeconds: 604800}}`), nil},
		"ALB with both forms":                      {routing(`alb: {ingress: i, ingresses: [j], servicePort: 80}`), wants(p + ".alb: cannot be both; remove ingress or ingresses")},
		"ALB with neither form":                    {routing(`alb: {servicePort: 80}`), wants(p + ".alb: set ingress or ingresses")},
		"ALB with a port out of range":             {routing(`alb: {ingress: i, servicePort: 70000}`), wants(p + ".alb.servicePort: 70000")},
		"ALB stickiness beyond a week":             {routing(`alb: {ingress: i, servicePort: 80, stickinessConfig: {enabled: true, durationSeconds: 604801}}`), wants(p + ".alb.stickinessConfig.durationSeconds: use 1 to 604800")},
		"ALB stickiness that is off":               {routing(`alb: {ingress: i, servicePort: 80, stickinessConfig: {enabled: false, durationSeconds: 0}}`), nil},
		"ALB without Services":                     {bare(`alb: {ingress: i, servicePort: 80}`), wants(canaryPath+"canaryService: alb", canaryPath+"stableService: alb")},
		"SMI":                                      {routing(`smi: {}`), nil},
		"SMI without Services":                     {bare(`smi: {}`), wants(canaryPath+"canaryService: smi", canaryPath+"stableService: smi")},
		"Ambassador":                               {routing(`ambassador: {mappings: [m]}`), nil},
		"Ambassador without mappings":              {routing(`ambassador: {mappings: []}`), wants(p + ".ambassador.mappings: no mapping is named")},
		"Ambassador with a nameless mapping":       {routing(`ambassador: {mappings: [""]}`), wants(p + ".ambassador.mappings[0]: names a Mapping")},
		"Ambassador without Services":              {bare(`ambassador: {mappings: [m]}`), wants(canaryPath+"canaryService: ambassador", canaryPath+"stableService: ambassador")},
		"App Mesh":                                 {routing(`appMesh: {virtualService: {name: v}, virtualNodeGroup: {canaryVirtualNodeRef: {name: a}, stableVirtualNodeRef: {name: b}}}`), nil},
		"App Mesh without VirtualService":          {routing(`appMesh: {}`), wants(p + ".appMesh.virtualService: Required")},
		"App Mesh with nameless parts":             {routing(`appMesh: {virtualService: {}, virtualNodeGroup: {canaryVirtualNodeRef: {}}}`), wants(p+".appMesh.virtualService.name: Required", p+".appMesh.virtualNodeGroup.canaryVirtualNodeRef.name: Required", p+".appMesh.virtualNodeGroup.stableVirtualNodeRef: Required")},
		"App Mesh without Services":                {bare(`appMesh: {virtualService: {name: v}}`), wants(canaryPath+"canaryService: appMesh", canaryPath+"stableService: appMesh")},
		"Traefik":                                  {routing(`traefik: {weightedTraefikServiceName: t}`), nil},
		"Traefik without name":                     {routing(`traefik: {}`), wants(p + ".traefik.weightedTraefikServiceName: Required")},
		"Traefik without Services":                 {bare(`traefik: {weightedTraefikServiceName: t}`), wants(canaryPath+"canaryService: traefik", canaryPath+"stableService: traefik")},
		"APISIX":                                   {routing(`apisix: {route: {name: r}}`), nil},
		"APISIX without route":                     {routing(`apisix: {}`), wants(p + ".apisix.route: Required")},
		"APISIX with a nameless route":             {routing(`apisix: {route: {}}`), wants(p + ".apisix.route.name: Required")},
		"APISIX without Services":                  {bare(`apisix: {route: {name: r}}`), wants(canaryPath+"canaryService: apisix", canaryPath+"stableService: apisix")},
		"another maximum with nginx":               {routing(`nginx: {stableIngress: i}, maxTrafficWeight: 1000`), nil},
		"another maximum with a plugin":            {bare(`plugins: {x: {}}, maxTrafficWeight: 1000`), nil},
		"another maximum with Istio":               {routing(`istio: {virtualService: {name: v}}, maxTrafficWeight: 1000`), wants(p + ".maxTrafficWeight: Invalid value: 1000: the weights of this router sum to 100")},
		"another maximum with nginx and Istio":     {routing(`nginx: {stableIngress: i}, istio: {virtualService: {name: v}}, maxTrafficWeight: 1000`), wants(p + ".maxTrafficWeight: Invalid value: 1000: the weights of istio, which is named too, sum to 100")},
		"the usual maximum with nginx and Istio":   {routing(`nginx: {stableIngress: i}, istio: {virtualService: {name: v}}, maxTrafficWeight: 100`), nil},
		"a maximum of 0":                           {bare(`plugins: {x: {}}, maxTrafficWeight: 0`), wants(p + ".maxTrafficWeight: use 1 or more")},
		"a managed route without name":             {bare(`plugins: {x: {}}, managedRoutes: [{}]`), wants(p + ".managedRoutes[0].name: Required")},
		"a Service for one of two versions, nginx": {canaryPatch(`canaryService: c, trafficRouting: {nginx: {stableIngress: i}}`), wants(canaryPath + "stableService: the router nginx divides the traffic between two Services")},
	})
}

const (
	firstStep    = canaryPath + "steps[0]"
	pluginRouter = `plugins: {x: {}}`
	istioRouter  = `istio: {virtualService: {name: v}}, managedRoutes: [{name: r}]`
)

// stepPatch has one step and no router; routedStep has a router too.
func stepPatch(step string) string { return `strategy: {canary: {steps: [{` + step + `}]}}` }

func routedStep(router, step string) string {
	return `strategy: {canary: {canaryService: c, stableService: s, trafficRouting: {` + router + `}, steps: [{` + step + `}]}}`
}

func TestSteps(t *testing.T) {
	const p, plugin, istio = firstStep, pluginRouter, istioRouter
	one, with := stepPatch, routedStep
	runSpecs(t, map[string]specCase{
		"weight 0":                              {one(`setWeight: 0`), nil},
		"weight 100":                            {one(`setWeight: 100`), nil},
		"weight 101":                            {one(`setWeight: 101`), wants(p + ".setWeight: Invalid value: 101: is out of range; use 0 to 100")},
		"weight -1":                             {one(`setWeight: -1`), wants(p + ".setWeight: -1")},
		"a weight up to another maximum":        {with(plugin+`, maxTrafficWeight: 1000`, `setWeight: 1000`), nil},
		"a weight above another maximum":        {with(plugin+`, maxTrafficWeight: 10`, `setWeight: 11`), wants(p + ".setWeight: use 0 to 10")},
		"a pause without end":                   {one(`pause: {}`), nil},
		"a pause in seconds":                    {one(`pause: {duration: 30}`), nil},
		"a pause in seconds as text":            {one(`pause: {duration: "30"}`), nil},
		"a pause as a duration":                 {one(`pause: {duration: 1h30m}`), nil},
		"a pause of days":                       {one(`pause: {duration: 2d}`), wants(p + ".pause.duration: Invalid value: \"2d\": is no length of time")},
		"a negative pause":                      {one(`pause: {duration: -1}`), wants(p + ".pause.duration: \"-1\"")},
		"a negative pause as a duration":        {one(`pause: {duration: -10s}`), wants(p + ".pause.duration: \"-10s\"")},
		"a pause of no text":                    {one(`pause: {duration: ""}`), wants(p + ".pause.duration: \"\"")},
		"an empty step":                         {one(``), wants(p + ": Invalid value: \"{}\": the step does nothing")},
		"two kinds that everybody knows":        {one(`setWeight: 1, pause: {}`), wants(p + ": \"setWeight, pause\": a step does one thing")},
		"two kinds that go unnoticed elsewhere": {with(istio, `setHeaderRoute: {name: r}, plugin: {name: x}`), wants(p + ": \"setHeaderRoute, plugin\"")},
		"a weight and a scale":                  {with(plugin, `setWeight: 1, setCanaryScale: {replicas: 1}`), wants(p + ": \"setWeight, setCanaryScale\"")},

		"a scale with a header route": {with(istio, `setCanaryScale: {replicas: 1}, setHeaderRoute: {name: r}`), nil},
		"a scale with a mirror route": {with(istio, `setCanaryScale: {replicas: 1}, setMirrorRoute: {name: r}`), nil},
		"a scale with both routes":    {with(istio, `setCanaryScale: {replicas: 1}, setMirrorRoute: {name: r}, setHeaderRoute: {name: r}`), wants(p + ": \"setCanaryScale, setHeaderRoute, setMirrorRoute\"")},
		"a scale by weight":           {with(plugin, `setCanaryScale: {weight: 10}`), nil},
		"a scale by pods":             {with(plugin, `setCanaryScale: {replicas: 0}`), nil},
		"a scale by traffic":          {with(plugin, `setCanaryScale: {matchTrafficWeight: true}`), nil},
		"a scale by nothing":          {with(plugin, `setCanaryScale: {}`), wants(p + ".setCanaryScale: says no size")},
		"a scale by two":              {with(plugin, `setCanaryScale: {weight: 1, replicas: 1}`), wants(p + ".setCanaryScale: \"weight, replicas\": more than one size is given")},
		"a negative scale":            {with(plugin, `setCanaryScale: {replicas: -1}`), wants(p + ".setCanaryScale.replicas: -1")},
		"a negative scale by weight":  {with(plugin, `setCanaryScale: {weight: -1}`), wants(p + ".setCanaryScale.weight: -1")},
		"a scale without a router":    {one(`setCanaryScale: {replicas: 1}`), wants(canaryPath + "trafficRouting: Required value: setCanaryScale needs a router")},
		"a step plugin":               {one(`plugin: {name: a/b, config: {x: 1}}`), nil},
		"a step plugin without name":  {one(`plugin: {}`), wants(p + ".plugin.name: Required")},
	})
}

func TestStepRoutes(t *testing.T) {
	const p, plugin, istio = firstStep, pluginRouter, istioRouter
	one, with := stepPatch, routedStep
	runSpecs(t, map[string]specCase{
		"a header route":              {with(istio, `setHeaderRoute: {name: r, match: [{headerName: X, headerValue: {prefix: a}}]}`), nil},
		"a header route is removed":   {with(istio, `setHeaderRoute: {name: r}`), nil},
		"a header route of no name":   {with(istio, `setHeaderRoute: {}`), wants(p + ".setHeaderRoute.name: Required")},
		"a header route not listed":   {with(istio, `setHeaderRoute: {name: q}`), wants(p + ".setHeaderRoute.name: \"q\": is not one of trafficRouting.managedRoutes")},
		"header routes, none listed":  {with(plugin, `setHeaderRoute: {name: q}`), wants(canaryPath + "trafficRouting.managedRoutes: Required value")},
		"a header route with nginx":   {with(`nginx: {stableIngress: i}, managedRoutes: [{name: r}]`, `setHeaderRoute: {name: r}`), wants(p + ".setHeaderRoute: no router here can carry it; set trafficRouting to istio, alb, apisix, gatewayAPI with an httpRoute or a grpcRoute that takes them, or plugins")},
		"a header route alone":        {one(`setHeaderRoute: {name: r}`), wants(p + ".setHeaderRoute: no router here can carry it")},
		"a header of no name":         {with(istio, `setHeaderRoute: {name: r, match: [{headerValue: {exact: a}}]}`), wants(p + ".setHeaderRoute.match[0].headerName: Required")},
		"a header of no value":        {with(istio, `setHeaderRoute: {name: r, match: [{headerName: X}]}`), wants(p + ".setHeaderRoute.match[0].headerValue: Required")},
		"a header of two values":      {with(istio, `setHeaderRoute: {name: r, match: [{headerName: X, headerValue: {exact: a, regex: b}}]}`), wants(p + ".setHeaderRoute.match[0].headerValue: \"exact, regex\"")},
		"a header of empty value":     {with(istio, `setHeaderRoute: {name: r, match: [{headerName: X, headerValue: {}}]}`), wants(p + ".setHeaderRoute.match[0].headerValue: matches nothing")},
		"ALB takes exact values":      {with(`alb: {ingress: i, servicePort: 80}, managedRoutes: [{name: r}]`, `setHeaderRoute: {name: r, match: [{headerName: X, headerValue: {exact: a}}]}`), nil},
		"ALB takes no prefix":         {with(`alb: {ingress: i, servicePort: 80}, managedRoutes: [{name: r}]`, `setHeaderRoute: {name: r, match: [{headerName: X, headerValue: {prefix: a}}]}`), wants(p + ".setHeaderRoute.match[0].headerValue: \"prefix\": alb compares whole values; use exact")},
		"a mirror route":              {with(istio, `setMirrorRoute: {name: r, percentage: 35, match: [{method: {exact: GET}, path: {prefix: /}, headers: {a: {}}}]}`), nil},
		"a mirror route with ALB":     {with(`alb: {ingress: i, servicePort: 80}, managedRoutes: [{name: r}]`, `setMirrorRoute: {name: r}`), wants(p + ".setMirrorRoute: set trafficRouting to istio, gatewayAPI with an httpRoute, or plugins")},
		"a mirror route alone":        {one(`setMirrorRoute: {name: r}`), wants(p + ".setMirrorRoute: no router here can carry it")},
		"a mirror route not listed":   {with(istio, `setMirrorRoute: {name: q}`), wants(p + ".setMirrorRoute.name: is not one of")},
		"a mirror route of two":       {with(istio, `setMirrorRoute: {name: r, match: [{method: {exact: a, prefix: b}, path: {}}]}`), wants(p+".setMirrorRoute.match[0].method: \"exact, prefix\"", p+".setMirrorRoute.match[0].path: matches nothing")},
		"a mirror route of too much":  {with(istio, `setMirrorRoute: {name: r, percentage: 101}`), wants(p + ".setMirrorRoute.percentage: use 0 to 100")},
		"a mirror route of less than": {with(istio, `setMirrorRoute: {name: r, percentage: -1}`), wants(p + ".setMirrorRoute.percentage: -1")},
	})
}

func TestProofs(t *testing.T) {
	const p = canaryPath + "steps[0]"
	analysis := func(text string) string { return `strategy: {canary: {steps: [{analysis: {` + text + `}}]}}` }
	args := func(text string) string { return analysis(`templates: [{templateName: t}], args: [` + text + `]`) }
	experiment := func(text string) string { return `strategy: {canary: {steps: [{experiment: {` + text + `}}]}}` }
	runSpecs(t, map[string]specCase{
		"an analysis":                             {analysis(`templates: [{templateName: t, clusterScope: true}], args: [{name: a, value: b}, {name: c}], dryRun: [{metricName: m}], measurementRetention: [{metricName: m, limit: 0}], analysisRunMetadata: {labels: {a: b}}`), nil},
		"an analysis without templates":           {analysis(``), wants(p + ".analysis.templates: Required value: nothing would be measured")},
		"a template without name":                 {analysis(`templates: [{}]`), wants(p + ".analysis.templates[0].templateName: Required")},
		"a dry run without metric":                {analysis(`templates: [{templateName: t}], dryRun: [{}]`), wants(p + ".analysis.dryRun[0].metricName: Required")},
		"one dry-run rule twice":                  {analysis(`templates: [{templateName: t}], dryRun: [{metricName: m}, {metricName: m}]`), wants(p + ".analysis.dryRun[1].metricName: is the name of two rules")},
		"a retention below 0":                     {analysis(`templates: [{templateName: t}], measurementRetention: [{metricName: m, limit: -1}]`), wants(p + ".analysis.measurementRetention[0].limit: -1")},
		"one retention rule twice, one nameless":  {analysis(`templates: [{templateName: t}], measurementRetention: [{metricName: m, limit: 1}, {metricName: m, limit: 2}, {limit: 1}]`), wants(p+".analysis.measurementRetention[1].metricName: is the name of two rules", p+".analysis.measurementRetention[2].metricName: Required")},
		"malformed metadata of a run":             {analysis(`templates: [{templateName: t}], analysisRunMetadata: {labels: {a: "b c"}, annotations: {"d e": f}}`), wants(p+".analysis.analysisRunMetadata.labels[a]: is no label value", p+".analysis.analysisRunMetadata.annotations: is no annotation key")},
		"arguments from the pods and the Rollout": {args(`{name: a, valueFrom: {podTemplateHashValue: Latest}}, {name: b, valueFrom: {fieldRef: {fieldPath: "metadata.labels['x']"}}}, {name: c, valueFrom: {fieldRef: {fieldPath: spec.replicas}}}, {name: d, valueFrom: {fieldRef: {fieldPath: "metadata.annotations['Ex.example/y']"}}}, {name: e, valueFrom: {fieldRef: {fieldPath: metadata.uid}}}`), nil},
		"an argument without name":                {args(`{value: b}`), wants(p + ".analysis.args[0].name: Required")},
		"an argument from nowhere":                {args(`{name: a, valueFrom: {}}`), wants(p + ".analysis.args[0].valueFrom: says where the value comes from")},
		"an argument from an unknown version":     {args(`{name: a, valueFrom: {podTemplateHashValue: stable}}`), wants(p + ".analysis.args[0].valueFrom.podTemplateHashValue: \"stable\": is neither version")},
		"an argument from no field":               {args(`{name: a, valueFrom: {fieldRef: {fieldPath: ""}}}`), wants(p + ".analysis.args[0].valueFrom.fieldRef.fieldPath: Required")},
		"an argument from unknown metadata":       {args(`{name: a, valueFrom: {fieldRef: {fieldPath: metadata.generation}}}`), wants(p + ".analyses: \"metadata.generation\": the argument a would have no value")},
		"an argument from a malformed key":        {args(`{name: a, valueFrom: {fieldRef: {fieldPath: "metadata.labels['a b']"}}}, {name: b, valueFrom: {fieldRef: {fieldPath: "metadata.labels['a"}}}, {name: c, valueFrom: {fieldRef: {fieldPath: "metadata.annotations['']"}}}, {name: d, valueFrom: {fieldRef: {fieldPath: "metadata.name['x']"}}}`), wants(p+".analyses: 'a b'", p+".analyses: argument b", p+".analyses: argument c", p+".analyses: argument d")},

		"an experiment":                      {experiment(`templates: [{name: a, specRef: stable}, {name: b, specRef: canary, replicas: 2, metadata: {labels: {a: b}}, selector: {matchLabels: {a: b}}, service: {name: s}}], duration: 5m, analyses: [{name: x, templateName: t, args: [{name: a, value: "{{templates.a.podTemplateHash}}"}]}], scaleDownDelaySeconds: 0`), nil},
		"an experiment without templates":    {experiment(`templates: []`), wants(p + ".experiment.templates: nothing would run")},
		"a template of an experiment":        {experiment(`templates: [{specRef: new}]`), wants(p+".experiment.templates[0].name: Required", p+".experiment.templates[0].specRef: \"new\": is neither version; use canary or stable")},
		"two templates of one name":          {experiment(`templates: [{name: a, specRef: stable}, {name: a, specRef: canary}]`), wants(p + ".experiment.templates[1].name: is the name of two templates")},
		"negative numbers of an experiment":  {experiment(`templates: [{name: a, specRef: stable, replicas: -1}], duration: -5m, scaleDownDelaySeconds: -1`), wants(p+".experiment.templates[0].replicas: -1", p+".experiment.duration: \"-5m\": is negative", p+".experiment.scaleDownDelaySeconds: -1")},
		"a duration without unit":            {experiment(`templates: [{name: a, specRef: stable}], duration: "5"`), wants(p + ".experiment.duration: \"5\": is no duration")},
		"an experiment's selector":           {experiment(`templates: [{name: a, specRef: stable, selector: {}}]`), wants(p + ".experiment.templates[0].selector: selects every pod")},
		"an experiment's metadata":           {experiment(`templates: [{name: a, specRef: stable, metadata: {labels: {a: "b c"}, annotations: {"d e": f}}}]`), wants(p+".experiment.templates[0].metadata.labels[a]: is no label value", p+".experiment.templates[0].metadata.annotations: is no annotation key")},
		"analyses of an experiment":          {experiment(`templates: [{name: a, specRef: stable}], analyses: [{}, {name: x, templateName: t}, {name: x, templateName: t, args: [{}]}]`), wants(p+".experiment.analyses[0].name: Required", p+".experiment.analyses[0].templateName: Required", p+".experiment.analyses[2].name: is the name of two analyses", p+".experiment.analyses[2].args[0].name: Required")},
		"dry runs of an experiment":          {experiment(`templates: [{name: a, specRef: stable}], dryRun: [{}], analysisRunMetadata: {labels: {a: "b c"}}`), wants(p+".experiment.dryRun[0].metricName: Required", p+".experiment.analysisRunMetadata.labels[a]: is no label value")},
		"traffic to an experiment":           {`strategy: {canary: {trafficRouting: {plugins: {x: {}}}, steps: [{experiment: {templates: [{name: a, specRef: stable, weight: 5}]}}]}}`, nil},
		"traffic to an experiment, too much": {`strategy: {canary: {trafficRouting: {plugins: {x: {}}}, steps: [{experiment: {templates: [{name: a, specRef: stable, weight: 101}]}}]}}`, wants(p + ".experiment.templates[0].weight: use 0 to 100")},
		"traffic to an experiment, alone":    {experiment(`templates: [{name: a, specRef: stable, weight: 5}]`), wants(p + ".experiment.templates[0].weight: Invalid value: 5: no router here can send traffic to an experiment")},
	})
}
