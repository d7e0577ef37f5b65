package v1alpha1

import (
	"k8s.io/apimachinery/pkg/util/intstr"
)

// RolloutStrategy says how a new version is released. Exactly one field is set.
type RolloutStrategy struct {
	// Runs the new version beside the old one and switches all traffic at once.
	BlueGreen *BlueGreenStrategy `json:"blueGreen,omitempty"`
	// Moves to the new version step by step.
	Canary *CanaryStrategy `json:"canary,omitempty"`
}

// BlueGreenStrategy runs the new version beside the old one and switches a
// Service.
type BlueGreenStrategy struct {
	// Service that carries the users' traffic. Must exist and differ from
	// previewService.
	ActiveService string `json:"activeService"`
	// Service that points at the new version before the switch.
	PreviewService string `json:"previewService,omitempty"`
	// Pods of the new version before the switch. Default: replicas.
	PreviewReplicaCount *int32 `json:"previewReplicaCount,omitempty"`
	// Switches without a user's word. Default true; false pauses before the switch.
	AutoPromotionEnabled *bool `json:"autoPromotionEnabled,omitempty"`
	// Seconds of pause before an automatic switch. 0 means none; ignored when
	// autoPromotionEnabled is false.
	AutoPromotionSeconds int32 `json:"autoPromotionSeconds,omitempty"`
	// Pods that a restart may take away at once, as a number or a percentage
	// rounded down. Default 25%.
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
	// Seconds after the switch before the old version is emptied. Default 30; 0
	// means at once.
	ScaleDownDelaySeconds *int32 `json:"scaleDownDelaySeconds,omitempty"`
	// Old versions that may wait for that delay at the same time; at most
	// revisionHistoryLimit. Default: no limit.
	ScaleDownDelayRevisionLimit *int32 `json:"scaleDownDelayRevisionLimit,omitempty"`
	// Must pass before the switch.
	PrePromotionAnalysis *RolloutAnalysis `json:"prePromotionAnalysis,omitempty"`
	// Keeps pods of the new version away from the nodes of the old one.
	AntiAffinity *AntiAffinity `json:"antiAffinity,omitempty"`
	// Must pass after the switch; otherwise traffic goes back.
	PostPromotionAnalysis *RolloutAnalysis `json:"postPromotionAnalysis,omitempty"`
	// Put on the pods of the new version until it is promoted.
	PreviewMetadata *PodTemplateMetadata `json:"previewMetadata,omitempty"`
	// Put on the pods of the active version.
	ActiveMetadata *PodTemplateMetadata `json:"activeMetadata,omitempty"`
	// Seconds after an abort before the new version is emptied. Default 30; 0 means
	// never.
	AbortScaleDownDelaySeconds *int32 `json:"abortScaleDownDelaySeconds,omitempty"`
}

// AntiAffinity keeps the new version's pods off nodes that run the stable
// version. Exactly one field is set.
type AntiAffinity struct {
	// A wish with a weight.
	PreferredDuringSchedulingIgnoredDuringExecution *PreferredDuringSchedulingIgnoredDuringExecution `json:"preferredDuringSchedulingIgnoredDuringExecution,omitempty"`
	// A demand.
	RequiredDuringSchedulingIgnoredDuringExecution *RequiredDuringSchedulingIgnoredDuringExecution `json:"requiredDuringSchedulingIgnoredDuringExecution,omitempty"`
}

// PreferredDuringSchedulingIgnoredDuringExecution is a soft anti-affinity.
type PreferredDuringSchedulingIgnoredDuringExecution struct {
	// Weight of the wish for the scheduler, 1 to 100.
	Weight int32 `json:"weight"`
}

// RequiredDuringSchedulingIgnoredDuringExecution is a hard anti-affinity; it has
// no fields.
type RequiredDuringSchedulingIgnoredDuringExecution struct{}

// CanaryStrategy moves to the new version step by step.
type CanaryStrategy struct {
	// Service that points at the new version. Most routers need it.
	CanaryService string `json:"canaryService,omitempty"`
	// Service that points at the stable version. Most routers need it; differs from
	// canaryService.
	StableService string `json:"stableService,omitempty"`
	// What to do, in order. Without steps this is a rolling update.
	Steps []CanaryStep `json:"steps,omitempty"`
	// Routers that split traffic by weight. Without it, weight is approximated by
	// the number of pods.
	TrafficRouting *RolloutTrafficRouting `json:"trafficRouting,omitempty"`
	// Pods that may be missing during an update without traffic routing and during
	// a restart, as a number or a percentage rounded down. Default 25%; not 0
	// together with maxSurge.
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
	// Pods beyond replicas during an update without traffic routing, as a number or
	// a percentage rounded up. Default 25%.
	MaxSurge *intstr.IntOrString `json:"maxSurge,omitempty"`
	// Runs beside the steps and aborts the release when it fails.
	Analysis *RolloutAnalysisBackground `json:"analysis,omitempty"`
	// Keeps pods of the new version away from the nodes of the old one.
	AntiAffinity *AntiAffinity `json:"antiAffinity,omitempty"`
	// Put on the pods of the new version until it is promoted.
	CanaryMetadata *PodTemplateMetadata `json:"canaryMetadata,omitempty"`
	// Put on the pods of the stable version.
	StableMetadata *PodTemplateMetadata `json:"stableMetadata,omitempty"`
	// Seconds after promotion before the old version is emptied. Needs traffic
	// routing, where the default is 30; excludes dynamicStableScale.
	ScaleDownDelaySeconds *int32 `json:"scaleDownDelaySeconds,omitempty"`
	// Old versions that may wait for that delay at the same time. Needs traffic
	// routing. Default: no limit.
	ScaleDownDelayRevisionLimit *int32 `json:"scaleDownDelayRevisionLimit,omitempty"`
	// Seconds after an abort before the new version is emptied. Needs traffic
	// routing, where the default is 30; 0 means never.
	AbortScaleDownDelaySeconds *int32 `json:"abortScaleDownDelaySeconds,omitempty"`
	// Shrinks the stable version as traffic leaves it. Needs traffic routing.
	DynamicStableScale bool `json:"dynamicStableScale,omitempty"`
	// Two Services that take turns in being stable, so that no Service moves under
	// load.
	PingPong *PingPongSpec `json:"pingPong,omitempty"`
	// Least number of pods of a set that is not empty, at most replicas. Needs
	// traffic routing.
	MinPodsPerReplicaSet *int32 `json:"minPodsPerReplicaSet,omitempty"`
	// How much of the new version must be available for a step to go on. Default:
	// all of it.
	ReplicaProgressThreshold *ReplicaProgressThreshold `json:"replicaProgressThreshold,omitempty"`
}

// PingPongSpec names two Services that take turns in being stable.
type PingPongSpec struct {
	// The one Service.
	PingService string `json:"pingService"`
	// The other Service.
	PongService string `json:"pongService"`
}

// ProgressType is the unit of a threshold: Percent or Pods.
type ProgressType string

// ReplicaProgressThreshold says how much of the canary must be available for a
// step to go on.
type ReplicaProgressThreshold struct {
	// Unit of the value: Percent or Pods.
	Type ProgressType `json:"type"`
	// Share in percent, or number of pods. Negative values are ignored.
	Value int32 `json:"value"`
}
