package script

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// readWait reads: wait CONDITIONS [within DURATION].
func readWait(_ *parser, w *words) (action, error) {
	conds, err := readConds(w)
	a := wait{conds: conds, within: DefaultWait}
	if err == nil && w.accept("within") {
		a.within, err = w.duration()
	}
	return a, err
}

// readHold reads: hold CONDITIONS during DURATION.
func readHold(_ *parser, w *words) (action, error) {
	conds, err := readConds(w)
	if err != nil {
		return nil, err
	}
	if !w.accept("during") {
		return nil, errors.New("a hold needs: during DURATION")
	}
	d, err := w.duration()
	return hold{conds, d}, err
}

// readExpect reads: expect CONDITIONS, or expect writes N during DURATION.
func readExpect(_ *parser, w *words) (action, error) {
	if !w.accept("writes") {
		conds, err := readConds(w)
		return expect{conds}, err
	}
	b, err := w.bound()
	if err != nil {
		return nil, err
	}
	if !w.accept("during") {
		return nil, errors.New("expect writes needs: during DURATION")
	}
	d, err := w.duration()
	return expectWrites{bound: b, span: d}, err
}

// readService reads: service NAME for ROLLOUT.
func readService(_ *parser, w *words) (action, error) {
	name, err := w.next("the name of the Service")
	if err != nil {
		return nil, err
	}
	if !w.accept("for") {
		return nil, errors.New("write: service NAME for ROLLOUT")
	}
	of, err := w.next("the name of the rollout")
	return service{name, of}, err
}

// readBudget reads: budget NAME minAvailable N for ROLLOUT.
func readBudget(_ *parser, w *words) (action, error) {
	name, err := w.next("the name of the disruption budget")
	if err != nil {
		return nil, err
	}
	if !w.accept("minAvailable") {
		return nil, errors.New("write: budget NAME minAvailable N for ROLLOUT")
	}
	least, err := w.next("a number or a percentage")
	if err != nil {
		return nil, err
	}
	if !w.accept("for") {
		return nil, errors.New("write: budget NAME minAvailable N for ROLLOUT")
	}
	of, err := w.next("the name of the rollout")
	return disruptions{name, of, least}, err
}

// readPods reads: pods IMAGE KIND [DURATION] [stop DURATION].
func readPods(_ *parser, w *words) (action, error) {
	image, err := w.next("an image")
	if err != nil {
		return nil, err
	}
	kinds := []string{"ready-after", "never-ready", "crash-loop", "image-pull", "flap"}
	kind, err := w.next("one of " + strings.Join(kinds, ", "))
	if err != nil {
		return nil, err
	}
	if !slices.Contains(kinds, kind) {
		return nil, fmt.Errorf("%q is no behaviour; behaviours are %s", kind, strings.Join(kinds, ", "))
	}
	b := behave{image: image, how: Behaviour{Kind: kind}}
	if kind == "ready-after" || kind == "flap" {
		if b.how.After, err = w.duration(); err != nil {
			return nil, err
		}
	}
	if w.accept("stop") {
		b.how.Stop, err = w.duration()
	}
	return b, err
}

// readFault reads one of the faults.
func readFault(_ *parser, w *words) (action, error) {
	kind, err := w.next("a fault")
	if err != nil {
		return nil, err
	}
	f := Fault{Kind: FaultKind(kind)}
	switch f.Kind {
	case Crash:
		err = readCrash(&f, w)
	case Conflict:
		f.N, err = w.number()
	case Drop, Stale, Refuse:
		err = readObjectFault(&f, w)
	case Leader, Jump:
		w.accept("for")
		f.Span, err = w.duration()
	default:
		err = fmt.Errorf("%q is no fault; faults are: crash [after N writes] [behind D], conflict N, drop KIND for D, stale [KIND] for D, refuse KIND CODE for D, leader for D, jump D", kind)
	}
	return inject{f}, err
}

// readCrash reads the rest of: fault crash [after N writes] [behind D].
func readCrash(f *Fault, w *words) error {
	var err error
	if w.accept("after") {
		if f.N, err = w.number(); err != nil {
			return err
		}
		if !w.accept("writes") {
			return errors.New("write: fault crash after N writes")
		}
	}
	if w.accept("behind") {
		f.Span, err = w.duration()
	}
	return err
}

func readObjectFault(f *Fault, w *words) error {
	var err error
	if w.peek() != "for" {
		if f.Object, err = w.next("a kind"); err != nil {
			return err
		}
		if empty(f.Object) == nil && emptyRoute(f.Object) == nil && f.Object != "Router" {
			return fmt.Errorf("%q is no kind; kinds are %s, Router, %s", f.Object, objectKinds, known(routeKinds()))
		}
	}
	if f.Kind == Refuse {
		if f.Code, err = w.number(); err != nil {
			return err
		}
	}
	if !w.accept("for") {
		return errors.New("the fault needs: for DURATION")
	}
	f.Span, err = w.duration()
	return err
}

// readScale reads: scale N, or scale set rN M.
func readScale(_ *parser, w *words) (action, error) {
	if !w.accept("set") {
		n, err := w.number()
		return command{verb: "scale", arg: n}, err
	}
	r, err := w.revision()
	if err != nil {
		return nil, err
	}
	n, err := w.number()
	return meddle{verb: "scale", revision: r, count: n}, err
}

// readAnnotate reads: annotate set rN key=value.
func readAnnotate(_ *parser, w *words) (action, error) {
	if !w.accept("set") {
		return nil, errors.New("write: annotate set rN key=value")
	}
	r, err := w.revision()
	if err != nil {
		return nil, err
	}
	kv, err := w.next("key=value")
	if err != nil {
		return nil, err
	}
	k, v, ok := strings.Cut(kv, "=")
	if !ok {
		return nil, fmt.Errorf("%q is not key=value", kv)
	}
	return meddle{verb: "annotate", revision: r, key: k, value: v}, nil
}

func readOnSet(verb string) reader {
	return func(_ *parser, w *words) (action, error) {
		if !w.accept("set") {
			return nil, fmt.Errorf("write: %s set rN", verb)
		}
		r, err := w.revision()
		return meddle{verb: verb, revision: r}, err
	}
}

// readDelete reads: delete set rN, delete pods rN [COUNT], delete rollout,
// delete run USE, delete KIND NAME.
func readDelete(_ *parser, w *words) (action, error) {
	what, err := w.next("set, pods, rollout or a kind")
	if err != nil {
		return nil, err
	}
	switch {
	case what == "rollout":
		return meddle{verb: "delete rollout"}, nil
	case what == "run":
		use, err := readUse(w)
		return endRun{use: use, del: true}, err
	case what == "experiment":
		return endTrial{del: true, pods: w.accept("pods")}, nil
	case what == "set":
		r, err := w.revision()
		return meddle{verb: "delete set", revision: r}, err
	case what == "pods":
		m := meddle{verb: "delete pods", count: -1}
		if m.revision, err = w.revision(); err != nil {
			return nil, err
		}
		if !w.done() {
			m.count, err = w.number()
		}
		return m, err
	case empty(what) != nil, emptyRoute(what) != nil:
		name, err := w.next("a name")
		return meddle{verb: "delete", key: what, value: name}, err
	}
	return nil, fmt.Errorf("%q cannot be deleted; write delete set rN, delete pods rN, delete run USE, delete rollout or delete KIND NAME", what)
}
