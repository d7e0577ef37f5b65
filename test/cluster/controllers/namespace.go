package controllers

import (
	"context"
	"errors"
	"log"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/kubernetes/pkg/controller/namespace/deletion"
)

// emptied is how long a namespace that still holds something waits for the
// next look.
const emptied = 300 * time.Millisecond

// startNamespace empties and finalizes deleted namespaces. The deleter is the
// real one. The real controller's loop around it is not used: it waits 5 s
// before it begins, for clusters with many API servers, and then half of the
// pods' grace period, and every test would wait for that.
func startNamespace(ctx context.Context, e *environment) (func(context.Context), error) {
	deleter := deletion.NewNamespacedResourcesDeleter(ctx, e.client.CoreV1().Namespaces(),
		e.metadata, e.client.CoreV1(), e.client.Discovery().ServerPreferredNamespacedResources,
		corev1.FinalizerKubernetes)
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())
	add := func(obj any) {
		if ns, ok := obj.(*corev1.Namespace); ok && ns.DeletionTimestamp != nil {
			queue.Add(ns.Name)
		}
	}
	informer := e.informers.Core().V1().Namespaces().Informer()
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: add, UpdateFunc: func(_, obj any) { add(obj) },
	})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) {
		if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
			return
		}
		for range workers {
			go emptyNamespaces(ctx, queue, deleter)
		}
		<-ctx.Done()
		queue.ShutDown()
	}, nil
}

func emptyNamespaces(ctx context.Context, queue workqueue.TypedRateLimitingInterface[string],
	deleter deletion.NamespacedResourcesDeleterInterface) {
	for {
		name, stop := queue.Get()
		if stop {
			return
		}
		err := deleter.Delete(ctx, name)
		var remaining *deletion.ResourcesRemainingError
		switch {
		case err == nil:
			queue.Forget(name)
		case errors.As(err, &remaining):
			queue.AddAfter(name, emptied)
		case ctx.Err() == nil:
			log.Printf("namespace %s: %v", name, err)
			queue.AddRateLimited(name)
		}
		queue.Done(name)
	}
}
