package prometheus

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/sluice-project/sluice/internal/decide/verdict"
	"github.com/sluice-project/sluice/internal/metric"
	"github.com/sluice-project/sluice/internal/metric/wire"
)

// envelope is what the API wraps around every answer.
type envelope struct {
	Status    string   `json:"status"`
	ErrorType string   `json:"errorType"`
	Error     string   `json:"error"`
	Warnings  []string `json:"warnings"`
	Data      *struct {
		Type   string          `json:"resultType"`
		Result json.RawMessage `json:"result"`
	} `json:"data"`
}

// series is one time series of a vector (Value) or of a matrix (Values).
type series struct {
	Value      *point          `json:"value"`
	Values     []point         `json:"values"`
	Histogram  json.RawMessage `json:"histogram"`
	Histograms json.RawMessage `json:"histograms"`
}

// point is a value; its time is not used.
type point float64

// UnmarshalJSON reads [time, "value"].
func (p *point) UnmarshalJSON(data []byte) error {
	var text string
	pair := [2]any{new(json.Number), &text}
	if err := json.Unmarshal(data, &pair); err != nil {
		return fmt.Errorf("not a point of time and value: %w", err)
	}
	if !strings.HasPrefix(strings.TrimSpace(string(data)), "[") || text == "" {
		return errors.New("not a point of time and value")
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil && !math.IsInf(v, 0) {
		return fmt.Errorf("%q is not a number", metric.Short(text, 64))
	}
	*p = point(v)
	return nil
}

// read gives the sample of an answer, and its warnings.
func read(r *wire.Response, mask *metric.Mask) (verdict.Sample, []string, error) {
	var e envelope
	err := json.Unmarshal(r.Body, &e)
	switch {
	case err == nil && e.Status == "error":
		kind := e.ErrorType
		if kind == "" {
			kind = fmt.Sprintf("HTTP %d", r.Status)
		}
		return verdict.Sample{}, quoted(e.Warnings, mask), fmt.Errorf("%s: %s", kind, mask.Short(e.Error, metric.LongestText))
	case !r.Good():
		return verdict.Sample{}, nil, errors.New(mask.Short(r.Refusal(), metric.LongestText))
	case err != nil:
		return verdict.Sample{}, nil, fmt.Errorf("the answer is not that of a Prometheus API: %w", err)
	case e.Status != "success" || e.Data == nil:
		return verdict.Sample{}, nil, errors.New("the answer is not that of a Prometheus API: it has no status success with data")
	}
	sample, err := value(e.Data.Type, e.Data.Result)
	return sample, quoted(e.Warnings, mask), err
}

// value reads the result of a query by its type.
func value(kind string, data json.RawMessage) (verdict.Sample, error) {
	switch kind {
	case "scalar":
		var p *point
		if err := json.Unmarshal(data, &p); err != nil || p == nil {
			return verdict.Sample{}, fmt.Errorf("the scalar cannot be read: %w", orMissing(err))
		}
		return verdict.Sample{Value: float64(*p), Text: number(float64(*p))}, nil
	case "vector", "matrix":
		var all []series
		if err := json.Unmarshal(data, &all); err != nil {
			return verdict.Sample{}, fmt.Errorf("the %s cannot be read: %w", kind, err)
		}
		values, err := flatten(kind, all)
		if err != nil {
			return verdict.Sample{}, err
		}
		return verdict.Sample{Value: values, Text: list(values)}, nil
	}
	return verdict.Sample{}, fmt.Errorf("the query gives a %s; it must give a scalar, a vector or a matrix", metric.Short(strconv.Quote(kind), 64))
}

func orMissing(err error) error {
	if err == nil {
		return errors.New("it is missing")
	}
	return err
}

func flatten(kind string, all []series) ([]float64, error) {
	values := make([]float64, 0, len(all))
	for _, s := range all {
		switch {
		case len(s.Histogram) > 0 || len(s.Histograms) > 0:
			return nil, errors.New("the query gives histograms; take a number of them, such as with histogram_quantile")
		case kind == "vector" && s.Value == nil:
			return nil, errors.New("the vector cannot be read: a series has no value")
		case kind == "vector":
			values = append(values, float64(*s.Value))
		default:
			for _, p := range s.Values {
				values = append(values, float64(p))
			}
		}
	}
	return values, nil
}

func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// list is the text of several numbers. Beyond the longest text none is written.
func list(values []float64) string {
	var b strings.Builder
	b.WriteByte('[')
	for i, v := range values {
		if i > 0 {
			b.WriteByte(',')
		}
		if b.Len() > metric.LongestText {
			break
		}
		b.WriteString(number(v))
	}
	b.WriteByte(']')
	return b.String()
}

// quoted are the warnings, masked, each in quotes.
func quoted(warnings []string, mask *metric.Mask) []string {
	const most = 20
	var out []string
	for _, w := range warnings[:min(len(warnings), most)] {
		out = append(out, strconv.Quote(mask.Short(w, metric.LongestText)))
	}
	return out
}
