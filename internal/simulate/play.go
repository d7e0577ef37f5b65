package simulate

import (
	"context"
	"strings"

	"github.com/sluice-project/sluice/internal/simulate/script"
)

// Play runs a script in the world.
func (w *World) Play(ctx context.Context, s *script.Script) error {
	r := &script.Runner{World: w, Namespace: Namespace, OnStep: w.told}
	return r.Run(ctx, s)
}

// told puts what a user does into the trace.
func (w *World) told(st script.Step) {
	if st.Acts() {
		w.trace.add("user", st.Text, "")
	}
}

// playLines plays lines of the scenario language.
func playLines(w *World, lines []string) error {
	s, err := script.Parse("lines", strings.Join(lines, "\n"))
	if err != nil {
		return err
	}
	return w.Play(context.Background(), s)
}
