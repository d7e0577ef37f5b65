package get

import (
	"fmt"
	"strings"

	"github.com/google/go-cmp/cmp"
	"github.com/sluice-project/sluice/internal/cli/session"
)

// screen draws views one over the other on a terminal, and one after the other
// where there is none.
type screen struct {
	session *session.Session
	drawn   bool
	last    any
}

// draw shows a text. Still is what it says apart from the passing of time: without
// a terminal the text is printed only when that has changed.
func (s *screen) draw(text string, still any) {
	if s.session.Terminal {
		s.over(text)
		return
	}
	if s.drawn && cmp.Equal(s.last, still) {
		return
	}
	if s.drawn {
		fmt.Fprintln(s.session.Out)
	}
	s.drawn, s.last = true, still
	fmt.Fprint(s.session.Out, text)
}

// over draws from the top of the terminal: the first time on a cleared one, then
// over what is there, line by line, so that nothing flickers.
func (s *screen) over(text string) {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if h := s.height(); h > 1 && len(lines) > h-1 {
		hidden := len(lines) - (h - 2)
		lines = append(lines[:h-2], fmt.Sprintf("... and %d more lines", hidden))
	}
	start := "\x1b[H\x1b[2J\x1b[0;0H"
	if s.drawn {
		start = "\x1b[H"
	}
	s.drawn = true
	fmt.Fprint(s.session.Out, start+strings.Join(lines, "\x1b[K\n")+"\x1b[K\n\x1b[J")
}

func (s *screen) height() int {
	if s.session.Height == nil {
		return 0
	}
	return s.session.Height()
}
