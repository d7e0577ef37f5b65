package v1alpha1

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// CanaryStep is one step of a canary. Exactly one field is set.
type CanaryStep struct {
	// Share of traffic for the new version, 0 to 100 or to maxTrafficWeight.
	SetWeight *int32 `json:"setWeight,omitempty"`
	// Waits for a time or for a user.
	Pause *RolloutPause `json:"pause,omitempty"`
	// Runs an Experiment to its end.
	Experiment *RolloutExperimentStep `json:"experiment,omitempty"`
	// Runs an analysis to its end; only success goes on.
	Analysis *RolloutAnalysis `json:"analysis,omitempty"`
	// Sets the size of the new version apart from its weight. Needs traffic
	// routing.
	SetCanaryScale *SetCanaryScale `json:"setCanaryScale,omitempty"`
	// Sends requests with given headers to the new version.
	SetHeaderRoute *SetHeaderRoute `json:"setHeaderRoute,omitempty"`
	// Sends copies of requests to the new version.
	SetMirrorRoute *SetMirrorRoute `json:"setMirrorRoute,omitempty"`
	// Runs a step plugin.
	Plugin *PluginStep `json:"plugin,omitempty"`
}

// PluginStep runs a step plugin.
type PluginStep struct {
	// Name under which the plugin is installed.
	Name string `json:"name"`
	// Configuration, handed to the plugin as it is.
	//
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Config json.RawMessage `json:"config,omitempty"`
}

// RolloutPause waits.
type RolloutPause struct {
	// How long: seconds as a number or as text, or a duration such as 1h30m.
	// Absent: until a user promotes.
	Duration *intstr.IntOrString `json:"duration,omitempty"`
}

// SetCanaryScale sets the size of the new version apart from its weight. One
// field is set.
type SetCanaryScale struct {
	// Size as a share of replicas, in percent.
	Weight *int32 `json:"weight,omitempty"`
	// Size as a number of pods.
	Replicas *int32 `json:"replicas,omitempty"`
	// Lets the size follow the weight again.
	MatchTrafficWeight bool `json:"matchTrafficWeight,omitempty"`
}

// SetHeaderRoute sends requests with given headers to the new version.
type SetHeaderRoute struct {
	// Name of the route, one of managedRoutes.
	Name string `json:"name,omitempty"`
	// What a request must carry; one match is enough. Absent: the route is removed.
	Match []HeaderRoutingMatch `json:"match,omitempty"`
}

// HeaderRoutingMatch matches one header.
type HeaderRoutingMatch struct {
	// Name of the header.
	HeaderName string `json:"headerName"`
	// Its value.
	HeaderValue *StringMatch `json:"headerValue"`
}

// SetMirrorRoute sends copies of requests to the new version; their answers are
// thrown away.
type SetMirrorRoute struct {
	// Name of the route, one of managedRoutes.
	Name string `json:"name"`
	// Which requests; one match is enough. Absent: the route is removed.
	Match []RouteMatch `json:"match,omitempty"`
	// Share of the matching requests, in percent. Default 100.
	Percentage *int32 `json:"percentage,omitempty"`
}

// RouteMatch matches a request when all given fields match.
type RouteMatch struct {
	// HTTP method.
	Method *StringMatch `json:"method,omitempty"`
	// Path of the URL.
	Path *StringMatch `json:"path,omitempty"`
	// Values by header name.
	Headers map[string]StringMatch `json:"headers,omitempty"`
}

// StringMatch matches a text. Exactly one field is set.
type StringMatch struct {
	// The whole text.
	Exact string `json:"exact,omitempty"`
	// Its beginning.
	Prefix string `json:"prefix,omitempty"`
	// A regular expression.
	Regex string `json:"regex,omitempty"`
}

// RolloutExperimentStep runs an Experiment and waits for its end.
type RolloutExperimentStep struct {
	// The sets of pods to run.
	Templates []RolloutExperimentTemplate `json:"templates"`
	// How long, from the time when all sets are available. Absent: until its
	// analyses end.
	Duration DurationString `json:"duration,omitempty"`
	// Analyses to run meanwhile.
	Analyses []RolloutExperimentStepAnalysisTemplateRef `json:"analyses,omitempty"`
	// Metrics whose result does not count.
	DryRun []DryRun `json:"dryRun,omitempty"`
	// Put on the AnalysisRuns.
	AnalysisRunMetadata AnalysisRunMetadata `json:"analysisRunMetadata,omitempty"`
	// Seconds before the sets are emptied at the end. Default 30.
	ScaleDownDelaySeconds *int32 `json:"scaleDownDelaySeconds,omitempty"`
}

// RolloutExperimentStepAnalysisTemplateRef is one analysis of an experiment
// step.
type RolloutExperimentStepAnalysisTemplateRef struct {
	// Name of the analysis within the experiment.
	Name string `json:"name"`
	// Name of the template.
	TemplateName string `json:"templateName"`
	// Whether the template is a ClusterAnalysisTemplate. Default false.
	ClusterScope *bool `json:"clusterScope,omitempty"`
	// Arguments for the template.
	Args []AnalysisRunArgument `json:"args,omitempty"`
	// Whether the experiment ends with the success of this analysis, and not
	// before.
	RequiredForCompletion bool `json:"requiredForCompletion,omitempty"`
}

// RolloutExperimentTemplate is one set of pods of an experiment step.
type RolloutExperimentTemplate struct {
	// Name of the set within the experiment.
	Name string `json:"name"`
	// Which version to copy: canary or stable.
	SpecRef ReplicaSetSpecRef `json:"specRef"`
	// Number of pods. Default 1.
	Replicas *int32 `json:"replicas,omitempty"`
	// Added to the pods; the labels also to the selector.
	Metadata PodTemplateMetadata `json:"metadata,omitempty"`
	// Chooses the pods. Default: the selector of the version.
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
	// Share of traffic for this set, in percent. Only some routers can do that.
	Weight *int32 `json:"weight,omitempty"`
	// Asks for a Service in front of the set. One is also made when a weight is
	// set.
	Service *TemplateService `json:"service,omitempty"`
}

// ReplicaSetSpecRef says which version to copy: canary or stable.
type ReplicaSetSpecRef string
