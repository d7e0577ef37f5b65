package v1alpha1

import (
	"encoding/json"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MetricProvider is where measurements come from. Exactly one field is set.
type MetricProvider struct {
	// A Prometheus query.
	Prometheus *PrometheusMetric `json:"prometheus,omitempty"`
	// A judgement by Kayenta.
	Kayenta *KayentaMetric `json:"kayenta,omitempty"`
	// A request over HTTP.
	Web *WebMetric `json:"web,omitempty"`
	// A Datadog query.
	Datadog *DatadogMetric `json:"datadog,omitempty"`
	// A Wavefront query.
	Wavefront *WavefrontMetric `json:"wavefront,omitempty"`
	// A New Relic query.
	NewRelic *NewRelicMetric `json:"newRelic,omitempty"`
	// A Kubernetes Job, which succeeds or fails.
	Job *JobMetric `json:"job,omitempty"`
	// CloudWatch queries.
	CloudWatch *CloudWatchMetric `json:"cloudWatch,omitempty"`
	// A Graphite query.
	Graphite *GraphiteMetric `json:"graphite,omitempty"`
	// A Flux query to InfluxDB.
	Influxdb *InfluxdbMetric `json:"influxdb,omitempty"`
	// A GraphQL query to SkyWalking.
	SkyWalking *SkyWalkingMetric `json:"skywalking,omitempty"`
	// Configuration of a metric plugin by plugin name, one entry.
	//
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Plugin map[string]json.RawMessage `json:"plugin,omitempty"`
}

// PrometheusMetric is a Prometheus query.
type PrometheusMetric struct {
	// URL of the server. Default: the controller's own setting.
	Address string `json:"address,omitempty"`
	// Query in PromQL.
	Query string `json:"query,omitempty"`
	// How to log in.
	Authentication Authentication `json:"authentication,omitempty"`
	// Seconds to wait for the answer. Default 30.
	Timeout *int64 `json:"timeout,omitempty"`
	// Skips the check of the server's certificate.
	Insecure bool `json:"insecure,omitempty"`
	// Headers of the request.
	Headers []WebMetricHeader `json:"headers,omitempty"`
	// Asks for a range instead of one moment.
	RangeQuery *PrometheusRangeQueryArgs `json:"rangeQuery,omitempty"`
}

// PrometheusRangeQueryArgs is the range of a query.
type PrometheusRangeQueryArgs struct {
	// Expression for the beginning, such as now() - duration("5m").
	Start string `json:"start,omitempty"`
	// Expression for the end, such as now().
	End string `json:"end,omitempty"`
	// Distance between the points.
	Step DurationString `json:"step,omitempty"`
}

// Authentication is how to log in to a server. At most one field is set.
type Authentication struct {
	// AWS Signature Version 4.
	Sigv4 Sigv4Config `json:"sigv4,omitempty"`
	// OAuth 2 client credentials.
	OAuth2 OAuth2Config `json:"oauth2,omitempty"`
	// Name and password.
	BasicAuth BasicAuthConfig `json:"basicAuth,omitempty"`
}

// OAuth2Config is an OAuth 2 client.
type OAuth2Config struct {
	// URL that gives out tokens.
	TokenURL string `json:"tokenUrl,omitempty"`
	// Id of the client.
	ClientID string `json:"clientId,omitempty"`
	// Secret of the client.
	ClientSecret string `json:"clientSecret,omitempty"`
	// Scopes to ask for.
	Scopes []string `json:"scopes,omitempty"`
}

// Sigv4Config signs requests for AWS.
type Sigv4Config struct {
	// Region. Default: that of the environment.
	Region string `json:"region,omitempty"`
	// Profile of the shared configuration.
	Profile string `json:"profile,omitempty"`
	// Role to take on.
	RoleARN string `json:"roleArn,omitempty"`
}

// BasicAuthConfig is a name and a password; both are set or none.
type BasicAuthConfig struct {
	// The name.
	Username string `json:"username,omitempty"`
	// The password.
	Password string `json:"password,omitempty"`
}

// WavefrontMetric is a Wavefront query.
type WavefrontMetric struct {
	// Address of the server, which is also the key of its token.
	Address string `json:"address,omitempty"`
	// The query.
	Query string `json:"query,omitempty"`
}

// NewRelicMetric is a New Relic query.
type NewRelicMetric struct {
	// Secret that holds the account, in the controller's namespace. Default
	// newrelic.
	Profile string `json:"profile,omitempty"`
	// Query in NRQL.
	Query string `json:"query"`
	// Seconds to wait for the answer. Default 5.
	Timeout *int64 `json:"timeout,omitempty"`
}

// JobMetric runs a Job in the namespace of the run.
type JobMetric struct {
	// Labels and annotations of the Job.
	Metadata metav1.ObjectMeta `json:"metadata,omitempty"`
	// The Job.
	Spec batchv1.JobSpec `json:"spec"`
}

// GraphiteMetric is a Graphite query.
type GraphiteMetric struct {
	// URL of the server.
	Address string `json:"address,omitempty"`
	// The target; white space is removed.
	Query string `json:"query,omitempty"`
}

// InfluxdbMetric is a Flux query to InfluxDB.
type InfluxdbMetric struct {
	// Secret that holds the account, in the controller's namespace. Default
	// influxdb.
	Profile string `json:"profile,omitempty"`
	// The query.
	Query string `json:"query,omitempty"`
}

// SkyWalkingMetric is a GraphQL query to SkyWalking.
type SkyWalkingMetric struct {
	// URL of the server.
	Address string `json:"address,omitempty"`
	// The query; its variable duration covers the interval up to now.
	Query string `json:"query,omitempty"`
	// Length of that interval.
	Interval DurationString `json:"interval,omitempty"`
}

// DatadogMetric is a Datadog query.
type DatadogMetric struct {
	// Time span up to now. Default 5m.
	//
	// +kubebuilder:default="5m"
	Interval DurationString `json:"interval,omitempty"`
	// The query. Exclusive with queries.
	Query string `json:"query,omitempty"`
	// Queries by name, for the formula. Needs apiVersion v2.
	Queries map[string]string `json:"queries,omitempty"`
	// Formula over the queries. Needed when there is more than one.
	Formula string `json:"formula,omitempty"`
	// v1 or v2. Default v1.
	//
	// +kubebuilder:validation:Enum=v1;v2
	// +kubebuilder:default="v1"
	ApiVersion string `json:"apiVersion,omitempty"`
	// How points become one number. Needs apiVersion v2, where the default is last.
	//
	// +kubebuilder:validation:Enum=avg;min;max;sum;last;percentile;mean;l2norm;area
	Aggregator string `json:"aggregator,omitempty"`
	// Secret that holds the keys. Default: the controller's own setting.
	SecretRef SecretRef `json:"secretRef,omitempty"`
	// Time to wait for the answer. Default 10s.
	//
	// +kubebuilder:default="10s"
	RequestTimeout DurationString `json:"requestTimeout,omitempty"`
}

// SecretRef names a Secret.
type SecretRef struct {
	// Name of the Secret.
	Name string `json:"name,omitempty"`
	// Looks in the namespace of the run instead of the controller's.
	Namespaced bool `json:"namespaced,omitempty"`
}
