package prometheus

import (
	"encoding/json"
	"testing"

	"github.com/sluice-project/sluice/internal/metric"
	"github.com/sluice-project/sluice/internal/metric/wire"
)

// FuzzAnswer: what a server says is an error or a sample of numbers, and only a
// good answer is a sample.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{`{"status":"success","data":{"resultType":"scalar","result":[1,"7"]}}`, `{"status":"error"}`, `[`, ``,
		`{"status":"success","data":{"resultType":"vector","result":[{"value":[1,"7"]}]}}`,
		`{"status":"success","data":{"resultType":"matrix","result":[{"values":[[1,"NaN"]]}]},"warnings":["a"]}`} {
		f.Add([]byte(seed), 200)
	}
	f.Fuzz(func(t *testing.T, body []byte, status int) {
		sample, _, err := read(&wire.Response{Status: status, Body: body}, nil)
		switch sample.Value.(type) {
		case nil:
			if err == nil {
				t.Error("neither a sample nor an error")
			}
		case float64, []float64:
			if err != nil || status/100 != 2 || !json.Valid(body) || len(sample.Text) > 2*metric.LongestText {
				t.Errorf("a sample of status %d: %+v, %v", status, sample, err)
			}
		default:
			t.Errorf("a sample of type %T", sample.Value)
		}
	})
}
