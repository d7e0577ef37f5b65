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
	manifest  = "examples/web.yaml"
	name      = "web"
	goodImage = "nginx:1.28-alpine"
	badImage  = "nginx:1.29-error" // a tag that does not exist
)

// demo is one run.
type demo struct {
	terminal bool
	began    time.Time
	// log is the controller's; kept is its place if it stays after a failure.
	log, kept string

	place    place
	cleanups []func()
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
	d.say("A rollout named %s: 5 pods of nginx:1.27-alpine, and a Service", name)
	d.note("from %s", manifest)
	if err := d.place.create(ctx, manifest); err != nil {
		return err
	}
	if err := d.follow(ctx, "First deployment: there is nothing to protect, so all pods start at once", healthy); err != nil {
		return err
	}
	d.say("A good image, %s, goes out: 20, 40, 60, 80 %%, with a pause of 5 s after each", goodImage)
	d.note("kubectl argo rollouts set image %s %s=%s", name, name, goodImage)
	if err := d.setImage(ctx, goodImage); err != nil {
		return err
	}
	if err := d.follow(ctx, "Good release", healthy); err != nil {
		return err
	}
	d.note("Out: all pods run %s.", goodImage)
	d.say("A bad image, %s: its pods never become ready", badImage)
	d.note("kubectl argo rollouts set image %s %s=%s", name, name, badImage)
	d.note("Traffic stays on the old pods. After 20 s without progress the release is aborted and taken back.")
	if err := d.setImage(ctx, badImage); err != nil {
		return err
	}
	if err := d.follow(ctx, "Bad release", takenBack); err != nil {
		return err
	}
	d.note("Back: all pods run %s, and no request has met the bad image.", goodImage)
	d.next()
	return nil
}

func (d *demo) setImage(ctx context.Context, image string) error {
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
	for _, line := range []string{
		"make demo SIMULATED=1                    the same story in virtual time, in a second",
		"bin/kubectl-argo-rollouts simulate -f " + manifest + " --set image web=" + goodImage + " --at 12s=abort",
		"bin/sluice-cluster up                    a local Kubernetes to play with; it prints a kubeconfig",
		"bin/rollouts-controller --kubeconfig F   the controller on it, once config/crd is applied",
		"bin/kubectl-argo-rollouts --help         promote, abort, retry, undo, restart and more",
	} {
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
