// Package behaviour reads what a test wants from a pod: from the annotation
// sluice.dev/pod, and from the image, so that manifests written for a real
// cluster (an image tag that does not exist, say) act here as they would there.
//
// The law: reading is pure, and a wish that cannot be read is never dropped
// silently; it becomes a ConfigError that the pod shows.
package behaviour

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/distribution/reference"
)

// Annotation is the pod annotation that holds a comma-separated wish list.
const Annotation = "sluice.dev/pod"

// defaultSlow is the delay of an image tag "slow" without a duration.
const defaultSlow = 5 * time.Second

// Behaviour is how a container departs from "runs and becomes ready".
// The zero value does not depart.
type Behaviour struct {
	// ConfigError is the reason why the container cannot be configured.
	ConfigError string
	// InvalidImage says that the image's name cannot be parsed.
	InvalidImage bool
	// ImagePull says that the image cannot be pulled.
	ImagePull bool
	// Fail says that the container exits with code 1 whenever it starts.
	Fail bool
	// NeverReady says that it runs but does not become ready.
	NeverReady bool
	// ReadyAfter is the least time from the pod's start to ready.
	ReadyAfter time.Duration
	// Flap is half a period: ready for so long, then unready for so long.
	Flap time.Duration
	// Errors is the percentage of requests that are answered with status 500, 0
	// to 100; Latency the time before each answer. Both matter only where pods
	// serve.
	Errors  int
	Latency time.Duration
}

// Of joins what the annotation and the image ask for. The wishes add up; where
// both give a time the longer one holds.
func Of(annotation, image string) Behaviour {
	b := FromAnnotation(annotation)
	i := FromImage(image)
	return Behaviour{
		ConfigError:  b.ConfigError,
		InvalidImage: i.InvalidImage,
		ImagePull:    b.ImagePull || i.ImagePull,
		Fail:         b.Fail || i.Fail,
		NeverReady:   b.NeverReady || i.NeverReady,
		ReadyAfter:   max(b.ReadyAfter, i.ReadyAfter),
		Flap:         b.Flap,
		Errors:       max(b.Errors, i.Errors),
		Latency:      max(b.Latency, i.Latency),
	}
}

// Version is the tag of an image, or else "latest".
func Version(image string) string {
	if tag := tagOf(image); tag != "" {
		return tag
	}
	return "latest"
}

func tagOf(image string) string {
	named, err := reference.ParseNormalizedNamed(image)
	if err != nil {
		return ""
	}
	if t, ok := named.(reference.Tagged); ok {
		return t.Tag()
	}
	return ""
}

// FromAnnotation reads an annotation's value, such as "ready-after=3s,flap=5s".
func FromAnnotation(value string) Behaviour {
	var b Behaviour
	for _, item := range strings.Split(value, ",") {
		item = strings.TrimSpace(item)
		if item == "" {
			continue
		}
		if err := b.apply(item); err != nil {
			b.ConfigError = fmt.Sprintf("annotation %s: %v", Annotation, err)
		}
	}
	return b
}

func (b *Behaviour) apply(item string) error {
	name, arg, hasArg := strings.Cut(item, "=")
	switch name {
	case "ready-after", "flap", "latency":
		return b.applyTime(name, arg)
	case "errors":
		percent, err := strconv.Atoi(arg)
		if err != nil || percent < 0 || percent > 100 {
			return fmt.Errorf("errors: %q is not a percentage from 0 to 100", arg)
		}
		b.Errors = percent
		return nil
	}
	if hasArg {
		return fmt.Errorf("unknown word %q, or one that takes no value", name)
	}
	switch name {
	case "never-ready":
		b.NeverReady = true
	case "fail":
		b.Fail = true
	case "image-pull":
		b.ImagePull = true
	default:
		return fmt.Errorf("unknown word %q", name)
	}
	return nil
}

func (b *Behaviour) applyTime(name, arg string) error {
	d, err := time.ParseDuration(arg)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if d < 0 || (name == "flap" && d < 100*time.Millisecond) {
		return fmt.Errorf("%s: %s is too short", name, d)
	}
	switch name {
	case "flap":
		b.Flap = d
	case "latency":
		b.Latency = d
	default:
		b.ReadyAfter = d
	}
	return nil
}

// FromImage reads the behaviour that an image's name and tag stand for.
func FromImage(image string) Behaviour {
	var b Behaviour
	named, err := reference.ParseNormalizedNamed(image)
	if err != nil {
		return Behaviour{InvalidImage: true}
	}
	tag := tagOf(image)
	b.applyWords(tag)
	switch {
	case strings.Contains(reference.Path(named), "nonexistent"),
		tag == "error", strings.HasSuffix(tag, "-error"), tag == "bad-pull":
		b.ImagePull = true
	case tag == "crash", tag == "crashloop":
		b.Fail = true
	case tag == "never-ready", tag == "unready":
		b.NeverReady = true
	case tag == "slow":
		b.ReadyAfter = defaultSlow
	case strings.HasPrefix(tag, "slow-"):
		if d, err := time.ParseDuration(strings.TrimPrefix(tag, "slow-")); err == nil && d >= 0 {
			b.ReadyAfter = d
		}
	}
	return b
}

// applyWords reads the words of a tag that say how it answers: error10 for a
// tenth of the requests, slow200ms for the time of each.
func (b *Behaviour) applyWords(tag string) {
	for _, word := range strings.Split(tag, "-") {
		if arg, ok := strings.CutPrefix(word, "error"); ok {
			if percent, err := strconv.Atoi(arg); err == nil && percent >= 0 && percent <= 100 {
				b.Errors = percent
			}
		}
		if arg, ok := strings.CutPrefix(word, "slow"); ok {
			if d, err := time.ParseDuration(arg); err == nil && d >= 0 {
				b.Latency = d
			}
		}
	}
}
