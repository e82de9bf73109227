package chainsaw_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/verify/chainsaw"
)

const (
	live = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: ns, labels: {app: web}, generation: 2},
  spec: {replicas: 2}, status: {replicas: 2, availableReplicas: 1, conditions: [{type: Progressing, status: "True"}, {type: Available, status: "False"}], empty: []}}`
	other  = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: db, namespace: ns, labels: {app: db}}, status: {replicas: 1, availableReplicas: 1}}`
	failed = `{apiVersion: v1, kind: Pod, metadata: {name: web-1, namespace: ns}, status: {phase: Failed}}`
	space  = `{apiVersion: v1, kind: Namespace, metadata: {name: ns}}`
)

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{}
	raw, err := sigsyaml.YAMLToJSON([]byte(text))
	if err == nil {
		err = obj.UnmarshalJSON(raw)
	}
	if err != nil {
		t.Fatal(err)
	}
	return obj
}

func cluster(t *testing.T) (chainsaw.Cluster, *fake.FakeDynamicClient) {
	t.Helper()
	var objs []runtime.Object
	for _, text := range []string{live, other, failed, space} {
		objs = append(objs, object(t, text))
	}
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
		{Group: "apps", Version: "v1", Resource: "deployments"}: "DeploymentList", {Version: "v1", Resource: "pods"}: "PodList",
		{Version: "v1", Resource: "namespaces"}: "NamespaceList",
	}, objs...)
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, meta.RESTScopeNamespace)
	mapper.Add(schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, meta.RESTScopeNamespace)
	mapper.Add(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, meta.RESTScopeRoot)
	return chainsaw.Cluster{Dynamic: client, Mapper: mapper}, client
}

// always is an assert that holds, so that a Test with only an error operation parses.
const always = "    - assert: {resource: {apiVersion: v1, kind: Namespace, metadata: {name: ns}}}\n"

func run(t *testing.T, c chainsaw.Cluster, operation string, budget time.Duration) ([]chainsaw.Failure, error) {
	t.Helper()
	check, err := chainsaw.Parse("demo", "ns", "check.yaml", []byte(test("  - name: one\n    try:\n"+always+"    - "+operation+"\n")))
	if err != nil {
		t.Fatal(err)
	}
	return chainsaw.Run(t.Context(), c, []*chainsaw.Check{check}, budget)
}

func TestRun(t *testing.T) {
	deployment := "{apiVersion: apps/v1, kind: Deployment, metadata: "
	for name, c := range map[string]struct {
		operation string
		want      []string // none: it holds
	}{
		"assert by name":            {"assert: {resource: " + deployment + "{name: db}, status: {(availableReplicas == replicas): true}}}", nil},
		"assert by label":           {"assert: {resource: " + deployment + "{labels: {app: db}}, status: {availableReplicas: 1}}}", nil},
		"one of a list is enough":   {"assert: {resource: " + deployment + "{}, status: {replicas: 1}}}", nil},
		"a binding":                 {"assert: {resource: " + deployment + "{name: db, namespace: ($namespace)}}}", nil},
		"cluster scope":             {"assert: {resource: {apiVersion: v1, kind: Namespace, metadata: {name: ns}}}", nil},
		"members of a list":         {"assert: {resource: " + deployment + "{name: web}, status: {~.(conditions): {(type != ''): true}}}}", nil},
		"error that matches none":   {"error: {resource: {apiVersion: v1, kind: Pod, status: {phase: Unknown}}}", nil},
		"error that selects none":   {"error: {resource: {apiVersion: v1, kind: Pod, metadata: {labels: {app: x}}, status: {phase: Failed}}}", nil},
		"does not exist":            {"assert: {resource: " + deployment + "{name: gone}}}", []string{"assert Deployment ns/gone: it does not exist"}},
		"selects nothing":           {"assert: {resource: " + deployment + "{labels: {app: gone}}}}", []string{"assert Deployment in namespace ns with labels app=gone: it selects nothing"}},
		"other namespace":           {"assert: {resource: " + deployment + "{name: db, namespace: other}}}", []string{"assert Deployment other/db: it does not exist"}},
		"no such condition":         {"assert: {resource: " + deployment + "{name: web}, status: {\"(conditions[?type == 'Ready'] | [0])\": {status: 'True'}}}}", []string{"field not found in the input object"}},
		"iterates over nothing":     {"assert: {resource: " + deployment + "{name: web}, status: {~.(empty): {status: 'True'}}}}", []string{"~.(empty) iterates over nothing"}},
		"iterates over a selection": {"assert: {resource: " + deployment + "{name: web}, status: {\"~.(conditions[?type=='X'])\": {status: 'True'}}}}", []string{"iterates over nothing"}},
		"no such kind":              {"assert: {resource: {apiVersion: nvidia.com/v1, kind: ClusterPolicy, metadata: {name: x}}}", []string{"the cluster has no kind ClusterPolicy in nvidia.com/v1"}},
		"error on no such kind":     {"error: {resource: {apiVersion: nvidia.com/v1, kind: ClusterPolicy}}", []string{"the cluster has no kind ClusterPolicy"}},
		"error in no namespace":     {"error: {resource: {apiVersion: v1, kind: Pod, metadata: {namespace: typo}, status: {phase: Failed}}}", []string{"namespace typo does not exist"}},
		"namespace where none is":   {"assert: {resource: {apiVersion: v1, kind: Namespace, metadata: {name: ns, namespace: ns}}}", []string{"Namespace has no namespaces"}},
		"error that matches":        {"error: {resource: {apiVersion: v1, kind: Pod, status: {phase: Failed}}}", []string{"error Pod in namespace ns: Pod ns/web-1 is what must not be"}},
		"a field that differs": {"assert: {resource: " + deployment + "{name: web}, status: {availableReplicas: 2}}}", []string{
			"health check of demo, step one: assert Deployment ns/web: Deployment ns/web differs: status.availableReplicas: Invalid value: 1: Expected value: 2 (check.yaml:9)",
			"-  availableReplicas: 2", "+  availableReplicas: 1"}},
		"an expression in a map's place": {"assert: {resource: " + deployment + "{name: web}, spec: (@), status: {availableReplicas: 2, replicas: 3}}}", []string{"differs: status.availableReplicas: Invalid value", "status.replicas: Invalid value"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // what fails is given a second each
			cl, _ := cluster(t)
			failures, err := run(t, cl, c.operation, 10*time.Millisecond)
			if err != nil {
				t.Fatal(err)
			}
			if len(c.want) == 0 {
				if len(failures) > 0 {
					t.Errorf("it does not hold: %s", failures[0])
				}
				return
			}
			if len(failures) != 1 {
				t.Fatalf("got %d failures, want one", len(failures))
			}
			text := failures[0].String() + "\n" + strings.Join(failures[0].Why, "\n")
			for _, part := range c.want {
				if !strings.Contains(text, part) {
					t.Errorf("want %q in:\n%s", part, text)
				}
			}
		})
	}
}

// Assert and error wait for the same deadline: both see what comes true in time.
func TestRun_Waits(t *testing.T) {
	for name, operation := range map[string]string{
		"assert": "assert: {resource: {apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, status: {availableReplicas: 2}}}",
		"error":  "error: {resource: {apiVersion: v1, kind: Pod, status: {phase: Failed}}}",
	} {
		t.Run(name, func(t *testing.T) {
			cl, client := cluster(t)
			looks := 0
			client.PrependReactor("*", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
				if looks++; looks == 3 { // the namespace, the first poll, the second
					better := object(t, strings.Replace(live, "availableReplicas: 1", "availableReplicas: 2", 1))
					_ = client.Tracker().Update(schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, better, "ns")
					_ = client.Tracker().Delete(schema.GroupVersionResource{Version: "v1", Resource: "pods"}, "ns", "web-1")
				}
				return false, nil, nil
			})
			failures, err := run(t, cl, operation, 20*time.Second)
			if err != nil || len(failures) > 0 {
				t.Errorf("got %v, %v; want it to hold in the end", failures, err)
			}
		})
	}
}

// An API server that takes longer for its answer than the components have to become ready has its
// answer counted.
func TestRun_SlowAnswer(t *testing.T) {
	cl, client := cluster(t)
	client.PrependReactor("get", "deployments", func(clienttesting.Action) (bool, runtime.Object, error) {
		time.Sleep(1500 * time.Millisecond) // the answer itself is late; there is nothing to wait for
		return false, nil, nil
	})
	failures, err := run(t, cl, "assert: {resource: {apiVersion: apps/v1, kind: Deployment, metadata: {name: db}, status: {availableReplicas: 1}}}", 10*time.Millisecond)
	if err != nil || len(failures) > 0 {
		t.Errorf("got %v, %v; want it to hold", failures, err)
	}
}

// A cluster that cannot be read says nothing about the components.
func TestRun_CannotRead(t *testing.T) {
	for name, c := range map[string]struct {
		err    error
		budget time.Duration
	}{
		"forbidden at once":   {apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("no")), time.Hour},
		"no answer, for long": {errors.New("connection refused"), 10 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			cl, client := cluster(t)
			client.PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, c.err })
			failures, err := run(t, cl, "error: {resource: {apiVersion: v1, kind: Pod, status: {phase: Failed}}}", c.budget)
			if err == nil || !errors.Is(err, c.err) && !strings.Contains(err.Error(), c.err.Error()) || len(failures) > 0 {
				t.Errorf("got %v, %v; want the error", failures, err)
			}
		})
	}
}

// An interrupt is not a failed check.
func TestRun_Interrupted(t *testing.T) {
	cl, _ := cluster(t)
	check, err := chainsaw.Parse("demo", "ns", "check.yaml", []byte(test("  - try:\n    - assert: {resource: {apiVersion: v1, kind: Pod, metadata: {name: gone}}}\n")))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if failures, err := chainsaw.Run(ctx, cl, []*chainsaw.Check{check}, time.Hour); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, %v; want the context's end", failures, err)
	}
}
