package get

import (
	"fmt"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sluice-project/sluice/internal/cli/paint"
	"github.com/sluice-project/sluice/internal/cli/session"
	"github.com/sluice-project/sluice/internal/decide/explain"
)

// screen draws views one over the other on a terminal, and one after the other
// where there is none.
type screen struct {
	session *session.Session
	style   paint.Style
	last    *explain.View
}

func (s *screen) draw(v explain.View, now time.Time) {
	text := s.style.Rollout(v, now)
	if s.session.Terminal {
		s.over(text)
		return
	}
	still := v.Still()
	if s.last != nil && cmp.Equal(*s.last, still) {
		return
	}
	if s.last != nil {
		fmt.Fprintln(s.session.Out)
	}
	s.last = &still
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
	if s.last != nil {
		start = "\x1b[H"
	}
	s.last = &explain.View{}
	fmt.Fprint(s.session.Out, start+strings.Join(lines, "\x1b[K\n")+"\x1b[K\n\x1b[J")
}

func (s *screen) height() int {
	if s.session.Height == nil {
		return 0
	}
	return s.session.Height()
}
