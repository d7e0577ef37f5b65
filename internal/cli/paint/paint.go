// Package paint prints views of rollouts for people: icons, colours and aligned
// tables.
//
// Law: what is painted is in the view; painting adds no knowledge of its own, and
// the text without colours is the text with colours stripped.
package paint

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Colour is an ANSI colour code.
type Colour int

// The colours in use.
const (
	Default Colour = 0
	Red     Colour = 31
	Green   Colour = 32
	Yellow  Colour = 33
	Blue    Colour = 94
)

// Icons of rows.
const (
	iconRollout    = "⟳"
	iconRevision   = "#"
	iconReplicaSet = "⧉"
	iconPod        = "□"
	iconExperiment = "Σ"
	iconRun        = "α"
	iconJob        = "⊞"
)

// Style is how to paint.
type Style struct {
	// Colour switches ANSI colours on.
	Colour bool
}

// in colours a text.
func (s Style) in(c Colour, text string) string {
	if !s.Colour {
		return text
	}
	return fmt.Sprintf("\x1b[%dm%s\x1b[0m", c, text)
}

// Icon is the sign of a status, with its colour.
func (s Style) Icon(status string) string {
	icon, colour := sign(status)
	return s.in(colour, icon)
}

// sign gives icon and colour for the status of a rollout, ReplicaSet or pod.
func sign(status string) (string, Colour) {
	switch status {
	case "Progressing", "Pending", "Terminating", "ContainerCreating", "PodInitializing":
		return "◌", Blue
	case "ImagePullBackOff", "RegistryUnavailable", "Error", "InvalidSpec":
		return "⚠", Red
	case "Unknown", "Inconclusive":
		return "?", Yellow
	case "Healthy", "Successful", "Running", "Completed":
		return "✔", Green
	case "Degraded", "Failed", "ReplicaFailure", "CrashLoopBackOff", "InvalidImageName":
		return "✖", Red
	case "Paused":
		return "॥", Default
	case "ScaledDown":
		return "•", Default
	}
	switch {
	case strings.HasPrefix(status, "Init:"):
		return "◌", Blue
	case strings.HasPrefix(status, "Signal:"), strings.HasPrefix(status, "ExitCode:"):
		return "✖", Red
	case strings.HasPrefix(status, "Err"), strings.HasSuffix(status, "Error"):
		return "⚠", Red
	}
	return " ", Default
}

// table aligns cells in columns, two spaces apart. The last cell of a row is not
// filled up. Colours take no width.
type table struct {
	rows   [][]string
	widths []int
}

func (t *table) add(cells ...string) {
	for i, c := range cells {
		if i == len(t.widths) {
			t.widths = append(t.widths, 0)
		}
		t.widths[i] = max(t.widths[i], width(c))
	}
	t.rows = append(t.rows, cells)
}

func (t *table) lines() []string {
	out := make([]string, 0, len(t.rows))
	for _, cells := range t.rows {
		var b strings.Builder
		for i, c := range cells {
			b.WriteString(c)
			if i < len(cells)-1 {
				b.WriteString(strings.Repeat(" ", t.widths[i]-width(c)+2))
			}
		}
		out = append(out, b.String())
	}
	return out
}

// width is the number of columns that a text takes on a terminal.
func width(text string) int {
	n := 0
	for text != "" {
		if strings.HasPrefix(text, "\x1b[") {
			if end := strings.IndexByte(text, 'm'); end > 0 {
				text = text[end+1:]
				continue
			}
		}
		_, size := utf8.DecodeRuneInString(text)
		text = text[size:]
		n++
	}
	return n
}
