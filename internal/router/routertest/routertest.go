// Package routertest is the conformance suite of router adapters.
//
// Law: an adapter that states a feature passes every check that needs it, on
// every configuration that its tests hand in; what it does not state is skipped
// by name. A check looks at the objects after a write, never at how they came to
// be, and each write of each check is held to the law of package router.
package routertest

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/decide/traffic"
	"github.com/sluice-project/sluice/internal/router"
)

// Subject is one configuration of an adapter with the objects it works on.
type Subject struct {
	Adapter router.Adapter
	// Rollout configures the router. Steps and managed routes are the suite's:
	// what it has of them is replaced.
	Rollout *v1alpha1.Rollout
	Roles   router.Roles
	// Objects are as people wrote them before the first release. Each is needed:
	// without it the router cannot work.
	Objects router.Objects
	// Owned are the places in those objects that a change of weights or sets may
	// touch. Whatever else differs after a write is a failure.
	Owned []Path
	// Closed tells where no foreign field can be: maps that are owned as a whole,
	// and maps of one type of value that the API server would refuse another in.
	// Everywhere else (metadata apart) the suite plants fields. May be nil.
	Closed func(k router.Key, p Path) bool
	// Foreign adds entries of other people to the lists of the objects: routes,
	// destinations, subsets. May be nil.
	Foreign func(objects router.Objects)
	// Admit does to an object that was written what the API server does: fill in
	// defaults. May be nil.
	Admit func(obj *unstructured.Unstructured)
	// Answer sets the status of an object as a data plane would that gives this
	// answer to its present generation. Needed for router.Acknowledges.
	Answer func(obj *unstructured.Unstructured, a traffic.Ack)
	// Lacks are features of the adapter that this configuration has no use for,
	// e.g. router.Subsets where no subset is configured.
	Lacks []router.Feature
	// Without names checks, or routes of the suite, that cannot apply here, with
	// the reason. Use it for what the router itself cannot do.
	Without map[string]string
}

// Path leads to a value in an object: names of fields, and indices of lists as
// decimal numbers. In Subject.Owned "*" stands for any one of them, and a path
// covers all that is below it.
type Path []string

// String joins the path with dots.
func (p Path) String() string { return strings.Join(p, ".") }

// At makes a path of its parts.
func At(parts ...string) Path { return parts }

func (p Path) covers(q Path) bool {
	if len(p) > len(q) {
		return false
	}
	for i := range p {
		if p[i] != "*" && p[i] != q[i] {
			return false
		}
	}
	return true
}

func (s Subject) has(f router.Feature) bool {
	return s.Adapter.Has(f) && !slices.Contains(s.Lacks, f)
}

// admitted has the objects as the API server gives them back.
func (s Subject) admitted() Subject {
	s.Objects = clone(s.Objects)
	if s.Admit != nil {
		for _, obj := range s.Objects {
			s.Admit(obj)
		}
	}
	return s
}

func (s Subject) closed(k router.Key, p Path) bool {
	return s.Closed != nil && s.Closed(k, p)
}

// check is one part of the suite.
type check struct {
	name  string
	needs []router.Feature
	run   func(s Subject) error
}

func checks() []check {
	return []check{
		{"only a spec that names the router uses it", nil, onlyWhereNamed},
		{"healthy objects are no problem", nil, healthy},
		{"weights are read as they were written", []router.Feature{router.Weights}, weights},
		{"weights of another maximum are read as they were written", []router.Feature{router.MaxWeight}, otherMaximum},
		{"weights of experiments come and go", []router.Feature{router.Experiments}, experiments},
		{"header routes by exact value", []router.Feature{router.HeaderExact}, routesOf("exact", "two-values", "two-headers")},
		{"header routes by prefix", []router.Feature{router.HeaderPrefix}, routesOf("prefix")},
		{"header routes by regular expression", []router.Feature{router.HeaderRegex}, routesOf("regex")},
		{"mirror routes", []router.Feature{router.Mirrors}, routesOf("mirror-all", "mirror-part", "mirror-none")},
		{"the order of managed routes is the one asked for", nil, order},
		{"a later step of the same name replaces the route", []router.Feature{router.HeaderExact}, replaced},
		{"managed routes leave no trace", nil, noTrace},
		{"subsets follow their sets", []router.Feature{router.Subsets}, subsets},
		{"two Services take turns", []router.Feature{router.PingPong}, turns},
		{"only owned fields change", nil, onlyOwned},
		{"what it writes is what it says it owns", nil, ownsWhatItWrites},
		{"what others added survives", nil, foreign},
		{"a rival's change is seen and mended", nil, rival},
		{"each want is reached from any other in one write", nil, sequences},
		{"all entrances are divided", []router.Feature{router.SeveralEntrances}, several},
		{"a missing object is told", nil, missing},
		{"objects that the router makes belong to the release", []router.Feature{router.Creates}, created},
		{"the answer of the data plane", []router.Feature{router.Acknowledges}, answers},
		{"nothing is left when the release lets go", nil, returned},
		{"hostile objects do no harm", nil, hostileObjects},
	}
}

// Run holds the subject to every check whose features it has.
func Run(t *testing.T, s Subject) {
	t.Helper()
	s = s.admitted()
	for _, c := range checks() {
		t.Run(c.name, func(t *testing.T) {
			if reason, ok := s.Without[c.name]; ok {
				t.Skip(reason)
			}
			for _, f := range c.needs {
				if !s.has(f) {
					t.Skipf("%s has no %s here", s.Adapter.Name, f)
				}
			}
			if err := c.run(s); err != nil {
				t.Error(err)
			}
		})
	}
}

// Fuzz lets the fuzzer choose how objects are mangled.
func Fuzz(f *testing.F, s Subject) {
	s = s.admitted()
	f.Add([]byte{1, 2, 3})
	f.Add([]byte("the fuzzer's bytes are the dice of the suite"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := hostile(s, bytesAsDice(data), 4); err != nil {
			t.Error(err)
		}
	})
}

// Bench measures, over the subject, a write of another weight, and a whole pass of
// a release: a look at all objects and that write. Hand in an object with about a
// hundred rules.
func Bench(b *testing.B, s Subject) {
	b.Helper()
	t := newTrial(s.admitted(), 0)
	if err := t.write(t.want(10)); err != nil {
		b.Fatal(err)
	}
	in := t.in()
	b.Run("write", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if len(s.Adapter.Write(in, t.want(20))) == 0 {
				b.Fatal("nothing was written")
			}
		}
	})
	b.Run("pass", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if len(s.Adapter.Check(in)) > 0 || len(s.Adapter.Survey(in)) == 0 || len(s.Adapter.Write(in, t.want(20))) == 0 {
				b.Fatal("the objects are a problem, or nothing was written")
			}
		}
	})
}
