// Package gateway makes a cluster route HTTP: it installs the definitions of the
// Gateway API and of Traefik, a GatewayClass and a Gateway, and becomes Traefik.
//
// The law: what is installed comes from files that were built with the program
// (hack/build-dataplane.sh); nothing is fetched. What is missing is installed at
// each start, so that a gateway that was killed comes back whole.
package gateway

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

const (
	// Name is that of the Gateway and its class.
	Name = "traefik"
	// Namespace holds the Gateway.
	Namespace = "default"
	// Port is where it takes HTTP, on the loopback. A Gateway's listener must
	// name the same port.
	Port = 80
	// AdminPort serves Traefik's own API and its /ping.
	AdminPort = 9000
	// DefinitionsSuffix follows the program's path in that of the folder with
	// the definitions.
	DefinitionsSuffix = "-crds"

	manager = "sluice-cluster"
	// settle is how long definitions may take to be served.
	settle = 30 * time.Second
)

// Address is where HTTP is taken, inside the cluster's network.
func Address() string { return "127.0.0.1:" + strconv.Itoa(Port) }

// Check says whether a program has been built with its definitions.
func Check(program string) error {
	if _, err := os.Stat(program); err != nil {
		return fmt.Errorf("there is no data plane (hack/build-dataplane.sh builds it): %w", err)
	}
	files, err := definitions(program)
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("no definitions in %s%s; hack/build-dataplane.sh puts them there", program, DefinitionsSuffix)
	}
	return err
}

func definitions(program string) ([]string, error) {
	return filepath.Glob(filepath.Join(program+DefinitionsSuffix, "*.yaml"))
}

// Run installs all that is needed and then replaces this process by Traefik. It
// returns only with an error.
func Run(ctx context.Context, config *rest.Config, kubeconfig, program string) error {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	if err := define(ctx, client, program); err != nil {
		return err
	}
	if err := apply(ctx, client, schema.GroupVersionResource{Group: group, Version: "v1", Resource: "gatewayclasses"}, "", class()); err != nil {
		return err
	}
	if err := apply(ctx, client, gateways(), Namespace, entry()); err != nil {
		return err
	}
	// KUBECONFIG leads Traefik to the cluster.
	environment := append(os.Environ(), "KUBECONFIG="+kubeconfig)
	return become(program, arguments(), environment)
}

// become replaces this process by another program and keeps it bound to its
// parent. The bond is one of the thread that was there first, and it is the
// thread which calls exec that lives on.
func become(program string, arguments, environment []string) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	parent := os.Getppid()
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(syscall.SIGKILL), 0, 0, 0); err != nil {
		return err
	}
	if os.Getppid() != parent {
		return errors.New("the parent is gone")
	}
	return syscall.Exec(program, append([]string{program}, arguments...), environment)
}

// arguments make Traefik listen on the loopback alone, act on a change at once
// and ask nobody for news.
func arguments() []string {
	return []string{
		"--global.checknewversion=false",
		"--global.sendanonymoususage=false",
		"--log.level=INFO",
		"--log.nocolor=true",
		"--entrypoints.web.address=" + Address(),
		"--entrypoints.traefik.address=127.0.0.1:" + strconv.Itoa(AdminPort),
		"--api.insecure=true",
		"--api.dashboard=false", // its pages are not in the module
		"--ping=true",
		"--providers.providersthrottleduration=50ms",
		"--providers.kubernetescrd=true",
		"--providers.kubernetescrd.allowcrossnamespace=true",
		"--providers.kubernetesgateway=true",
		"--providers.kubernetesgateway.experimentalchannel=true",
		"--providers.kubernetesgateway.statusaddress.ip=127.0.0.1",
	}
}

func define(ctx context.Context, client dynamic.Interface, program string) error {
	files, err := definitions(program)
	if err != nil {
		return err
	}
	resource := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	var names []string
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(data, &u.Object); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		undescribe(u.Object["spec"])
		unstructured.RemoveNestedField(u.Object, "status")
		_, err = client.Resource(resource).Create(ctx, u, metav1.CreateOptions{FieldManager: manager})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("%s: %w", file, err)
		}
		names = append(names, u.GetName())
	}
	ctx, cancel := context.WithTimeout(ctx, settle)
	defer cancel()
	for _, name := range names {
		if err := established(ctx, client.Resource(resource), name); err != nil {
			return fmt.Errorf("%s is not served: %w", name, err)
		}
	}
	return nil
}

// undescribe drops the prose from a definition: nobody reads it here, and it is
// most of what the API server would have to work through. A property that is
// called description has a schema for its value and stays.
func undescribe(value any) {
	switch v := value.(type) {
	case map[string]any:
		if _, prose := v["description"].(string); prose {
			delete(v, "description")
		}
		for _, item := range v {
			undescribe(item)
		}
	case []any:
		for _, item := range v {
			undescribe(item)
		}
	}
}

func established(ctx context.Context, client dynamic.ResourceInterface, name string) error {
	for {
		u, err := client.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if condition(u, "Established") {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func condition(u *unstructured.Unstructured, kind string) bool {
	list, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, c := range list {
		if m, ok := c.(map[string]any); ok && m["type"] == kind {
			return m["status"] == "True"
		}
	}
	return false
}

func apply(ctx context.Context, client dynamic.Interface, r schema.GroupVersionResource, namespace string, u *unstructured.Unstructured) error {
	_, err := client.Resource(r).Namespace(namespace).Apply(ctx, u.GetName(), u, metav1.ApplyOptions{FieldManager: manager, Force: true})
	return err
}
