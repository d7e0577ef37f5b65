package v1alpha1

// KayentaMetric asks Kayenta for a judgement.
type KayentaMetric struct {
	// URL of Kayenta.
	Address string `json:"address"`
	// Name of the application.
	Application string `json:"application"`
	// Name of the canary configuration.
	CanaryConfigName string `json:"canaryConfigName"`
	// Account for metrics.
	MetricsAccountName string `json:"metricsAccountName"`
	// Account for configurations.
	ConfigurationAccountName string `json:"configurationAccountName"`
	// Account for storage.
	StorageAccountName string `json:"storageAccountName"`
	// What the scores mean.
	Threshold KayentaThreshold `json:"threshold"`
	// What is compared with what.
	Scopes []KayentaScope `json:"scopes"`
	// Starts at the beginning of the run instead of one interval ago.
	Lookback bool `json:"lookback,omitempty"`
}

// KayentaThreshold says what a score means.
type KayentaThreshold struct {
	// Least score for success.
	Pass int64 `json:"pass"`
	// Least score that is not a failure.
	Marginal int64 `json:"marginal"`
}

// KayentaScope is one pair that is compared.
type KayentaScope struct {
	// Name of the scope.
	Name string `json:"name"`
	// The known good.
	ControlScope ScopeDetail `json:"controlScope"`
	// The one on trial.
	ExperimentScope ScopeDetail `json:"experimentScope"`
}

// ScopeDetail is where the data of one side come from.
type ScopeDetail struct {
	// Name of the data set.
	Scope string `json:"scope"`
	// Its region.
	Region string `json:"region"`
	// Distance between the points, in seconds.
	Step int64 `json:"step"`
	// Beginning, in RFC 3339. Given together with end or not at all.
	Start string `json:"start,omitempty"`
	// End, in RFC 3339.
	End string `json:"end,omitempty"`
}
