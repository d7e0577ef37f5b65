package v1alpha1

import (
	"encoding/json"
)

// RolloutTrafficRouting configures the routers that split traffic. Several may
// be set; all of them are driven.
type RolloutTrafficRouting struct {
	// Istio VirtualServices and DestinationRules.
	Istio *IstioTrafficRouting `json:"istio,omitempty"`
	// Ingresses of the NGINX ingress controller.
	Nginx *NginxTrafficRouting `json:"nginx,omitempty"`
	// Ingresses of the AWS Load Balancer Controller.
	ALB *ALBTrafficRouting `json:"alb,omitempty"`
	// A TrafficSplit of the Service Mesh Interface.
	SMI *SMITrafficRouting `json:"smi,omitempty"`
	// Ambassador Mappings.
	Ambassador *AmbassadorTrafficRouting `json:"ambassador,omitempty"`
	// An AWS App Mesh VirtualService.
	AppMesh *AppMeshTrafficRouting `json:"appMesh,omitempty"`
	// A weighted TraefikService.
	Traefik *TraefikTrafficRouting `json:"traefik,omitempty"`
	// Names of the routes that header and mirror steps may own, the first one
	// taking precedence.
	ManagedRoutes []MangedRoutes `json:"managedRoutes,omitempty"`
	// An Apache APISIX route.
	Apisix *ApisixTrafficRouting `json:"apisix,omitempty"`
	// Configuration of traffic router plugins by plugin name.
	//
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Plugins map[string]json.RawMessage `json:"plugins,omitempty"`
	// Routes of the Gateway API. The plugin argoproj-labs/gatewayAPI under plugins
	// is read as the same thing.
	GatewayAPI *GatewayAPITrafficRouting `json:"gatewayAPI,omitempty"`
	// Sum of all weights. Default 100; only NGINX, the Gateway API and plugins take
	// another value.
	MaxTrafficWeight *int32 `json:"maxTrafficWeight,omitempty"`
	// Seconds, 0 to 3600, that a routing must have been seen in the router's
	// objects before it counts as live, for data planes that do not tell. Default 0.
	SettleSeconds int32 `json:"settleSeconds,omitempty"`
	// Asks a metric provider for the requests that each version answered, as the
	// last proof of a weight.
	Verification *TrafficVerification `json:"verification,omitempty"`
}

// TrafficVerification proves weights by the requests that the versions really
// answered. A step whose weight is not proven does not end.
type TrafficVerification struct {
	// Where the number of requests of one version comes from. It is asked once for
	// each version; its texts may hold {{args.version}} (canary or stable),
	// {{args.hash}}, {{args.service}} and {{args.window}} (such as 60s). The answer is
	// one number: the requests of that version within the window.
	Provider ShareProvider `json:"provider"`
	// Further values for those texts, such as a token from a Secret.
	Args []Argument `json:"args,omitempty"`
	// Percentage points, 1 to 100, by which the share may differ from the weight.
	// Default 5.
	Tolerance *int32 `json:"tolerance,omitempty"`
	// Requests that both versions together must have answered within the window
	// before the share counts. Default 100.
	MinRequests *int64 `json:"minRequests,omitempty"`
	// Length of the window, at least 10s. It begins when the weight was seen in the
	// router's objects. Default 1m.
	Window DurationString `json:"window,omitempty"`
	// How long to try, counted from the end of the first window. Default 5m.
	Timeout DurationString `json:"timeout,omitempty"`
	// What follows when the share cannot be proven within the timeout: Hold, which
	// waits and goes on asking, Abort, or Continue. Default Hold.
	OnUnproven UnprovenAction `json:"onUnproven,omitempty"`
}

// UnprovenAction is what a release does when the share of real requests cannot
// be proven: Hold, Abort or Continue.
//
// +kubebuilder:validation:Enum=Hold;Abort;Continue
type UnprovenAction string

// GatewayAPITrafficRouting drives routes of the Gateway API: the weights of their
// rules, and rules of its own for header and mirror steps. At least one route is
// named.
type GatewayAPITrafficRouting struct {
	// Namespace of the routes. Default: the namespace of the Rollout.
	Namespace string `json:"namespace,omitempty"`
	// Name of an HTTPRoute.
	HTTPRoute string `json:"httpRoute,omitempty"`
	// Name of a GRPCRoute.
	GRPCRoute string `json:"grpcRoute,omitempty"`
	// Name of a TLSRoute.
	TLSRoute string `json:"tlsRoute,omitempty"`
	// Name of a TCPRoute.
	TCPRoute string `json:"tcpRoute,omitempty"`
	// HTTPRoutes, all of which are driven.
	HTTPRoutes []GatewayAPIRoute `json:"httpRoutes,omitempty"`
	// GRPCRoutes, all of which are driven.
	GRPCRoutes []GatewayAPIRoute `json:"grpcRoutes,omitempty"`
	// TLSRoutes, all of which are driven.
	TLSRoutes []GatewayAPIRoute `json:"tlsRoutes,omitempty"`
	// TCPRoutes, all of which are driven.
	TCPRoutes []GatewayAPIRoute `json:"tcpRoutes,omitempty"`
}

// GatewayAPIRoute names one route and the rules to change in it.
type GatewayAPIRoute struct {
	// Name of the route.
	Name string `json:"name,omitempty"`
	// Names of rules. Default: every rule that leads to both Services.
	Rules []string `json:"rules,omitempty"`
	// Keeps the rules of header steps out of this route.
	NoHeaderRoutes bool `json:"noHeaderRoutes,omitempty"`
}

// ALBTrafficRouting drives the action annotations of AWS Load Balancer
// Controller Ingresses.
type ALBTrafficRouting struct {
	// The Ingress. Exclusive with ingresses.
	Ingress string `json:"ingress,omitempty"`
	// Port of the Services that the action forwards to.
	ServicePort int32 `json:"servicePort"`
	// Service that the Ingress rules name. Default: stableService. Needed with
	// pingPong.
	RootService string `json:"rootService,omitempty"`
	// Prefix of the annotations. Default alb.ingress.kubernetes.io.
	AnnotationPrefix string `json:"annotationPrefix,omitempty"`
	// Keeps a client on its target group.
	StickinessConfig *StickinessConfig `json:"stickinessConfig,omitempty"`
	// Several Ingresses. Exclusive with ingress.
	Ingresses []string `json:"ingresses,omitempty"`
}

// StickinessConfig keeps a client on the target group that it met first.
type StickinessConfig struct {
	// Turns stickiness on.
	Enabled bool `json:"enabled"`
	// How long it holds, in seconds, 1 to 604800.
	DurationSeconds int64 `json:"durationSeconds"`
}

// MangedRoutes names one route that the controller owns.
type MangedRoutes struct {
	// Name of the route.
	Name string `json:"name"`
}

// TraefikTrafficRouting drives the weights of a TraefikService.
type TraefikTrafficRouting struct {
	// The TraefikService. It must list both canaryService and stableService.
	WeightedTraefikServiceName string `json:"weightedTraefikServiceName"`
}

// ApisixTrafficRouting drives the weights of an ApisixRoute.
type ApisixTrafficRouting struct {
	// The route.
	Route *ApisixRoute `json:"route,omitempty"`
}

// ApisixRoute names an ApisixRoute and the rules within it.
type ApisixRoute struct {
	// Name of the ApisixRoute.
	Name string `json:"name"`
	// Rules to change. Default: the rule that has the route's name.
	Rules []string `json:"rules,omitempty"`
}

// AmbassadorTrafficRouting drives canary copies of Mappings.
type AmbassadorTrafficRouting struct {
	// Mappings that lead to stableService, at least one; they carry no weight
	// themselves.
	Mappings []string `json:"mappings"`
}

// SMITrafficRouting drives a TrafficSplit.
type SMITrafficRouting struct {
	// Service that clients talk to. Default: stableService.
	RootService string `json:"rootService,omitempty"`
	// Name of the TrafficSplit, created when missing. Default: name of the Rollout.
	TrafficSplitName string `json:"trafficSplitName,omitempty"`
}

// NginxTrafficRouting drives canary copies of Ingresses.
type NginxTrafficRouting struct {
	// Prefix of the annotations. Default nginx.ingress.kubernetes.io.
	AnnotationPrefix string `json:"annotationPrefix,omitempty"`
	// The Ingress that leads to stableService. Exclusive with stableIngresses.
	StableIngress string `json:"stableIngress,omitempty"`
	// Annotations for the canary Ingress; the prefix is added where it is missing.
	AdditionalIngressAnnotations map[string]string `json:"additionalIngressAnnotations,omitempty"`
	// Several Ingresses. Exclusive with stableIngress.
	StableIngresses []string `json:"stableIngresses,omitempty"`
	// Annotations for the canary Ingress, used as they are.
	CanaryIngressAnnotations map[string]string `json:"canaryIngressAnnotations,omitempty"`
}

// IstioTrafficRouting drives VirtualServices and a DestinationRule.
type IstioTrafficRouting struct {
	// The VirtualService. Exclusive with virtualServices.
	VirtualService *IstioVirtualService `json:"virtualService,omitempty"`
	// Splits by subsets of one host instead of by two Services.
	DestinationRule *IstioDestinationRule `json:"destinationRule,omitempty"`
	// Several VirtualServices. Exclusive with virtualService.
	VirtualServices []IstioVirtualService `json:"virtualServices,omitempty"`
}

// IstioVirtualService names a VirtualService and the routes to change in it.
type IstioVirtualService struct {
	// Name, or name.namespace.
	Name string `json:"name"`
	// HTTP routes to change. May be absent when there is only one.
	Routes []string `json:"routes,omitempty"`
	// TLS routes to change. May be absent when there is only one.
	TLSRoutes []TLSRoute `json:"tlsRoutes,omitempty"`
	// TCP routes to change. May be absent when there is only one.
	TCPRoutes []TCPRoute `json:"tcpRoutes,omitempty"`
}

// TLSRoute picks TLS routes by what they match.
type TLSRoute struct {
	// Port that the route matches.
	Port int64 `json:"port,omitempty"`
	// SNI hosts that the route matches, all of them.
	SNIHosts []string `json:"sniHosts,omitempty"`
}

// TCPRoute picks TCP routes by what they match.
type TCPRoute struct {
	// Port that the route matches.
	Port int64 `json:"port,omitempty"`
}

// IstioDestinationRule names a DestinationRule and its subsets.
type IstioDestinationRule struct {
	// Name of the DestinationRule, in the namespace of the Rollout.
	Name string `json:"name"`
	// Subset of the new version.
	CanarySubsetName string `json:"canarySubsetName"`
	// Subset of the stable version.
	StableSubsetName string `json:"stableSubsetName"`
	// Other subsets, whose weights are kept.
	AdditionalSubsetNames []string `json:"additionalSubsetNames,omitempty"`
}

// AppMeshTrafficRouting drives the router of an App Mesh VirtualService.
type AppMeshTrafficRouting struct {
	// The VirtualService, whose provider must be a virtual router.
	VirtualService *AppMeshVirtualService `json:"virtualService,omitempty"`
	// The two VirtualNodes.
	VirtualNodeGroup *AppMeshVirtualNodeGroup `json:"virtualNodeGroup,omitempty"`
}

// AppMeshVirtualService names a VirtualService and the routes of its router.
type AppMeshVirtualService struct {
	// Name of the VirtualService.
	Name string `json:"name"`
	// Routes to change. Default: all of them.
	Routes []string `json:"routes,omitempty"`
}

// AppMeshVirtualNodeGroup names the two VirtualNodes.
type AppMeshVirtualNodeGroup struct {
	// VirtualNode of the new version.
	CanaryVirtualNodeRef *AppMeshVirtualNodeReference `json:"canaryVirtualNodeRef"`
	// VirtualNode of the stable version.
	StableVirtualNodeRef *AppMeshVirtualNodeReference `json:"stableVirtualNodeRef"`
}

// AppMeshVirtualNodeReference names a VirtualNode.
type AppMeshVirtualNodeReference struct {
	// Name of the VirtualNode.
	Name string `json:"name"`
}

// ShareProvider is where the number of answered requests comes from. One field is
// set.
type ShareProvider struct {
	// A Prometheus query.
	Prometheus *PrometheusMetric `json:"prometheus,omitempty"`
	// A request over HTTP.
	Web *WebMetric `json:"web,omitempty"`
}
