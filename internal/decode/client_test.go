package decode

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

// The bad object of a cluster: the definition admits it, the Go type does not.
const badRollout = `{"apiVersion":"argoproj.io/v1alpha1","kind":"Rollout","metadata":{"name":"bad","namespace":"ns","uid":"2","resourceVersion":"%s"},
	"spec":{"replicas":3,"template":{"spec":{"containers":[{"name":"a","resources":{"requests":{"memory":"12Mib"}}}]}}}}`

const goodRollout = `{"apiVersion":"argoproj.io/v1alpha1","kind":"Rollout","metadata":{"name":"good","namespace":"ns","uid":"1","resourceVersion":"1"},"spec":{"replicas":2}}`

const badPath = "spec.template.spec.containers[0].resources.requests.memory"

// rolloutServer serves one good and one bad Rollout, and a change of the bad one.
type rolloutServer struct {
	mu      sync.Mutex
	accepts []string
}

func (s *rolloutServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.accepts = append(s.accepts, r.Header.Get("Accept"))
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	query := r.URL.Query()
	switch {
	case query.Get("sendInitialEvents") == "true":
		w.WriteHeader(http.StatusUnprocessableEntity)
		fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422}`)
	case query.Get("watch") == "true":
		fmt.Fprintf(w, `{"type":"MODIFIED","object":`+badRollout+`}`+"\n", "6")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	case strings.HasSuffix(r.URL.Path, "/rollouts"):
		fmt.Fprintf(w, `{"apiVersion":"argoproj.io/v1alpha1","kind":"RolloutList","metadata":{"resourceVersion":"5"},"items":[`+goodRollout+`,`+badRollout+`]}`, "2")
	case strings.HasSuffix(r.URL.Path, "/namespaces/ns/rollouts/bad"):
		fmt.Fprintf(w, badRollout, "2")
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

func serve(t *testing.T) (*rolloutServer, *rest.Config, *runtime.Scheme, meta.RESTMapper) {
	t.Helper()
	handler := &rolloutServer{}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(v1alpha1.GroupVersion.WithKind(v1alpha1.KindRollout), meta.RESTScopeNamespace)
	return handler, &rest.Config{Host: server.URL}, scheme, mapper
}

func TestTypedClientsReadBadObjects(t *testing.T) {
	handler, config, scheme, mapper := serve(t)
	c, err := client.New(config, client.Options{Scheme: scheme, Mapper: mapper})
	if err != nil {
		t.Fatal(err)
	}
	var list v1alpha1.RolloutList
	if err := c.List(t.Context(), &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != 2 {
		t.Fatalf("%d items", len(list.Items))
	}
	var one v1alpha1.Rollout
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "bad"}, &one); err != nil {
		t.Fatal(err)
	}
	for _, r := range []v1alpha1.Rollout{list.Items[1], one} {
		checkBad(t, &r)
	}
	for _, accept := range handler.accepts {
		if strings.Contains(accept, "cbor") || strings.Contains(accept, "protobuf") {
			t.Errorf("a client asks for %q, which would go past the JSON decoding of the types", accept)
		}
	}
}

func TestTypedCachesHoldBadObjects(t *testing.T) {
	_, config, scheme, mapper := serve(t)
	log.SetLogger(logr.Discard())
	c, err := cache.New(config, cache.Options{Scheme: scheme, Mapper: mapper})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	informer, err := c.GetInformer(ctx, &v1alpha1.Rollout{})
	if err != nil {
		t.Fatal(err)
	}
	updates := make(chan *v1alpha1.Rollout, 10)
	if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		UpdateFunc: func(_, updated any) { updates <- updated.(*v1alpha1.Rollout) },
	}); err != nil {
		t.Fatal(err)
	}
	stopped := make(chan error, 1)
	defer func() {
		cancel()
		<-stopped
	}()
	go func() { stopped <- c.Start(ctx) }()
	if !c.WaitForCacheSync(ctx) {
		t.Fatal("the cache never fills")
	}
	var list v1alpha1.RolloutList
	if err := c.List(ctx, &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != 2 {
		t.Errorf("%d items", len(list.Items))
	}
	select {
	case r := <-updates:
		if r.ResourceVersion != "6" {
			t.Errorf("update to version %s", r.ResourceVersion)
		}
		checkBad(t, r)
	case <-ctx.Done():
		t.Fatal("the watched change of the bad object never arrives")
	}
}

func checkBad(t *testing.T, r *v1alpha1.Rollout) {
	t.Helper()
	if r.Name != "bad" || *r.Spec.Replicas != 3 || r.Spec.Template.Spec.Containers[0].Name != "a" {
		t.Errorf("decoded to %+v", r)
	}
	if u := r.UndecodedFields(); len(u) != 1 || u[0].Path != badPath {
		t.Errorf("left out: %+v", u)
	}
}
