// Package decode turns JSON, YAML and unstructured objects into the kinds of the
// API, in two manners.
//
// Tolerantly, for what is in a cluster: a value that a type cannot hold is left out
// at the smallest enclosing field and reported, everything else is kept, no JSON
// object fails, and no object fails the list that it is in. The types themselves
// do the work (see v1alpha1.UndecodedField), so that every typed client and cache
// decodes in the same manner; this package carries it to objects that were read
// without a type.
//
// Strictly, for what a user is about to send: every unknown or duplicate field and
// every value that would be left out is an error that names its path.
package decode

import (
	"encoding/json"
	"fmt"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

// Dropped is a value that was left out.
type Dropped = v1alpha1.UndecodedField

// Kind is a pointer to a kind of the API.
type Kind[T any] interface {
	*T
	json.Unmarshaler
	UndecodedFields() []v1alpha1.UndecodedField
}

// Object decodes an unstructured object.
func Object[T any, K Kind[T]](u map[string]any) (*T, []Dropped) {
	out := new(T)
	raw, err := json.Marshal(u)
	if err == nil {
		err = K(out).UnmarshalJSON(raw)
	}
	if err != nil {
		// Only a map that holds what JSON cannot, such as a channel, comes here.
		return new(T), []Dropped{{Problem: err.Error()}}
	}
	return out, K(out).UndecodedFields()
}

// Rollout decodes an unstructured Rollout.
func Rollout(u map[string]any) (*v1alpha1.Rollout, []Dropped) {
	return Object[v1alpha1.Rollout](u)
}

// AnalysisRun decodes an unstructured AnalysisRun.
func AnalysisRun(u map[string]any) (*v1alpha1.AnalysisRun, []Dropped) {
	return Object[v1alpha1.AnalysisRun](u)
}

// AnalysisTemplate decodes an unstructured AnalysisTemplate.
func AnalysisTemplate(u map[string]any) (*v1alpha1.AnalysisTemplate, []Dropped) {
	return Object[v1alpha1.AnalysisTemplate](u)
}

// ClusterAnalysisTemplate decodes an unstructured ClusterAnalysisTemplate.
func ClusterAnalysisTemplate(u map[string]any) (*v1alpha1.ClusterAnalysisTemplate, []Dropped) {
	return Object[v1alpha1.ClusterAnalysisTemplate](u)
}

// Experiment decodes an unstructured Experiment.
func Experiment(u map[string]any) (*v1alpha1.Experiment, []Dropped) {
	return Object[v1alpha1.Experiment](u)
}

// List decodes the items of an unstructured list. Items that are no objects are
// left out and reported; what was left out of an item is told by the item.
func List[T any, K Kind[T]](items []any) ([]T, []Dropped) {
	out := make([]T, 0, len(items))
	var dropped []Dropped
	for i, item := range items {
		u, ok := item.(map[string]any)
		if !ok {
			dropped = append(dropped, Dropped{
				Path: fmt.Sprintf("items[%d]", i), Value: fmt.Sprint(item), Problem: fmt.Sprintf("a %T is no object", item),
			})
			continue
		}
		object, problems := Object[T, K](u)
		out = append(out, *object)
		for _, p := range problems {
			p.Path = fmt.Sprintf("items[%d].%s", i, p.Path)
			dropped = append(dropped, p)
		}
	}
	return out, dropped
}
