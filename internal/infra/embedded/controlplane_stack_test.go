package embedded

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/kwok/pkg/consts"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit"
	"github.com/nvidia/aicr-action/internal/testkit/infratest"
	"github.com/nvidia/aicr-action/internal/testkit/testskip"
	"github.com/nvidia/aicr-action/internal/util/wait"
	"github.com/nvidia/aicr-action/kwok"
)

// TestEmbeddedCluster is everything about clusters on the real stack. Starting one is what costs,
// so the subtests share them.
func TestEmbeddedCluster(t *testing.T) {
	t.Parallel()
	infratest.Slots(t, 2) // one of the three ends early
	all := startClusters(t, "one", "two", "three")
	one, two, three := all[0], all[1], all[2]
	t.Run("StartedAtOnceTheyAreApart", func(t *testing.T) { testApart(t, all) })
	t.Run("DownLeavesNothing", func(t *testing.T) { testDown(t, three) })
	t.Run("KeepOutlivesTheRun", func(t *testing.T) { testKeep(t, two) })

	// From here on every write would be refused, were admission webhooks on.
	if !t.Run("WebhooksThatFailClosedAreKept", func(t *testing.T) { testWebhooks(t, one) }) {
		return // or each write below would wait for its whole budget
	}
	t.Run("Nodes", func(t *testing.T) { testNodes(t, one) })
	t.Run("NodesOfAnotherRecipe", func(t *testing.T) { testOtherNodes(t, one) })
	t.Run("CRDs", func(t *testing.T) { testCRDs(t, one) })
	t.Run("Kubeconfig", func(t *testing.T) { testKubeconfig(t, one) })
	t.Run("Storage", func(t *testing.T) { testStorage(t, one) })
	t.Run("LoadBalancer", func(t *testing.T) { testLoadBalancer(t, one) })
	t.Run("APIServiceStandIn", func(t *testing.T) { testAPIService(t, one) })
	t.Run("OperatorStandIns", func(t *testing.T) { testOperators(t, one) })
	t.Run("StageOfARecipe", func(t *testing.T) { testStageOfARecipe(t, one) })
	t.Run("ListensOnLoopbackOnly", func(t *testing.T) { testListeners(t, one) })
	t.Run("DeathOfAComponent", func(t *testing.T) { testDeath(t, one) })
	t.Run("DownAfterADeathLeavesNothing", func(t *testing.T) { testDown(t, one) })
}

// testApart: kwokctl's own choice of ports lets clusters that start at once talk to each other's
// API servers.
func testApart(t *testing.T, all []*testCluster) {
	servers := map[string]string{}
	for _, c := range all {
		if other, ok := servers[c.clients.Config.Host]; ok {
			t.Errorf("%s and %s are both at %s", c.Name(), other, c.clients.Config.Host)
		}
		servers[c.clients.Config.Host] = c.Name()
		c.apply(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: of-"+c.Name()+"}}")
	}
	for _, c := range all {
		list, err := c.clients.Kube.CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range list.Items {
			if strings.HasPrefix(m.Name, "of-") && m.Name != "of-"+c.Name() {
				t.Errorf("%s has the object of another: %s", c.Name(), m.Name)
			}
		}
		if v, err := c.clients.Discovery.ServerVersion(); err != nil || v.GitVersion != realStack(t).KubeVersion() {
			t.Errorf("%s calls itself %v (%v): charts with a kubeVersion constraint would be refused", c.Name(), v, err)
		}
	}
}

func testDown(t *testing.T, c *testCluster) {
	pids := c.pids(t)
	if len(pids) != 5 {
		t.Errorf("processes %v, want 5", pids)
	}
	taken := c.clients.Config.Host[strings.LastIndex(c.clients.Config.Host, ":")+1:]
	if err := c.Down(t.Context()); err != nil {
		t.Fatal(err)
	}
	testkit.WaitGone(t, values(pids)...)
	if left, err := Clusters(c.paths); err != nil || slices.ContainsFunc(left, func(s *State) bool { return s.Name == c.Name() }) {
		t.Errorf("left: %v, %v", left, err)
	}
	var port int
	if _, err := fmt.Sscan(taken, &port); err != nil {
		t.Fatal(err)
	}
	if err := c.ports.TakeExact(port); err != nil {
		t.Errorf("the port was not given back: %v", err)
	}
	c.ports.Release(port)
}

func testKeep(t *testing.T, c *testCluster) {
	before := c.pids(t)
	if err := c.Keep(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.sup.Close(0)
	testkit.WaitGone(t, values(before)...)
	select {
	case d := <-c.sup.Died():
		t.Errorf("Keep counts as a death: %v", d)
	default:
	}
	// Usable: at the same address, with its objects, and with all of its controllers.
	if _, err := c.clients.Kube.CoreV1().ConfigMaps("default").Get(t.Context(), "of-"+c.Name(), metav1.GetOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := simulate.EnsureNodes(t.Context(), c.clients, simulate.Nodes([]simulate.NodeGroup{{Profile: &infratest.Profiles(t)[0], Count: 1}})); err != nil {
		t.Fatal(err)
	}
	c.apply(t, podYAML("kept", ""))
	waitPod(t, c, "kept")
	standIns := host.NewSupervisor()
	if err := StartStandIns(standIns, c.paths, c.Name(), "/bin/sh", "-c", "exec sleep 1000"); err != nil {
		t.Fatal(err)
	}
	standIns.Close(0)
	state, err := FindCluster(c.paths, c.Name())
	if err != nil {
		t.Fatal(err)
	}
	if state.Stale() || state.Owner != 0 || len(state.Running()) != 6 {
		t.Errorf("stale %v, owner %d, running %v", state.Stale(), state.Owner, state.Running())
	}
	kept := state.Processes
	if err := state.Remove(); err != nil {
		t.Fatal(err)
	}
	testkit.WaitGone(t, values(kept)...)
	if left, err := FindCluster(c.paths, c.Name()); err == nil {
		t.Errorf("left: %+v", left)
	}
}

// testWebhooks: a webhook's server is simulated. One that fails closed must not hold up anything,
// and its configuration is kept.
func testWebhooks(t *testing.T, c *testCluster) {
	for _, kind := range []string{"Validating", "Mutating"} {
		c.apply(t, `
apiVersion: admissionregistration.k8s.io/v1
kind: `+kind+`WebhookConfiguration
metadata: {name: refuse-everything}
webhooks:
- name: refuse.example.com
  failurePolicy: Fail
  sideEffects: None
  admissionReviewVersions: [v1]
  timeoutSeconds: 30
  clientConfig: {service: {namespace: default, name: nobody, path: /}}
  rules: [{apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*/*'], scope: '*'}]
`)
	}
	start := time.Now()
	for i := range 20 {
		m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("write-%d", i)}}
		if _, err := c.clients.Kube.CoreV1().ConfigMaps("default").Create(t.Context(), m, metav1.CreateOptions{}); err != nil {
			t.Fatalf("after %s: %v", time.Since(start), err)
		}
	}
	kept, err := c.clients.Kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(t.Context(), "refuse-everything", metav1.GetOptions{})
	if err != nil || len(kept.Webhooks) != 1 {
		t.Errorf("%v, %v", kept, err)
	}
}

func testNodes(t *testing.T, c *testCluster) {
	groups, err := simulate.ChooseProfiles(infratest.Profiles(t), "eks", "any", simulate.DefaultNodeGroups(2, 4))
	if err != nil {
		t.Fatal(err)
	}
	nodes := simulate.Nodes(groups)
	for range 2 { // the second time they are all there
		if err := simulate.EnsureNodes(t.Context(), c.clients, nodes); err != nil {
			t.Fatal(err)
		}
	}
	list, err := c.clients.Kube.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != len(nodes) {
		t.Fatalf("%d nodes, %v; want %d", len(list.Items), err, len(nodes))
	}
	for _, n := range list.Items {
		gpus := n.Status.Allocatable[infra.GPUResource]
		if !infra.NodeReady(&n) || (n.Labels[bundle.NodeTypeLabel] == "accelerated") != (gpus.Value() == 8) {
			t.Errorf("node %s: %v, %s GPUs", n.Name, n.Status.Conditions, gpus.String())
		}
	}
}

// testOtherNodes: the nodes of one recipe are not taken for another's.
func testOtherNodes(t *testing.T, c *testCluster) {
	other, err := simulate.ChooseProfiles(infratest.Profiles(t), "eks", "gb200", []simulate.NodeGroup{{NodeType: "accelerated", Count: 1}})
	if err != nil {
		t.Fatal(err)
	}
	if err := simulate.EnsureNodes(t.Context(), c.clients, simulate.Nodes(other)); reason.Of(err) != reason.NodesFailed || !strings.Contains(err.Error(), "accelerated-0") {
		t.Errorf("got %v", err)
	}
}

// testCRDs checks that a deployer's CRDs are applied from a directory, and waited for.
func testCRDs(t *testing.T, c *testCluster) {
	dir := t.TempDir()
	for _, name := range []string{"servicemonitors", "podmonitors"} {
		crd, err := fs.ReadFile(kwok.Files, "charts/kube-prometheus-stack/charts/crds/crds/"+name+".monitoring.coreos.com.yaml")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name+".yaml"), crd, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	names, err := c.clients.ApplyCRDs(t.Context(), dir)
	if err != nil || !slices.Equal(names, []string{"podmonitors.monitoring.coreos.com", "servicemonitors.monitoring.coreos.com"}) {
		t.Fatalf("%v, %v", names, err)
	}
	if err := c.clients.WaitCRDs(t.Context(), names, 30*time.Second); err != nil {
		t.Error(err)
	}
	err = c.clients.WaitCRDs(t.Context(), []string{"absent.example.com"}, 200*time.Millisecond)
	if !wait.IsTimeout(err) || !strings.Contains(err.Error(), "absent.example.com") {
		t.Errorf("a CRD that does not come: %v", err)
	}
}

// testKubeconfig: with its certificates inside, the kubeconfig works from anywhere.
func testKubeconfig(t *testing.T, c *testCluster) {
	raw, err := infra.FlattenKubeconfig(c.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	moved := filepath.Join(t.TempDir(), "moved.yaml")
	if err := os.WriteFile(moved, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	clients, err := infra.NewClients(moved)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := clients.Discovery.ServerVersion(); err != nil {
		t.Error(err)
	}
}

func testStorage(t *testing.T, c *testCluster) {
	for range 2 { // the second time it is there
		if err := simulate.EnsureStorage(t.Context(), c.clients, nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct{ name, binding, want string }{
		{"default", "", "standard"}, // a claim that names no class
		{"immediate", "Immediate", "immediate"},
		{"consumer", "WaitForFirstConsumer", "consumer"},
	} {
		t.Run(test.name, func(t *testing.T) {
			class := ""
			if test.binding != "" {
				c.apply(t, "{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: "+test.name+"}, provisioner: ebs.csi.aws.com, volumeBindingMode: "+test.binding+"}")
				class = "\n  storageClassName: " + test.name
			}
			c.apply(t, "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: "+test.name+"}\nspec:\n  accessModes: [ReadWriteOnce]\n  resources: {requests: {storage: 50Gi}}"+class)
			c.apply(t, podYAML("with-"+test.name, test.name))
			waitPod(t, c, "with-"+test.name)
			claim, err := c.clients.Kube.CoreV1().PersistentVolumeClaims("default").Get(t.Context(), test.name, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			size := claim.Status.Capacity[corev1.ResourceStorage]
			if claim.Status.Phase != corev1.ClaimBound || *claim.Spec.StorageClassName != test.want || size.String() != "50Gi" {
				t.Errorf("%s, class %s, %s", claim.Status.Phase, *claim.Spec.StorageClassName, size.String())
			}
		})
	}
}

func testLoadBalancer(t *testing.T, c *testCluster) {
	c.apply(t, "{apiVersion: v1, kind: Service, metadata: {name: public}, spec: {type: LoadBalancer, selector: {app: public}, ports: [{port: 443}]}}")
	testkit.Eventually(t, "the Service to have an address", time.Minute, func() wait.Result {
		s, err := c.clients.Kube.CoreV1().Services("default").Get(t.Context(), "public", metav1.GetOptions{})
		if err != nil {
			return wait.NotYet("%v", err)
		}
		if len(s.Status.LoadBalancer.Ingress) == 0 || s.Status.LoadBalancer.Ingress[0].IP == "" {
			return wait.NotYet("its status is %v", s.Status)
		}
		return wait.Done()
	})
}

func testListeners(t *testing.T, c *testCluster) {
	if runtime.GOOS != "linux" {
		testskip.Missing(t, "needs Linux's /proc")
	}
	for name, pid := range c.pids(t) {
		all := listeners(t, pid)
		if len(all) == 0 {
			t.Errorf("%s listens nowhere: this test looks in the wrong place", name)
		}
		for _, l := range all {
			if !l.Addr().IsLoopback() {
				t.Errorf("%s listens on %s, which the network can reach", name, l)
			}
		}
	}
}

func testDeath(t *testing.T, c *testCluster) {
	if err := syscall.Kill(c.pids(t)[consts.ComponentKubeScheduler], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	d := infratest.NextDeath(t, c.sup)
	if d.Name != consts.ComponentKubeScheduler || d.Log != c.Logs()[d.Name] || len(d.Tail) == 0 {
		t.Errorf("got %+v", d)
	}
	if _, err := os.Stat(d.Log); err != nil {
		t.Error(err)
	}
}
