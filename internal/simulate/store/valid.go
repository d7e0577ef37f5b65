package store

import (
	"encoding/json"
	"unicode/utf8"
)

// valid tells whether a text is JSON, as the standard library has it, which is
// asked for all that is not plain.
func valid(b []byte) bool {
	c := checker{b: b}
	if c.value(0) {
		c.space()
		if c.at == len(b) {
			return true
		}
	}
	return json.Valid(b)
}

// checker walks over text that may be JSON. Where it says no it may be wrong.
type checker struct {
	b  []byte
	at int
}

func (c *checker) space() {
	for c.at < len(c.b) && (c.b[c.at] == ' ' || c.b[c.at] == '\n' || c.b[c.at] == '\t' || c.b[c.at] == '\r') {
		c.at++
	}
}

// is steps over a byte if it comes next.
func (c *checker) is(want byte) bool {
	c.space()
	if c.at < len(c.b) && c.b[c.at] == want {
		c.at++
		return true
	}
	return false
}

func (c *checker) value(depth int) bool {
	c.space()
	if c.at >= len(c.b) || depth > 100 {
		return false
	}
	switch c.b[c.at] {
	case '{':
		c.at++
		return c.members('}', func() bool { return c.text() && c.is(':') && c.value(depth+1) })
	case '[':
		c.at++
		return c.members(']', func() bool { return c.value(depth + 1) })
	case '"':
		return c.text()
	case 't':
		return c.word("true")
	case 'f':
		return c.word("false")
	case 'n':
		return c.word("null")
	}
	return c.number()
}

func (c *checker) members(end byte, one func() bool) bool {
	if c.is(end) {
		return true
	}
	for one() {
		if c.is(end) {
			return true
		}
		if !c.is(',') {
			return false
		}
	}
	return false
}

func (c *checker) word(w string) bool {
	if len(c.b)-c.at < len(w) || string(c.b[c.at:c.at+len(w)]) != w {
		return false
	}
	c.at += len(w)
	return true
}

// number takes whole numbers.
func (c *checker) number() bool {
	if c.at < len(c.b) && c.b[c.at] == '-' {
		c.at++
	}
	start := c.at
	for c.at < len(c.b) && c.b[c.at] >= '0' && c.b[c.at] <= '9' {
		c.at++
	}
	n := c.at - start
	if n == 0 || n > 1 && c.b[start] == '0' {
		return false
	}
	return c.at == len(c.b) || c.b[c.at] != '.' && c.b[c.at] != 'e' && c.b[c.at] != 'E'
}

// text takes texts in which nothing but quotes and backslashes is escaped.
func (c *checker) text() bool {
	if !c.is('"') {
		return false
	}
	for c.at < len(c.b) {
		switch x := c.b[c.at]; {
		case x == '"':
			c.at++
			return true
		case x == '\\' && c.at+1 < len(c.b) && (c.b[c.at+1] == '"' || c.b[c.at+1] == '\\'):
			c.at++
		case x < ' ' || x >= utf8.RuneSelf || x == '\\':
			return false
		}
		c.at++
	}
	return false
}
