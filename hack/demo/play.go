package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/command"
	"github.com/sluice-project/sluice/internal/decide/explain"
)

const (
	manifest   = "examples/web.yaml"
	name       = "web"
	goodImage  = "nginx:1.28-alpine"
	badImage   = "nginx:1.29-error"  // a tag that does not exist
	wrongImage = "nginx:1.30-error5" // the local cluster's pods answer 5 of 100 requests with an error
)

// demo is one run.
type demo struct {
	terminal bool
	began    time.Time
	// log is the controller's; kept is its place if it stays after a failure.
	log, kept string

	place    place
	cleanups []func()
	// traffic is nil where there is no data plane.
	traffic *traffic
	judge   judge
}

func (d *demo) later(f func()) { d.cleanups = append(d.cleanups, f) }

func (d *demo) cleanUp() {
	for i := len(d.cleanups) - 1; i >= 0; i-- {
		d.cleanups[i]()
	}
}

// say tells what happens, in bold where there is a terminal.
func (d *demo) say(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if d.terminal {
		text = "\x1b[1m" + text + "\x1b[0m"
	}
	fmt.Printf("\n== %s\n", text)
}

// note adds a line to what was said.
func (d *demo) note(format string, args ...any) { fmt.Printf("   %s\n", fmt.Sprintf(format, args...)) }

func (d *demo) play(ctx context.Context) error {
	if err := d.prepare(ctx); err != nil {
		return err
	}
	acts := []func(context.Context) error{d.first, d.good, d.bad}
	if d.traffic != nil {
		acts = append(acts, d.wrong)
	}
	for _, act := range acts {
		if err := act(ctx); err != nil {
			return err
		}
	}
	if d.traffic != nil {
		d.total()
	}
	d.next()
	return nil
}

func (d *demo) first(ctx context.Context) error {
	if err := d.make(ctx); err != nil {
		return err
	}
	if err := d.follow(ctx, "First deployment: there is nothing to protect, so all pods start at once", healthy); err != nil {
		return err
	}
	if d.traffic == nil {
		return nil
	}
	d.note("From now on %d requests a second go through Traefik; each is counted.", rate)
	return d.startTraffic(ctx)
}

// make makes the objects of the application.
func (d *demo) make(ctx context.Context) error {
	if d.traffic == nil {
		d.say("A rollout named %s: 5 pods of nginx:1.27-alpine, and what leads requests to them", name)
		d.note("from %s", manifest)
		return d.place.create(ctx, manifest, "")
	}
	d.say("A rollout named %s: 5 pods of nginx:1.27-alpine, what leads requests to them, and an analysis", name)
	return d.startJudge(ctx)
}

func (d *demo) good(ctx context.Context) error {
	d.say("A good image, %s, goes out: 20, 40, 60, 80 %%, with a pause of 5 s after each", goodImage)
	if d.traffic != nil {
		d.note("Beside it, %s is asked every 3 s which share of the new pods' answers is good.", d.judge.asks())
	}
	if err := d.setImage(ctx, goodImage); err != nil {
		return err
	}
	if err := d.follow(ctx, "Good release", healthy); err != nil {
		return err
	}
	d.note("Out: all pods run %s.", goodImage)
	return d.verdict(ctx)
}

func (d *demo) bad(ctx context.Context) error {
	d.say("A bad image, %s: its pods never become ready", badImage)
	d.note("Traffic stays on the old pods. After 20 s without progress the release is aborted and taken back.")
	if err := d.setImage(ctx, badImage); err != nil {
		return err
	}
	if err := d.follow(ctx, "Bad release", takenBack); err != nil {
		return err
	}
	d.note("Back: all pods run %s, and no request has met the bad image.", goodImage)
	return nil
}

// wrong releases an image that looks well to Kubernetes and is not.
func (d *demo) wrong(ctx context.Context) error {
	t := d.traffic
	_, t.bad, _ = strings.Cut(wrongImage, ":")
	d.say("A worse image, %s: its pods become ready, and answer 5 of 100 requests with an error", wrongImage)
	d.note("Kubernetes sees nothing of that. The analysis does: twice less than 98 %% good takes the release back.")
	if err := d.setImage(ctx, wrongImage); err != nil {
		return err
	}
	began, aborted := time.Now(), time.Time{}
	back := func(v explain.View) bool {
		if aborted.IsZero() && v.Phase == v1alpha1.RolloutPhaseDegraded {
			aborted = time.Now()
		}
		return takenBack(v)
	}
	if err := d.follow(ctx, "Worse release", back); err != nil {
		return err
	}
	if err := d.verdict(ctx); err != nil {
		return err
	}
	d.note("Back by itself %.0f s after its image was set: %s answers every request again, %.1f s after the verdict.",
		aborted.Sub(began).Seconds(), goodImage, max(0, t.lastBad.Sub(aborted).Seconds()))
	return nil
}

func (d *demo) setImage(ctx context.Context, image string) error {
	d.note("kubectl argo rollouts set image %s %s=%s", name, name, image)
	d.judge.page.about(image)
	s := command.Sender{Client: d.place.client}
	_, err := s.SetImage(ctx, d.key(), name, image)
	return err
}

func (d *demo) key() types.NamespacedName {
	return client.ObjectKey{Namespace: d.place.namespace, Name: name}
}

// next tells what to try after the demo.
func (d *demo) next() {
	d.say("That was it, in %s. What to try next", time.Since(d.began).Round(time.Second))
	lines := []string{
		"make demo SIMULATED=1                    the same story in virtual time, in a second",
		"bin/kubectl-argo-rollouts simulate -f " + manifest + " --set image web=" + goodImage + " --at 12s=abort",
		"bin/sluice-cluster up                    a local Kubernetes to play with; it prints a kubeconfig",
	}
	if d.traffic != nil {
		lines[2] = "bin/sluice-cluster up --dataplane        a local Kubernetes with Traefik to play with (and --prometheus); it prints a kubeconfig"
	}
	for _, line := range append(lines,
		"bin/rollouts-controller --kubeconfig F   the controller on it, once config/crd is applied",
		"bin/kubectl-argo-rollouts --help         promote, abort, retry, undo, restart and more") {
		d.note("%s", line)
	}
}

// healthy tells that the release of the newest template is out.
func healthy(v explain.View) bool {
	return v.Phase == v1alpha1.RolloutPhaseHealthy && v.Replicas.Updated == v.Replicas.Desired && v.Replicas.Current == v.Replicas.Desired
}

// takenBack tells that the newest template was aborted and none of its pods is
// left.
func takenBack(v explain.View) bool {
	return v.Phase == v1alpha1.RolloutPhaseDegraded && v.Replicas.Updated == 0 && v.Replicas.Current == v.Replicas.Desired && v.Replicas.Available == v.Replicas.Desired
}

// declined is the answer no.
type declined struct{}

// Error implements error.
func (declined) Error() string { return "nothing was done" }

// confirm asks whether a cluster that is not ours may be used.
func (d *demo) confirm(where string) error {
	d.say("KUBECONFIG is set, so the demo uses that cluster: %s", where)
	d.note("It makes a namespace, and the definitions of Rollouts if they are missing, and removes both in the end.")
	answer := os.Getenv("YES")
	if answer == "" {
		fmt.Print("   Go on? [y/N] (YES=y says so beforehand) ")
		_, _ = fmt.Fscanln(os.Stdin, &answer) // no answer is no
	}
	if !strings.HasPrefix(strings.ToLower(answer), "y") {
		return declined{}
	}
	return nil
}
