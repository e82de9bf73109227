package infratest

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit"
	"github.com/nvidia/aicr-action/internal/util/wait"
	"github.com/nvidia/aicr-action/kwok"
)

// patience is how long the contract waits for actions of the cluster's controllers. It is generous,
// since the machine may be busy.
const patience = 3 * time.Minute

// contract is a platform while it is held to the contract, and the one cluster that is made for it.
type contract struct {
	platform infra.Platform
	spec     infra.Spec
	cluster  infra.Cluster
	clients  *infra.Clients
}

// scheduler is one that a recipe installs, and whose pods the harness must have placed.
const scheduler = "contract-scheduler"

// Contract holds a platform to what the interfaces of package infra promise, on one cluster named
// name: what a cell finds there must not depend on the platform. remove removes a cluster that was
// kept, as the user would. more, if not nil, is what the platform promises beside it; it gets the
// cluster with Flux in it. Reasons of failures are tested where they can be made.
func Contract(t *testing.T, p infra.Platform, name string, remove func(ctx context.Context, name string) error, more func(*testing.T, infra.Cluster)) {
	t.Helper()
	groups, err := simulate.ChooseProfiles(simulate.Assume(Profiles(t)), "eks", "any", simulate.DefaultNodeGroups(2, 4))
	if err != nil {
		t.Fatal(err)
	}
	c := &contract{platform: p, spec: infra.Spec{Name: name, Purpose: "the contract", Nodes: simulate.Nodes(groups), Controllers: []infra.ControllerKind{infra.FluxControllers}}}
	for _, n := range c.spec.Nodes {
		n.Annotations[infra.AdmissionAnnotation] = infra.ExtendedResourceToleration
	}
	log := &strings.Builder{}
	c.spec.Log = slog.New(slog.NewTextHandler(log, nil))
	c.spec.Dir = filepath.Join(ShortTempDir(t), "cell")
	if err := os.Mkdir(c.spec.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := p.Needs(t.Context(), infra.FluxControllers); err != nil {
		t.Fatal(err)
	}
	if c.cluster, err = p.Cluster(c.spec); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if t.Failed() {
			t.Logf("the harness's log:\n%s", log)
			dir := t.TempDir()
			if err := c.cluster.CollectLogs(ctx, dir); err != nil {
				t.Log(err)
			}
		}
		if err := c.cluster.Down(ctx); err != nil {
			t.Error(err)
		}
	})
	if !t.Run("Described", c.described) || !t.Run("Up", c.up) {
		return
	}
	t.Run("NameTaken", c.nameTaken)
	t.Run("Nodes", c.nodes)
	t.Run("Webhooks", c.webhooks)
	t.Run("AdmissionPlugins", c.admissionPlugins)
	t.Run("Pods", c.pods)
	t.Run("Storage", c.storage)
	t.Run("AggregatedAPI", c.aggregatedAPI)
	t.Run("Registry", c.registry)
	t.Run("Controllers", c.controllers)
	t.Run("NothingRunsOnTheRealNode", c.awayFromTheHost)
	if more != nil {
		t.Run("More", func(t *testing.T) { more(t, c.cluster) })
	}
	t.Run("Logs", c.logs)
	select {
	case d := <-c.cluster.Died():
		t.Errorf("%s ended by itself: %v", d.Name, d)
	default:
	}
	t.Run("Keep", func(t *testing.T) { c.keep(t, remove) })
}

// described: a cluster has its addresses before anything runs, and one that was never started
// leaves nothing.
func (c *contract) described(t *testing.T) {
	if c.cluster.Name() != c.spec.Name || c.cluster.Kubeconfig() == "" || c.cluster.Clients() != nil {
		t.Errorf("got %q, kubeconfig %q, clients %v", c.cluster.Name(), c.cluster.Kubeconfig(), c.cluster.Clients())
	}
	host, _, err := net.SplitHostPort(c.cluster.Registry().PushHost())
	if err != nil || !slices.Contains([]string{"127.0.0.1", "localhost"}, host) || c.cluster.Registry().PullHost() == "" {
		t.Errorf("bundles are pushed to %s and pulled from %s: want this machine's loopback interface (%v)", c.cluster.Registry().PushHost(), c.cluster.Registry().PullHost(), err)
	}
	if _, err := c.cluster.Controllers("nomad", infra.ControllerOptions{}); reason.Of(err) != reason.Internal {
		t.Errorf("controllers that no platform has: got %v", err)
	}
	spec := c.spec
	spec.Name += "-unused"
	unused, err := c.platform.Cluster(spec)
	if err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(fmt.Errorf("the user has had enough"))
	if err := unused.Up(ended); err == nil {
		t.Error("a cluster came up although the run had ended")
	}
	if err := unused.Down(t.Context()); err != nil {
		t.Errorf("a cluster that never came up: %v", err)
	}
}

func (c *contract) up(t *testing.T) {
	c.cluster.PlaySchedulers([]string{scheduler})
	start := time.Now()
	if err := c.cluster.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Logf("up after %s", time.Since(start).Round(100*time.Millisecond))
	if c.clients = c.cluster.Clients(); c.clients == nil {
		t.Fatal("there are no clients")
	}
	v, err := c.clients.Discovery.ServerVersion()
	if err != nil || v.GitVersion != c.platform.KubeVersion() {
		t.Errorf("the API server is %v (%v), and bundles are made for %s", v, err, c.platform.KubeVersion())
	}
	if _, err := infra.NewClients(c.cluster.Kubeconfig()); err != nil {
		t.Error(err)
	}
}

// nameTaken: a second cluster of the name is refused, and its end leaves the first alone.
func (c *contract) nameTaken(t *testing.T) {
	spec := c.spec
	spec.Dir = t.TempDir()
	second, err := c.platform.Cluster(spec)
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Up(t.Context()); reason.Of(err) != reason.ClusterFailed {
		t.Errorf("a second cluster of the same name: got %v, want CLUSTER_FAILED", err)
	}
	if err := second.Down(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := c.clients.Discovery.ServerVersion(); err != nil {
		t.Fatalf("the first one has gone with it: %v", err)
	}
}

// nodes: the recipe's are there, Ready, and as the profiles say. A node that runs the cluster's own
// pods has the label by which the gate leaves it out.
func (c *contract) nodes(t *testing.T) {
	list, err := c.clients.Kube.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var simulated []string
	for _, n := range list.Items {
		if n.Labels[infra.HostNodeLabel] != "" {
			continue
		}
		simulated = append(simulated, n.Name)
		gpus := infra.NodeGPUs(&n)
		if !infra.NodeReady(&n) || (n.Labels[bundle.NodeTypeLabel] == "accelerated") != (gpus == 8) {
			t.Errorf("node %s: %v, %d GPUs", n.Name, n.Status.Conditions, gpus)
		}
	}
	if len(simulated) != len(c.spec.Nodes) {
		t.Errorf("nodes %q, want %d", simulated, len(c.spec.Nodes))
	}
}

// apply applies YAML documents, and waits as long as the cluster is not ready for one, e.g. for a
// namespace's ServiceAccount.
func (c *contract) apply(t *testing.T, yaml string) {
	t.Helper()
	objs, err := infra.DecodeObjects([]byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objs {
		testkit.Eventually(t, "the API server to take "+o.GetKind()+" "+o.GetName(), patience, func() wait.Result {
			if err := c.clients.Apply(t.Context(), infra.ResourceFor(o.GroupVersionKind()), o); err != nil {
				return wait.NotYet("%v", err)
			}
			return wait.Done()
		})
	}
}

// simulatedNode waits until a pod is Running and Ready, and is where its node is: not on the
// cluster's own.
func (c *contract) simulatedNode(t *testing.T, namespace, name string) {
	t.Helper()
	var on string
	testkit.Eventually(t, "pod "+namespace+"/"+name+" to be Running and Ready", patience, func() wait.Result {
		p, err := c.clients.Kube.CoreV1().Pods(namespace).Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return wait.NotYet("%v", err)
		}
		ready := slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		})
		if on = p.Spec.NodeName; p.Status.Phase != corev1.PodRunning || !ready {
			return wait.NotYet("on node %q it is %s: %v", on, p.Status.Phase, p.Status.Conditions)
		}
		return wait.Done()
	})
	c.wantSimulated(t, "pod "+namespace+"/"+name, on)
}

func (c *contract) wantSimulated(t *testing.T, what, on string) {
	t.Helper()
	if !slices.ContainsFunc(c.spec.Nodes, func(n *corev1.Node) bool { return n.Name == on }) {
		t.Errorf("%s is on node %q, which is not simulated", what, on)
	}
}

// contractPod tolerates everything, as a DaemonSet of an operator does.
func contractPod(namespace, name, spec string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {namespace: %s, name: %s, labels: {app: %s, k8s-app: kube-dns}}
spec:
  tolerations: [{operator: Exists}]
  containers: [{name: c, image: example.com/x:1}]
  %s
`, namespace, name, name, spec)
}

// Stages are the shipped KWOK stages.
func Stages(t testing.TB) []byte {
	t.Helper()
	all, err := simulate.Stages(kwok.Files, "stages")
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// admissionPlugins: the API server runs the plug-ins of the nodes' provider, besides its own.
func (c *contract) admissionPlugins(t *testing.T) {
	device := corev1.ResourceList{"example.com/device": resource.MustParse("1")}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "tolerant"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{
		Name: "c", Image: "example.com/c:1", Resources: corev1.ResourceRequirements{Limits: device},
	}}}}
	made, err := c.clients.Kube.CoreV1().Pods(metav1.NamespaceDefault).Create(t.Context(), pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		t.Fatal(err)
	}
	want := corev1.Toleration{Key: "example.com/device", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}
	if !slices.Contains(made.Spec.Tolerations, want) {
		t.Errorf("got the tolerations %v, want one for the device", made.Spec.Tolerations)
	}
}
