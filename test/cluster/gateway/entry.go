package gateway

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

const (
	group = "gateway.networking.k8s.io"
	// controller is the name by which Traefik knows its classes.
	controller = "traefik.io/gateway-controller"
	// pingLimit bounds one question whether Traefik is up.
	pingLimit = 2 * time.Second
)

func gateways() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: group, Version: "v1", Resource: "gateways"}
}

func class() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": group + "/v1", "kind": "GatewayClass",
		"metadata": map[string]any{"name": Name},
		"spec":     map[string]any{"controllerName": controller},
	}}
}

// entry is the Gateway; routes of all namespaces may attach to it.
func entry() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": group + "/v1", "kind": "Gateway",
		"metadata": map[string]any{"name": Name, "namespace": Namespace},
		"spec": map[string]any{
			"gatewayClassName": Name,
			"listeners": []any{map[string]any{
				"name": "web", "protocol": "HTTP", "port": int64(Port),
				"allowedRoutes": map[string]any{"namespaces": map[string]any{"from": "All"}},
			}},
		},
	}}
}

// Missing names what a gateway that routes has and this one lacks; nothing when
// it is ready.
func Missing(ctx context.Context, config *rest.Config) string {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err.Error()
	}
	u, err := client.Resource(gateways()).Namespace(Namespace).Get(ctx, Name, metav1.GetOptions{})
	if err != nil || !condition(u, "Programmed") {
		return fmt.Sprintf("the Gateway %s/%s", Namespace, Name)
	}
	ctx, cancel := context.WithTimeout(ctx, pingLimit)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1:"+strconv.Itoa(AdminPort)+"/ping", nil)
	if err != nil {
		return err.Error()
	}
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		return "Traefik"
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return "Traefik"
	}
	return ""
}
