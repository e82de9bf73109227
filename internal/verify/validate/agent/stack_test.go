package agent_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
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
	"github.com/nvidia/aicr-action/internal/util/sandbox"
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
		if len(list) != 2 || list[0].Status != validate.Passed || !strings.Contains(list[0].Message, "8 GPUs") {
			t.Fatalf("got %+v, want that the check of readiness passed, and the one of deployment", list)
		}
		return list
	}
	if broken := run()[1]; broken.Status != validate.Failed || !strings.Contains(broken.Message, "ConfigMap default/wanted is missing") || broken.Component != "c" ||
		broken.Place != (result.Place{File: "$mine/recipe.yaml", Line: 6}) {
		t.Errorf("what should exist does not, and the check says %+v", broken)
	}
	wanted := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "wanted"}}
	if _, err := kube.CoreV1().ConfigMaps("default").Create(t.Context(), wanted, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if whole := run()[1]; whole.Status != validate.Passed {
		t.Errorf("what should exist does, and the check says %+v", whole)
	}
	// The Jobs are deleted, and their results are kept.
	cfg := config()
	cfg.JobName, cfg.TestPackage = cfg.JobName+"-deployment", "checks/deployment"
	r, err := agent.NewDeployer(kube, cfg).GetResult(t.Context())
	if err != nil || r.Status != agent.StatusPass || r.Phase != "deployment" || len(r.Tests) != 1 || r.Tests[0].Name != "TestExpectedResources" {
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
	if r.Status != agent.StatusFail || len(r.Tests) != 1 || r.Tests[0].Name != "TestGpuHardwareDetection" {
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
	testkit.Eventually(t, "the scheduler to refuse the pod", 60*time.Second, func() wait.Result {
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
	testkit.Eventually(t, "the pod to be evicted", 60*time.Second, func() wait.Result {
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

// testPodThatRuns: a container's arguments, environment, mounts, token, sandbox, readiness probe
// and end are those of its process.
func testPodThatRuns(t *testing.T, c infra.Cluster) {
	kube := c.Clients().Kube
	maps := kube.CoreV1().ConfigMaps(namespace)
	if _, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings"}, Data: map[string]string{"file": "content", "key": "from-map"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "secret"}, StringData: map[string]string{"password": "hidden"}}
	if _, err := kube.CoreV1().Secrets(namespace).Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0") // another program's port on this machine
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "shown", Labels: map[string]string{"tier": "gold"}}, Spec: corev1.PodSpec{
		Tolerations: tolerant(), RestartPolicy: corev1.RestartPolicyNever,
		Volumes: []corev1.Volume{
			{Name: "settings", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}}}},
			{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		},
		InitContainers: []corev1.Container{{
			Name: "prepare", Image: image, Command: []string{"/app/aicr", "write"}, Args: []string{"/scratch/prepared", "by init"},
			VolumeMounts: []corev1.VolumeMount{{Name: "scratch", MountPath: "/scratch"}},
		}},
		Containers: []corev1.Container{{
			Name: "main", Image: image, Command: []string{"/app/aicr", "show"},
			Args: []string{
				"env:LABEL", "env:FROM_MAP", "env:PASSWORD", "env:GREETING", "read:/etc/settings/file", "read:/var/run/secrets/kubernetes.io/serviceaccount/namespace", "read:/scratch/prepared", "incluster",
				"deny:/etc/passwd", "deny:" + c.Kubeconfig(), "dial:" + listener.Addr().String(), "dial:" + strings.TrimPrefix(c.Clients().Config.Host, "https://"),
			},
			Env: []corev1.EnvVar{
				{Name: "LABEL", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels['tier']"}}},
				{Name: "FROM_MAP", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}, Key: "key"}}},
				{Name: "PASSWORD", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "secret"}, Key: "password"}}},
				{Name: "GREETING", Value: "hello $(LABEL)"}, {Name: "READY", Value: "/scratch/ready"},
			},
			VolumeMounts:   []corev1.VolumeMount{{Name: "settings", MountPath: "/etc/settings"}, {Name: "scratch", MountPath: "/scratch"}},
			ReadinessProbe: &corev1.Probe{PeriodSeconds: 1, TimeoutSeconds: 30, ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"/app/aicr", "check", "/scratch/ready"}}}},
		}},
	}}
	pods := kube.CoreV1().Pods(namespace)
	if _, err := pods.Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "the pod to be ready, by its probe", 60*time.Second, func() wait.Result {
		p, err := pods.Get(t.Context(), "shown", metav1.GetOptions{})
		if err != nil {
			return wait.NotYet("%v", err)
		}
		if s := p.Status.ContainerStatuses; p.Status.Phase != corev1.PodRunning || len(s) != 1 || !s[0].Ready {
			return wait.NotYet("%s %+v", p.Status.Phase, s)
		}
		if s := p.Status.InitContainerStatuses; len(s) != 1 || s[0].State.Terminated == nil || s[0].State.Terminated.ExitCode != 0 {
			return wait.Never(fmt.Errorf("it is ready, and its init container is %+v", s))
		}
		return wait.Done()
	})
	before, err := pods.GetLogs("shown", &corev1.PodLogOptions{Container: "prepare"}).DoRaw(t.Context())
	if err != nil || string(before) != "wrote /scratch/prepared\n" {
		t.Errorf("the log of the init container is %q, %v", before, err)
	}
	one := int64(1)
	last, err := pods.GetLogs("shown", &corev1.PodLogOptions{Container: "main", TailLines: &one}).DoRaw(t.Context())
	if err != nil || string(last) != "waiting\n" {
		t.Errorf("the last line of the log is %q, %v", last, err)
	}
	log, err := pods.GetLogs("shown", &corev1.PodLogOptions{Container: "main"}).DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"LABEL=gold", "FROM_MAP=from-map", "PASSWORD=hidden", "GREETING=hello gold", "read: content <nil>", "read: " + namespace + " <nil>", "read: by init <nil>"}
	if sandbox.CanBind() {
		want = append(want, "incluster: <nil>")
	}
	if !strings.HasPrefix(sandbox.Support(), "none") {
		want = append(want, "deny: true\ndeny: true\n")
	}
	if strings.Contains(sandbox.Support(), "TCP") {
		want = append(want, "dial: false\ndial: true\n")
	}
	testkit.WantText(t, "the log", string(log), want...)
	pid, err := strconv.Atoi(strings.TrimPrefix(strings.SplitN(string(log), "\n", 2)[0], "pid "))
	if err != nil {
		t.Fatal(err)
	}
	if err := pods.Delete(t.Context(), "shown", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "the pod to be gone, with its process", 60*time.Second, func() wait.Result {
		p, err := pods.Get(t.Context(), "shown", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return wait.Done()
		}
		return wait.NotYet("%v, deleted at %v, %v", p.Status.Phase, p.DeletionTimestamp, err)
	})
	testkit.WaitGone(t, pid)
	for _, err := range []error{maps.Delete(t.Context(), "settings", metav1.DeleteOptions{}), kube.CoreV1().Secrets(namespace).Delete(t.Context(), "secret", metav1.DeleteOptions{})} {
		if err != nil {
			t.Error(err)
		}
	}
}

// testPorts: a readiness probe of the kind httpGet is answered by the process. A pod whose port is
// another program's waits, and says so.
func testPorts(t *testing.T, c infra.Cluster) {
	pods := c.Clients().Kube.CoreV1().Pods(namespace)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := func(l net.Listener) intstr.IntOrString { return intstr.FromInt(l.Addr().(*net.TCPAddr).Port) }
	served := port(free)
	_ = free.Close()
	for name, at := range map[string]intstr.IntOrString{"serves": served, "waits": port(taken)} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{Tolerations: tolerant(), Containers: []corev1.Container{{
			Name: "main", Image: image, Command: []string{"/app/aicr", "serve"}, Args: []string{at.String()},
			ReadinessProbe: &corev1.Probe{PeriodSeconds: 1, TimeoutSeconds: 30, ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Port: at, Path: "/ready"}}},
		}}}}
		if _, err := pods.Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	eventually := func(what, name string, is func(corev1.ContainerStatus) bool) {
		t.Helper()
		testkit.Eventually(t, what, 60*time.Second, func() wait.Result {
			p, err := pods.Get(t.Context(), name, metav1.GetOptions{})
			if err != nil || len(p.Status.ContainerStatuses) != 1 || !is(p.Status.ContainerStatuses[0]) {
				return wait.NotYet("%+v, %v", p.Status.ContainerStatuses, err)
			}
			return wait.Done()
		})
	}
	eventually("the process to answer its probe", "serves", func(s corev1.ContainerStatus) bool { return s.Ready })
	theirs := port(taken)
	says := func(s corev1.ContainerStatus) bool {
		return s.State.Waiting != nil && strings.Contains(s.State.Waiting.Message, "another program of this machine listens on port "+theirs.String())
	}
	eventually("the pod to say whose port it is", "waits", says)
	for _, name := range []string{"serves", "waits"} {
		if err := pods.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		testkit.Eventually(t, "the pod to be gone", 60*time.Second, func() wait.Result {
			if _, err := pods.Get(t.Context(), name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
				return wait.NotYet("%v", err)
			}
			return wait.Done()
		})
	}
}

// testUnsupported: a pod that cannot run says why, and KWOK does not make it Running; it can be
// deleted.
func testUnsupported(t *testing.T, c infra.Cluster) {
	pods := c.Clients().Kube.CoreV1().Pods(namespace)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "two"}, Spec: corev1.PodSpec{
		Tolerations: tolerant(), Containers: []corev1.Container{{Name: "main", Image: image}, {Name: "sidecar", Image: other}},
	}}
	if _, err := pods.Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "the pod to say why it cannot run", 60*time.Second, func() wait.Result {
		p, err := pods.Get(t.Context(), "two", metav1.GetOptions{})
		if err != nil {
			return wait.NotYet("%v", err)
		}
		if s := p.Status.ContainerStatuses; p.Status.Phase != corev1.PodPending || len(s) == 0 || s[0].State.Waiting == nil || !strings.Contains(s[0].State.Waiting.Message, "it has 2 containers") {
			return wait.NotYet("%s %+v", p.Status.Phase, s)
		}
		return wait.Done()
	})
	if err := pods.Delete(t.Context(), "two", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "the pod to be gone", 60*time.Second, func() wait.Result {
		if _, err := pods.Get(t.Context(), "two", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return wait.NotYet("%v", err)
		}
		return wait.Done()
	})
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
