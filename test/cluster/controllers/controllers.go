// Package controllers runs the parts of kube-controller-manager that Sluice's
// tests lean on, and a binder in place of a scheduler, in one process.
//
// They are the real controllers, started here directly: going through
// kube-controller-manager would compile every controller there is. To add one,
// write a start function in start.go and name it in the table below.
package controllers

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/scale"
	"k8s.io/controller-manager/pkg/informerfactory"
)

const (
	// workers is the number of workers per controller.
	workers = 5
	// rediscover is how often new kinds (CRDs) are looked for. The real
	// manager takes 30 s; tests install CRDs and use them at once.
	rediscover = 3 * time.Second
)

// start makes a controller and gives the function that runs it.
type start func(context.Context, *environment) (func(context.Context), error)

// table names every controller that this binary can run.
func table() map[string]start {
	return map[string]start{
		"binder":                  startBinder,
		"clusterrole-aggregation": startClusterRoleAggregation,
		"deployment":              startDeployment,
		"disruption":              startDisruption,
		"endpointslice":           startEndpointSlice,
		"garbage-collector":       startGarbageCollector,
		"horizontalpodautoscaler": startHorizontalPodAutoscaler,
		"job":                     startJob,
		"namespace":               startNamespace,
		"replicaset":              startReplicaSet,
		"resourcequota":           startResourceQuota,
		"serviceaccount":          startServiceAccount,
		"serviceaccount-token":    startServiceAccountToken,
		"ttl-after-finished":      startTTLAfterFinished,
	}
}

// Names lists the controllers in order.
func Names() []string {
	var names []string
	for name := range table() {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

// Select reads a list such as "*", "*,-job" or "replicaset,binder".
func Select(list string) ([]string, error) {
	all, chosen := Names(), []string{}
	for _, item := range strings.Split(list, ",") {
		item = strings.TrimSpace(item)
		name, drop := strings.CutPrefix(item, "-")
		switch {
		case item == "":
		case item == "*":
			chosen = append(chosen, all...)
		case !slices.Contains(all, name):
			return nil, fmt.Errorf("no controller %q; there are: %s", name, strings.Join(all, ", "))
		case drop:
			chosen = slices.DeleteFunc(chosen, func(s string) bool { return s == name })
		default:
			chosen = append(chosen, name)
		}
	}
	sort.Strings(chosen)
	return slices.Compact(chosen), nil
}

// Options are what the controllers need beyond the cluster's address.
type Options struct {
	// Names of the controllers to run, from Select.
	Names []string
	// Node is the node that the binder binds to.
	Node string
	// TokenKeyFile signs service account tokens, RootCA goes into their secrets.
	TokenKeyFile string
	RootCA       []byte
}

// environment is what the start functions share.
type environment struct {
	opts      Options
	config    *rest.Config
	client    kubernetes.Interface
	metadata  metadata.Interface
	mapper    *restmapper.DeferredDiscoveryRESTMapper
	informers informers.SharedInformerFactory
	any       informerfactory.InformerFactory
	started   chan struct{}
}

// Run starts the named controllers and serves until ctx ends.
func Run(ctx context.Context, config *rest.Config, opts Options) error {
	env, err := newEnvironment(config, opts)
	if err != nil {
		return err
	}
	var runs []func(context.Context)
	for _, name := range opts.Names {
		run, err := table()[name](ctx, env)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		runs = append(runs, run)
	}
	go wait.UntilWithContext(ctx, func(context.Context) { env.mapper.Reset() }, rediscover)
	env.any.Start(ctx.Done())
	env.informers.Start(ctx.Done())
	close(env.started)
	var wg sync.WaitGroup
	for _, run := range runs {
		wg.Go(func() { run(ctx) })
	}
	wg.Wait()
	return ctx.Err()
}

func newEnvironment(config *rest.Config, opts Options) (*environment, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	meta, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	disco, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	typed := informers.NewSharedInformerFactory(client, 0)
	return &environment{
		opts: opts, config: config, client: client, metadata: meta,
		mapper:    restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(disco)),
		informers: typed,
		any:       informerfactory.NewInformerFactory(typed, metadatainformer.NewSharedInformerFactory(meta, 0)),
		started:   make(chan struct{}),
	}, nil
}

// scaleClient reads and writes the scale subresource of any kind.
func (e *environment) scaleClient() (scale.ScalesGetter, error) {
	return scale.NewForConfig(e.config, e.mapper, dynamic.LegacyAPIPathResolverFunc,
		scale.NewDiscoveryScaleKindResolver(e.client.Discovery()))
}

// with fixes the number of workers of a controller's run method.
func with(run func(context.Context, int)) func(context.Context) {
	return func(ctx context.Context) { run(ctx, workers) }
}

// together runs several loops of one controller.
func together(runs ...func(context.Context)) func(context.Context) {
	return func(ctx context.Context) {
		var wg sync.WaitGroup
		for _, run := range runs {
			wg.Go(func() { run(ctx) })
		}
		wg.Wait()
	}
}
