package istio

import "maps"

// with is the object with one field set; the one handed in is not changed.
func with(m map[string]any, key string, value any) map[string]any {
	out := make(map[string]any, len(m)+1)
	maps.Copy(out, m)
	out[key] = value
	return out
}

// without is the object without one field.
func without(m map[string]any, key string) map[string]any {
	out := maps.Clone(m)
	delete(out, key)
	return out
}
