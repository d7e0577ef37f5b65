package main

import (
	"fmt"
	"strings"
)

// object is a JSON object; a schema is one.
type object = map[string]any

// embedded are the paths of the foreign templates inside a kind, and of the metadata
// beside them. It is false for a kind that is not ours.
func embedded(kind string) ([]string, bool) {
	switch kind {
	case "Rollout":
		return []string{"spec.template"}, true
	case "Experiment":
		return []string{"spec.templates.template"}, true
	case "AnalysisRun", "AnalysisTemplate", "ClusterAnalysisTemplate":
		return []string{"spec.metrics.provider.job.spec", "spec.metrics.provider.job.metadata"}, true
	}
	return nil, false
}

// selectors are the paths of label selectors, whose prose is Kubernetes' own.
func selectors(kind string) []string {
	switch kind {
	case "Rollout":
		return []string{"spec.selector", "spec.strategy.canary.steps.experiment.templates.selector"}
	case "Experiment":
		return []string{"spec.templates.selector"}
	}
	return nil
}

func shape(crd object) error {
	delete(crd, "status")
	if meta, ok := crd["metadata"].(object); ok {
		delete(meta, "annotations")
		delete(meta, "creationTimestamp")
	}
	kind, versions, err := identify(crd)
	if err != nil {
		return err
	}
	for _, v := range versions {
		root, err := dig(v, "schema", "openAPIV3Schema")
		if err != nil {
			return err
		}
		if err := shapeSchema(kind, root); err != nil {
			return err
		}
	}
	return nil
}

func identify(crd object) (string, []object, error) {
	names, err := dig(crd, "spec", "names")
	if err != nil {
		return "", nil, err
	}
	kind, _ := names["kind"].(string)
	if _, known := embedded(kind); !known {
		return "", nil, fmt.Errorf("unknown kind %q", kind)
	}
	list, _ := crd["spec"].(object)["versions"].([]any)
	versions := make([]object, 0, len(list))
	for _, v := range list {
		o, ok := v.(object)
		if !ok {
			return "", nil, fmt.Errorf("a version is no object")
		}
		versions = append(versions, o)
	}
	if len(versions) == 0 {
		return "", nil, fmt.Errorf("no versions")
	}
	return kind, versions, nil
}

func shapeSchema(kind string, root object) error {
	props := properties(root)
	for name, text := range map[string]string{"apiVersion": "Version of the API.", "kind": "Kind of the object."} {
		if p, ok := props[name].(object); ok {
			p["description"] = text
		}
	}
	paths, _ := embedded(kind)
	for _, path := range paths {
		s, err := follow(root, path)
		if err != nil {
			return err
		}
		relax(s, path[strings.LastIndex(path, ".")+1:])
	}
	for _, path := range selectors(kind) {
		s, err := follow(root, path)
		if err != nil {
			return err
		}
		dropProse(s)
	}
	return nil
}

// valueChecks are the parts of a schema that refuse a value of the right type.
func valueChecks() []string {
	return []string{
		"allOf", "anyOf", "oneOf", "not", "enum", "pattern", "minimum", "maximum", "exclusiveMinimum",
		"exclusiveMaximum", "minLength", "maxLength", "minItems", "maxItems", "uniqueItems", "multipleOf",
		"minProperties", "maxProperties", "x-kubernetes-validations", "default",
	}
}

// isKeyed tells whether a list keeps its keys: Kubernetes itself demands them to be
// unique in a pod, so that a keyed merge loses nothing. All other lists may hold a
// key twice.
func isKeyed(list string) bool {
	switch list {
	case "containers", "initContainers", "ports", "topologySpreadConstraints", "volumeMounts", "volumeDevices",
		"claims", "resourceClaims":
		return true
	}
	return false
}

// anything is the schema of a value that is admitted whatever it is: one wrong
// quantity or one unknown volume type must not make an object unwritable.
func anything() object { return object{"x-kubernetes-preserve-unknown-fields": true} }

// isUnchecked tells whether a field of a pod template holds quantities or other
// values that existing objects are known to hold in malformed or newer shapes.
func isUnchecked(field string) bool {
	switch field {
	case "limits", "requests", "overhead", "volumes", "ephemeralContainers":
		return true
	}
	return false
}

// relax makes the schema of a template admit what an existing object may hold. The
// description of the template itself stays.
func relax(s object, name string) {
	if name == "metadata" {
		keepMetadata(s)
	}
	for _, c := range valueChecks() {
		delete(s, c)
	}
	if name == "ports" {
		defer defaultProtocol(s)
	}
	if t := s["x-kubernetes-list-type"]; t != "atomic" && !isKeyed(name) {
		delete(s, "x-kubernetes-list-type")
		delete(s, "x-kubernetes-list-map-keys")
	}
	props := properties(s)
	for child, p := range props {
		if isUnchecked(child) {
			props[child] = anything()
			continue
		}
		if c, ok := p.(object); ok {
			delete(c, "description")
			relax(c, child)
		}
	}
	for _, part := range []string{"items", "additionalProperties"} {
		if c, ok := s[part].(object); ok {
			delete(c, "description")
			relax(c, "")
		}
	}
}

// defaultProtocol gives the protocol of a container port its default: it is part of
// the key of the list, and of the pod template hash of every object that was
// stored with it.
func defaultProtocol(ports object) {
	items, _ := ports["items"].(object)
	if p, ok := properties(items)["protocol"].(object); ok {
		p["default"] = "TCP"
	}
}

// keepMetadata leaves labels and annotations: the rest of an embedded metadata
// means nothing, is pruned by the wire format, and would change a template's hash.
func keepMetadata(s object) {
	props := properties(s)
	for name := range props {
		if name != "labels" && name != "annotations" {
			delete(props, name)
		}
	}
	delete(s, "required")
}

// dropProse removes all descriptions below a schema, but not its own.
func dropProse(s object) {
	children := make([]any, 0, len(properties(s))+2)
	for _, p := range properties(s) {
		children = append(children, p)
	}
	children = append(children, s["items"], s["additionalProperties"])
	for _, c := range children {
		if o, ok := c.(object); ok {
			delete(o, "description")
			dropProse(o)
		}
	}
}

func properties(s object) object {
	p, _ := s["properties"].(object)
	return p
}

func dig(o object, path ...string) (object, error) {
	for _, p := range path {
		next, ok := o[p].(object)
		if !ok {
			return nil, fmt.Errorf("no object %q", p)
		}
		o = next
	}
	return o, nil
}

// follow finds a schema by property names joined with dots, passing through lists.
func follow(s object, path string) (object, error) {
	for _, name := range strings.Split(path, ".") {
		if items, ok := s["items"].(object); ok {
			s = items
		}
		next, ok := properties(s)[name].(object)
		if !ok {
			return nil, fmt.Errorf("no property %q of %q", name, path)
		}
		s = next
	}
	return s, nil
}
