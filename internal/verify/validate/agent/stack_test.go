package agent_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/embedded"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/testkit"
	"github.com/nvidia/aicr-action/internal/testkit/embeddedtest"
	"github.com/nvidia/aicr-action/internal/testkit/infratest"
	"github.com/nvidia/aicr-action/internal/testkit/testskip"
	"github.com/nvidia/aicr-action/internal/util/wait"
	"github.com/nvidia/aicr-action/internal/verify/snapshot"
	"github.com/nvidia/aicr-action/internal/verify/snapshot/collect"
	"github.com/nvidia/aicr-action/internal/verify/validate"
	"github.com/nvidia/aicr-action/internal/verify/validate/agent"
)

// image is the agent's; on this cluster its program is this test binary. other has no program.
const (
	image = "registry.example.com/aicr:1"
	other = "registry.example.com/other:1"
)

const namespace = "aicr-validation"

// TestOnTheRealStack is everything that runs in a pod, on one cluster.
func TestOnTheRealStack(t *testing.T) {
	testskip.Short(t, "it starts a cluster")
	t.Parallel()
	infratest.Slots(t, 1)
	c := startCluster(t)
	t.Run("JobsOfAPlan", func(t *testing.T) { testJobs(t, c) })
	t.Run("RoleLacksAVerb", func(t *testing.T) { testForbidden(t, c) })
	t.Run("NeverStarts", func(t *testing.T) { testNeverStarts(t, c) })
	t.Run("Evicted", func(t *testing.T) { testEvicted(t, c) })
	t.Run("NoMarker", func(t *testing.T) { testNoMarker(t, c) })
	t.Run("Snapshot", func(t *testing.T) { testSnapshot(t, c) })
	t.Run("PodThatRuns", func(t *testing.T) { testPodThatRuns(t, c) })
	t.Run("Ports", func(t *testing.T) { testPorts(t, c) })
	t.Run("PodThatCannotRun", func(t *testing.T) { testUnsupported(t, c) })
	t.Run("NothingIsLeft", func(t *testing.T) { nothingLeft(t, c.Clients().Kube) })
	if used := c.StandIns(); !strings.Contains(strings.Join(used, "\n"), "runs for the image "+image) {
		t.Errorf("the result does not say which program ran: %q", used)
	}
}

func startCluster(t *testing.T) infra.Cluster {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var groups []simulate.NodeGroup
	profiles := infratest.Profiles(t)
	for i := range profiles {
		if name := profiles[i].Metadata.Name; name == "eks-system" || name == "eks-h100" {
			groups = append(groups, simulate.NodeGroup{Profile: &profiles[i], Count: 1})
		}
	}
	if len(groups) != 2 {
		t.Fatalf("got %d profiles, want eks-system and eks-h100", len(groups))
	}
	c, _ := embeddedtest.Start(t, &embedded.Platform{Programs: []infra.Program{{Image: image, Path: self}}}, simulate.Nodes(groups))
	if _, err := c.Clients().Kube.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return c
}

// tolerant lets pods onto the simulated nodes.
func tolerant() []corev1.Toleration {
	return []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
}

func config() agent.Config {
	return agent.Config{
		Namespace: namespace, JobName: "aicr-validation", Image: image, ServiceAccountName: "aicr-validator", Tolerations: tolerant(),
		SnapshotConfigMap: "aicr-snapshot", RecipeConfigMap: "aicr-recipe", ResultConfigMap: "aicr-result", RecipeName: "$mine/recipe.yaml", Timeout: 2 * time.Minute, Cleanup: true,
	}
}

// testJobs: the checks of each phase run in a Job, and pass or fail depending on the cluster.
func testJobs(t *testing.T, c infra.Cluster) {
	made, err := recipe.ReadResult("recipe.yaml", []byte(infratest.ValidationRecipe))
	if err != nil {
		t.Fatal(err)
	}
	plan, err := validate.NewPlan(made, []validate.Phase{validate.Readiness, validate.Deployment, validate.Conformance})
	if err != nil {
		t.Fatal(err)
	}
	kube := c.Clients().Kube
	run := func() []result.Check {
		t.Helper()
		jobs := agent.NewJobs(kube, config(), agent.Documents{Recipe: []byte(infratest.ValidationRecipe)})
		list, err := plan.Run(t.Context(), jobs, validate.Inputs{Kube: kube, Dynamic: c.Clients().Dynamic})
		if err := errors.Join(err, jobs.Close(t.Context())); err != nil {
			t.Fatal(err)
		}
		if len(list) != 2 || list[0].Status != result.StepPassed || !strings.Contains(list[0].Message, "8 GPUs") {
			t.Fatalf("got %+v, want that the check of readiness passed, and the one of deployment", list)
		}
		return list
	}
	if broken := run()[1]; broken.Status != result.StepFailed || !strings.Contains(broken.Message, "ConfigMap default/wanted is missing") || broken.Component != "c" ||
		broken.Place != (result.Place{File: "$mine/recipe.yaml", Line: 6}) {
		t.Errorf("what should exist does not, and the check says %+v", broken)
	}
	wanted := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "wanted"}}
	if _, err := kube.CoreV1().ConfigMaps("default").Create(t.Context(), wanted, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if whole := run()[1]; whole.Status != result.StepPassed {
		t.Errorf("what should exist does, and the check says %+v", whole)
	}
	// The Jobs are deleted, and their results are kept.
	cfg := config()
	cfg.JobName, cfg.TestPackage = cfg.JobName+"-deployment", "checks/deployment"
	r, err := agent.NewDeployer(kube, cfg).GetResult(t.Context())
	if err != nil || r.Status != result.StepPassed || r.Phase != "deployment" || len(r.Tests) != 1 || r.Tests[0].Name != "TestExpectedResources" {
		t.Errorf("the result of a Job that is gone: %+v, %v", r, err)
	}
	if err := kube.CoreV1().ConfigMaps(namespace).Delete(t.Context(), cfg.ResultConfigMap, metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
}

// testForbidden: a check that needs more than its Role says so, in the words of the API server; and
// the Deployer's calls one by one.
func testForbidden(t *testing.T, c infra.Cluster) {
	kube := c.Clients().Kube
	var log bytes.Buffer
	cfg := config()
	cfg.TestPackage, cfg.TestPattern, cfg.ExpectedTests = "./checks/readiness", "TestGpuHardwareDetection", 1
	cfg.SnapshotConfigMap, cfg.Debug, cfg.Logs = "", true, &log
	cfg.Rules = []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"get"}}} // and not list
	d := agent.NewDeployer(kube, cfg)
	steps := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	steps(d.EnsureInputs(t.Context(), nil, []byte(infratest.ValidationRecipe)))
	steps(d.EnsureRBAC(t.Context()))
	steps(d.Deploy(t.Context())) // what exists is reused
	steps(d.WaitForPodReady(t.Context()))
	steps(d.StreamLogs(t.Context()))
	var job *agent.JobError
	if err := d.WaitForCompletion(t.Context(), cfg.Timeout); !errors.As(err, &job) || job.Failure != agent.Exited || job.ExitCode != 1 {
		t.Fatalf("got %v, want the exit code 1 of a failed check", err)
	}
	d.WaitForJobPodTermination(t.Context())
	r, err := d.GetResult(t.Context())
	steps(err)
	if r.Status != result.StepFailed || len(r.Tests) != 1 || r.Tests[0].Name != "TestGpuHardwareDetection" {
		t.Fatalf("got %+v", r)
	}
	out, _ := r.Tests[0].Outcome()
	testkit.WantText(t, "the outcome", out.Message, "gpu-hardware-detection needs a permission that its Role lacks", "cannot list resource", `system:serviceaccount:aicr-validation:aicr-validator`)
	whole, err := d.GetPodLogs(t.Context())
	steps(err)
	testkit.WantText(t, "the log", whole, "debug: ", agent.BeginMarker, `"Action":"fail"`, agent.EndMarker)
	if log.String() != whole {
		t.Errorf("the log that was followed is %q, and the whole one %q", log.String(), whole)
	}
	pods, err := kube.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
	steps(err)
	if len(pods.Items) != 1 || !strings.Contains(pods.Items[0].Spec.NodeName, "system") {
		t.Errorf("want one pod, on the node without GPUs: %d pods, %s", len(pods.Items), pods.Items[0].Spec.NodeName)
	}
	steps(d.Cleanup(t.Context(), agent.CleanupOptions{Enabled: true}))
	steps(d.CleanupInputs(t.Context()))
	nothingLeft(t, kube)
}

func testNeverStarts(t *testing.T, c infra.Cluster) {
	cfg := config()
	cfg.TestPackage, cfg.Tolerations, cfg.RecipeConfigMap, cfg.SnapshotConfigMap = "checks/readiness", nil, "", ""
	d := agent.NewDeployer(c.Clients().Kube, cfg)
	if err := d.Deploy(t.Context()); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "the scheduler to refuse the pod", time.Minute, func() wait.Result {
		pods, err := c.Clients().Kube.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil || len(pods.Items) == 0 || len(pods.Items[0].Status.Conditions) == 0 {
			return wait.NotYet("%d pods, %v", len(pods.Items), err)
		}
		return wait.Done()
	})
	var job *agent.JobError
	err := d.WaitForCompletion(t.Context(), 3*time.Second)
	if !errors.As(err, &job) || job.Failure != agent.NeverStarted {
		t.Fatalf("got %v", err)
	}
	testkit.WantText(t, "the error", err.Error(), "Job aicr-validation/aicr-validation did not start within 3s", "cannot be scheduled", "untolerated taint")
	if err := d.Cleanup(t.Context(), agent.CleanupOptions{Enabled: true}); err != nil {
		t.Fatal(err)
	}
	nothingLeft(t, c.Clients().Kube)
}

// testEvicted: what a kubelet writes when it evicts a pod ends the Job, with that reason, and
// nothing is left.
func testEvicted(t *testing.T, c infra.Cluster) {
	kube := c.Clients().Kube
	cfg := config()
	cfg.Tolerations = nil // its pod waits for a node
	jobs := agent.NewJobs(kube, cfg, agent.Documents{Recipe: []byte(infratest.ValidationRecipe)})
	check, _ := validate.Lookup("gpu-hardware-detection")
	ran := make(chan error, 1)
	go func() {
		_, err := jobs.RunPhase(t.Context(), validate.Readiness, []validate.Item{{Name: check.Name, Check: check}}, validate.Inputs{})
		ran <- err
	}()
	testkit.Eventually(t, "the pod to be evicted", time.Minute, func() wait.Result {
		pods, err := kube.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil || len(pods.Items) != 1 {
			return wait.NotYet("%d pods, %v", len(pods.Items), err)
		}
		pod := &pods.Items[0]
		pod.Status.Phase, pod.Status.Reason, pod.Status.Message = corev1.PodFailed, "Evicted", "The node was low on resource: memory."
		if _, err := kube.CoreV1().Pods(namespace).UpdateStatus(t.Context(), pod, metav1.UpdateOptions{}); err != nil {
			return wait.NotYet("%v", err)
		}
		return wait.Done()
	})
	err := <-ran
	var job *agent.JobError
	if !errors.As(err, &job) || job.Failure != agent.Evicted {
		t.Fatalf("got %v", err)
	}
	testkit.WantText(t, "the error", err.Error(), "Job aicr-validation/aicr-validation-readiness failed: its pod was evicted from node ", "low on resource: memory")
	if err := jobs.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	nothingLeft(t, kube)
}

// testNoMarker: KWOK completes the Job of an image without a program, and there is no log.
func testNoMarker(t *testing.T, c infra.Cluster) {
	cfg := config()
	cfg.Image = other
	jobs := agent.NewJobs(c.Clients().Kube, cfg, agent.Documents{Recipe: []byte(infratest.ValidationRecipe)})
	check, _ := validate.Lookup("gpu-hardware-detection")
	_, err := jobs.RunPhase(t.Context(), validate.Readiness, []validate.Item{{Name: check.Name, Check: check}}, validate.Inputs{})
	if err == nil {
		t.Fatal("a Job that never ran has a result")
	}
	testkit.WantText(t, "the error", err.Error(), "read the log of pod aicr-validation-readiness-", "is simulated: its containers do not run, and have no log")
	if err := jobs.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	nothingLeft(t, c.Clients().Kube)
}

func testSnapshot(t *testing.T, c infra.Cluster) {
	data, err := agent.Snapshot(t.Context(), c.Clients().Kube, agent.SnapshotConfig{Namespace: namespace, Image: image, Rules: collect.Rules()})
	if err != nil {
		t.Fatal(err)
	}
	s, err := snapshot.Read("snapshot.yaml", data)
	if err != nil {
		t.Fatal(err)
	}
	if v, ok := s.Value("K8s.server.version"); !ok || !strings.HasPrefix(v, "v1.") {
		t.Errorf("K8s.server.version is %q", v)
	}
	nothingLeft(t, c.Clients().Kube)
	// Without the right to write, the container says so.
	_, err = agent.Snapshot(t.Context(), c.Clients().Kube, agent.SnapshotConfig{Namespace: namespace, Image: other, Rules: collect.Rules()})
	if err == nil {
		t.Fatal("a Job that never ran wrote a snapshot")
	}
	testkit.WantText(t, "the error", err.Error(), "completed, and wrote no snapshot", "is simulated")
	nothingLeft(t, c.Clients().Kube)
}

// nothingLeft: of the agent nothing is in the cluster.
func nothingLeft(t *testing.T, kube kubernetes.Interface) {
	t.Helper()
	mine := metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=aicr-agent"}
	var left []string
	add := func(kind string, n int, err error) {
		if err != nil || n > 0 {
			left = append(left, fmt.Sprintf("%d %s %v", n, kind, err))
		}
	}
	jobs, err := kube.BatchV1().Jobs("").List(t.Context(), mine)
	add("Jobs", len(jobs.Items), err)
	pods, err := kube.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{})
	add("pods", len(pods.Items), err)
	accounts, err := kube.CoreV1().ServiceAccounts("").List(t.Context(), mine)
	add("ServiceAccounts", len(accounts.Items), err)
	maps, err := kube.CoreV1().ConfigMaps(namespace).List(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name!=kube-root-ca.crt"})
	add("ConfigMaps", len(maps.Items), err)
	roles, err := kube.RbacV1().Roles("").List(t.Context(), mine)
	add("Roles", len(roles.Items), err)
	bindings, err := kube.RbacV1().RoleBindings("").List(t.Context(), mine)
	add("RoleBindings", len(bindings.Items), err)
	clusterRoles, err := kube.RbacV1().ClusterRoles().List(t.Context(), mine)
	add("ClusterRoles", len(clusterRoles.Items), err)
	clusterBindings, err := kube.RbacV1().ClusterRoleBindings().List(t.Context(), mine)
	add("ClusterRoleBindings", len(clusterBindings.Items), err)
	if len(left) > 0 {
		t.Errorf("left in the cluster: %q", left)
	}
}
