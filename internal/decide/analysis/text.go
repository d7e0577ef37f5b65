package analysis

import (
	"strings"
	"unicode/utf8"
)

// Bounds of what a status holds, in bytes as JSON.
const (
	maxMessage     = 1 << 10
	maxValue       = 1 << 10
	maxMetadata    = 2 << 10
	maxMetadataKey = 128
	// maxMeasurements is for all measurements of a run together.
	maxMeasurements = 400 << 10
)

const more = "..."

// cut bounds a text to n bytes as JSON. What cannot be shown in it becomes a
// space.
func cut(s string, n int) string {
	if len(s) <= n/6 && clean(s) {
		return s
	}
	if len(s) > n+utf8.UTFMax {
		// No letter is shorter as JSON than as it is.
		s = s[:n+utf8.UTFMax]
	}
	s = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || r < ' ' && r != '\n' && r != '\t' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
	size := 0
	for i, r := range s {
		if size += weight(r); size > n {
			return s[:fit(s[:i], n)] + more
		}
	}
	return s
}

// fit is how much of s leaves room for the mark of what was left out.
func fit(s string, n int) int {
	size := 0
	for i, r := range s {
		if size += weight(r); size > n-len(more) {
			return i
		}
	}
	return len(s)
}

// weight is the length of r in a JSON text.
func weight(r rune) int {
	switch r {
	case '<', '>', '&', '\u2028', '\u2029':
		return 6
	case '"', '\\', '\n', '\t':
		return 2
	}
	return utf8.RuneLen(r)
}

func clean(s string) bool {
	for _, r := range s {
		if r == utf8.RuneError || r < ' ' && r != '\n' && r != '\t' || r == 0x7f {
			return false
		}
	}
	return true
}

// size is the length of s in a JSON text.
func size(s string) int {
	n := 0
	for _, r := range s {
		n += weight(r)
	}
	return n
}
