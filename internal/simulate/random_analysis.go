package simulate

import (
	"fmt"
	"slices"
	"strings"
)

// asksProof tells whether the release of a seed is judged by analyses: of a
// quarter of them, with and without routers.
func asksProof(seed uint64) bool { return seed%8 == 5 || seed%8 == 2 }

// templateNames are the analysis templates of made-up scripts, each with a metric
// of its name.
func templateNames() []string { return []string{"errors", "latency", "smoke"} }

// proof makes up templates and what their metrics answer.
func (g *generator) proof() {
	g.analysed = true
	for _, name := range templateNames() {
		if g.chance(95) {
			g.template(name)
		}
		if g.chance(95) {
			g.metric(name)
		}
	}
}

func (g *generator) template(name string) {
	if name == "smoke" && g.chance(70) {
		g.add("template smoke job, interval 10s, count %d%s", 1+g.IntN(2), g.limits(1))
		return
	}
	count := 1 + g.IntN(5)
	line := fmt.Sprintf("template %s interval %s, count %d, success \"result < 0.5\"", name, g.pick("1s", "5s", "10s", "30s"), count)
	if g.chance(40) {
		line += ", failure \"result > 0.8\""
	}
	if g.chance(30) {
		line += ", delay " + g.pick("1s", "10s", "1m")
	}
	if g.chance(35) {
		line += ", noData " + g.pick("Error", "Inconclusive", "Fail", "Ignore")
	}
	if g.chance(15) {
		line += fmt.Sprintf(", minSamples %d", 1+g.IntN(3))
	}
	if g.chance(5) {
		line += ", dryRun .*"
	}
	g.add("%s%s", line, g.limits(count))
}

func (g *generator) limits(count int) string {
	out := ""
	if g.chance(40) {
		out += fmt.Sprintf(", failureLimit %d", g.IntN(count+1))
	}
	if g.chance(30) {
		out += fmt.Sprintf(", inconclusiveLimit %d", g.IntN(count+1))
	}
	if g.chance(40) {
		out += fmt.Sprintf(", errorLimit %d", g.IntN(4))
	}
	return out
}

func (g *generator) metric(name string) {
	out := "metric " + name
	if name == "smoke" && g.chance(80) {
		for range 1 + g.IntN(3) {
			out += " job " + g.pick("succeeds", "succeeds", "succeeds", "fails", "image-pull", "killed") + " after " + g.pick("1s", "10s", "1m")
		}
		g.add("%s", out)
		return
	}
	good := g.chance(55)
	for range 1 + g.IntN(5) {
		if g.chance(10) {
			out += " slow " + g.pick("0s", "2s", "8s", "5m")
		}
		if good {
			out += " " + g.pick("0.1", "0.1", "0.1", "0.1", "0.2", "0.2", "0.9", "error", "nodata")
		} else {
			out += " " + g.pick("0.1", "0.9", "0.6", "nodata", "error", "nan", "inf", "[]", "text", "true")
		}
	}
	g.add("%s", out)
}

// use makes up a use of templates.
func (g *generator) use() string {
	names := g.pick(templateNames()...)
	if other := g.pick(templateNames()...); other != names && g.chance(25) {
		names += "+" + other
	}
	if g.chance(20) {
		names += " onFailure Pause"
	}
	return names
}

// withProof puts analyses between steps, where they are asked for.
func (g *generator) withProof(steps []string) []string {
	if !g.analysed {
		return steps
	}
	for range 1 + g.IntN(2) {
		steps = slices.Insert(steps, g.IntN(len(steps)+1), "analysis "+g.use())
	}
	return steps
}

// proofSettings are those of a rollout that asks for proof.
func (g *generator) proofSettings() {
	if !g.analysed {
		return
	}
	if g.chance(55) {
		g.add("  background %s", g.background())
	}
	if g.chance(30) {
		g.add("  runsKept %d %d", g.IntN(3), g.IntN(3))
	}
}

func (g *generator) background() string {
	b := g.use()
	if g.chance(30) {
		b += fmt.Sprintf(" from %d", g.IntN(4))
	}
	if g.chance(35) {
		b += " requirePass"
	}
	return b
}

// proofEvent is what happens to analyses; false where none are asked for.
func (g *generator) proofEvent() bool {
	if !g.analysed || !g.chance(35) {
		return false
	}
	name := g.pick(templateNames()...)
	switch g.IntN(12) {
	case 0, 1, 2, 3:
		g.metric(name)
	case 4:
		g.template(name)
	case 5:
		g.add("delete AnalysisTemplate %s", name)
		g.add("advance %s", g.pick("0s", "2s", "1m"))
		g.template(name)
	case 6:
		g.add("terminate run %s", g.pick("step", "background"))
	case 7:
		g.add("delete run %s", g.pick("step", "background"))
	case 8:
		g.add("set background %s", g.pick("none", g.background()))
	case 9:
		g.add("fault %s AnalysisRun for %s", g.pick("drop", "stale"), g.pick("300ms", "2s", "12s", "40s"))
	case 10:
		g.add("fault refuse AnalysisRun %s for %s", g.pick("500", "403", "409", "504", "429"), g.pick("2s", "12s", "40s"))
	case 11:
		g.add("set steps %s", strings.Join(g.withProof([]string{"setWeight 30", "pause 10s"}), ", "))
	}
	return true
}
