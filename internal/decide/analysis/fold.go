package analysis

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/verdict"
)

const (
	// metadataReason tells, on a measurement, why its phase is what it is.
	metadataReason = "reason"
	reasonNoData   = "NoData"
	// terminatedMessage is the wire's word for a measurement that was ended early.
	terminatedMessage = "Metric Terminated"
)

// fold records an answer to the metric g in r: it ends the measurement that goes
// on, or is one of its own.
func fold(g *gauge, r *v1alpha1.MetricResult, a verdict.Answer, now time.Time) {
	m := inFlight(r)
	if m == nil {
		r.Measurements = append(r.Measurements, v1alpha1.Measurement{StartedAt: moment(a.StartedAt, time.Time{}, now)})
		m = &r.Measurements[len(r.Measurements)-1]
	}
	if m.StartedAt == nil {
		m.StartedAt = moment(a.StartedAt, time.Time{}, now)
	}
	m.Metadata = merged(m.Metadata, a.Metadata)
	r.Metadata = merged(r.Metadata, a.MetricMetadata)
	if a.Running && a.Failed == "" {
		m.Phase, m.Message = v1alpha1.AnalysisPhaseRunning, cut(a.Message, maxMessage)
		again := a.ResumeAt.UTC()
		if again.Before(now.Add(MinInterval)) {
			again = now.Add(MinInterval)
		}
		m.ResumeAt = &metav1.Time{Time: ceil(again)}
		return
	}
	kind, message := meaning(g, a)
	m.ResumeAt = nil
	m.FinishedAt = moment(a.FinishedAt, m.StartedAt.Time, now)
	if m.Value = a.Sample.Text; m.Value == "" && a.Failed == "" && a.Verdict == "" && !a.Terminated {
		m.Value = verdict.Text(a.Sample.Value)
	}
	m.Value = cut(m.Value, maxValue)
	ignored := kind == verdict.NoData && g.metric.NoData == v1alpha1.NoDataIgnore
	m.Phase = phaseOf(kind, g.metric.NoData)
	if kind == verdict.NoData {
		m.Metadata = merged(m.Metadata, map[string]string{metadataReason: reasonNoData})
		message = reasonNoData + ": " + message
	}
	if (kind == verdict.Failure || kind == verdict.NoData || kind == verdict.Inconclusive) && a.Verdict == "" && !a.Terminated {
		message = cut(message, maxMessage-maxMessage/4) + queryText(g, r)
	}
	m.Message = cut(message, maxMessage)
	count(r, m.Phase, ignored)
}

// meaning is what an answer says, before the policy for no data.
func meaning(g *gauge, a verdict.Answer) (verdict.Kind, string) {
	switch {
	case a.Failed != "":
		return verdict.Error, a.Failed
	case a.Terminated:
		return terminated(a)
	case a.Verdict == "":
		sample := a.Sample
		if sample.At.IsZero() {
			sample.At = a.FinishedAt
		}
		j := verdict.Judge(g.success, g.failure, sample)
		return j.Kind, j.Message
	}
	switch a.Verdict {
	case verdict.Success:
		return verdict.Success, a.Message
	case verdict.Failure, verdict.Error, verdict.Inconclusive, verdict.NoData:
		if a.Message == "" {
			return a.Verdict, "the provider's verdict is " + string(a.Verdict)
		}
		return a.Verdict, a.Message
	}
	return verdict.Error, fmt.Sprintf("the provider's verdict %s is none that is known", cut(string(a.Verdict), 64))
}

// terminated is what the answer to an early end says: a verdict that was reached
// before stays, everything else is inconclusive.
func terminated(a verdict.Answer) (verdict.Kind, string) {
	switch a.Verdict {
	case verdict.Success:
		return verdict.Success, terminatedMessage
	case verdict.Failure, verdict.Error:
		if a.Message == "" {
			return a.Verdict, terminatedMessage
		}
		return a.Verdict, a.Message
	}
	return verdict.Inconclusive, terminatedMessage
}

func phaseOf(kind verdict.Kind, policy v1alpha1.NoDataPolicy) v1alpha1.AnalysisPhase {
	switch kind {
	case verdict.Success:
		return v1alpha1.AnalysisPhaseSuccessful
	case verdict.Failure:
		return v1alpha1.AnalysisPhaseFailed
	case verdict.Inconclusive:
		return v1alpha1.AnalysisPhaseInconclusive
	case verdict.NoData:
		switch policy {
		case v1alpha1.NoDataFail:
			return v1alpha1.AnalysisPhaseFailed
		case v1alpha1.NoDataInconclusive, v1alpha1.NoDataIgnore:
			return v1alpha1.AnalysisPhaseInconclusive
		}
	}
	return v1alpha1.AnalysisPhaseError
}

// count adds one measurement to the counters. An ignored one touches no other:
// it is neither good nor bad, and interrupts no row.
func count(r *v1alpha1.MetricResult, phase v1alpha1.AnalysisPhase, ignored bool) {
	switch {
	case ignored:
		up(&r.Count)
		return
	case phase == v1alpha1.AnalysisPhaseError:
		up(&r.Error)
		up(&r.ConsecutiveError)
		r.ConsecutiveSuccess = 0
		return
	}
	up(&r.Count)
	r.ConsecutiveError = 0
	switch phase {
	case v1alpha1.AnalysisPhaseSuccessful:
		up(&r.Successful)
		up(&r.ConsecutiveSuccess)
		return
	case v1alpha1.AnalysisPhaseFailed:
		up(&r.Failed)
	default:
		up(&r.Inconclusive)
	}
	r.ConsecutiveSuccess = 0
}

func up(n *int32) {
	if *n < math.MaxInt32 {
		*n++
	}
}

// queryText is the question in a message.
func queryText(g *gauge, r *v1alpha1.MetricResult) string {
	text := ""
	for _, k := range slices.Sorted(maps.Keys(r.Metadata)) {
		if strings.HasPrefix(k, "Resolved") && strings.HasSuffix(k, "Query") {
			text = r.Metadata[k]
			break
		}
	}
	if p := &g.metric.Provider; text == "" {
		switch {
		case p.Prometheus != nil:
			text = p.Prometheus.Query
		case p.Web != nil:
			text = p.Web.URL
		case p.Datadog != nil:
			text = p.Datadog.Query
		case p.NewRelic != nil:
			text = p.NewRelic.Query
		case p.Wavefront != nil:
			text = p.Wavefront.Query
		case p.Graphite != nil:
			text = p.Graphite.Query
		case p.Influxdb != nil:
			text = p.Influxdb.Query
		case p.SkyWalking != nil:
			text = p.SkyWalking.Query
		}
	}
	if text = strings.Join(strings.Fields(text), " "); text == "" {
		return ""
	}
	return " (query: " + cut(text, maxMessage/5) + ")"
}

// merged adds to the metadata of a measurement or metric, in bounds. What was
// there first has the room: a measurement that goes on needs it.
func merged(have, more map[string]string) map[string]string {
	if len(more) == 0 {
		return have
	}
	out, room := map[string]string{}, maxMetadata
	put := func(k, v string) {
		k, v = cut(k, maxMetadataKey), cut(v, maxMetadata/2)
		if old, ok := out[k]; ok {
			room += size(k) + size(old)
			delete(out, k)
		}
		if n := size(k) + size(v); n <= room {
			out[k] = v
			room -= n
		}
	}
	for _, k := range slices.Sorted(maps.Keys(have)) {
		if _, replaced := more[k]; !replaced {
			put(k, have[k])
		}
	}
	for _, k := range slices.Sorted(maps.Keys(more)) {
		put(k, more[k])
	}
	return out
}

// inFlight is the measurement that goes on, if there is one.
func inFlight(r *v1alpha1.MetricResult) *v1alpha1.Measurement {
	if m := last(r); m != nil && m.FinishedAt == nil {
		return m
	}
	return nil
}

func last(r *v1alpha1.MetricResult) *v1alpha1.Measurement {
	if r == nil || len(r.Measurements) == 0 {
		return nil
	}
	return &r.Measurements[len(r.Measurements)-1]
}

// moment is a time of an answer as it is kept: whole seconds, from the least to
// now.
func moment(t, least, now time.Time) *metav1.Time {
	t = t.UTC().Truncate(time.Second)
	if t.IsZero() || t.Year() < 2000 || t.After(now) {
		t = now
	}
	if t.Before(least) {
		t = least.UTC()
	}
	return &metav1.Time{Time: t}
}

// ceil rounds up to whole seconds.
func ceil(t time.Time) time.Time {
	if whole := t.Truncate(time.Second); whole.Before(t) {
		return whole.Add(time.Second)
	}
	return t
}
