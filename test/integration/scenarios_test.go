package integration

import (
	"bufio"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-project/sluice/hack/install"
	"github.com/sluice-project/sluice/internal/simulate/script"
)

// sideBySide is how many scenarios run at the same time, unless -parallel says.
const sideBySide = 6

// pace is how real time plays a script.
func pace() script.Pace {
	return script.Pace{
		Divisor:  10,
		Deadline: 8 * time.Second,
		Patience: time.Minute,
		Watch:    3 * time.Second,
		Settle:   10 * time.Second,
	}
}

func (c *cluster) testScenarios(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(top, "scenarios", "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	via := newRecorder(t, c.config, install.User)
	c.start(t, via)
	t.Run("Files", func(t *testing.T) {
		for _, file := range files {
			t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
				t.Parallel()
				c.testScenario(t, via, file)
			})
		}
	})
}

func (c *cluster) testScenario(t *testing.T, via *recorder, file string) {
	s, err := script.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	if why := unreal(t, file); why != "" {
		t.Skipf("virtual only: %s", why)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	namespace := c.namespace(t, "scenario")
	w := newWorld(ctx, c, namespace, via)
	s = s.At(pace())
	if why := script.Missing(s, w, 0); why != "" {
		t.Skip(why)
	}
	real := newMilestones()
	if err := c.watchMilestones(ctx, namespace, real); err != nil {
		t.Fatal(err)
	}
	r := &script.Runner{World: w, Namespace: namespace}
	began := time.Now()
	if err := r.Run(ctx, s); err != nil {
		t.Fatalf("%v\nmilestones so far:\n%s", err, real)
	}
	t.Logf("passed in %s", time.Since(began).Round(time.Second))
	if err := c.caughtUp(ctx, namespace, real); err != nil {
		t.Fatal(err)
	}
	cancel()
	virtual, err := virtually(t.Context(), s)
	if err != nil {
		t.Fatalf("in virtual time, at the same pace: %v", err)
	}
	if s.Needs().Routers {
		// Weights follow single pods while a side grows, in steps that are this
		// world's own; what the script expects held in both.
		return
	}
	if differ(virtual, real) {
		t.Errorf("the worlds differ (- virtual, + real):\n%s",
			cmp.Diff(strings.Split(virtual.String(), "\n"), strings.Split(real.String(), "\n")))
	}
}

// unreal gives the reason of a script that says that it is not for real time.
func unreal(t *testing.T, file string) string {
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		text, comment := strings.CutPrefix(lines.Text(), "#")
		if !comment {
			break
		}
		if why, ok := strings.CutPrefix(strings.TrimSpace(text), "real: no"); ok {
			return strings.TrimLeft(why, ", ")
		}
	}
	return ""
}
