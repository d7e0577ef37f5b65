package simulate

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/cli/manifest"
	"github.com/sluice-project/sluice/internal/decode"
	"github.com/sluice-project/sluice/internal/simulate/script"
)

// series are the scripted values of metrics, by name. A metric that has none is
// said: it will give errors.
func series(given []string, s *stage) (map[string]script.Series, error) {
	out := map[string]script.Series{}
	known := s.metrics()
	for _, text := range given {
		name, values, ok := strings.Cut(text, "=")
		if !ok || name == "" || values == "" {
			return nil, fmt.Errorf("--metric %s: want NAME=VALUE,VALUE such as error-rate=0.01,0.02,nodata,error", text)
		}
		if !slices.Contains(known, name) {
			have := "there is none"
			if len(known) > 0 {
				have = "there is " + strings.Join(known, ", ")
			}
			return nil, fmt.Errorf("--metric %s: the manifests have no metric %q: %s", text, name, have)
		}
		v, err := script.ParseSeries(values)
		if err != nil {
			return nil, fmt.Errorf("--metric %s: %w", text, err)
		}
		out[name] = v
	}
	for _, name := range known {
		if _, ok := out[name]; !ok {
			s.assumed = append(s.assumed, fmt.Sprintf("the metric %s answers with an error (say what it measures with --metric %s=VALUE,VALUE)", name, name))
		}
	}
	return out, nil
}

// metrics are the names of the metrics in the templates.
func (s *stage) metrics() []string {
	var out []string
	for _, o := range s.objects {
		var spec *v1alpha1.AnalysisTemplateSpec
		switch t := o.(type) {
		case *v1alpha1.AnalysisTemplate:
			spec = &t.Spec
		case *v1alpha1.ClusterAnalysisTemplate:
			spec = &t.Spec
		default:
			continue
		}
		for i := range spec.Metrics {
			if name := spec.Metrics[i].Name; !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	return out
}

// template takes a template in; false for a document that is none.
func (s *stage) template(d manifest.Document) (bool, error) {
	var dropped []decode.Dropped
	switch d.Kind() {
	case v1alpha1.KindAnalysisTemplate:
		t, faults := decode.AnalysisTemplate(d.Raw)
		dropped = faults
		s.objects = append(s.objects, t)
	case v1alpha1.KindClusterAnalysisTemplate:
		t, faults := decode.ClusterAnalysisTemplate(d.Raw)
		dropped = faults
		s.objects = append(s.objects, t)
	default:
		return false, nil
	}
	if len(dropped) > 0 {
		text, _ := json.Marshal(dropped[0].Value)
		return false, fmt.Errorf("%s: %s %s: %s: Invalid value: %s: %s", d.From, d.Kind(), d.Name(), dropped[0].Path, text, dropped[0].Problem)
	}
	return true, nil
}
