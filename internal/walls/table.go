package walls

import "slices"

// Module is the path of the main module.
const Module = "github.com/sluice-project/sluice"

// Rule says what the packages it names may import. Patterns are exact paths, or
// prefixes when they end in "/..." (the path before it included). Own packages
// are written without the module's path. A package follows the first rule that
// names it.
type Rule struct {
	Packages []string
	// Own are packages of this module.
	Own []string
	// Foreign are packages of other modules.
	Foreign []string
	// Std are packages of the standard library.
	Std []string
	// Reason is why, for the person who runs into the wall.
	Reason string
}

// Ban says what packages may not reach, not even through others.
type Ban struct {
	Packages []string
	Never    []string
	Reason   string
}

// pureStd is what a function of values can need.
func pureStd() []string {
	return []string{"bytes", "cmp", "crypto/sha256", "encoding/...", "errors", "fmt", "hash/...", "iter", "maps", "math", "math/bits",
		"reflect", "regexp/...", "slices", "sort", "strconv", "strings", "text/...", "time", "unicode/..."}
}

// quietStd adds what a package needs that talks to the world through a port that
// it is handed: no process, no network, no chance, no log of its own.
func quietStd() []string {
	return append(pureStd(), "container/...", "context", "io", "sync/...", "runtime/debug")
}

// apiValues are the parts of the Kubernetes types that are plain values.
func apiValues() []string {
	return []string{"k8s.io/api/...",
		"k8s.io/apimachinery/pkg/api/equality", "k8s.io/apimachinery/pkg/api/resource",
		"k8s.io/apimachinery/pkg/apis/meta/v1", "k8s.io/apimachinery/pkg/labels", "k8s.io/apimachinery/pkg/types",
		"k8s.io/apimachinery/pkg/util/intstr", "k8s.io/apimachinery/pkg/util/validation/..."}
}

// port is controller-runtime's reader and writer, with the errors they give.
func port() []string {
	return append(apiValues(), "k8s.io/apimachinery/pkg/...", "sigs.k8s.io/controller-runtime/pkg/client")
}

const pure = "the decision core is a total, pure function of what was observed and of the time it is given: no clock, context, I/O, goroutine, chance, environment or log"

// Rules is the import table.
func Rules() []Rule {
	return slices.Concat(coreRules(), shellRules(), routerRules(), metricRules(), edgeRules())
}

func coreRules() []Rule {
	return []Rule{
		{
			Packages: []string{"api/v1alpha1"},
			Foreign:  []string{"k8s.io/api/...", "k8s.io/apimachinery/..."},
			Std:      pureStd(),
			Reason:   "others build against the wire types: they need Kubernetes' types and nothing else",
		},
		{
			Packages: []string{"internal/decide/plan", "internal/decide/scale", "internal/decide/traffic", "internal/decide/intent"},
			Own:      []string{"internal/decide/plan", "internal/decide/scale", "internal/decide/traffic", "internal/decide/intent"},
			Foreign:  []string{"k8s.io/apimachinery/pkg/util/intstr"},
			Std:      pureStd(),
			Reason:   pure + "; and these are small values that every other part may use",
		},
		{
			Packages: []string{"internal/decide/verdict"},
			Foreign:  []string{"github.com/expr-lang/expr/..."},
			Std:      pureStd(),
			Reason:   pure + "; the condition language knows values and the expression engine, nothing of Kubernetes",
		},
		{
			Packages: []string{"internal/decide/identity"},
			Own:      []string{"api/v1alpha1"},
			Foreign:  append(apiValues(), "k8s.io/apimachinery/pkg/util/rand"),
			Std:      pureStd(),
			Reason:   pure + ". Of util/rand only the encoding of hashes is used",
		},
		{
			Packages: []string{"internal/decide/validate"},
			Own:      []string{"api/v1alpha1", "internal/decide/plan", "internal/decide/scale", "internal/decide/traffic", "internal/decide/verdict"},
			Foreign:  apiValues(),
			Std:      pureStd(),
			Reason:   pure + ". The same rules judge a spec in the controller, at admission and on the command line, so they cannot rest on the state of a release",
		},
		{
			Packages: []string{"internal/decide/explain"},
			Own:      []string{"api/v1alpha1", "internal/decide/..."},
			Foreign:  apiValues(),
			Std:      pureStd(),
			Reason:   pure + ". What people read is made from plans and types alone",
		},
		{
			Packages: []string{"internal/decide/..."},
			Own:      []string{"api/v1alpha1", "internal/decide/..."},
			Foreign:  apiValues(),
			Std:      pureStd(),
			Reason:   pure,
		},
	}
}

func shellRules() []Rule {
	return []Rule{
		{
			Packages: []string{"internal/decode"},
			Own:      []string{"api/v1alpha1"},
			Foreign:  append(apiValues(), "k8s.io/apimachinery/pkg/...", "sigs.k8s.io/yaml"),
			Std:      append(pureStd(), "io"),
			Reason:   "reading documents is the same for files and for a cluster: bytes in, types and problems out",
		},
		{
			Packages: []string{"internal/observe"},
			Own:      []string{"api/v1alpha1", "internal/decide/...", "internal/router"},
			Foreign:  port(),
			Std:      quietStd(),
			Reason:   "observe reads through the reader it is handed, so that the simulator can hand it another, and has no way to write",
		},
		{
			Packages: []string{"internal/act"},
			Own:      []string{"api/v1alpha1", "internal/decide/plan", "internal/decide/traffic", "internal/router"},
			Foreign:  port(),
			Std:      quietStd(),
			Reason:   "act performs plans and judges nothing: what it would need to decide for itself is out of its reach",
		},
		{
			Packages: []string{"internal/reconcile"},
			Own:      []string{"api/v1alpha1", "internal/decide/...", "internal/observe", "internal/act", "internal/router", "internal/metric", "internal/stepplugin"},
			Foreign:  append(port(), "github.com/go-logr/logr"),
			Std:      quietStd(),
			Reason:   "the loop body knows no manager and no queue, so the operator and the simulator drive the same code",
		},
		{
			Packages: []string{"internal/command"},
			Own:      []string{"api/v1alpha1", "internal/decide/..."},
			Foreign:  port(),
			Std:      quietStd(),
			Reason:   "a command is one checked write; printing and asking belong to the command line",
		},
		{
			Packages: []string{"internal/operator"},
			Own: []string{"api/v1alpha1", "internal/decide/...", "internal/observe", "internal/act", "internal/reconcile", "internal/command",
				"internal/decode", "internal/router/...", "internal/metric/...", "internal/stepplugin", "internal/notify"},
			Foreign: []string{"k8s.io/...", "sigs.k8s.io/controller-runtime/...", "github.com/go-logr/logr",
				"github.com/prometheus/client_golang/...", "github.com/spf13/..."},
			Std:    []string{"..."},
			Reason: "the operator is the only place that knows the manager, its queues and the process; it needs nothing of the command line or the simulator",
		},
	}
}

func routerRules() []Rule {
	return []Rule{
		{
			Packages: []string{"internal/router/registry"},
			Own:      []string{"internal/router/..."},
			Std:      pureStd(),
			Reason:   "the list of all routers, for those who start a controller",
		},
		{
			Packages: []string{"internal/router/routertest/..."},
			Own:      []string{"api/v1alpha1", "internal/decide/traffic", "internal/router"},
			Foreign:  append(port(), "github.com/google/go-cmp/...", "sigs.k8s.io/yaml"),
			Std:      append(quietStd(), "testing", "testing/quick", "math/rand/v2"),
			Reason:   "the conformance suite knows the port and no adapter",
		},
		{
			Packages: []string{"internal/router/alb/verify"},
			Own:      []string{"api/v1alpha1", "internal/decide/traffic", "internal/router"},
			Foreign:  append(apiValues(), "k8s.io/apimachinery/pkg/...", "github.com/aws/aws-sdk-go-v2/...", "github.com/aws/smithy-go/..."),
			Std:      append(quietStd(), "net/http"),
			Reason:   "only AWS knows whether its load balancer follows the annotations, so this one part of a router asks the network; it can neither read nor write the cluster",
		},
		{
			Packages: []string{"internal/router/..."},
			Own:      []string{"api/v1alpha1", "internal/decide/traffic", "internal/router"},
			Foreign:  append(apiValues(), "k8s.io/apimachinery/pkg/..."),
			Std:      pureStd(),
			Reason:   "an adapter is a pure transformer of the objects it is given: it can neither read nor write the cluster, and knows no other adapter",
		},
	}
}

func metricRules() []Rule {
	return []Rule{
		{
			Packages: []string{"internal/metric"},
			Own:      []string{"api/v1alpha1", "internal/decide/verdict", "internal/decide/analysis"},
			Foreign:  port(),
			Std:      append(quietStd(), "net/url"),
			Reason:   "the port to providers, and what asks them side by side: it knows no provider, no network and no judgement",
		},
		{
			Packages: []string{"internal/metric/metrictest/..."},
			Own:      []string{"api/v1alpha1", "internal/decide/verdict", "internal/metric"},
			Foreign:  append(port(), "github.com/google/go-cmp/..."),
			Std:      []string{"..."},
			Reason:   "the conformance suite knows the port and no provider",
		},
		{
			Packages: []string{"internal/metric/..."},
			Own:      []string{"api/v1alpha1", "internal/decide/verdict", "internal/metric/..."},
			Foreign: append(port(), "github.com/aws/aws-sdk-go-v2/...", "github.com/aws/smithy-go/...", "github.com/prometheus/...",
				"golang.org/x/oauth2/...", "k8s.io/client-go/util/jsonpath", "k8s.io/api/...", "github.com/expr-lang/expr/..."),
			Std:    append(quietStd(), "crypto/...", "net/...", "os"),
			Reason: "a provider asks one kind of system over the network and says what it was told; it neither judges nor decides",
		},
	}
}

func edgeRules() []Rule {
	return []Rule{
		{
			Packages: []string{"internal/simulate/..."},
			Own: []string{"api/v1alpha1", "internal/decide/...", "internal/observe", "internal/act", "internal/reconcile", "internal/command",
				"internal/decode", "internal/router/...", "internal/metric", "internal/simulate/..."},
			Foreign: append(port(), "github.com/go-logr/logr", "gopkg.in/evanphx/json-patch.v4", "sigs.k8s.io/yaml"),
			Std:     append(quietStd(), "bufio", "math/rand/v2", "os", "path/...", "embed", "io/fs", "unsafe"),
			Reason:  "virtual time drives the real loop with stores and models of its own: no manager, no queue, no network, and chance only from a seed",
		},
		{
			Packages: []string{"internal/cli/..."},
			Own: []string{"api/v1alpha1", "internal/command", "internal/decide/...", "internal/decode", "internal/simulate/...", "internal/cli/...",
				"internal/observe", "internal/router/..."},
			Foreign: []string{"github.com/spf13/...", "github.com/go-logr/logr", "github.com/google/go-cmp/cmp", "golang.org/x/term", "k8s.io/...",
				"sigs.k8s.io/controller-runtime/pkg/client/...", "sigs.k8s.io/controller-runtime/pkg/log", "sigs.k8s.io/kustomize/...", "sigs.k8s.io/yaml"},
			Std:    []string{"..."},
			Reason: "the command line shows and sends commands: it never performs a plan, so act, reconcile and the operator stay out (it may observe: docs/decisions/0002-cli-observes.md)",
		},
		{
			Packages: []string{"cmd/rollouts-controller"},
			Own:      []string{"internal/operator"},
			Std:      []string{"..."},
			Reason:   "a main package only starts its part",
		},
		{
			Packages: []string{"cmd/kubectl-argo-rollouts"},
			Own:      []string{"internal/cli/..."},
			Foreign:  []string{"k8s.io/cli-runtime/pkg/genericclioptions"},
			Std:      []string{"..."},
			Reason:   "a main package only starts its part",
		},
		{
			Packages: []string{"internal/walls"},
			Std:      []string{"..."},
			Reason:   "the check of the walls leans on none of them",
		},
		{
			Packages: []string{"hack/...", "config"},
			Own:      []string{"api/v1alpha1", "internal/...", "hack/...", "test/load"},
			Foreign:  []string{"..."},
			Std:      []string{"..."},
			Reason:   "tools and checks of this repository",
		},
		{
			Packages: []string{"test/..."},
			Own:      []string{"..."},
			Foreign:  []string{"..."},
			Std:      []string{"..."},
			Reason:   "tests may use every part",
		},
	}
}

// Bans is what must not be reached at all.
func Bans() []Ban {
	return []Ban{
		{
			Packages: []string{"..."},
			Never:    []string{"k8s.io/kubernetes/...", "k8s.io/apiserver/...", "go.etcd.io/..."},
			Reason:   "whoever builds or imports this module must not have to compile a Kubernetes server; those live in the nested module test/cluster",
		},
		{
			Packages: []string{"api/...", "internal/decide/...", "internal/decode"},
			Never:    []string{"k8s.io/client-go/...", "sigs.k8s.io/controller-runtime/...", "github.com/prometheus/..."},
			Reason:   "no client is within reach of types and decisions, not even through another package",
		},
		{
			Packages: []string{"internal/observe", "internal/act", "internal/reconcile", "internal/command", "internal/simulate/...", "internal/cli/..."},
			Never:    []string{"sigs.k8s.io/controller-runtime/pkg/manager/...", "sigs.k8s.io/controller-runtime/pkg/controller/...", "sigs.k8s.io/controller-runtime/pkg/cache"},
			Reason:   "only the operator knows controller-runtime's manager",
		},
	}
}
