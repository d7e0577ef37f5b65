package behaviour

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestFromAnnotation(t *testing.T) {
	for name, c := range map[string]struct {
		value string
		want  Behaviour
	}{
		"no wish":               {"", Behaviour{}},
		"a delay":               {"ready-after=3s", Behaviour{ReadyAfter: 3 * time.Second}},
		"wishes join":           {"never-ready, flap=5s", Behaviour{NeverReady: true, Flap: 5 * time.Second}},
		"failing":               {"fail", Behaviour{Fail: true}},
		"an image without pull": {"image-pull", Behaviour{ImagePull: true}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, FromAnnotation(c.value)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFromAnnotationShowsWhatItCannotRead(t *testing.T) {
	for name, c := range map[string]struct{ value, want string }{
		"a misspelt word":         {"fial", `unknown word "fial"`},
		"a misspelt word with =":  {"falp=3s", `unknown word "falp"`},
		"a word without its time": {"ready-after", "ready-after"},
		"no time":                 {"flap=often", "flap"},
		"a time below the least":  {"flap=1ms", "too short"},
		"a time in the past":      {"ready-after=-1s", "too short"},
		"a value too many":        {"fail=1", "takes no value"},
		"beside a good one":       {"never-ready,what", "what"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := FromAnnotation(c.value).ConfigError; !strings.Contains(got, c.want) {
				t.Errorf("got %q, want it to hold %q", got, c.want)
			}
		})
	}
}

func TestFromImage(t *testing.T) {
	pull := Behaviour{ImagePull: true}
	for name, c := range map[string]struct {
		image string
		want  Behaviour
	}{
		"a plain image":               {"nginx:1.19-alpine", Behaviour{}},
		"no tag":                      {"registry.local:5000/app", Behaviour{}},
		"a digest":                    {"app@sha256:" + strings.Repeat("a", 64), Behaviour{}},
		"the error tag":               {"argoproj/rollouts-demo:error", pull},
		"a tag that ends so":          {"nginx:1.19-alpine-argo-error", pull},
		"a repository called error":   {"error:1", Behaviour{}},
		"a name that does not exist":  {"nonexistent-image-that-does-not-exist:latest", pull},
		"a bad pull":                  {"app:bad-pull", pull},
		"a crash":                     {"app:crash", Behaviour{Fail: true}},
		"a crash loop":                {"registry.local:5000/app:crashloop", Behaviour{Fail: true}},
		"never ready":                 {"app:never-ready", Behaviour{NeverReady: true}},
		"unready":                     {"app:unready", Behaviour{NeverReady: true}},
		"slow":                        {"app:slow", Behaviour{ReadyAfter: 5 * time.Second}},
		"slow for a given time":       {"app:slow-1m", Behaviour{ReadyAfter: time.Minute}},
		"slow with an unreadable one": {"app:slow-motion", Behaviour{}},
		"a name with capitals":        {"App:1", Behaviour{InvalidImage: true}},
		"the empty name":              {"", Behaviour{InvalidImage: true}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, FromImage(c.image)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestOfAddsWishesUp(t *testing.T) {
	got := Of("ready-after=2s,flap=1s", "app:slow-9s")
	want := Behaviour{ReadyAfter: 9 * time.Second, Flap: time.Second}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
