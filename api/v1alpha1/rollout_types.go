package v1alpha1

import (
	"encoding/json"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// +kubebuilder:object:root=true
type Rollout struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              RolloutSpec   `json:"spec"`
	Status            RolloutStatus `json:"status,omitempty"`
}

type RolloutSpec struct {
	TemplateResolvedFromRef bool                   `json:"-"`
	SelectorResolvedFromRef bool                   `json:"-"`
	Replicas                *int32                 `json:"replicas,omitempty"`
	Selector                *metav1.LabelSelector  `json:"selector"`
	Template                corev1.PodTemplateSpec `json:"template"`
	WorkloadRef             *ObjectRef             `json:"workloadRef,omitempty"`
	MinReadySeconds         int32                  `json:"minReadySeconds,omitempty"`
	RollbackWindow          *RollbackWindowSpec    `json:"rollbackWindow,omitempty"`
	Strategy                RolloutStrategy        `json:"strategy"`
	RevisionHistoryLimit    *int32                 `json:"revisionHistoryLimit,omitempty"`
	Paused                  bool                   `json:"paused,omitempty"`
	ProgressDeadlineSeconds *int32                 `json:"progressDeadlineSeconds,omitempty"`
	ProgressDeadlineAbort   bool                   `json:"progressDeadlineAbort,omitempty"`
	RestartAt               *metav1.Time           `json:"restartAt,omitempty"`
	Analysis                *AnalysisRunStrategy   `json:"analysis,omitempty"`
}

type ObjectRef struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind,omitempty"`
	Name       string `json:"name,omitempty"`
	ScaleDown  string `json:"scaleDown,omitempty"`
}

type RolloutStrategy struct {
	BlueGreen *BlueGreenStrategy `json:"blueGreen,omitempty"`
	Canary    *CanaryStrategy    `json:"canary,omitempty"`
}

type BlueGreenStrategy struct {
	ActiveService               string               `json:"activeService"`
	PreviewService              string               `json:"previewService,omitempty"`
	PreviewReplicaCount         *int32               `json:"previewReplicaCount,omitempty"`
	AutoPromotionEnabled        *bool                `json:"autoPromotionEnabled,omitempty"`
	AutoPromotionSeconds        int32                `json:"autoPromotionSeconds,omitempty"`
	MaxUnavailable              *intstr.IntOrString  `json:"maxUnavailable,omitempty"`
	ScaleDownDelaySeconds       *int32               `json:"scaleDownDelaySeconds,omitempty"`
	ScaleDownDelayRevisionLimit *int32               `json:"scaleDownDelayRevisionLimit,omitempty"`
	PrePromotionAnalysis        *RolloutAnalysis     `json:"prePromotionAnalysis,omitempty"`
	AntiAffinity                *AntiAffinity        `json:"antiAffinity,omitempty"`
	PostPromotionAnalysis       *RolloutAnalysis     `json:"postPromotionAnalysis,omitempty"`
	PreviewMetadata             *PodTemplateMetadata `json:"previewMetadata,omitempty"`
	ActiveMetadata              *PodTemplateMetadata `json:"activeMetadata,omitempty"`
	AbortScaleDownDelaySeconds  *int32               `json:"abortScaleDownDelaySeconds,omitempty"`
}

type AntiAffinity struct {
	PreferredDuringSchedulingIgnoredDuringExecution *PreferredDuringSchedulingIgnoredDuringExecution `json:"preferredDuringSchedulingIgnoredDuringExecution,omitempty"`
	RequiredDuringSchedulingIgnoredDuringExecution  *RequiredDuringSchedulingIgnoredDuringExecution  `json:"requiredDuringSchedulingIgnoredDuringExecution,omitempty"`
}

type PreferredDuringSchedulingIgnoredDuringExecution struct {
	Weight int32 `json:"weight"`
}

type ProgressType string

type ReplicaProgressThreshold struct {
	Type  ProgressType `json:"type"`
	Value int32        `json:"value"`
}

type CanaryStrategy struct {
	CanaryService               string                     `json:"canaryService,omitempty"`
	StableService               string                     `json:"stableService,omitempty"`
	Steps                       []CanaryStep               `json:"steps,omitempty"`
	TrafficRouting              *RolloutTrafficRouting     `json:"trafficRouting,omitempty"`
	MaxUnavailable              *intstr.IntOrString        `json:"maxUnavailable,omitempty"`
	MaxSurge                    *intstr.IntOrString        `json:"maxSurge,omitempty"`
	Analysis                    *RolloutAnalysisBackground `json:"analysis,omitempty"`
	AntiAffinity                *AntiAffinity              `json:"antiAffinity,omitempty"`
	CanaryMetadata              *PodTemplateMetadata       `json:"canaryMetadata,omitempty"`
	StableMetadata              *PodTemplateMetadata       `json:"stableMetadata,omitempty"`
	ScaleDownDelaySeconds       *int32                     `json:"scaleDownDelaySeconds,omitempty"`
	ScaleDownDelayRevisionLimit *int32                     `json:"scaleDownDelayRevisionLimit,omitempty"`
	AbortScaleDownDelaySeconds  *int32                     `json:"abortScaleDownDelaySeconds,omitempty"`
	DynamicStableScale          bool                       `json:"dynamicStableScale,omitempty"`
	PingPong                    *PingPongSpec              `json:"pingPong,omitempty"`
	MinPodsPerReplicaSet        *int32                     `json:"minPodsPerReplicaSet,omitempty"`
	ReplicaProgressThreshold    *ReplicaProgressThreshold  `json:"replicaProgressThreshold,omitempty"`
}

type PingPongSpec struct {
	PingService string `json:"pingService"`
	PongService string `json:"pongService"`
}

type AnalysisRunStrategy struct {
	SuccessfulRunHistoryLimit   *int32 `json:"successfulRunHistoryLimit,omitempty"`
	UnsuccessfulRunHistoryLimit *int32 `json:"unsuccessfulRunHistoryLimit,omitempty"`
}

type ALBTrafficRouting struct {
	Ingress          string            `json:"ingress,omitempty"`
	ServicePort      int32             `json:"servicePort"`
	RootService      string            `json:"rootService,omitempty"`
	AnnotationPrefix string            `json:"annotationPrefix,omitempty"`
	StickinessConfig *StickinessConfig `json:"stickinessConfig,omitempty"`
	Ingresses        []string          `json:"ingresses,omitempty"`
}

type StickinessConfig struct {
	Enabled         bool  `json:"enabled"`
	DurationSeconds int64 `json:"durationSeconds"`
}

type RolloutTrafficRouting struct {
	Istio            *IstioTrafficRouting       `json:"istio,omitempty"`
	Nginx            *NginxTrafficRouting       `json:"nginx,omitempty"`
	ALB              *ALBTrafficRouting         `json:"alb,omitempty"`
	SMI              *SMITrafficRouting         `json:"smi,omitempty"`
	Ambassador       *AmbassadorTrafficRouting  `json:"ambassador,omitempty"`
	AppMesh          *AppMeshTrafficRouting     `json:"appMesh,omitempty"`
	Traefik          *TraefikTrafficRouting     `json:"traefik,omitempty"`
	ManagedRoutes    []MangedRoutes             `json:"managedRoutes,omitempty"`
	Apisix           *ApisixTrafficRouting      `json:"apisix,omitempty"`
	Plugins          map[string]json.RawMessage `json:"plugins,omitempty"`
	MaxTrafficWeight *int32                     `json:"maxTrafficWeight,omitempty"`
}

type MangedRoutes struct {
	Name string `json:"name"`
}

type TraefikTrafficRouting struct {
	WeightedTraefikServiceName string `json:"weightedTraefikServiceName"`
}

type ApisixTrafficRouting struct {
	Route *ApisixRoute `json:"route,omitempty"`
}

type ApisixRoute struct {
	Name  string   `json:"name"`
	Rules []string `json:"rules,omitempty"`
}

type AmbassadorTrafficRouting struct {
	Mappings []string `json:"mappings"`
}

type SMITrafficRouting struct {
	RootService      string `json:"rootService,omitempty"`
	TrafficSplitName string `json:"trafficSplitName,omitempty"`
}

type NginxTrafficRouting struct {
	AnnotationPrefix             string            `json:"annotationPrefix,omitempty"`
	StableIngress                string            `json:"stableIngress,omitempty"`
	AdditionalIngressAnnotations map[string]string `json:"additionalIngressAnnotations,omitempty"`
	StableIngresses              []string          `json:"stableIngresses,omitempty"`
	CanaryIngressAnnotations     map[string]string `json:"canaryIngressAnnotations,omitempty"`
}

type IstioTrafficRouting struct {
	VirtualService  *IstioVirtualService  `json:"virtualService,omitempty"`
	DestinationRule *IstioDestinationRule `json:"destinationRule,omitempty"`
	VirtualServices []IstioVirtualService `json:"virtualServices,omitempty"`
}

type IstioVirtualService struct {
	Name      string     `json:"name"`
	Routes    []string   `json:"routes,omitempty"`
	TLSRoutes []TLSRoute `json:"tlsRoutes,omitempty"`
	TCPRoutes []TCPRoute `json:"tcpRoutes,omitempty"`
}

type TLSRoute struct {
	Port     int64    `json:"port,omitempty"`
	SNIHosts []string `json:"sniHosts,omitempty"`
}

type TCPRoute struct {
	Port int64 `json:"port,omitempty"`
}

type IstioDestinationRule struct {
	Name                  string   `json:"name"`
	CanarySubsetName      string   `json:"canarySubsetName"`
	StableSubsetName      string   `json:"stableSubsetName"`
	AdditionalSubsetNames []string `json:"additionalSubsetNames,omitempty"`
}

type AppMeshTrafficRouting struct {
	VirtualService   *AppMeshVirtualService   `json:"virtualService,omitempty"`
	VirtualNodeGroup *AppMeshVirtualNodeGroup `json:"virtualNodeGroup,omitempty"`
}

type AppMeshVirtualService struct {
	Name   string   `json:"name"`
	Routes []string `json:"routes,omitempty"`
}

type AppMeshVirtualNodeGroup struct {
	CanaryVirtualNodeRef *AppMeshVirtualNodeReference `json:"canaryVirtualNodeRef"`
	StableVirtualNodeRef *AppMeshVirtualNodeReference `json:"stableVirtualNodeRef"`
}

type AppMeshVirtualNodeReference struct {
	Name string `json:"name"`
}

type RolloutExperimentStep struct {
	Templates             []RolloutExperimentTemplate                `json:"templates"`
	Duration              DurationString                             `json:"duration,omitempty"`
	Analyses              []RolloutExperimentStepAnalysisTemplateRef `json:"analyses,omitempty"`
	DryRun                []DryRun                                   `json:"dryRun,omitempty"`
	AnalysisRunMetadata   AnalysisRunMetadata                        `json:"analysisRunMetadata,omitempty"`
	ScaleDownDelaySeconds *int32                                     `json:"scaleDownDelaySeconds,omitempty"`
}

type RolloutExperimentStepAnalysisTemplateRef struct {
	Name                  string                `json:"name"`
	TemplateName          string                `json:"templateName"`
	ClusterScope          *bool                 `json:"clusterScope,omitempty"`
	Args                  []AnalysisRunArgument `json:"args,omitempty"`
	RequiredForCompletion bool                  `json:"requiredForCompletion,omitempty"`
}

type RolloutExperimentTemplate struct {
	Name     string                `json:"name"`
	SpecRef  ReplicaSetSpecRef     `json:"specRef"`
	Replicas *int32                `json:"replicas,omitempty"`
	Metadata PodTemplateMetadata   `json:"metadata,omitempty"`
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
	Weight   *int32                `json:"weight,omitempty"`
	Service  *TemplateService      `json:"service,omitempty"`
}

type PodTemplateMetadata struct {
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type AnalysisRunMetadata struct {
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type ReplicaSetSpecRef string

type CanaryStep struct {
	SetWeight      *int32                 `json:"setWeight,omitempty"`
	Pause          *RolloutPause          `json:"pause,omitempty"`
	Experiment     *RolloutExperimentStep `json:"experiment,omitempty"`
	Analysis       *RolloutAnalysis       `json:"analysis,omitempty"`
	SetCanaryScale *SetCanaryScale        `json:"setCanaryScale,omitempty"`
	SetHeaderRoute *SetHeaderRoute        `json:"setHeaderRoute,omitempty"`
	SetMirrorRoute *SetMirrorRoute        `json:"setMirrorRoute,omitempty"`
	Plugin         *PluginStep            `json:"plugin,omitempty"`
}

type PluginStep struct {
	Name   string          `json:"name"`
	Config json.RawMessage `json:"config,omitempty"`
}

type SetMirrorRoute struct {
	Name       string       `json:"name"`
	Match      []RouteMatch `json:"match,omitempty"`
	Percentage *int32       `json:"percentage,omitempty"`
}

type RouteMatch struct {
	Method  *StringMatch           `json:"method,omitempty"`
	Path    *StringMatch           `json:"path,omitempty"`
	Headers map[string]StringMatch `json:"headers,omitempty"`
}

type StringMatch struct {
	Exact  string `json:"exact,omitempty"`
	Prefix string `json:"prefix,omitempty"`
	Regex  string `json:"regex,omitempty"`
}

type SetHeaderRoute struct {
	Name  string               `json:"name,omitempty"`
	Match []HeaderRoutingMatch `json:"match,omitempty"`
}

type HeaderRoutingMatch struct {
	HeaderName  string       `json:"headerName"`
	HeaderValue *StringMatch `json:"headerValue"`
}

type SetCanaryScale struct {
	Weight             *int32 `json:"weight,omitempty"`
	Replicas           *int32 `json:"replicas,omitempty"`
	MatchTrafficWeight bool   `json:"matchTrafficWeight,omitempty"`
}

type RolloutAnalysisBackground struct {
	RolloutAnalysis `json:",inline"`
	StartingStep    *int32 `json:"startingStep,omitempty"`
}

type RolloutAnalysis struct {
	Templates            []AnalysisTemplateRef  `json:"templates,omitempty"`
	Args                 []AnalysisRunArgument  `json:"args,omitempty"`
	DryRun               []DryRun               `json:"dryRun,omitempty"`
	MeasurementRetention []MeasurementRetention `json:"measurementRetention,omitempty"`
	AnalysisRunMetadata  *AnalysisRunMetadata   `json:"analysisRunMetadata,omitempty"`
}

type AnalysisTemplateRef struct {
	TemplateName string `json:"templateName"`
	ClusterScope *bool  `json:"clusterScope,omitempty"`
}

type AnalysisRunArgument struct {
	Name      string             `json:"name"`
	Value     string             `json:"value,omitempty"`
	ValueFrom *ArgumentValueFrom `json:"valueFrom,omitempty"`
}

type ArgumentValueFrom struct {
	PodTemplateHashValue *ValueFromPodTemplateHash `json:"podTemplateHashValue,omitempty"`
	FieldRef             *FieldRef                 `json:"fieldRef,omitempty"`
}

type FieldRef struct {
	FieldPath string `json:"fieldPath"`
}

type ValueFromPodTemplateHash string

type RolloutPause struct {
	Duration *intstr.IntOrString `json:"duration,omitempty"`
}

type PauseReason string

type PauseCondition struct {
	Reason    PauseReason `json:"reason"`
	StartTime metav1.Time `json:"startTime"`
}

type RolloutPhase string

type RolloutStatus struct {
	Abort                      bool                   `json:"abort,omitempty"`
	PauseConditions            []PauseCondition       `json:"pauseConditions,omitempty"`
	ControllerPause            bool                   `json:"controllerPause,omitempty"`
	AbortedAt                  *metav1.Time           `json:"abortedAt,omitempty"`
	CurrentPodHash             string                 `json:"currentPodHash,omitempty"`
	CurrentStepHash            string                 `json:"currentStepHash,omitempty"`
	Replicas                   int32                  `json:"replicas,omitempty"`
	UpdatedReplicas            int32                  `json:"updatedReplicas,omitempty"`
	ReadyReplicas              int32                  `json:"readyReplicas,omitempty"`
	AvailableReplicas          int32                  `json:"availableReplicas,omitempty"`
	CurrentStepIndex           *int32                 `json:"currentStepIndex,omitempty"`
	CollisionCount             *int32                 `json:"collisionCount,omitempty"`
	ObservedGeneration         string                 `json:"observedGeneration,omitempty"`
	Conditions                 []RolloutCondition     `json:"conditions,omitempty"`
	Canary                     CanaryStatus           `json:"canary,omitempty"`
	BlueGreen                  BlueGreenStatus        `json:"blueGreen,omitempty"`
	HPAReplicas                int32                  `json:"HPAReplicas,omitempty"`
	Selector                   string                 `json:"selector,omitempty"`
	StableRS                   string                 `json:"stableRS,omitempty"`
	RestartedAt                *metav1.Time           `json:"restartedAt,omitempty"`
	PromoteFull                bool                   `json:"promoteFull,omitempty"`
	Phase                      RolloutPhase           `json:"phase,omitempty"`
	Message                    string                 `json:"message,omitempty"`
	WorkloadObservedGeneration string                 `json:"workloadObservedGeneration,omitempty"`
	ALB                        *ALBStatus             `json:"alb,omitempty"`
	ALBs                       []ALBStatus            `json:"albs,omitempty"`
	Duration                   *RolloutDurationStatus `json:"duration,omitempty"`
	// Progress is the record of the release, written and read by the controller only.
	Progress *RolloutProgress `json:"progress,omitempty"`
}

type RolloutDurationStatus struct {
	RolloutStartedAt                *metav1.Time      `json:"rolloutStartedAt,omitempty"`
	ManualPauseStartedAt            *metav1.Time      `json:"manualPauseStartedAt,omitempty"`
	TotalManualPauseDurationSeconds *int64            `json:"totalManualPauseDurationSeconds,omitempty"`
	FinishedAt                      *metav1.Time      `json:"finishedAt,omitempty"`
	CompletionStatus                *CompletionStatus `json:"completionStatus,omitempty"`
}

type CompletionStatus string

type BlueGreenStatus struct {
	PreviewSelector                string                    `json:"previewSelector,omitempty"`
	ActiveSelector                 string                    `json:"activeSelector,omitempty"`
	ScaleUpPreviewCheckPoint       bool                      `json:"scaleUpPreviewCheckPoint,omitempty"`
	PrePromotionAnalysisRunStatus  *RolloutAnalysisRunStatus `json:"prePromotionAnalysisRunStatus,omitempty"`
	PostPromotionAnalysisRunStatus *RolloutAnalysisRunStatus `json:"postPromotionAnalysisRunStatus,omitempty"`
}

type CanaryStatus struct {
	CurrentStepAnalysisRunStatus       *RolloutAnalysisRunStatus `json:"currentStepAnalysisRunStatus,omitempty"`
	CurrentBackgroundAnalysisRunStatus *RolloutAnalysisRunStatus `json:"currentBackgroundAnalysisRunStatus,omitempty"`
	CurrentExperiment                  string                    `json:"currentExperiment,omitempty"`
	Weights                            *TrafficWeights           `json:"weights,omitempty"`
	StablePingPong                     PingPongType              `json:"stablePingPong,omitempty"`
	StepPluginStatuses                 []StepPluginStatus        `json:"stepPluginStatuses,omitempty"`
}

type PingPongType string

type TrafficWeights struct {
	Canary     WeightDestination   `json:"canary"`
	Stable     WeightDestination   `json:"stable"`
	Additional []WeightDestination `json:"additional,omitempty"`
	Verified   *bool               `json:"verified,omitempty"`
}

type WeightDestination struct {
	Weight          int32  `json:"weight"`
	ServiceName     string `json:"serviceName,omitempty"`
	PodTemplateHash string `json:"podTemplateHash,omitempty"`
}

type RolloutAnalysisRunStatus struct {
	Name    string        `json:"name"`
	Status  AnalysisPhase `json:"status"`
	Message string        `json:"message,omitempty"`
}

type StepPluginStatus struct {
	Index      int32               `json:"index"`
	Name       string              `json:"name"`
	Operation  StepPluginOperation `json:"operation"`
	Phase      StepPluginPhase     `json:"phase,omitempty"`
	Message    string              `json:"message,omitempty"`
	StartedAt  *metav1.Time        `json:"startedAt,omitempty"`
	UpdatedAt  *metav1.Time        `json:"updatedAt,omitempty"`
	FinishedAt *metav1.Time        `json:"finishedAt,omitempty"`
	Backoff    DurationString      `json:"backoff,omitempty"`
	Executions int32               `json:"executions,omitempty"`
	Disabled   bool                `json:"disabled,omitempty"`
	Status     json.RawMessage     `json:"status,omitempty"`
}

type StepPluginPhase string

type StepPluginOperation string

type ALBStatus struct {
	LoadBalancer      AwsResourceRef `json:"loadBalancer,omitempty"`
	CanaryTargetGroup AwsResourceRef `json:"canaryTargetGroup,omitempty"`
	StableTargetGroup AwsResourceRef `json:"stableTargetGroup,omitempty"`
	Ingress           string         `json:"ingress,omitempty"`
}

type AwsResourceRef struct {
	Name     string `json:"name"`
	ARN      string `json:"arn"`
	FullName string `json:"fullName"`
}

type RolloutConditionType string

type RolloutCondition struct {
	Type               RolloutConditionType   `json:"type"`
	Status             corev1.ConditionStatus `json:"status"`
	LastUpdateTime     metav1.Time            `json:"lastUpdateTime"`
	LastTransitionTime metav1.Time            `json:"lastTransitionTime"`
	Reason             string                 `json:"reason"`
	Message            string                 `json:"message"`
}

// +kubebuilder:object:root=true
type RolloutList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	Items           []Rollout `json:"items"`
}

type RollbackWindowSpec struct {
	Revisions int32 `json:"revisions,omitempty"`
}

type RequiredDuringSchedulingIgnoredDuringExecution struct{}
