package controllers

import (
	"context"
	"time"

	"k8s.io/apiserver/pkg/quota/v1/generic"
	"k8s.io/client-go/util/keyutil"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller"
	"k8s.io/kubernetes/pkg/controller/clusterroleaggregation"
	"k8s.io/kubernetes/pkg/controller/deployment"
	"k8s.io/kubernetes/pkg/controller/disruption"
	"k8s.io/kubernetes/pkg/controller/endpointslice"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"
	"k8s.io/kubernetes/pkg/controller/job"
	"k8s.io/kubernetes/pkg/controller/podautoscaler"
	"k8s.io/kubernetes/pkg/controller/podautoscaler/metrics"
	"k8s.io/kubernetes/pkg/controller/replicaset"
	"k8s.io/kubernetes/pkg/controller/resourcequota"
	serviceaccountcontroller "k8s.io/kubernetes/pkg/controller/serviceaccount"
	"k8s.io/kubernetes/pkg/controller/ttlafterfinished"
	quotainstall "k8s.io/kubernetes/pkg/quota/v1/install"
	"k8s.io/kubernetes/pkg/serviceaccount"
	resourceclient "k8s.io/metrics/pkg/client/clientset/versioned/typed/metrics/v1beta1"
	"k8s.io/metrics/pkg/client/custom_metrics"
	"k8s.io/metrics/pkg/client/external_metrics"
)

func startReplicaSet(ctx context.Context, e *environment) (func(context.Context), error) {
	c := replicaset.NewReplicaSetController(ctx,
		e.informers.Apps().V1().ReplicaSets(), e.informers.Core().V1().Pods(),
		e.client, replicaset.BurstReplicas)
	return with(c.Run), nil
}

func startDeployment(ctx context.Context, e *environment) (func(context.Context), error) {
	c, err := deployment.NewDeploymentController(ctx,
		e.informers.Apps().V1().Deployments(), e.informers.Apps().V1().ReplicaSets(),
		e.informers.Core().V1().Pods(), e.client)
	if err != nil {
		return nil, err
	}
	return with(c.Run), nil
}

func startJob(ctx context.Context, e *environment) (func(context.Context), error) {
	c, err := job.NewController(ctx, e.client,
		e.informers.Core().V1().Pods(), e.informers.Batch().V1().Jobs(), nil, nil)
	if err != nil {
		return nil, err
	}
	return with(c.Run), nil
}

func startTTLAfterFinished(ctx context.Context, e *environment) (func(context.Context), error) {
	return with(ttlafterfinished.New(ctx, e.informers.Batch().V1().Jobs(), e.client).Run), nil
}

func startEndpointSlice(ctx context.Context, e *environment) (func(context.Context), error) {
	const perSlice, batch = 100, 100 * time.Millisecond
	c := endpointslice.NewController(ctx,
		e.informers.Core().V1().Pods(), e.informers.Core().V1().Services(),
		e.informers.Core().V1().Nodes(), e.informers.Discovery().V1().EndpointSlices(),
		perSlice, e.client, batch)
	return with(c.Run), nil
}

func startDisruption(ctx context.Context, e *environment) (func(context.Context), error) {
	scales, err := e.scaleClient()
	if err != nil {
		return nil, err
	}
	c := disruption.NewDisruptionController(ctx,
		e.informers.Core().V1().Pods(), e.informers.Policy().V1().PodDisruptionBudgets(),
		e.informers.Core().V1().ReplicationControllers(), e.informers.Apps().V1().ReplicaSets(),
		e.informers.Apps().V1().Deployments(), e.informers.Apps().V1().StatefulSets(),
		e.client, e.mapper, scales, e.client.Discovery())
	return with(c.Run), nil
}

func startGarbageCollector(ctx context.Context, e *environment) (func(context.Context), error) {
	c, err := garbagecollector.NewGarbageCollector(ctx, e.client, e.metadata, e.mapper,
		garbagecollector.DefaultIgnoredResources(), e.any, e.started)
	if err != nil {
		return nil, err
	}
	return together(
		func(ctx context.Context) { c.Run(ctx, 4*workers, 30*time.Second) },
		func(ctx context.Context) { c.Sync(ctx, e.client.Discovery(), rediscover) },
	), nil
}

func startServiceAccount(ctx context.Context, e *environment) (func(context.Context), error) {
	c, err := serviceaccountcontroller.NewServiceAccountsController(klog.FromContext(ctx),
		e.informers.Core().V1().ServiceAccounts(), e.informers.Core().V1().Namespaces(),
		e.client, serviceaccountcontroller.DefaultServiceAccountsControllerOptions())
	if err != nil {
		return nil, err
	}
	return with(c.Run), nil
}

func startServiceAccountToken(ctx context.Context, e *environment) (func(context.Context), error) {
	key, err := keyutil.PrivateKeyFromFile(e.opts.TokenKeyFile)
	if err != nil {
		return nil, err
	}
	generator, err := serviceaccount.JWTTokenGenerator(serviceaccount.LegacyIssuer, key)
	if err != nil {
		return nil, err
	}
	c, err := serviceaccountcontroller.NewTokensController(klog.FromContext(ctx),
		e.informers.Core().V1().ServiceAccounts(), e.informers.Core().V1().Secrets(), e.client,
		serviceaccountcontroller.TokensControllerOptions{TokenGenerator: generator, RootCA: e.opts.RootCA})
	if err != nil {
		return nil, err
	}
	return with(c.Run), nil
}

func startClusterRoleAggregation(_ context.Context, e *environment) (func(context.Context), error) {
	c := clusterroleaggregation.NewClusterRoleAggregation(
		e.informers.Rbac().V1().ClusterRoles(), e.client.RbacV1())
	return with(c.Run), nil
}

func startResourceQuota(ctx context.Context, e *environment) (func(context.Context), error) {
	lister := generic.ListerFuncForResourceFunc(e.informers.ForResource)
	quota, err := quotainstall.NewQuotaConfigurationForControllers(lister, e.informers)
	if err != nil {
		return nil, err
	}
	kinds := e.client.Discovery().ServerPreferredNamespacedResources
	c, err := resourcequota.NewController(ctx, &resourcequota.ControllerOptions{
		QuotaClient:               e.client.CoreV1(),
		ResourceQuotaInformer:     e.informers.Core().V1().ResourceQuotas(),
		ResyncPeriod:              controller.StaticResyncPeriodFunc(5 * time.Minute),
		InformerFactory:           e.any,
		ReplenishmentResyncPeriod: controller.StaticResyncPeriodFunc(0),
		DiscoveryFunc:             kinds,
		IgnoredResourcesFunc:      quota.IgnoredResources,
		InformersStarted:          e.started,
		Registry:                  generic.NewRegistry(quota.Evaluators()),
		UpdateFilter:              quotainstall.DefaultUpdateFilter(),
	})
	if err != nil {
		return nil, err
	}
	return together(with(c.Run),
		func(ctx context.Context) { c.Sync(ctx, kinds, 30*time.Second) }), nil
}

func startHorizontalPodAutoscaler(ctx context.Context, e *environment) (func(context.Context), error) {
	const (
		period, tolerance    = 5 * time.Second, 0.1
		stabilization, young = 5 * time.Minute, 30 * time.Second
	)
	scales, err := e.scaleClient()
	if err != nil {
		return nil, err
	}
	versions := custom_metrics.NewAvailableAPIsGetter(e.client.Discovery())
	resources, err := resourceclient.NewForConfig(e.config)
	if err != nil {
		return nil, err
	}
	external, err := external_metrics.NewForConfig(e.config)
	if err != nil {
		return nil, err
	}
	c := podautoscaler.NewHorizontalController(ctx, e.client.CoreV1(), scales,
		e.client.AutoscalingV2(), e.mapper,
		metrics.NewRESTMetricsClient(resources,
			custom_metrics.NewForConfig(e.config, e.mapper, versions), external),
		e.informers.Autoscaling().V2().HorizontalPodAutoscalers(), e.informers.Core().V1().Pods(),
		period, stabilization, tolerance, stabilization, young)
	return together(with(c.Run), func(ctx context.Context) {
		custom_metrics.PeriodicallyInvalidate(versions, period, ctx.Done())
	}), nil
}
