package analysis

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

// RolloutArgs are the values that a Rollout hands to templates. Stable and latest
// are the pod template hashes of the two versions.
func RolloutArgs(args []v1alpha1.AnalysisRunArgument, ro *v1alpha1.Rollout, stable, latest string) ([]v1alpha1.Argument, []Problem) {
	var out []v1alpha1.Argument
	var problems []Problem
	fields := tree{ro: ro}
	for i := range args {
		a := &args[i]
		value, err := a.Value, ""
		if from := a.ValueFrom; from != nil {
			value, err = fields.from(from, stable, latest)
		}
		if err != "" {
			problems = append(problems, Problem{Path: fmt.Sprintf("args[%d].valueFrom", i), Value: a.Name, Message: "args." + a.Name + " was not resolved: " + cut(err, maxMessage/2)})
			continue
		}
		out = append(out, v1alpha1.Argument{Name: a.Name, Value: &value})
	}
	return out, problems
}

// tree is a Rollout as JSON, read when a path first asks for it.
type tree struct {
	ro   *v1alpha1.Rollout
	root any
}

func (t *tree) from(f *v1alpha1.ArgumentValueFrom, stable, latest string) (value, problem string) {
	switch {
	case f.PodTemplateHashValue != nil:
		switch *f.PodTemplateHashValue {
		case v1alpha1.PodTemplateHashStable:
			return stable, ""
		case v1alpha1.PodTemplateHashLatest:
			return latest, ""
		}
		return "", fmt.Sprintf("podTemplateHashValue %s is neither version; use Stable or Latest", *f.PodTemplateHashValue)
	case f.FieldRef == nil:
		return "", "valueFrom says nothing; set podTemplateHashValue or fieldRef"
	case strings.HasPrefix(f.FieldRef.FieldPath, "metadata"):
		return metadata(&t.ro.ObjectMeta, f.FieldRef.FieldPath)
	}
	return t.field(f.FieldRef.FieldPath)
}

// metadata reads a path as pods can read their own metadata.
func metadata(m *metav1.ObjectMeta, path string) (value, problem string) {
	switch path {
	case "metadata.name":
		return m.Name, ""
	case "metadata.namespace":
		return m.Namespace, ""
	case "metadata.uid":
		return string(m.UID), ""
	case "metadata.labels":
		return pairs(m.Labels), ""
	case "metadata.annotations":
		return pairs(m.Annotations), ""
	}
	holder, rest, _ := strings.Cut(path, "['")
	if key, closed := strings.CutSuffix(rest, "']"); closed {
		switch holder {
		case "metadata.labels":
			return m.Labels[key], ""
		case "metadata.annotations":
			return m.Annotations[key], ""
		}
	}
	return "", path + " is no field that can be used; use metadata.name, metadata.namespace, metadata.uid, metadata.labels['KEY'] or metadata.annotations['KEY']"
}

// pairs are labels in the form in which pods get them: a sorted line for each.
func pairs(m map[string]string) string {
	lines := make([]string, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		lines = append(lines, fmt.Sprintf("%s=%q", k, m[k]))
	}
	return strings.Join(lines, "\n")
}

func (t *tree) field(path string) (value, problem string) {
	if t.root == nil {
		text, err := json.Marshal(t.ro)
		if err != nil {
			return "", "the Rollout cannot be written as JSON: " + err.Error()
		}
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		if err := d.Decode(&t.root); err != nil {
			return "", "the Rollout cannot be read as JSON: " + err.Error()
		}
	}
	keys, ok := steps(path)
	if !ok {
		return "", fmt.Sprintf("%q is no path; use keys with dots between them, and [i] for an entry of a list", path)
	}
	at := t.root
	for i, k := range keys {
		if at, ok = k.in(at); !ok {
			return "", fmt.Sprintf("%s: the Rollout has no %s", path, written(keys[:i+1]))
		}
	}
	switch v := at.(type) {
	case string:
		return v, ""
	case json.Number:
		return v.String(), ""
	case bool:
		return strconv.FormatBool(v), ""
	}
	return "", path + " is no single value; name a text, a number or a truth value in it"
}

// key is one step of a path: a name, or an index.
type key struct {
	name  string
	index int
}

const maxPath = 64

// steps reads a path such as spec.strategy.canary.steps[0].setWeight. A name with
// dots in it is written ['a.b'].
func steps(path string) ([]key, bool) {
	var out []key
	for rest, first := path, true; rest != ""; first = false {
		if len(out) >= maxPath {
			return nil, false
		}
		if inside, ok := strings.CutPrefix(rest, "['"); ok {
			name, after, closed := strings.Cut(inside, "']")
			if !closed || name == "" {
				return nil, false
			}
			out, rest = append(out, key{name, -1}), after
			continue
		}
		if inside, ok := strings.CutPrefix(rest, "["); ok {
			text, after, closed := strings.Cut(inside, "]")
			i, err := strconv.Atoi(text)
			if !closed || err != nil || i < 0 {
				return nil, false
			}
			out, rest = append(out, key{"", i}), after
			continue
		}
		after, dotted := strings.CutPrefix(rest, ".")
		if !dotted && !first {
			return nil, false
		}
		end := strings.IndexAny(after, ".[")
		if end < 0 {
			end = len(after)
		}
		if end == 0 {
			return nil, false
		}
		out, rest = append(out, key{after[:end], -1}), after[end:]
	}
	return out, len(out) > 0
}

func (k key) in(v any) (any, bool) {
	if k.index >= 0 {
		list, ok := v.([]any)
		if !ok || k.index >= len(list) {
			return nil, false
		}
		return list[k.index], true
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, false
	}
	at, ok := m[k.name]
	return at, ok
}

func written(keys []key) string {
	var b strings.Builder
	for i, k := range keys {
		switch {
		case k.index >= 0:
			fmt.Fprintf(&b, "[%d]", k.index)
		case i > 0:
			b.WriteString("." + k.name)
		default:
			b.WriteString(k.name)
		}
	}
	return b.String()
}

// ExperimentArgs are the values that an Experiment hands to templates: those of
// its analyses, with the facts about its sets and its times filled in. Only values
// are handed over.
func ExperimentArgs(args []v1alpha1.Argument, e *v1alpha1.Experiment) ([]v1alpha1.Argument, []Problem) {
	var out []v1alpha1.Argument
	var problems []Problem
	for i := range args {
		a := &args[i]
		if a.Value == nil {
			continue
		}
		value, err := fill(*a.Value, func(name string) (string, bool) { return experimentFact(e, name) })
		if err != nil {
			problems = append(problems, Problem{Path: fmt.Sprintf("args[%d].value", i), Value: cut(*a.Value, 200),
				Message: fmt.Sprintf("args.%s was not resolved: %v", a.Name, err)})
			continue
		}
		out = append(out, v1alpha1.Argument{Name: a.Name, Value: &value})
	}
	return out, problems
}

func experimentFact(e *v1alpha1.Experiment, name string) (string, bool) {
	switch name {
	case "experiment.availableAt":
		if e.Status.AvailableAt == nil {
			return "", false
		}
		return e.Status.AvailableAt.UTC().Format(time.RFC3339), true
	case "experiment.finishedAt":
		d, err := e.Spec.Duration.Duration()
		if e.Status.AvailableAt == nil || e.Spec.Duration == "" || err != nil {
			return "", false
		}
		return e.Status.AvailableAt.Add(d).UTC().Format(time.RFC3339), true
	}
	rest, ok := strings.CutPrefix(name, "templates.")
	if !ok {
		return "", false
	}
	if template, ok := strings.CutSuffix(rest, ".podTemplateHash"); ok {
		for i := range e.Status.TemplateStatuses {
			if s := &e.Status.TemplateStatuses[i]; s.Name == template && s.PodTemplateHash != "" {
				return s.PodTemplateHash, true
			}
		}
	}
	if template, ok := strings.CutSuffix(rest, ".replicaset.name"); ok {
		for i := range e.Spec.Templates {
			if e.Spec.Templates[i].Name == template {
				return e.Name + "-" + template, true
			}
		}
	}
	return "", false
}
