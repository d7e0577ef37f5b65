package routertest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-project/sluice/internal/router"
)

// place is where a value lies: names of fields and indices of lists.
type place []any

func withoutPointer(root any, f router.Field) (any, error) {
	if f.Pointer == "" {
		return nil, fmt.Errorf("it has none although the object was read")
	}
	var p place
	v := root
	for _, part := range strings.Split(strings.TrimPrefix(f.Pointer, "/"), "/") {
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		switch x := v.(type) {
		case map[string]any:
			v = x[part]
			p = append(p, part)
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(x) {
				return nil, fmt.Errorf("%s leads nowhere", f.Pointer)
			}
			v = x[i]
			p = append(p, i)
		default:
			return root, nil // not there yet
		}
	}
	return without(root, []place{p}), nil
}

// withoutPath does what jq's del() does, for the part of the language that
// adapters use: fields, entries, select with == and or, test, and alternatives in
// parentheses. A field without such a path is in no list: its pointer lasts.
func withoutPath(root any, f router.Field) (any, error) {
	if f.JQ == "" {
		return withoutPointer(root, f)
	}
	places := []place{{}}
	for _, stage := range stages(f.JQ) {
		var next []place
		for _, p := range places {
			found, err := follow(root, p, stage)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", f.JQ, err)
			}
			next = append(next, found...)
		}
		places = next
	}
	return without(root, places), nil
}

// stages are the parts of a pipe.
func stages(text string) []string {
	var out []string
	depth, quoted, from := 0, false, 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && quoted:
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '(' || c == '[':
			depth++
		case c == ')' || c == ']':
			depth--
		case c == '|' && depth == 0:
			out = append(out, strings.TrimSpace(text[from:i]))
			from = i + 1
		}
	}
	return append(out, strings.TrimSpace(text[from:]))
}

func follow(root any, p place, stage string) ([]place, error) {
	if body, ok := strings.CutPrefix(stage, "select("); ok {
		holds, err := condition(valueAt(root, p), strings.TrimSuffix(body, ")"))
		if err != nil || !holds {
			return nil, err
		}
		return []place{p}, nil
	}
	if strings.HasPrefix(stage, "(") {
		var out []place
		for _, one := range strings.Split(strings.Trim(stage, "()"), ", ") {
			found, err := walk(root, p, one)
			if err != nil {
				return nil, err
			}
			out = append(out, found...)
		}
		return out, nil
	}
	return walk(root, p, stage)
}

// walk follows fields and entries: .a.b["c"][]?
func walk(root any, p place, path string) ([]place, error) {
	places := []place{p}
	part := regexp.MustCompile(`^(\.[A-Za-z0-9_]+|\[\]\?|\.?\["[^"]*"\])`)
	for path != "" && path != "." {
		m := part.FindString(path)
		if m == "" {
			return nil, fmt.Errorf("cannot follow %q", path)
		}
		path = path[len(m):]
		var next []place
		for _, at := range places {
			if m == "[]?" {
				list, _ := valueAt(root, at).([]any)
				for i := range list {
					next = append(next, append(slices.Clone(at), i))
				}
				continue
			}
			next = append(next, append(slices.Clone(at), strings.Trim(m, `.[]"`)))
		}
		places = next
	}
	return places, nil
}

func condition(v any, text string) (bool, error) {
	if m := regexp.MustCompile(`^\((\.[a-z]+) // ""\) \| test\((".*")\)$`).FindStringSubmatch(text); m != nil {
		var pattern string
		if err := json.Unmarshal([]byte(m[2]), &pattern); err != nil {
			return false, err
		}
		name, _ := valueAt(v, place{m[1][1:]}).(string)
		return regexp.MatchString(pattern, name)
	}
	if rest, ok := strings.CutPrefix(text, ".name == null and "); ok {
		return valueAt(v, place{"name"}) == nil && nameless(v, rest), nil
	}
	for _, term := range strings.Split(text, " or ") {
		field, want, ok := strings.Cut(term, " == ")
		if !ok {
			return false, fmt.Errorf("cannot judge %q", term)
		}
		found, err := walk(v, nil, field)
		if err != nil {
			return false, err
		}
		for _, p := range found {
			if s, ok := valueAt(v, p).(string); ok && router.Quoted(s) == want {
				return true, nil
			}
		}
	}
	return false, nil
}

// nameless judges what rules without a name are known by.
func nameless(rule any, text string) bool {
	one := func(list, of string) bool {
		found, err := walk(rule, nil, list)
		return err == nil && slices.ContainsFunc(found, func(p place) bool { s, _ := valueAt(rule, p).(string); return router.Quoted(s) == of })
	}
	if m := regexp.MustCompile(`^any\((\S+); (\S+) == (".*")\)$`).FindStringSubmatch(text); m != nil {
		return one(m[1]+m[2], m[3])
	}
	m := regexp.MustCompile(`^\(\[(\S+)\] \| unique\) == \[(".*")\]$`).FindStringSubmatch(text)
	if m == nil || !one(m[1], m[2]) {
		return false
	}
	found, _ := walk(rule, nil, m[1])
	return !slices.ContainsFunc(found, func(p place) bool { s, _ := valueAt(rule, p).(string); return router.Quoted(s) != m[2] })
}

func valueAt(v any, p place) any {
	for _, part := range p {
		switch x := part.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[x]
		case int:
			l, _ := v.([]any)
			if x >= len(l) {
				return nil
			}
			v = l[x]
		}
	}
	return v
}

// without takes values out, the last ones first so that indices hold.
func without(root any, places []place) any {
	for _, p := range slices.Backward(places) {
		root = cut(root, p)
	}
	return root
}

func cut(v any, p place) any {
	if len(p) == 0 {
		return nil
	}
	switch x := v.(type) {
	case map[string]any:
		name, _ := p[0].(string)
		child, there := x[name]
		if !there {
			return x
		}
		if len(p) == 1 {
			delete(x, name)
		} else {
			x[name] = cut(child, p[1:])
		}
		return x
	case []any:
		i, ok := p[0].(int)
		if !ok || i >= len(x) {
			return x
		}
		if len(p) == 1 {
			return slices.Delete(slices.Clone(x), i, i+1)
		}
		x[i] = cut(x[i], p[1:])
		return x
	}
	return v
}
