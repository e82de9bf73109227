//go:build kind

package kind

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/testkit"
	"github.com/nvidia/aicr-action/internal/testkit/infratest"
)

const (
	agentImage     = "registry.example.com/aicr:kind-test"
	agentNamespace = "gpu-operator"
)

// The Jobs of aicr validate --agent and aicr snapshot --agent run in containers on the real node,
// with the program aicr itself and what its Role allows; the recipe's own Jobs do not.
func TestAgentInKind(t *testing.T) {
	aicr := filepath.Join(t.TempDir(), "aicr")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", aicr, "../../../cmd/aicr")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // its image has no libraries
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build aicr: %v\n%s", err, out)
	}
	p := realPlatform(t)
	p.HostJobs = []HostJob{{agentNamespace, "aicr-validation", agentImage}, {agentNamespace, "aicr-snapshot", agentImage}}
	loadProgram(t, p.Engine, aicr)
	c := agentCluster(t, p)
	kube := c.Clients().Kube
	if _, err := kube.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: agentNamespace}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "recipe.yaml")
	if err := os.WriteFile(file, []byte(infratest.ValidationRecipe), 0o600); err != nil {
		t.Fatal(err)
	}
	call := func(code int, args []string, want ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), aicr, append(args, "--agent", "--image", agentImage, "--toleration", "node-role.kubernetes.io/control-plane:NoSchedule", "--kubeconfig", c.Kubeconfig())...)
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		err := cmd.Run()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		if got := cmd.ProcessState.ExitCode(); got != code {
			t.Errorf("%s: exit code %d, want %d\n%s%s", strings.Join(args, " "), got, code, stdout.String(), stderr.String())
		}
		testkit.WantText(t, "what "+strings.Join(args[:1], " ")+" says", stdout.String()+stderr.String(), want...)
		return stdout.String()
	}
	validate := []string{"validate", "-r", file, "--phase", "readiness,deployment"}
	call(8, validate, "status fail: 1 passed, 1 failed, 0 skipped", "✗ deployment/expected-resources (c): ConfigMap default/wanted is missing ("+file+":6)")
	if _, err := kube.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "wanted"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	call(0, validate, "status pass: 2 passed, 0 failed, 0 skipped")
	stored, err := kube.CoreV1().ConfigMaps(agentNamespace).Get(t.Context(), "aicr-validation-result", metav1.GetOptions{})
	if err != nil || !strings.Contains(stored.Data["result.json"], `"name":"TestExpectedResources","status":"pass"`) {
		t.Errorf("the results in the cluster: %v, %v", stored, err)
	}
	ran := call(0, []string{"snapshot", "--only", "K8s,OS", "--node-selector", "node-role.kubernetes.io/control-plane="}, "kind: Snapshot")
	if !strings.Contains(ran, "type: OS") || !strings.Contains(ran, "type: K8s") {
		t.Errorf("the snapshot of a container lacks its parts:\n%s", ran)
	}
	// A ClusterRole that an administrator maintains, with fewer rights than the check needs, is
	// used unchanged.
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "aicr-validator:" + agentNamespace}, Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"get"}}}}
	if _, err := kube.RbacV1().ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	call(2, []string{"validate", "-r", file, "--phase", "readiness"},
		"the check gpu-hardware-detection needs a permission that its Role lacks", "cannot list resource", "system:serviceaccount:"+agentNamespace+":aicr-validator")
	jobs, err := kube.BatchV1().Jobs("").List(t.Context(), metav1.ListOptions{})
	pods, err2 := kube.CoreV1().Pods(agentNamespace).List(t.Context(), metav1.ListOptions{})
	if err != nil || err2 != nil || len(jobs.Items)+len(pods.Items) > 0 {
		t.Errorf("%d Jobs and %d pods are left, %v, %v", len(jobs.Items), len(pods.Items), err, err2)
	}
	testOtherJobs(t, c)
}

// testOtherJobs: with the image alone, or the name alone, or elsewhere, a pod does not get onto the
// real node.
func testOtherJobs(t *testing.T, c infra.Cluster) {
	yes := true
	pod := func(namespace, job, image string) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "pod", OwnerReferences: []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: job, UID: "1", Controller: &yes}}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: image}}},
		}
	}
	for _, row := range []struct {
		what      string
		pod       *corev1.Pod
		simulated bool
	}{
		{"the agent's", pod(agentNamespace, "aicr-validation-readiness", agentImage), false},
		{"another image", pod(agentNamespace, "aicr-validation-readiness", "registry.example.com/other:1"), true},
		{"another name", pod(agentNamespace, "recipe-validation-readiness", agentImage), true},
		{"another namespace", pod("default", "aicr-validation-readiness", agentImage), true},
	} {
		made, err := c.Clients().Kube.CoreV1().Pods(row.pod.Namespace).Create(t.Context(), row.pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err != nil || (made.Spec.NodeSelector[simulatedLabel] == "true") != row.simulated {
			t.Errorf("%s: node selector %v, %v", row.what, made.Spec.NodeSelector, err)
		}
	}
}

// loadProgram makes an image of one file and gives it to the engine; it is removed again.
func loadProgram(t *testing.T, engine *Engine, program string) {
	t.Helper()
	content, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	var layer bytes.Buffer
	w := tar.NewWriter(&layer)
	for _, dir := range []string{"etc/", "tmp/", "usr/", "usr/local/", "usr/local/bin/"} {
		err = errors.Join(err, w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir, Mode: 0o755}))
	}
	err = errors.Join(err, w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "etc/os-release", Mode: 0o644, Size: int64(len(osRelease))}))
	_, failed := w.Write([]byte(osRelease))
	err = errors.Join(err, failed, w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "usr/local/bin/aicr", Mode: 0o755, Size: int64(len(content))}))
	_, failed = w.Write(content)
	if err = errors.Join(err, failed, w.Close()); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "layer.tar")
	if err := os.WriteFile(file, layer.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := tarball.LayerFromFile(file)
	if err != nil {
		t.Fatal(err)
	}
	image, err := mutate.AppendLayers(empty.Image, l)
	if err == nil {
		var config *v1.ConfigFile
		if config, err = image.ConfigFile(); err == nil {
			config = config.DeepCopy()
			config.OS, config.Architecture = "linux", runtime.GOARCH
			config.Config = v1.Config{User: "65532", Env: []string{"PATH=/usr/local/bin"}}
			image, err = mutate.ConfigFile(image, config)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	tag, err := name.NewTag(agentImage)
	if err != nil {
		t.Fatal(err)
	}
	archive := filepath.Join(t.TempDir(), "image.tar")
	if err := tarball.WriteToFile(archive, tag, image); err != nil {
		t.Fatal(err)
	}
	if err := engine.LoadImages(t.Context(), nil, archive, []string{agentImage}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := engine.Run(context.WithoutCancel(t.Context()), "image", "rm", agentImage); err != nil {
			t.Error(err)
		}
	})
}

const osRelease = "ID=test\nVERSION_ID=\"1\"\n"

// agentCluster has a node of each kind besides the real one.
func agentCluster(t *testing.T, p *Platform) infra.Cluster {
	t.Helper()
	groups, err := simulate.ChooseProfiles(infratest.Profiles(t), "eks", "h100", simulate.DefaultNodeGroups(1, 1))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Needs(t.Context()); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(infratest.ShortTempDir(t), "cell")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	c, err := p.Cluster(infra.Spec{Name: fmt.Sprintf("agent-%d", os.Getpid()), Purpose: "the agent's Jobs", Nodes: simulate.Nodes(groups), Dir: dir, Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Down(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	if err := c.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c
}
