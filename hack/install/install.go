// Package install puts the product's definitions and rights into a local cluster
// from config/cluster-install, for tests and the demo, whose controller runs as a
// process beside the cluster.
//
// Law: what is applied is what an installation applies, less the Deployment.
package install

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

const (
	// Namespace is where the controller lives.
	Namespace = "argo-rollouts"
	// User is the account whose rights the controller has.
	User = "system:serviceaccount:argo-rollouts:argo-rollouts"

	owner = "sluice-install"
	kind  = "CustomResourceDefinition"
)

// Objects reads what an installation holds, the namespace first, from the repository at top.
func Objects(top string) ([]*unstructured.Unstructured, error) {
	dir, err := filepath.Abs(filepath.Join(top, "config", "cluster-install"))
	if err != nil {
		return nil, err
	}
	res, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	ns := &unstructured.Unstructured{}
	ns.SetAPIVersion("v1")
	ns.SetKind("Namespace")
	ns.SetName(Namespace)
	out := []*unstructured.Unstructured{ns}
	for _, r := range res.Resources() {
		text, err := r.AsYAML()
		if err != nil {
			return nil, err
		}
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(text, &u.Object); err != nil {
			return nil, err
		}
		if u.GetKind() != "Deployment" {
			out = append(out, u)
		}
	}
	return out, nil
}

// Definition tells that an object is a definition of a kind.
func Definition(u *unstructured.Unstructured) bool { return u.GetKind() == kind }

// Apply puts objects into the cluster and waits until the kinds that they define
// are served.
func Apply(ctx context.Context, c client.Client, objects []*unstructured.Unstructured) error {
	for _, u := range objects {
		err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(owner), client.ForceOwnership)
		if err != nil {
			return fmt.Errorf("%s %s: %w", u.GetKind(), u.GetName(), err)
		}
	}
	for _, u := range objects {
		if Definition(u) {
			if err := served(ctx, c, u); err != nil {
				return err
			}
		}
	}
	return nil
}

// served waits until a kind can be listed. That is a moment after its definition
// says that it is established, since discovery follows in its own time.
func served(ctx context.Context, c client.Client, definition *unstructured.Unstructured) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	var d apiextensionsv1.CustomResourceDefinition
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(definition.Object, &d); err != nil {
		return err
	}
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion(d.Spec.Group + "/" + d.Spec.Versions[0].Name)
	list.SetKind(d.Spec.Names.Kind + "List")
	for {
		err := c.List(ctx, list, client.Limit(1))
		if err == nil {
			return nil
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("%s is not served: %w", d.Name, err)
		}
	}
}
