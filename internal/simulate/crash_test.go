package simulate

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-project/sluice/internal/simulate/laws"
	"github.com/sluice-project/sluice/internal/simulate/script"
)

// TestCrashAfterEveryWrite is law 4 of plans: the controller dies after its
// first write, then after its second, and so on to its last; each time the
// release must come to the end that it comes to without a crash, with all laws
// in force.
func TestCrashAfterEveryWrite(t *testing.T) {
	base := "rollout web\n  replicas 3, image app:v1, maxSurge 1, maxUnavailable 0, steps setWeight 34, pause 3s, setWeight 67, pause\nwait phase Healthy"
	cases := map[string]struct{ before, after, end string }{
		"a first deployment": {"", base, "phase Healthy, stable 3, stableIs r1, settled, sets 1"},
		"a release to its end": {base, "set image app:v2\nwait step 3, phase Paused within 5m\npromote\nwait phase Healthy within 5m",
			"phase Healthy, stable 3, stableIs r2, set r1 0, settled, sets 2"},
		"an abort": {base + "\nset image app:v2\nwait step 3, phase Paused within 5m", "abort\nwait canary 0, phase Degraded within 5m",
			"phase Degraded, aborted, stable 3, canary 0, settled"},
		"a third revision in mid-release": {base + "\nset image app:v2\nwait step 1, phase Paused within 5m",
			"set image app:v3\nwait step 3, phase Paused within 5m", "phase Paused, canary 2, stable 1..2, set r2 0, settled"},
		"a full promotion": {base + "\nset image app:v2\nwait step 1, phase Paused within 5m", "promote full\nwait phase Healthy within 5m",
			"phase Healthy, stable 3, stableIs r2, set r1 0, settled"},
		"a restart": {base + "\nadvance 5s", "restart\nwait restarted within 10m", "phase Healthy, stable 3, settled, sets 1"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			last := crashAt(t, c.before, c.after, c.end, 0)
			for n := 1; n <= last; n++ {
				crashAt(t, c.before, c.after, c.end, n)
			}
			if last < 3 {
				t.Errorf("only %d writes: the case shows little", last)
			}
		})
	}
}

// crashAt plays the lines with a crash after the nth write of the second part
// (0: none), and gives how many writes that part made.
func crashAt(t *testing.T, before, after, end string, n int) int {
	t.Helper()
	w := New(Options{})
	play := func(text string) {
		t.Helper()
		s, err := script.Parse(fmt.Sprintf("crash after write %d", n), text)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Play(context.Background(), s); err != nil {
			t.Fatalf("%v\n%s", err, w.Trace())
		}
	}
	first, rest := before, after
	if before == "" {
		first, rest = "advance 1s", after
	}
	play(first)
	at := w.Writes()
	lines := strings.Split(rest, "\n")
	subject := ""
	if before != "" {
		subject = "on web\n"
	}
	if n > 0 {
		lines = slices.Insert(lines, 0, fmt.Sprintf("fault crash after %d writes", n))
	}
	play(subject + strings.Join(lines, "\n"))
	made := w.Writes() - at
	play("on web\nadvance 5m\nexpect " + end)
	if vs := w.Violations(); len(vs) > 0 {
		t.Fatalf("crash after write %d: %s\n%s", n, laws.Text(vs), w.Trace())
	}
	return made
}
