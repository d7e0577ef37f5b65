package v1alpha1

import (
	"encoding/json"
)

// WebMetric is a request over HTTP.
type WebMetric struct {
	// GET, POST or PUT. Default GET.
	Method WebMetricMethod `json:"method,omitempty"`
	// The URL.
	URL string `json:"url"`
	// Headers of the request.
	Headers []WebMetricHeader `json:"headers,omitempty"`
	// Body as text. Not with GET, exclusive with jsonBody.
	Body string `json:"body,omitempty"`
	// Seconds to wait for the answer. Default 10.
	TimeoutSeconds int64 `json:"timeoutSeconds,omitempty"`
	// Part of a JSON answer that is the result. Default: all of it.
	JSONPath string `json:"jsonPath,omitempty"`
	// Skips the check of the server's certificate.
	Insecure bool `json:"insecure,omitempty"`
	// Body as JSON. Not with GET, exclusive with body.
	//
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	JSONBody json.RawMessage `json:"jsonBody,omitempty"`
	// How to log in.
	Authentication Authentication `json:"authentication,omitempty"`
}

// WebMetricMethod is an HTTP method: GET, POST or PUT.
type WebMetricMethod string

// WebMetricHeader is a header of a request.
type WebMetricHeader struct {
	// Name of the header.
	Key string `json:"key"`
	// Its value.
	Value string `json:"value"`
}
