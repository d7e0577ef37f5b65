package prometheus_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/google/go-cmp/cmp"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/verdict"
	"github.com/sluice-project/sluice/internal/metric"
	"github.com/sluice-project/sluice/internal/metric/prometheus"
	"github.com/sluice-project/sluice/internal/metric/wire"
)

// promText is a number as Prometheus writes it.
func promText(v float64) string {
	switch {
	case math.IsInf(v, 1):
		return "+Inf"
	case math.IsInf(v, -1):
		return "-Inf"
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

func now() time.Time { return time.Date(2026, 5, 4, 12, 0, 0, 250e6, time.UTC) }

// ask measures once against a server that answers so.
func ask(t *testing.T, m v1alpha1.PrometheusMetric, answer http.HandlerFunc) verdict.Answer {
	t.Helper()
	s := httptest.NewServer(answer)
	t.Cleanup(s.Close)
	m.Address = s.URL + m.Address
	if m.Query == "" {
		m.Query = "up"
	}
	return measure(t, m, "")
}

func measure(t *testing.T, m v1alpha1.PrometheusMetric, address string) verdict.Answer {
	t.Helper()
	p := prometheus.New(prometheus.Options{HTTP: wire.New(wire.Options{}), Address: address})
	return p.Measure(t.Context(), metric.Question{Metric: v1alpha1.Metric{Provider: v1alpha1.MetricProvider{Prometheus: &m}}, Now: now()})
}

func result(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"status":"success","data":`+text+`}`)
	}
}

func TestResults(t *testing.T) {
	for name, c := range map[string]struct {
		data  string
		value any
		text  string
	}{
		"a scalar":            {`{"resultType":"scalar","result":[1435781451.781,"0.95"]}`, 0.95, "0.95"},
		"a large scalar":      {`{"resultType":"scalar","result":[1435781451,"1e+21"]}`, 1e21, "1000000000000000000000"},
		"a vector of one":     {`{"resultType":"vector","result":[{"metric":{},"value":[1,"1"]}]}`, []float64{1}, "[1]"},
		"a vector of several": {`{"resultType":"vector","result":[{"metric":{"a":"b"},"value":[1,"1"]},{"metric":{},"value":[1,"0.5"]}]}`, []float64{1, 0.5}, "[1,0.5]"},
		"an empty vector":     {`{"resultType":"vector","result":[]}`, []float64{}, "[]"},
		"an empty matrix":     {`{"resultType":"matrix","result":[]}`, []float64{}, "[]"},
		"a matrix of two series": {
			`{"resultType":"matrix","result":[{"metric":{},"values":[[1,"1"],[2,"2"]]},{"metric":{},"values":[[1,"3"]]}]}`, []float64{1, 2, 3}, "[1,2,3]"},
		"a number beyond all": {`{"resultType":"scalar","result":[1,"1e999"]}`, math.Inf(1), "+Inf"},
	} {
		t.Run(name, func(t *testing.T) {
			a := ask(t, v1alpha1.PrometheusMetric{}, result(c.data))
			want := verdict.Answer{Sample: verdict.Sample{Value: c.value, Text: c.text}, MetricMetadata: map[string]string{"ResolvedPrometheusQuery": "up"}}
			if d := cmp.Diff(want, a); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestResultsThatAreNoNumbers(t *testing.T) {
	for name, c := range map[string]struct{ data, told string }{
		"a text":                     {`{"resultType":"string","result":[1,"good"]}`, "string"},
		"a kind that nobody knows":   {`{"resultType":"tensor","result":[]}`, "tensor"},
		"no kind":                    {`{"result":[]}`, `""`},
		"a vector that is an object": {`{"resultType":"vector","result":{}}`, "vector cannot be read"},
		"a scalar that is null":      {`{"resultType":"scalar","result":null}`, "missing"},
		"a scalar of text":           {`{"resultType":"scalar","result":[1,"many"]}`, "many"},
		"a value that is a number":   {`{"resultType":"scalar","result":[1,0.5]}`, "point"},
		"a value without a time":     {`{"resultType":"scalar","result":["0.5"]}`, "point"},
		"a series without a value":   {`{"resultType":"vector","result":[{"metric":{}}]}`, "no value"},
		"a histogram":                {`{"resultType":"vector","result":[{"metric":{},"histogram":[1,{"count":"3","sum":"4"}]}]}`, "histogram"},
		"histograms over time":       {`{"resultType":"matrix","result":[{"metric":{},"values":[[1,"1"]],"histograms":[[1,{"count":"3"}]]}]}`, "histogram"},
	} {
		t.Run(name, func(t *testing.T) {
			a := ask(t, v1alpha1.PrometheusMetric{}, result(c.data))
			if !strings.HasPrefix(a.Failed, "prometheus: ") || !strings.Contains(a.Failed, c.told) || a.Sample.Value != nil {
				t.Errorf("got %+v, want a failure that tells %q", a, c.told)
			}
		})
	}
}

func TestRequestsAreThoseOfTheAPI(t *testing.T) {
	five := int64(5)
	for name, c := range map[string]struct {
		metric v1alpha1.PrometheusMetric
		path   string
		form   url.Values
	}{
		"one moment": {v1alpha1.PrometheusMetric{Query: "a + b"}, "/api/v1/query",
			url.Values{"query": {"a + b"}, "time": {"1777896000.25"}, "timeout": {"30s"}}},
		"below a path": {v1alpha1.PrometheusMetric{Address: "/prom/?tenant=a", Timeout: &five}, "/prom/api/v1/query",
			url.Values{"query": {"up"}, "time": {"1777896000.25"}, "timeout": {"5s"}, "tenant": {"a"}}},
		"a span": {v1alpha1.PrometheusMetric{RangeQuery: &v1alpha1.PrometheusRangeQueryArgs{
			Start: `now() - duration("1h")`, End: `date("2026-05-04T12:00:00Z")`, Step: "1m30s"}}, "/api/v1/query_range",
			url.Values{"query": {"up"}, "start": {"1777892400.25"}, "end": {"1777896000"}, "step": {"90"}, "timeout": {"30s"}}},
	} {
		t.Run(name, func(t *testing.T) {
			var path, method string
			var form url.Values
			ask(t, c.metric, func(_ http.ResponseWriter, r *http.Request) {
				_ = r.ParseForm()
				path, method, form = r.URL.Path, r.Method, r.Form
			})
			if method != http.MethodPost || path != c.path {
				t.Errorf("got %s %s, want POST %s", method, path, c.path)
			}
			if d := cmp.Diff(c.form, form); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestServerWithoutPOSTIsAskedWithGET(t *testing.T) {
	a := ask(t, v1alpha1.PrometheusMetric{Query: "a + b"}, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.URL.Query().Get("query") != "a + b" {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		result(`{"resultType":"scalar","result":[1,"7"]}`)(w, r)
	})
	if a.Sample.Value != 7.0 {
		t.Errorf("got %+v", a)
	}
}

func TestMetricsThatCannotBeAskedNameTheirField(t *testing.T) {
	minus := int64(-1)
	step := func(start, end, step string) *v1alpha1.PrometheusRangeQueryArgs {
		return &v1alpha1.PrometheusRangeQueryArgs{Start: start, End: end, Step: v1alpha1.DurationString(step)}
	}
	for name, c := range map[string]struct {
		metric v1alpha1.PrometheusMetric
		told   string
	}{
		"no query":              {v1alpha1.PrometheusMetric{Query: " "}, "query"},
		"a negative time-out":   {v1alpha1.PrometheusMetric{Timeout: &minus}, "timeout"},
		"no step":               {v1alpha1.PrometheusMetric{RangeQuery: step("now()", "now()", "")}, "rangeQuery.step"},
		"a step of nothing":     {v1alpha1.PrometheusMetric{RangeQuery: step("now()", "now()", "0s")}, "rangeQuery.step"},
		"no start":              {v1alpha1.PrometheusMetric{RangeQuery: step("", "now()", "1m")}, "rangeQuery.start"},
		"a start that is text":  {v1alpha1.PrometheusMetric{RangeQuery: step(`"now"`, "now()", "1m")}, "rangeQuery.start"},
		"an end that is no use": {v1alpha1.PrometheusMetric{RangeQuery: step("now()", "now() -", "1m")}, "rangeQuery.end"},
		"an end that loops":     {v1alpha1.PrometheusMetric{RangeQuery: step("now()", `now() - duration(string(sum(1..9999, sum(1..9999, sum(1..9999, 1)))) + "s")`, "1m")}, "rangeQuery.end"},
		"an end before start":   {v1alpha1.PrometheusMetric{RangeQuery: step("now()", `now() - duration("1m")`, "1m")}, "ends 1m0s before"},
	} {
		t.Run(name, func(t *testing.T) {
			asked := false
			a := ask(t, c.metric, func(http.ResponseWriter, *http.Request) { asked = true })
			if !strings.Contains(a.Failed, c.told) || asked {
				t.Errorf("got %q, sent: %v", a.Failed, asked)
			}
		})
	}
}

func TestAddressOfTheController(t *testing.T) {
	s := httptest.NewServer(result(`{"resultType":"scalar","result":[1,"7"]}`))
	defer s.Close()
	if a := measure(t, v1alpha1.PrometheusMetric{Query: "up"}, s.URL); a.Sample.Value != 7.0 {
		t.Errorf("got %+v", a)
	}
	if a := measure(t, v1alpha1.PrometheusMetric{Query: "up"}, ""); !strings.Contains(a.Failed, "ARGO_ROLLOUTS_PROMETHEUS_ADDRESS") {
		t.Errorf("without any: %+v", a)
	}
}

func TestSignatureIsTheOneThatAWSExpects(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "their-secret")
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AWS_CONFIG_FILE", "/dev/null")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
	var signed error
	check := func(w http.ResponseWriter, r *http.Request) {
		signed = checkSignature(r)
		result(`{"resultType":"scalar","result":[1,"7"]}`)(w, r)
	}
	m := v1alpha1.PrometheusMetric{Address: "/aps-workspaces/ws-1", Authentication: v1alpha1.Authentication{Sigv4: v1alpha1.Sigv4Config{Region: "eu-west-1"}}}
	if a := ask(t, m, check); a.Sample.Value != 7.0 || signed != nil {
		t.Errorf("got %+v: %v", a, signed)
	}
	m.Address = "/ws-1"
	if a := ask(t, m, check); a.Sample.Value != 7.0 || signed == nil {
		t.Errorf("an address that is not of AWS: %+v, signed: %v", a, signed == nil)
	}
	m.Address = "/aps-workspaces/ws-1"
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	if a := ask(t, m, check); !strings.Contains(a.Failed, "sigv4") {
		t.Errorf("without credentials: %+v", a)
	}
}

// checkSignature signs the request anew, as the server would, and compares.
func checkSignature(r *http.Request) error {
	got := r.Header.Get("Authorization")
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	_, names, _ := strings.Cut(got, "SignedHeaders=")
	names, _, _ = strings.Cut(names, ",")
	again, err := http.NewRequest(r.Method, "http://"+r.Host+r.URL.RequestURI(), bytes.NewReader(body))
	if err != nil {
		return err
	}
	for _, name := range strings.Split(names, ";") {
		if v := r.Header.Values(name); len(v) > 0 && name != "x-amz-date" {
			again.Header[http.CanonicalHeaderKey(name)] = v
		}
	}
	at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	if err != nil {
		return fmt.Errorf("the date: %w", err)
	}
	keys := aws.Credentials{AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: "their-secret"}
	if err := v4.NewSigner().SignHTTP(context.Background(), keys, again, digest(body), "aps", "eu-west-1", at); err != nil {
		return err
	}
	if want := again.Header.Get("Authorization"); got != want {
		return fmt.Errorf("got %s, want %s", got, want)
	}
	return nil
}

func digest(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}
