package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"github.com/sluice-project/sluice/internal/cli/manifest"
)

// cluster answers as an API server would, from objects of files: get, list, a
// watch on which nothing happens, and merge patches.
type cluster struct {
	mu      sync.Mutex
	objects []map[string]any
	version int
}

// startCluster is the command "cluster FILE...": from then on the programs of the
// script talk to a cluster with those objects, which is theirs alone.
func startCluster(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: cluster FILE...")
	}
	c := &cluster{version: 100}
	var files []string
	for _, a := range args {
		files = append(files, ts.MkAbs(a))
	}
	docs, err := manifest.Read(nil, files)
	ts.Check(err)
	for _, d := range docs {
		meta := d.Raw["metadata"].(map[string]any)
		if meta["namespace"] == nil {
			meta["namespace"] = "default"
		}
		meta["resourceVersion"] = strconv.Itoa(c.version)
		c.objects = append(c.objects, d.Raw)
	}
	server := httptest.NewServer(c)
	ts.Defer(server.Close)
	config := fmt.Sprintf("apiVersion: v1\nkind: Config\ncurrent-context: here\nclusters: [{name: here, cluster: {server: %q}}]\n"+
		"contexts: [{name: here, context: {cluster: here, user: me}}]\nusers: [{name: me, user: {}}]\n", server.URL)
	ts.Check(os.WriteFile(ts.MkAbs("kubeconfig"), []byte(config), 0o600))
	ts.Setenv("KUBECONFIG", ts.MkAbs("kubeconfig"))
	ts.Setenv("CLUSTER", server.URL)
}

// readStored is the command "stored PATH FILE": it writes an object as the cluster
// holds it, as YAML.
func readStored(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: stored PATH FILE")
	}
	answer, err := http.Get(ts.Getenv("CLUSTER") + args[0])
	ts.Check(err)
	defer answer.Body.Close()
	var obj any
	ts.Check(json.NewDecoder(answer.Body).Decode(&obj))
	text, err := yaml.Marshal(obj)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), text, 0o600))
}

// place takes a path of the API apart.
func place(p string) (group, namespace, resource, name string) {
	parts := strings.Split(strings.Trim(path.Clean(p), "/"), "/")
	if parts[0] == "apis" {
		group, parts = parts[1], parts[1:]
	}
	parts = parts[min(2, len(parts)):]
	if len(parts) > 1 && parts[0] == "namespaces" {
		namespace, parts = parts[1], parts[2:]
	}
	parts = append(parts, "", "")
	return group, namespace, parts[0], parts[1]
}

func field(obj map[string]any, name string) string {
	m, _ := obj["metadata"].(map[string]any)
	s, _ := m[name].(string)
	return s
}

// is tells whether an object belongs to a list. The plural of these kinds is plain.
func is(obj map[string]any, group, namespace, resource string) bool {
	version, _ := obj["apiVersion"].(string)
	kind, _ := obj["kind"].(string)
	own, _, grouped := strings.Cut(version, "/")
	if !grouped {
		own = ""
	}
	return own == group && strings.ToLower(kind)+"s" == resource && (namespace == "" || field(obj, "namespace") == namespace)
}

func (c *cluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	group, namespace, resource, name := place(r.URL.Path)
	w.Header().Set("Content-Type", "application/json")
	if r.URL.Query().Get("watch") != "" {
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	at := slices.IndexFunc(c.objects, func(o map[string]any) bool {
		return is(o, group, namespace, resource) && field(o, "name") == name
	})
	switch {
	case name == "":
		reply(w, http.StatusOK, c.list(r, group, namespace, resource))
	case at < 0:
		status(w, http.StatusNotFound, "NotFound", fmt.Sprintf("%s.%s %q not found", resource, group, name))
	case r.Method == http.MethodPatch:
		c.patch(w, r, at)
	default:
		reply(w, http.StatusOK, c.objects[at])
	}
}

func (c *cluster) list(r *http.Request, group, namespace, resource string) map[string]any {
	selector, err := labels.Parse(r.URL.Query().Get("labelSelector"))
	if err != nil {
		selector = labels.Nothing()
	}
	name, _ := strings.CutPrefix(r.URL.Query().Get("fieldSelector"), "metadata.name=")
	items := []any{}
	for _, o := range c.objects {
		own := labels.Set{}
		m, _ := o["metadata"].(map[string]any)
		all, _ := m["labels"].(map[string]any)
		for k, v := range all {
			own[k], _ = v.(string)
		}
		if is(o, group, namespace, resource) && selector.Matches(own) && (name == "" || field(o, "name") == name) {
			items = append(items, o)
		}
	}
	version := "v1"
	if group == "argoproj.io" {
		version = "v1alpha1"
	}
	return map[string]any{"apiVersion": strings.TrimPrefix(group+"/"+version, "/"), "kind": kinds()[resource] + "List",
		"metadata": map[string]any{"resourceVersion": strconv.Itoa(c.version)}, "items": items}
}

// kinds are the kinds that commands list, by resource.
func kinds() map[string]string {
	return map[string]string{"rollouts": "Rollout", "experiments": "Experiment", "analysisruns": "AnalysisRun",
		"replicasets": "ReplicaSet", "pods": "Pod", "services": "Service", "deployments": "Deployment",
		"analysistemplates": "AnalysisTemplate", "clusteranalysistemplates": "ClusterAnalysisTemplate"}
}

func (c *cluster) patch(w http.ResponseWriter, r *http.Request, at int) {
	old, _ := json.Marshal(c.objects[at])
	change := map[string]any{}
	if err := json.NewDecoder(r.Body).Decode(&change); err != nil {
		status(w, http.StatusBadRequest, "BadRequest", err.Error())
		return
	}
	if v := field(change, "resourceVersion"); v != "" && v != field(c.objects[at], "resourceVersion") {
		status(w, http.StatusConflict, "Conflict", "the object has been modified")
		return
	}
	text, _ := json.Marshal(change)
	merged, err := jsonpatch.MergePatch(old, text)
	if err != nil {
		status(w, http.StatusBadRequest, "BadRequest", err.Error())
		return
	}
	obj := map[string]any{}
	_ = json.Unmarshal(merged, &obj)
	c.version++
	obj["metadata"].(map[string]any)["resourceVersion"] = strconv.Itoa(c.version)
	c.objects[at] = obj
	reply(w, http.StatusOK, obj)
}

func reply(w http.ResponseWriter, code int, body any) {
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body)
}

func status(w http.ResponseWriter, code int, reason, message string) {
	reply(w, code, map[string]any{"apiVersion": "v1", "kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": message})
}
