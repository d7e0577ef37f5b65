package v1alpha1

import (
	"k8s.io/apimachinery/pkg/util/intstr"
)

// CloudWatchMetric asks CloudWatch for metric data.
type CloudWatchMetric struct {
	// Time span up to now. Default 5m.
	Interval DurationString `json:"interval,omitempty"`
	// The queries.
	MetricDataQueries []CloudWatchMetricDataQuery `json:"metricDataQueries"`
}

// CloudWatchMetricDataQuery is one query: an expression or a statistic.
type CloudWatchMetricDataQuery struct {
	// Name of the query, for expressions.
	Id string `json:"id,omitempty"`
	// Expression over other queries, or a search.
	Expression *string `json:"expression,omitempty"`
	// Label of the result.
	Label *string `json:"label,omitempty"`
	// Statistic of one metric.
	MetricStat *CloudWatchMetricStat `json:"metricStat,omitempty"`
	// Length of one data point, in seconds.
	Period *intstr.IntOrString `json:"period,omitempty"`
	// Whether the result is returned, or only used in expressions.
	ReturnData *bool `json:"returnData,omitempty"`
}

// CloudWatchMetricStat is a statistic of one metric.
type CloudWatchMetricStat struct {
	// The metric.
	Metric CloudWatchMetricStatMetric `json:"metric,omitempty"`
	// Length of one data point, in seconds.
	Period intstr.IntOrString `json:"period,omitempty"`
	// The statistic, such as Average or p99.
	Stat string `json:"stat,omitempty"`
	// Unit of the stored data.
	Unit string `json:"unit,omitempty"`
}

// CloudWatchMetricStatMetric names a metric.
type CloudWatchMetricStatMetric struct {
	// Its dimensions.
	Dimensions []CloudWatchMetricStatMetricDimension `json:"dimensions,omitempty"`
	// Its name.
	MetricName string `json:"metricName,omitempty"`
	// Its namespace in CloudWatch.
	Namespace *string `json:"namespace,omitempty"`
}

// CloudWatchMetricStatMetricDimension is one dimension of a metric.
type CloudWatchMetricStatMetricDimension struct {
	// Name of the dimension.
	Name string `json:"name,omitempty"`
	// Its value.
	Value string `json:"value,omitempty"`
}
