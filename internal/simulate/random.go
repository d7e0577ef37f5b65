package simulate

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/sluice-project/sluice/internal/simulate/laws"
	"github.com/sluice-project/sluice/internal/simulate/script"
)

// Result is what a random run came to.
type Result struct {
	Seed uint64
	// Script is the run in the scenario language.
	Script []string
	// Broken is the first law that was broken; nil for none.
	Broken *laws.Violation
	Trace  string
	// Wrote and Passes tell how much was done.
	Wrote, Passes int
}

// Random makes up a rollout, what people do to it and what goes wrong, runs all
// of it, and judges how it ends.
func Random(seed uint64) Result { return RunLines(Options{Seed: seed}, Generate(seed)) }

// RunLines runs the lines of a script in a new world and judges how it ends.
func RunLines(o Options, lines []string) Result {
	r := Result{Seed: o.Seed, Script: lines}
	s, err := script.Parse(fmt.Sprintf("seed %d", o.Seed), strings.Join(lines, "\n"))
	if err != nil {
		panic(err) // what the generator makes up is always legal
	}
	w := New(o)
	run := &script.Runner{World: w, Namespace: Namespace, OnStep: w.told, Lenient: true}
	ctx := context.Background()
	if err := run.Run(ctx, s); err == nil {
		w.Settle(ctx)
	}
	if len(w.judge.Violations) > 0 {
		r.Broken = &w.judge.Violations[0]
	}
	r.Trace, r.Wrote, r.Passes = w.Trace(), w.writes, w.passes
	return r
}

// Shrink leaves out lines one by one as long as the same law breaks.
func Shrink(r Result, decide Decision) Result {
	if r.Broken == nil {
		return r
	}
	for again := true; again; {
		again = false
		for i := len(r.Script) - 1; i >= 0; i-- {
			if strings.HasPrefix(r.Script[i], "  image") {
				continue
			}
			fewer := append(append([]string(nil), r.Script[:i]...), r.Script[i+1:]...)
			if _, err := script.Parse("fewer", strings.Join(fewer, "\n")); err != nil {
				continue
			}
			if n := RunLines(Options{Seed: r.Seed, Decide: decide}, fewer); n.Broken != nil && n.Broken.Law.ID == r.Broken.Law.ID {
				r, again = n, true
			}
		}
	}
	return r
}

// generator makes up scripts.
type generator struct {
	*rand.Rand
	lines  []string
	images int
	// analysed tells that analyses judge the releases.
	analysed bool
	// tries tells that steps have experiments, weighs that a router can give those a
	// share.
	tries, weighs bool
}

// Generate makes up the lines of a script; a seed always gives the same. Every
// other seed has routers.
func Generate(seed uint64) []string {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 77)), images: 1}
	if asksProof(seed) {
		g.proof()
	}
	if triesOut(seed) {
		g.trials()
	}
	if seed%2 == 0 {
		return g.routed()
	}
	g.spec()
	g.add("advance %s", g.pick("1s", "5s", "1m", "20m"))
	for range 3 + g.IntN(12) {
		if !g.trialEvent() && !g.proofEvent() {
			g.event()
		}
		g.add("advance %s", g.pick("0s", "3ms", "20ms", "100ms", "500ms", "1s", "2s", "5s", "12s", "30s", "2m", "10m"))
	}
	return g.lines
}

func (g *generator) add(format string, args ...any) {
	g.lines = append(g.lines, fmt.Sprintf(format, args...))
}

func (g *generator) pick(from ...string) string { return from[g.IntN(len(from))] }

// chance is true in n of a hundred cases.
func (g *generator) chance(n int) bool { return g.IntN(100) < n }

func (g *generator) spec() {
	services := g.chance(25)
	if services {
		g.add("service front for web")
		g.add("service probe for web")
	}
	if g.chance(12) {
		g.add("budget web minAvailable %s for web", g.pick("1", "2", "50%", "100%"))
	}
	if g.chance(10) {
		g.add("rollout bad")
		g.add("  image app:v1, steps setWeight 300")
	}
	g.add("rollout web")
	g.add("  replicas %d", []int{0, 1, 1, 2, 3, 3, 4, 5, 6, 8, 10, 12}[g.IntN(12)])
	g.add("  image app:v1%s", g.port())
	surge, unavailable := g.amount(), g.amount()
	if (surge == "0" || surge == "0%") && (unavailable == "0" || unavailable == "0%") && !g.chance(10) {
		surge = "1"
	}
	if surge != "" {
		g.add("  maxSurge %s", surge)
	}
	if unavailable != "" {
		g.add("  maxUnavailable %s", unavailable)
	}
	if g.chance(75) {
		g.add("  steps %s", g.stepList())
	}
	g.proofSettings()
	if services {
		g.add("  stableService front, canaryService probe")
	}
	if g.chance(30) {
		g.add("  minReady %s", g.pick("3s", "10s", "20s"))
	}
	if g.chance(60) {
		g.add("  deadline %s", g.pick("30s", "1m", "5m"))
	}
	if g.chance(35) {
		g.add("  deadlineAbort")
	}
	if g.chance(20) {
		g.add("  rollbackWindow %d", 1+g.IntN(3))
	}
	if g.chance(35) {
		g.add("  historyLimit %d", g.IntN(3))
	}
}

func (g *generator) amount() string {
	return g.pick("", "", "0", "0", "1", "1", "2", "3", "25%", "50%", "100%", "0%", "10%")
}

func (g *generator) stepList() string {
	var out []string
	for range 1 + g.IntN(6) {
		if g.chance(55) {
			out = append(out, "setWeight "+g.pick("0", "1", "10", "20", "25", "33", "50", "50", "75", "99", "100"))
		} else {
			out = append(out, g.pick("pause", "pause", "pause 2s", "pause 30s", "pause 2m"))
		}
	}
	return strings.Join(g.withTrials(g.withProof(out)), ", ")
}

// event is one thing that somebody does or that goes wrong.
func (g *generator) event() {
	rev := 1 + g.IntN(max(1, g.images))
	switch n := g.IntN(100); {
	case n < 20:
		g.release()
	case n < 28:
		g.add("scale %d", []int{0, 1, 2, 3, 4, 5, 7, 9, 12}[g.IntN(9)])
	case n < 34:
		g.add("abort")
	case n < 38:
		g.add("retry")
	case n < 46:
		g.add("promote")
	case n < 50:
		g.add("promote full")
	case n < 54:
		g.add("pause")
	case n < 58:
		g.add("resume")
	case n < 61:
		g.add("restart")
	case n < 63:
		g.add("skip")
	case n < 66:
		g.add("undo")
	case n < 74:
		g.spoil(rev)
	case n < 78:
		g.change()
	default:
		g.fault()
	}
}

// release sets a new image, or goes back to an old one.
func (g *generator) release() {
	if g.images > 1 && g.chance(25) {
		g.add("set image app:v%d", 1+g.IntN(g.images))
		return
	}
	g.images++
	if g.chance(45) {
		g.add("pods app:v%d %s", g.images, g.pick("ready-after 1s", "ready-after 8s", "ready-after 40s", "ready-after 3m", "never-ready", "crash-loop", "image-pull", "flap 6s"))
	}
	g.add("set image app:v%d", g.images)
}

// spoil does what no controller expects.
func (g *generator) spoil(rev int) {
	switch g.IntN(9) {
	case 8:
		g.add("delete %s", g.pick("Service front", "Service probe", "PodDisruptionBudget web", "rollout"))
	case 0:
		g.add("wipe status")
	case 1:
		g.add("annotate set r%d rollout.argoproj.io/desired-replicas=%s", rev, g.pick("0", "7", "many", "-3"))
	case 2:
		g.add("delete set r%d", rev)
	case 3, 4:
		g.add("delete pods r%d %d", rev, 1+g.IntN(4))
	case 5:
		g.add("scale set r%d %d", rev, g.IntN(6))
	case 6:
		g.add("disown set r%d", rev)
	case 7:
		g.add("annotate set r%d rollout.argoproj.io/revision=%s", rev, g.pick("9", "x", "1"))
	}
}

// change edits the spec beside the template.
func (g *generator) change() {
	switch g.IntN(5) {
	case 0:
		g.add("set steps %s", g.stepList())
	case 1:
		g.add("set maxSurge %s, maxUnavailable %s", g.pick("1", "2", "50%"), g.pick("0", "1", "25%"))
	case 2:
		g.add("set minReady %s", g.pick("0s", "5s", "15s"))
	case 3:
		g.add("set historyLimit %d", g.IntN(3))
	case 4:
		g.add("set annotation team=%s", g.pick("blue", "red"))
	}
}

func (g *generator) fault() {
	kind := g.pick("Rollout", "ReplicaSet", "ReplicaSet")
	span := g.pick("300ms", "2s", "12s", "40s")
	switch g.IntN(10) {
	case 9:
		g.add("fault crash")
	case 0, 1:
		g.add("fault crash after %d writes", 1+g.IntN(6))
	case 2:
		g.add("fault crash behind %s", g.pick("1s", "4s", "15s", "3m"))
	case 3:
		g.add("fault drop %s for %s", kind, span)
	case 4:
		g.add("fault stale %s for %s", kind, span)
	case 5:
		g.add("fault conflict %d", 1+g.IntN(4))
	case 6:
		g.add("fault refuse %s %s for %s", g.pick("Rollout", "ReplicaSet", "Pod"), g.pick("500", "403", "409", "504", "429"), span)
	case 7:
		g.add("fault leader for %s", span)
	case 8:
		g.add("fault jump %s", g.pick("2s", "45s", "15m"))
	}
}
