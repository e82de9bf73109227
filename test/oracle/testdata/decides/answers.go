package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
)

// answers stands for the API server: it knows the objects of all inputs, keeps what would have been written, and lets
// no request out.
type answers struct {
	node string
	pods map[string]*v1.Pod // namespace/name
	// objects are by resource, then by namespace/name.
	objects map[string]map[string]runtime.Object

	mu     sync.Mutex
	status map[string]v1.PodStatus
	writes map[string]int
	last   time.Time
	// watched are the kinds whose list a client has read: it watches them next.
	watched map[string]bool
}

func reply(code int, v any) (*http.Response, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: code, Status: http.StatusText(code), Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(raw))}, nil
}

func missing() (*http.Response, error) {
	return reply(http.StatusNotFound, metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Reason: metav1.StatusReasonNotFound, Message: "not found", Code: http.StatusNotFound})
}

// object is one as a client reads it, with its kind.
func object(o runtime.Object) runtime.Object {
	o = o.DeepCopyObject()
	if kinds, _, err := legacyscheme.Scheme.ObjectKinds(o); err == nil && len(kinds) > 0 {
		o.GetObjectKind().SetGroupVersionKind(kinds[0])
	}
	return o
}

// endless is the body of a watch on which nothing happens.
type endless struct{ done <-chan struct{} }

func (e endless) Read([]byte) (int, error) { <-e.done; return 0, io.EOF }
func (e endless) Close() error             { return nil }

// RoundTrip answers a request.
func (a *answers) RoundTrip(r *http.Request) (*http.Response, error) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	parts = parts[min(len(parts), map[string]int{"api": 2, "apis": 3}[parts[0]]):]
	namespace := ""
	if len(parts) > 2 && parts[0] == "namespaces" {
		namespace, parts = parts[1], parts[2:]
	}
	kind := append(parts, "")[0]
	if r.Method != http.MethodGet {
		return a.write(r, kind, namespace, parts)
	}
	if len(parts) < 2 { // a list
		if r.URL.Query().Get("watch") != "" {
			a.mu.Lock()
			a.watched[kind] = true
			a.mu.Unlock()
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: endless{r.Context().Done()}}, nil
		}
		items := []runtime.Object{}
		for name, o := range a.objects[kind] {
			if namespace == "" || strings.HasPrefix(name, namespace+"/") {
				items = append(items, object(o))
			}
		}
		if kind == "nodes" {
			items = append(items, a.itself())
		}
		return reply(http.StatusOK, map[string]any{"metadata": map[string]any{"resourceVersion": "1"}, "items": items})
	}
	name := parts[1]
	if kind == "pods" {
		return a.pod(namespace + "/" + name)
	}
	if kind == "nodes" && name == a.node {
		return reply(http.StatusOK, a.itself())
	}
	if o := a.objects[kind][namespace+"/"+name]; o != nil {
		return reply(http.StatusOK, object(o))
	}
	return missing()
}

// kubernetes is the Service of the API server, which each cluster has.
var kubernetes = &v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "kubernetes"}, Spec: v1.ServiceSpec{ClusterIP: "10.96.0.1", Ports: []v1.ServicePort{{Name: "https", Protocol: v1.ProtocolTCP, Port: 443}}}}

// itself is a node with room for everything.
func (a *answers) itself() *v1.Node {
	room := v1.ResourceList{"cpu": resource.MustParse("100k"), "memory": resource.MustParse("1Pi"), "pods": resource.MustParse("10k"), "ephemeral-storage": resource.MustParse("1Pi"), "hugepages-2Mi": resource.MustParse("1Pi"), "hugepages-1Gi": resource.MustParse("1Pi")}
	return &v1.Node{Status: v1.NodeStatus{Capacity: room, Allocatable: room}, TypeMeta: metav1.TypeMeta{Kind: "Node", APIVersion: "v1"}, ObjectMeta: metav1.ObjectMeta{Name: a.node, UID: "node", Labels: map[string]string{"kubernetes.io/os": "linux"}}}
}

// hasRead waits until a client has read these kinds.
func (a *answers) hasRead(kinds ...string) error {
	for begin := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		a.mu.Lock()
		open := slices.DeleteFunc(slices.Clone(kinds), func(kind string) bool { return a.watched[kind] })
		a.mu.Unlock()
		if len(open) == 0 {
			return nil
		}
		if time.Since(begin) > 30*time.Second {
			return fmt.Errorf("the kubelet has not read %v within 30 s", open)
		}
	}
}

func (a *answers) pod(key string) (*http.Response, error) {
	p := a.pods[key]
	if p == nil {
		return missing()
	}
	out := p.DeepCopy()
	out.TypeMeta = metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"}
	return reply(http.StatusOK, out)
}

// write keeps the status of pods, and says yes to all else.
func (a *answers) write(r *http.Request, kind, namespace string, parts []string) (*http.Response, error) {
	var raw []byte
	if r.Body != nil {
		var err error
		if raw, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.writes[r.Method+" "+kind]++
	if kind == "pods" && len(parts) > 1 {
		key := namespace + "/" + parts[1]
		var patch struct{ Status v1.PodStatus }
		if r.Method == http.MethodPatch && json.Unmarshal(raw, &patch) == nil {
			a.status[key], a.last = patch.Status, time.Now()
		}
		return a.pod(key)
	}
	var echo map[string]any
	if json.Unmarshal(raw, &echo) != nil {
		return nil, fmt.Errorf("%s %s has a body that is no JSON", r.Method, r.URL.Path)
	}
	return reply(http.StatusCreated, echo)
}
