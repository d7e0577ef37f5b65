package simulate

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-project/sluice/internal/simulate/laws"
)

var (
	seeds = flag.Int("seeds", 2000, "how many random runs")
	from  = flag.Uint64("from", 1, "the first seed")
	every = flag.Uint64("every", 1, "the distance between seeds: -from 3 -every 16 and -from 12 -every 16 are those with experiments")
	most  = flag.Int("failures", 3, "how many failures to shrink and print")
)

// TestProperty runs made-up rollouts with made-up people and faults under all
// laws, each seed twice.
func TestProperty(t *testing.T) {
	var next atomic.Uint64
	next.Store(0)
	runs := *seeds
	if testing.Short() {
		runs = min(runs, 200)
	}
	var mu sync.Mutex
	byLaw := map[string][]Result{}
	failed, writes, passes := 0, 0, 0
	start := time.Now()
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for {
				n := next.Add(1) - 1
				if n >= uint64(runs) {
					return
				}
				r := runTwice(*from + n**every)
				mu.Lock()
				writes, passes = writes+r.Wrote, passes+r.Passes
				if r.Broken != nil {
					failed++
					byLaw[r.Broken.Law.ID] = append(byLaw[r.Broken.Law.ID], r)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	t.Logf("%d seeds from %d in %s: %d failed, %d writes, %d passes", runs, *from, time.Since(start).Round(time.Millisecond), failed, writes, passes)
	for _, law := range slices.Sorted(maps.Keys(byLaw)) {
		list := byLaw[law]
		slices.SortFunc(list, func(a, b Result) int { return cmp.Compare(a.Seed, b.Seed) })
		ids := make([]string, 0, len(list))
		for i, r := range list {
			ids = append(ids, fmt.Sprint(r.Seed))
			if i < *most {
				small := Shrink(r, nil)
				t.Errorf("%s\n%s\n%s", small, strings.Join(small.Script, "\n"), small.Trace)
			}
		}
		t.Errorf("law %s: %d seeds: %s", law, len(list), strings.Join(ids[:min(20, len(ids))], " "))
	}
}

func runTwice(seed uint64) Result {
	r := Random(seed)
	if r.Broken != nil {
		return r
	}
	if again := RunLines(Options{Seed: seed, Unjudged: true}, r.Script); again.Trace != r.Trace {
		r.Broken = &laws.Violation{Law: laws.Deterministic, Detail: "a second run of the seed tells another story"}
	}
	return r
}

// releasesOfWorld is how many releases a world of the benchmark sees, one after
// the other, after its first deployment.
const releasesOfWorld = 10

// BenchmarkRelease5Steps is releases of five steps, each from a rollout at rest to
// a healthy one, under all laws. The time of the first deployment of a world is
// part of the time of its releases.
func BenchmarkRelease5Steps(b *testing.B) {
	lines := []string{"rollout web", "  replicas 4", "  image app:v1", "  maxSurge 1", "  maxUnavailable 0",
		"  steps setWeight 20, pause 10s, setWeight 50, pause 30s, setWeight 80",
		"wait phase Healthy"}
	for i := range releasesOfWorld {
		lines = append(lines, fmt.Sprintf("set image app:v%d", i+2), fmt.Sprintf("wait phase Healthy, stableIs r%d", i+2), "wait condition Healthy")
	}
	b.ReportAllocs()
	releases := 0
	for b.Loop() {
		if r := RunLinesTo(lines); r != nil {
			b.Fatal(r)
		}
		releases += releasesOfWorld
	}
	b.ReportMetric(float64(releases)/b.Elapsed().Seconds(), "releases/s")
}

// RunLinesTo runs lines in a world without a seed.
func RunLinesTo(lines []string) error {
	return playLines(New(Options{}), lines)
}
