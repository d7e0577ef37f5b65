package simulate

import (
	"fmt"
	"slices"
	"strings"
)

// triesOut tells whether the steps of a seed have experiments: one in sixteen with
// routers, and one in sixteen without.
func triesOut(seed uint64) bool { return seed%16 == 3 || seed%16 == 12 }

// trials makes up what experiments are judged by.
func (g *generator) trials() {
	g.tries = true
	g.proof()
}

// trial makes up a step with an experiment, which ends by itself.
func (g *generator) trial() string {
	out := "experiment " + g.pick("baseline=stable", "canary=canary", "canary=canary") + g.trialTemplate()
	if g.chance(50) {
		out += " second=" + g.pick("stable", "canary") + g.trialTemplate()
	}
	if g.chance(60) {
		out += " for " + g.pick("1s", "20s", "2m")
	} else {
		out += " requires " + g.pick(templateNames()...)
	}
	for range g.IntN(3) {
		name := g.pick(templateNames()...)
		if !strings.Contains(out, name) {
			out += " " + g.pick("requires", "measures") + " " + name
		}
	}
	if g.chance(60) {
		out += " delay " + g.pick("0s", "0s", "1s", "10s", "2m")
	}
	return out
}

func (g *generator) trialTemplate() string {
	out := ""
	if g.chance(50) {
		out += fmt.Sprintf(" pods %d", g.IntN(4))
	}
	if g.weighs && g.chance(60) {
		out += " weight " + g.pick("1", "5", "10", "30")
	}
	if g.chance(30) {
		out += " service"
		if g.chance(50) {
			out += " as " + g.pick("trial", "trial-a", "trial-b")
		}
	}
	return out
}

// withTrials puts experiments between steps, where they are asked for.
func (g *generator) withTrials(steps []string) []string {
	if !g.tries {
		return steps
	}
	for range 1 + g.IntN(2) {
		steps = slices.Insert(steps, g.IntN(len(steps)+1), g.trial())
	}
	return steps
}

// trialEvent is what happens to experiments; false where there are none.
func (g *generator) trialEvent() bool {
	if !g.tries || !g.chance(25) {
		return false
	}
	kinds := []string{"Experiment", "Experiment", "Service", "AnalysisRun", "ReplicaSet"}
	switch g.IntN(10) {
	case 0:
		g.add("terminate experiment")
	case 1:
		g.add("delete experiment")
	case 2:
		g.add("delete experiment pods")
	case 3, 4:
		g.add("fault %s %s for %s", g.pick("drop", "stale"), g.pick(kinds...), g.pick("300ms", "2s", "12s", "40s"))
	case 5, 6:
		g.add("fault refuse %s %s for %s", g.pick(kinds...), g.pick("500", "403", "409", "504", "429"), g.pick("2s", "12s", "40s"))
	case 7:
		g.add("fault crash after %d writes", 1+g.IntN(8))
	case 8:
		g.add("set steps %s", strings.Join(g.withTrials([]string{"setWeight 30", "pause 10s"}), ", "))
	case 9:
		g.add("experiment lone%d a=app:v1%s%s", g.IntN(3), g.pick("", " pods 2", " service"), g.pick(" for 20s", " for 2m", " requires errors", " for 20s measures latency"))
	}
	return true
}

// port has pods listen, without which no Service stands before them.
func (g *generator) port() string {
	if g.tries && g.chance(90) {
		return ", port 8080"
	}
	return ""
}
