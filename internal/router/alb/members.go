package alb

import (
	"bytes"
	"encoding/json"
	"strings"
)

// member is one field of a JSON object, its value as it was written.
type member struct {
	name  string
	value string
}

// members are the fields of a JSON object in their order; ok is false where the
// text is anything else.
func members(text string) (list []member, ok bool) {
	if !json.Valid([]byte(text)) {
		return nil, false
	}
	d := json.NewDecoder(strings.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, false
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, false
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, false
		}
		list = append(list, member{name.(string), string(value)})
	}
	return list, true
}

// elements are the values of a JSON list as they were written.
func elements(text string) []string {
	var raw []json.RawMessage
	if json.Unmarshal([]byte(text), &raw) != nil {
		return nil
	}
	list := make([]string, len(raw))
	for i, r := range raw {
		list[i] = string(r)
	}
	return list
}

// get is a field by its name in any case, as the controller at AWS reads it; of
// several the last.
func get(list []member, name string) (value string, there bool) {
	for _, m := range list {
		if strings.EqualFold(m.name, name) {
			value, there = m.value, true
		}
	}
	return value, there && value != "null"
}

// without are the fields of other names.
func without(list []member, names ...string) []member {
	var rest []member
	for _, m := range list {
		known := false
		for _, n := range names {
			known = known || strings.EqualFold(m.name, n)
		}
		if !known {
			rest = append(rest, m)
		}
	}
	return rest
}

// object writes fields as a JSON object.
func object(list []member) string {
	var b strings.Builder
	b.WriteByte('{')
	for i, m := range list {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(quote(m.name))
		b.WriteByte(':')
		b.WriteString(m.value)
	}
	b.WriteByte('}')
	return b.String()
}

// quote is a JSON string. Signs that are special in HTML stay as they are, so
// that header values can be read.
func quote(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(s) != nil { // a string always encodes
		return `""`
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// unquote is the text of a JSON string or number.
func unquote(value string) string {
	var s string
	if json.Unmarshal([]byte(value), &s) == nil {
		return s
	}
	return value
}
