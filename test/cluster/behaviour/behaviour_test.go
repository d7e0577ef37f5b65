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
		"errors and latency":    {"errors=10,latency=200ms", Behaviour{Errors: 10, Latency: 200 * time.Millisecond}},
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
		"more than all errors":    {"errors=101", "percentage"},
		"a rate as a fraction":    {"errors=0.1", "percentage"},
		"a latency in the past":   {"latency=-1s", "too short"},
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
		"errors and latency":          {"web:v2-error10-slow200ms", Behaviour{Errors: 10, Latency: 200 * time.Millisecond}},
		"errors alone":                {"web:error100", Behaviour{Errors: 100}},
		"more than all errors":        {"web:v2-error101", Behaviour{}},
		"words that are no number":    {"web:errorless-slower", Behaviour{}},
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

func TestVersionIsTheTag(t *testing.T) {
	for image, want := range map[string]string{
		"web:v2-error10": "v2-error10", "registry.local:5000/web": "latest", "": "latest", "App:1": "latest",
	} {
		if got := Version(image); got != want {
			t.Errorf("%q gave %q, want %q", image, got, want)
		}
	}
}

func TestOfAddsWishesUp(t *testing.T) {
	got := Of("ready-after=2s,flap=1s,errors=5", "app:slow-9s")
	want := Behaviour{ReadyAfter: 9 * time.Second, Flap: time.Second, Errors: 5}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
