package script

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

// DefaultWait is how long a wait lasts that names no limit.
const DefaultWait = 10 * time.Minute

// Load reads the script in a file.
func Load(path string) (*Script, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, string(b))
}

// Parse reads a script; the path is for messages and for files that it names.
func Parse(path, src string) (*Script, error) {
	p := &parser{path: path, lines: strings.Split(src, "\n")}
	p.out.Name = strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	p.header()
	for p.at < len(p.lines) {
		if err := p.line(); err != nil {
			return nil, err
		}
	}
	return &p.out, nil
}

type parser struct {
	path  string
	lines []string
	at    int
	out   Script
}

// header reads the comment at the top: its first line is the title, and a line
// "cases: P1 P2" names cases.
func (p *parser) header() {
	for _, l := range p.lines {
		text, ok := strings.CutPrefix(strings.TrimSpace(l), "#")
		if !ok {
			return
		}
		text = strings.TrimSpace(text)
		if ids, ok := strings.CutPrefix(text, "cases:"); ok {
			p.out.Cases = append(p.out.Cases, strings.Fields(ids)...)
		} else if p.out.Title == "" {
			p.out.Title = text
		}
	}
}

// line reads one statement, which may go on over indented lines.
func (p *parser) line() error {
	n := p.at
	raw := p.lines[n]
	p.at++
	w, err := split(raw)
	if err != nil {
		return p.fail(n, err)
	}
	if w.done() {
		return nil
	}
	verb, _ := w.next("")
	read := statements()[verb]
	if read == nil {
		return p.fail(n, fmt.Errorf("%q is no statement; statements are %s", verb, known(statements())))
	}
	do, err := read(p, w)
	if err == nil {
		err = w.end()
	}
	if err != nil {
		var at *lineError
		if errors.As(err, &at) {
			return err
		}
		return p.fail(n, err)
	}
	p.out.Steps = append(p.out.Steps, Step{File: p.path, Line: n + 1, Text: p.text(n), do: do})
	return nil
}

// text is a statement as written, on one line; of manifests only the first line.
func (p *parser) text(from int) string {
	var parts []string
	for _, l := range p.lines[from:p.at] {
		if i := strings.Index(l, " #"); i >= 0 && !strings.Contains(l[i:], `"`) {
			l = l[:i]
		}
		if l = strings.TrimSpace(l); l != "" {
			parts = append(parts, l)
		}
		if strings.HasPrefix(parts[0], "apply ") {
			break
		}
	}
	return strings.Join(parts, ", ")
}

// lineError is an error that already says where.
type lineError struct{ msg string }

func (e *lineError) Error() string { return e.msg }

func (p *parser) fail(line int, err error) error {
	return &lineError{fmt.Sprintf("%s:%d: %s", p.path, line+1, err)}
}

func known[T any](m map[string]T) string {
	return strings.Join(slices.Sorted(maps.Keys(m)), ", ")
}

type reader func(*parser, *words) (action, error)

// statements reads the rest of a line by its first word.
func statements() map[string]reader {
	m := map[string]reader{
		"rollout": readRollout,
		"on": func(_ *parser, w *words) (action, error) {
			name, err := w.next("the name of a rollout")
			return use{name}, err
		},
		"apply":   readApply,
		"service": readService,
		"route":   readRoute,
		"router":  readRouters,
		"rival":   readRival,
		"budget":  readBudget,
		"set":     func(_ *parser, w *words) (action, error) { f, err := readFields(w); return change{f}, err },
		"wait":    readWait,
		"expect":  readExpect,
		"hold":    readHold,
		"advance": func(_ *parser, w *words) (action, error) { d, err := w.duration(); return advance{d}, err },
		"pods":    readPods,
		"fault":   readFault,
		"scale":   readScale,
		"wipe": func(_ *parser, w *words) (action, error) {
			if !w.accept("status") {
				return nil, errors.New("only the status can be wiped: wipe status")
			}
			return meddle{verb: "wipe"}, nil
		},
		"annotate": readAnnotate,
		"disown":   readOnSet("disown"),

		"template":         readTemplate(false),
		"cluster-template": readTemplate(true),
		"metric":           readMetric,
		"experiment":       readExperiment,
		"terminate":        readTerminate,
		"delete":           readDelete,
	}
	for _, verb := range []string{"promote", "abort", "retry", "pause", "resume", "restart", "undo", "skip", "unpause"} {
		m[verb] = readCommand(verb)
	}
	return m
}

func readCommand(verb string) reader {
	return func(_ *parser, w *words) (action, error) {
		c := command{verb: verb, arg: -1}
		var err error
		switch {
		case verb == "promote" && w.accept("full"):
			c.verb = "promote full"
		case verb == "undo" && !w.done():
			c.arg, err = w.revision()
		case verb == "skip" && w.accept("to"):
			c.arg, err = w.number()
		case verb == "restart" && w.accept("in"):
			c.in, err = w.duration()
		}
		return c, err
	}
}

// readRollout reads the name, and the indented lines that follow.
func readRollout(p *parser, w *words) (action, error) {
	name, err := w.next("the name of the rollout")
	if err != nil {
		return nil, err
	}
	d := declare{fields{name: name}}
	err = p.indented(func(w *words) error {
		f, err := readFields(w)
		d.fields.set = append(d.fields.set, f.set...)
		return err
	})
	return d, err
}

// indented reads the indented lines that follow.
func (p *parser) indented(read func(*words) error) error {
	for ; p.at < len(p.lines); p.at++ {
		l := p.lines[p.at]
		if strings.TrimSpace(l) == "" || l[0] != ' ' && l[0] != '\t' {
			break
		}
		w, err := split(l)
		if err == nil && !w.done() {
			err = read(w)
		}
		if err == nil {
			err = w.end()
		}
		if err != nil {
			return p.fail(p.at, err)
		}
	}
	return nil
}

func readFields(w *words) (fields, error) {
	var f fields
	all := settings()
	if w.done() {
		return f, fmt.Errorf("a field is missing; fields are %s", known(all))
	}
	for !w.done() {
		word, _ := w.next("")
		read := all[word]
		if read == nil {
			return f, fmt.Errorf("%q is no field; fields are %s", word, known(all))
		}
		set, err := read(w)
		if err != nil {
			return f, fmt.Errorf("%s: %w", word, err)
		}
		f.set = append(f.set, setting{word, set})
	}
	return f, nil
}

// readApply reads manifests from a file beside the script, or from the lines up
// to a mark: apply <<END.
func readApply(p *parser, w *words) (action, error) {
	from, err := w.next("a file name or <<MARK")
	if err != nil {
		return nil, err
	}
	var src []byte
	if mark, ok := strings.CutPrefix(from, "<<"); ok {
		start := p.at
		for p.at < len(p.lines) && strings.TrimSpace(p.lines[p.at]) != mark {
			p.at++
		}
		if p.at == len(p.lines) {
			return nil, fmt.Errorf("no line with %s ends the manifest", mark)
		}
		src = []byte(strings.Join(p.lines[start:p.at], "\n"))
		p.at++
	} else if src, err = os.ReadFile(filepath.Join(filepath.Dir(p.path), from)); err != nil {
		return nil, err
	}
	objs, err := Decode(src)
	return manifest{objs}, err
}

// Decode reads the objects of a YAML stream.
func Decode(src []byte) ([]client.Object, error) {
	var out []client.Object
	docs := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(src)))
	for {
		doc, err := docs.Read()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		if len(bytes.TrimSpace(doc)) == 0 {
			continue
		}
		var head struct{ Kind string }
		if err := sigsyaml.Unmarshal(doc, &head); err != nil {
			return nil, err
		}
		obj := empty(head.Kind)
		if obj == nil {
			obj = emptyRoute(head.Kind)
		}
		if obj == nil {
			return nil, fmt.Errorf("kind %q is not played; kinds are %s, %s", head.Kind, objectKinds, known(routeKinds()))
		}
		if err := decodeInto(obj, doc); err != nil {
			return nil, err
		}
		out = append(out, obj)
	}
}

func decodeInto(obj client.Object, doc []byte) error {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return sigsyaml.Unmarshal(doc, obj)
	}
	b, err := sigsyaml.YAMLToJSON(doc)
	if err != nil {
		return err
	}
	return u.UnmarshalJSON(b)
}

const objectKinds = "Rollout, ReplicaSet, Pod, Service, Deployment, PodDisruptionBudget, AnalysisTemplate, ClusterAnalysisTemplate, AnalysisRun, Experiment"

func empty(kind string) client.Object {
	switch kind {
	case "Rollout":
		return &v1alpha1.Rollout{}
	case "ReplicaSet":
		return &appsv1.ReplicaSet{}
	case "Pod":
		return &corev1.Pod{}
	case "Service":
		return &corev1.Service{}
	case "Deployment":
		return &appsv1.Deployment{}
	case "PodDisruptionBudget":
		return &policyv1.PodDisruptionBudget{}
	case "AnalysisTemplate":
		return &v1alpha1.AnalysisTemplate{}
	case "ClusterAnalysisTemplate":
		return &v1alpha1.ClusterAnalysisTemplate{}
	case "AnalysisRun":
		return &v1alpha1.AnalysisRun{}
	case "Experiment":
		return &v1alpha1.Experiment{}
	}
	return nil
}
