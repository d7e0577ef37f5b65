package simulate

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/cli/manifest"
	"github.com/sluice-project/sluice/internal/simulate"
	"github.com/sluice-project/sluice/internal/simulate/model"
	corev1 "k8s.io/api/core/v1"
)

// play is a rehearsal that is ready to begin, with what is to be said of it.
type play struct {
	rehearsal simulate.Rehearsal
	stage     *stage
	// changes are "container: image -> image".
	changes []string
}

func prepare(o *Options, docs []manifest.Document) (*play, error) {
	s, err := setUp(docs, o.Rollout)
	if err != nil {
		return nil, err
	}
	images, err := pairs(o.Images)
	if err != nil {
		return nil, err
	}
	p := &play{stage: s}
	ro := s.rollout
	if len(images) == 0 && len(o.At) == 0 && len(ro.Spec.Template.Spec.Containers) > 0 {
		c := ro.Spec.Template.Spec.Containers[0]
		images = map[string]string{c.Name: next(c.Image)}
		s.assumed = append(s.assumed, fmt.Sprintf("the release gives container %s the image %s (choose with --set image CONTAINER=IMAGE)", c.Name, images[c.Name]))
	}
	p.rehearsal = simulate.Rehearsal{Objects: s.objects, Rollout: ro.Name, Start: o.Session.Now().Truncate(time.Second), Horizon: o.For}
	released := ro.DeepCopy()
	if len(images) > 0 {
		p.rehearsal.Change = simulate.SetImages(images)
		if err := p.rehearsal.Change(released); err != nil {
			return nil, err
		}
		p.changes = changes(ro, released)
	}
	if p.rehearsal.Pods, err = behaviourOf(o, ro, released); err != nil {
		return nil, err
	}
	if p.rehearsal.Metrics, err = series(o.Metrics, s); err != nil {
		return nil, err
	}
	p.rehearsal.Commands, err = commands(o.At, released)
	return p, err
}

// next is the image of a release that nobody named.
func next(image string) string {
	image, _, _ = strings.Cut(image, "@")
	if colon := strings.LastIndexByte(image, ':'); colon > strings.LastIndexByte(image, '/') {
		image = image[:colon]
	}
	return image + ":next"
}

func pairs(images []string) (map[string]string, error) {
	out := map[string]string{}
	for _, text := range images {
		container, image, ok := strings.Cut(text, "=")
		if !ok || container == "" || image == "" || strings.Contains(image, "=") {
			return nil, fmt.Errorf("--set image %s: want CONTAINER=IMAGE", text)
		}
		out[container] = image
	}
	return out, nil
}

func changes(before, after *v1alpha1.Rollout) []string {
	var out []string
	for i, c := range before.Spec.Template.Spec.Containers {
		if to := after.Spec.Template.Spec.Containers[i].Image; to != c.Image {
			out = append(out, fmt.Sprintf("%s: %s -> %s", c.Name, c.Image, to))
		}
	}
	return out
}

// firstImage is the image by which pods are told apart.
func firstImage(ro *v1alpha1.Rollout) string {
	var first corev1.Container
	if list := ro.Spec.Template.Spec.Containers; len(list) > 0 {
		first = list[0]
	}
	return first.Image
}

// behaviourOf says how pods do, by the image of their first container.
func behaviourOf(o *Options, before, after *v1alpha1.Rollout) (map[string]model.Behaviour, error) {
	out := map[string]model.Behaviour{}
	if o.FailPods {
		if firstImage(before) == firstImage(after) {
			return nil, errors.New("--fail-pods needs a release that changes the image of the first container: pods are told apart by it")
		}
		out[firstImage(after)] = model.Behaviour{Kind: model.CrashLoop}
	}
	for _, text := range o.Pods {
		at := strings.LastIndexByte(text, '=')
		if at <= 0 {
			return nil, fmt.Errorf("--pods %s: want IMAGE=BEHAVIOUR, where the behaviours are %s", text, behaviours())
		}
		b, err := behaviour(text[at+1:])
		if err != nil {
			return nil, fmt.Errorf("--pods %s: %w", text, err)
		}
		out[text[:at]] = b
	}
	return out, nil
}

func behaviour(text string) (model.Behaviour, error) {
	name, after, timed := strings.Cut(text, ":")
	if name == "ready" {
		name = string(model.Ready)
	}
	b := model.Behaviour{Kind: model.Kind(name), Stop: time.Second}
	known := false
	for _, k := range model.Kinds() {
		known = known || k == b.Kind
	}
	if !known {
		return b, fmt.Errorf("%q is no behaviour: want one of %s", name, behaviours())
	}
	switch b.Kind {
	case model.Ready:
		b.After = 2 * time.Second
	case model.Flap:
		b.After = 30 * time.Second
	}
	if timed {
		d, err := time.ParseDuration(after)
		if err != nil || d < 0 {
			return b, fmt.Errorf("%q is no duration: want one such as 30s", after)
		}
		b.After = d
	}
	return b, nil
}

// commands are what people do while the release goes on.
func commands(at []string, ro *v1alpha1.Rollout) ([]simulate.Timed, error) {
	var out []simulate.Timed
	for _, text := range at {
		when, what, ok := strings.Cut(text, "=")
		d, err := time.ParseDuration(when)
		if !ok || err != nil || d < 0 {
			return nil, fmt.Errorf("--at %s: want TIME=COMMAND, such as 5m=abort", text)
		}
		line, err := commandLine(what, ro)
		if err != nil {
			return nil, fmt.Errorf("--at %s: %w", text, err)
		}
		out = append(out, simulate.Timed{At: d, Line: line})
	}
	return out, nil
}

func commandLine(text string, ro *v1alpha1.Rollout) (string, error) {
	verb, operand, _ := strings.Cut(text, "=")
	bare := map[string]string{"abort": "abort", "retry": "retry", "promote": "promote", "promote-full": "promote full",
		"skip": "skip", "pause": "pause", "resume": "resume", "restart": "restart", "undo": "undo"}
	if line, ok := bare[verb]; ok && operand == "" {
		return line, nil
	}
	switch {
	case verb == "promote" && operand == "full":
		return "promote full", nil
	case verb == "undo":
		return "undo r" + strings.TrimPrefix(operand, "r"), nil
	case verb == "scale" && operand != "":
		return "scale " + operand, nil
	case verb == "image" && operand != "":
		container, image, both := strings.Cut(operand, "=")
		if !both {
			return "set image " + operand, nil
		}
		if list := ro.Spec.Template.Spec.Containers; len(list) == 0 || list[0].Name != container {
			return "", fmt.Errorf("only the image of the first container can be changed later on, not that of %q", container)
		}
		return "set image " + image, nil
	}
	return "", fmt.Errorf("%q is no command: want abort, retry, promote, promote=full, skip, pause, resume, restart, undo, undo=REVISION, scale=N or image=IMAGE", text)
}
