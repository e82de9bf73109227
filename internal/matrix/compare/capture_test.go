package compare

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/testkit"
)

func testMapper() meta.RESTMapper {
	m := meta.NewDefaultRESTMapper(nil)
	for _, k := range []struct{ group, version, kind string }{
		{"apps", "v1", "Deployment"}, {"", "v1", "Secret"}, {"batch", "v1", "Job"}, {"", "v1", "ConfigMap"}, {"autoscaling", "v2", "HorizontalPodAutoscaler"},
		{"apps", "v1", "StatefulSet"}, {"monitoring.coreos.com", "v1", "Prometheus"},
	} {
		m.Add(schema.GroupVersionKind{Group: k.group, Version: k.version, Kind: k.kind}, meta.RESTScopeNamespace)
	}
	m.Add(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Wide"}, meta.RESTScopeRoot)
	return m
}

// What is captured: the expectation's objects and the deployer's own, each once, with what is known
// of it.
func TestToCapture(t *testing.T) {
	var e bundle.Expectation
	for _, o := range []struct {
		text      string
		ephemeral bool
	}{
		{text: deploymentYAML(1)}, {text: deploymentYAML(1)}, // two releases own it
		{text: `{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: ns, name: scaled}}`},
		{text: `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {namespace: ns, name: hpa}, spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: scaled}}}`},
		{text: `{apiVersion: batch/v1, kind: Job, metadata: {namespace: ns, name: hook}}`, ephemeral: true},
		{text: `{apiVersion: batch/v1, kind: Job, metadata: {namespace: ns, name: ttl}, spec: {ttlSecondsAfterFinished: 5}}`},
		{text: `{apiVersion: batch/v1, kind: Job, metadata: {namespace: ns, generateName: random-}}`},
		{text: `{apiVersion: example.com/v1, kind: Wide, metadata: {namespace: ns, name: wide}}`}, // rendering could not know its scope
		{text: `{apiVersion: monitoring.coreos.com/v1, kind: Prometheus, metadata: {namespace: ns, name: p}}`},
	} {
		e.Objects = append(e.Objects, bundle.Object{Release: "r", Ephemeral: o.ephemeral, Object: testkit.Parsed(t, o.text)})
	}
	e.Made = []bundle.Object{{Release: "r", Object: testkit.Parsed(t, `{apiVersion: apps/v1, kind: StatefulSet, metadata: {namespace: ns, name: prometheus-p}}`)}}
	own := []lane.Object{
		{GVK: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, Namespace: "ns", Name: "extra", Release: "r"}, {GVK: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, Namespace: "ns", Name: "web", Release: "r"},
		{GVK: schema.GroupVersionKind{Group: "gone.example.com", Version: "v1", Kind: "Gone"}, Namespace: "ns", Name: "x", Release: "r"},
	}
	further := []lane.Object{own[0], own[1], own[2], {GVK: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, Namespace: "ns", Name: "older", Release: "r"}}
	list, err := toCapture(e, own, further, testMapper())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, key := range slices.Sorted(maps.Keys(list)) {
		w := list[key]
		got = append(got, fmt.Sprintf("%s rendered %d gone %t scaled %t further %t", w.ref, len(w.rendered), w.mayBeGone, w.scaled, w.further))
	}
	testkit.WantEach(t, "to capture", got, []string{
		"ConfigMap ns/extra rendered 0 gone false scaled false further false",
		"ConfigMap ns/older rendered 0 gone false scaled false further true",
		"Deployment ns/scaled rendered 1 gone false scaled true",
		"Deployment ns/web rendered 2 gone false scaled false further false",
		"HorizontalPodAutoscaler ns/hpa",
		"Job ns/hook rendered 1 gone true",
		"Job ns/ttl rendered 1 gone true",
		"Prometheus.monitoring.coreos.com ns/p rendered 1",
		"StatefulSet ns/prometheus-p rendered 1",
		"Wide.example.com wide rendered 1",
	})
	e.Objects = []bundle.Object{{Object: testkit.Parsed(t, `{apiVersion: gone.example.com/v1, kind: Gone, metadata: {namespace: ns, name: x}}`)}}
	if _, err := toCapture(e, nil, nil, testMapper()); err == nil || !strings.Contains(err.Error(), "Gone") {
		t.Errorf("an expected object of a kind that is not served: got %v", err)
	}
}

func TestReadNormalised(t *testing.T) {
	live := testkit.Parsed(t, `{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: ns, name: web, uid: u}, spec: {replicas: 4, paused: false}, status: {replicas: 4}}`)
	for scaled, want := range map[bool]string{
		false: `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"ns"},"spec":{"paused":false,"replicas":4}}`,
		true:  `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"ns"},"spec":{"paused":false}}`,
	} {
		w := &wanted{ref: lane.Object{GVK: live.GroupVersionKind(), Namespace: "ns", Name: "web", Release: "r"}, scaled: scaled}
		one, err := w.captured(live.DeepCopy())
		if err != nil || string(one.json) != want || one.uid != "u" || one.scaled != scaled {
			t.Errorf("scaled %t: got %s %+v, %v; want %s", scaled, one.json, one, err, want)
		}
	}
}

// Objects of one resource are read by one list, if they are many: each read of one costs the API server a read of etcd. Secrets
// never are. What does not exist is left out.
func TestReadEach(t *testing.T) {
	var live []runtime.Object
	list, want := map[string]*wanted{}, []string{}
	for _, kind := range []string{"Deployment", "Secret"} {
		version := map[string]string{"Deployment": "apps/v1", "Secret": "v1"}[kind]
		for i := range listFrom + 2 { // of two namespaces; nobody wants the last
			o := testkit.Parsed(t, fmt.Sprintf(`{apiVersion: %s, kind: %s, metadata: {namespace: ns%d, name: x, uid: "%d"}}`, version, kind, i, i))
			live = append(live, o)
			if i <= listFrom {
				w := &wanted{ref: lane.Object{GVK: o.GroupVersionKind(), Namespace: o.GetNamespace(), Name: "x"}}
				list[w.ref.Key()], want = w, append(want, fmt.Sprintf("%s ns%d/x %d", kind, i, i))
			}
		}
		gone := &wanted{ref: lane.Object{GVK: live[len(live)-1].GetObjectKind().GroupVersionKind(), Namespace: "ns0", Name: "gone"}}
		list[gone.ref.Key()] = gone
	}
	client := dynamicfake.NewSimpleDynamicClient(runtime.NewScheme(), live...)
	var mu sync.Mutex
	var got []string
	if err := readEach(t.Context(), client, testMapper(), list, func(w *wanted, o *unstructured.Unstructured) error {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, fmt.Sprintf("%s %s/%s %s", o.GetKind(), w.ref.Namespace, o.GetName(), o.GetUID()))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	asked := map[string]int{}
	for _, a := range client.Actions() {
		asked[a.GetVerb()+" "+a.GetResource().Resource]++
	}
	if want := map[string]int{"list deployments": 1, "get secrets": listFrom + 2}; !maps.Equal(asked, want) {
		t.Errorf("asked %v, want %v", asked, want)
	}
	failed := errors.New("no")
	client.PrependReactor("list", "deployments", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, failed })
	if err := readEach(t.Context(), client, testMapper(), list, func(*wanted, *unstructured.Unstructured) error { return nil }); !errors.Is(err, failed) {
		t.Errorf("a list that fails: got %v", err)
	}
}

// Owners of an object count as rivals where their renderings differ in what is compared: not by
// their tracking labels.
func TestRivals(t *testing.T) {
	config := func(text string) *unstructured.Unstructured {
		return testkit.Parsed(t, "{apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: c"+text+"}")
	}
	for name, tc := range map[string]struct {
		rendered []*unstructured.Unstructured
		releases []string
		want     string
	}{
		"one":                         {[]*unstructured.Unstructured{config("}, data: {k: v}")}, []string{"a"}, "[]"},
		"two with the same":           {[]*unstructured.Unstructured{config("}, data: {k: v}"), config("}, data: {k: v}")}, []string{"a", "b"}, "[]"},
		"two with different content":  {[]*unstructured.Unstructured{config("}, data: {k: v}"), config("}, data: {k: w}")}, []string{"a", "b"}, "[a b]"},
		"of three the last differs":   {[]*unstructured.Unstructured{config("}"), config("}"), config("}, data: {k: w}")}, []string{"a", "b", "c"}, "[a b c]"},
		"another manager in a label":  {[]*unstructured.Unstructured{config(", labels: {app.kubernetes.io/managed-by: x}}"), config("}")}, []string{"a", "b"}, "[]"},
		"one that renders it twice":   {[]*unstructured.Unstructured{config("}, data: {k: v}"), config("}, data: {k: w}")}, []string{"a", "a"}, "[]"},
		"a label that is the chart's": {[]*unstructured.Unstructured{config(", labels: {helm.sh/chart: a-1}}"), config(", labels: {helm.sh/chart: b-1}}")}, []string{"a", "b"}, "[a b]"},
	} {
		t.Run(name, func(t *testing.T) {
			w := wanted{rendered: tc.rendered}
			for i, o := range tc.rendered {
				w.objects = append(w.objects, bundle.Object{Release: tc.releases[i], Object: o})
			}
			got, err := w.rivals()
			if err != nil || fmt.Sprint(got) != tc.want {
				t.Errorf("got %s, %v; want %s", got, err, tc.want)
			}
		})
	}
}
