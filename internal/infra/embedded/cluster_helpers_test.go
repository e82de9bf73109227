package embedded

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/infra/stack"
	"github.com/nvidia/aicr-action/internal/testkit"
	"github.com/nvidia/aicr-action/internal/testkit/infratest"
	"github.com/nvidia/aicr-action/internal/util/wait"
	"github.com/nvidia/aicr-action/kwok"
)

// testCluster is a cluster on the real stack, with its own supervisor.
type testCluster struct {
	*ControlPlane
	paths   host.Paths
	ports   *host.Ports
	sup     *host.Supervisor
	clients *infra.Clients
}

// logProgress says on the test's log what is compiled: on a fresh machine that takes minutes.
type logProgress struct{ t testing.TB }

func (p logProgress) Begin(what string) infra.Task { p.t.Log(what); return logTask{p.t, what} }

type logTask struct {
	t    testing.TB
	what string
}

func (logTask) Update(string)                  {}
func (k logTask) End(detail string, err error) { k.t.Log(k.what, detail, err) }

// realStack builds the control plane in the user's cache, if it is not there.
func realStack(t testing.TB) *stack.Stack {
	t.Helper()
	paths, err := host.DefaultPaths(os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	s := infratest.Stack(t, paths)
	if err := s.Build(t.Context(), logProgress{t}, stack.GroupControlPlane); err != nil {
		t.Fatal(err)
	}
	return s
}

// newCluster describes a cluster in a directory of the test. The test always removes it at its end.
func newCluster(t testing.TB, stack *stack.Stack, root, name string) *testCluster {
	t.Helper()
	stages, err := simulate.Stages(kwok.Files, "stages")
	if err != nil {
		t.Fatal(err)
	}
	// Port locks are shared with every other run of this user, as in real life.
	user, err := host.DefaultPaths(os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	c := &testCluster{paths: host.Paths{Root: root}, ports: host.NewPorts(user.Ports()), sup: host.NewSupervisor()}
	c.ControlPlane = NewControlPlane(ControlPlaneOptions{Name: name, Paths: c.paths, Stack: stack, Ports: c.ports, Sup: c.sup, Stages: stages})
	t.Cleanup(func() {
		if t.Failed() {
			for component, log := range c.Logs() {
				t.Logf("last lines of %s's %s:\n%s", name, component, joinTail(log))
			}
		}
		if err := c.Down(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
		c.sup.Close(0)
	})
	return c
}

func (c *testCluster) up(ctx context.Context) error {
	if err := c.Up(ctx); err != nil {
		return err
	}
	clients, err := infra.NewClients(c.Kubeconfig())
	c.clients = clients
	return err
}

// startClusters starts all of them at once.
func startClusters(t testing.TB, names ...string) []*testCluster {
	t.Helper()
	stack, root := realStack(t), infratest.ShortTempDir(t)
	all := make([]*testCluster, len(names))
	errs := make([]error, len(names))
	var wg sync.WaitGroup
	for i, name := range names {
		all[i] = newCluster(t, stack, root, name)
		wg.Go(func() { errs[i] = all[i].up(t.Context()) })
	}
	wg.Wait()
	for i, err := range errs {
		if err != nil {
			t.Fatalf("cluster %s: %v", names[i], err)
		}
	}
	return all
}

// pids are the processes of the cluster.
func (c *testCluster) pids(t testing.TB) map[string]int {
	t.Helper()
	state, err := FindCluster(c.paths, c.Name())
	if err != nil {
		t.Fatal(err)
	}
	return state.Processes
}

func values(m map[string]int) []int {
	var all []int
	for _, v := range m {
		all = append(all, v)
	}
	return all
}

// apply applies YAML documents, and waits as long as the cluster is not ready for one (a
// namespace's ServiceAccount, a CRD's API).
func (c *testCluster) apply(t testing.TB, yaml string) {
	t.Helper()
	objs, err := infra.DecodeObjects([]byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objs {
		if o.GetNamespace() == "" && namespaced(o) {
			o.SetNamespace("default")
		}
		testkit.Eventually(t, "the API server to take "+o.GetKind()+" "+o.GetName(), time.Minute, func() wait.Result {
			if err := c.clients.Apply(t.Context(), infra.ResourceFor(o.GroupVersionKind()), o); err != nil {
				return wait.NotYet("%v", err)
			}
			return wait.Done()
		})
	}
}

// namespaced knows the few kinds without a namespace that these tests use.
func namespaced(o *unstructured.Unstructured) bool {
	switch o.GetKind() {
	case "StorageClass", "APIService", "Namespace", "CustomResourceDefinition", "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration",
		"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding":
		return false
	}
	return true
}

// podYAML is a pod that tolerates the simulated nodes; with a claim if it is not "".
func podYAML(name, claim string) string {
	pod := `
apiVersion: v1
kind: Pod
metadata: {name: ` + name + `, labels: {app: ` + name + `}}
spec:
  tolerations: [{operator: Exists}]
  containers: [{name: c, image: example.com/x:1}]
`
	if claim != "" {
		pod += "  volumes: [{name: v, persistentVolumeClaim: {claimName: " + claim + "}}]\n"
	}
	return pod
}

func waitPod(t *testing.T, c *testCluster, name string) {
	t.Helper()
	testkit.Eventually(t, "pod "+name+" to be Running and Ready", time.Minute, func() wait.Result {
		p, err := c.clients.Kube.CoreV1().Pods("default").Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return wait.NotYet("%v", err)
		}
		ready := slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		})
		if p.Status.Phase != corev1.PodRunning || !ready {
			return wait.NotYet("it is %s: %v", p.Status.Phase, p.Status.Conditions)
		}
		return wait.Done()
	})
}

func waitObject(t *testing.T, c *testCluster, gvr schema.GroupVersionResource, namespace, name string, probe func(*unstructured.Unstructured) wait.Result) {
	t.Helper()
	testkit.Eventually(t, gvr.Resource+" "+name, time.Minute, func() wait.Result {
		o, err := c.clients.Dynamic.Resource(gvr).Namespace(namespace).Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return wait.NotYet("%v", err)
		}
		return probe(o)
	})
}

// BenchmarkClusterUp is the time from nothing to a ready API server, with all five components
// started, and down again.
func BenchmarkClusterUp(b *testing.B) {
	stack, root := realStack(b), infratest.ShortTempDir(b)
	i := 0
	for b.Loop() {
		c := newCluster(b, stack, root, fmt.Sprintf("bench-%d", i))
		i++
		if err := c.Up(b.Context()); err != nil {
			b.Fatal(err)
		}
		if err := c.Down(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
