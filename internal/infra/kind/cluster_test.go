package kind

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kindcluster "sigs.k8s.io/kind/pkg/cluster"
	"sigs.k8s.io/kind/pkg/cluster/nodes"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/clusterstate"
	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// fakeProvider makes no cluster.
type fakeProvider struct {
	create  func() error
	deleted []string
	nodes   []nodes.Node
}

func (f *fakeProvider) Create(string, ...kindcluster.CreateOption) error {
	if f.create == nil {
		return nil
	}
	return f.create()
}
func (f *fakeProvider) Delete(name, _ string) error {
	f.deleted = append(f.deleted, name)
	return nil
}
func (f *fakeProvider) ListInternalNodes(string) ([]nodes.Node, error) { return f.nodes, nil }
func (f *fakeProvider) CollectLogs(string, string) error               { return nil }

func testCluster(t *testing.T, f *fakeEngine, p *fakeProvider) *cluster {
	t.Helper()
	root := t.TempDir()
	platform := testPlatform()
	platform.Paths, platform.Ports = host.Paths{Root: root}, host.NewPorts(filepath.Join(root, "ports"))
	platform.Engine, platform.Provider, platform.Port = f.engine(), p, 5500
	made, err := platform.Cluster(infra.Spec{Name: "test-1", Dir: root, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	return made.(*cluster)
}

// The configuration of the Kind cluster: one tainted node with the registry's port on this
// machine's loopback interface and the harness's directory, and no webhooks.
func TestConfig(t *testing.T) {
	c := testCluster(t, &fakeEngine{}, &fakeProvider{})
	conf, err := c.config(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	node := conf.Nodes[0]
	port, mount := node.ExtraPortMappings[0], node.ExtraMounts[0]
	if conf.Name != "test-1" || node.Image != "kindest/node:v1.36.1@sha256:00" || int(conf.Networking.APIServerPort) != c.apiPort {
		t.Errorf("got %+v", conf)
	}
	if port.ContainerPort != 30500 || int(port.HostPort) != c.registry.port || port.ListenAddress != "127.0.0.1" || conf.Networking.APIServerAddress != "127.0.0.1" {
		t.Errorf("got %+v", port)
	}
	if mount.HostPath != c.state.mount() || mount.ContainerPath != nodeDir {
		t.Errorf("got %+v", mount)
	}
	if !strings.Contains(conf.KubeadmConfigPatchesJSON6902[0].Patch, `{name: disable-admission-plugins, value: "MutatingAdmissionWebhook,ValidatingAdmissionWebhook"}`) || conf.RuntimeConfig["resource.k8s.io/v1"] != "true" {
		t.Errorf("got %+v", conf)
	}
	if strings.Contains(conf.KubeadmConfigPatchesJSON6902[0].Patch, "enable-admission-plugins") {
		t.Error("plug-ins that no provider of the nodes has")
	}
	c.spec.Nodes = []*corev1.Node{{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{infra.AdmissionAnnotation: infra.ExtendedResourceToleration}}}}
	if conf, err = c.config(t.Context()); err != nil || !strings.Contains(conf.KubeadmConfigPatchesJSON6902[0].Patch, `value: {name: enable-admission-plugins, value: "NodeRestriction,ExtendedResourceToleration"}}`) {
		t.Errorf("got %+v, %v", conf, err)
	}
	if c.Registry().PullHost() != "registry.aicr-registry.svc.cluster.local:5000" {
		t.Errorf("pods pull from %s", c.Registry().PullHost())
	}
	f := &fakeEngine{errors: map[string]error{"image inspect --format {{.Id}} kindest/node:v1.36.1@": errors.New("none")}}
	if conf, err = testCluster(t, f, &fakeProvider{}).config(t.Context()); err != nil || conf.Nodes[0].Image != "kindest/node:v1.36.1" {
		t.Errorf("from an archive: got %s, %v", conf.Nodes[0].Image, err)
	}
}

// The port that the user asked for is that one or none.
func TestExactPort(t *testing.T) {
	root := t.TempDir()
	first := host.NewPorts(filepath.Join(root, "ports"))
	free, err := first.Take(1)
	if err != nil {
		t.Fatal(err)
	}
	p := testPlatform()
	p.Paths, p.Ports, p.Engine, p.Provider, p.Port, p.Exact = host.Paths{Root: root}, host.NewPorts(filepath.Join(root, "ports")), (&fakeEngine{}).engine(), &fakeProvider{}, free[0], true
	if _, err := p.Cluster(infra.Spec{Name: "x"}); reason.Of(err) != reason.PortTaken || !strings.Contains(err.Error(), "KWOK_REGISTRY_HOST_PORT") {
		t.Errorf("got %v", err)
	}
	p.Exact = false
	c, err := p.Cluster(infra.Spec{Name: "x"})
	if err != nil || strings.HasSuffix(c.Registry().PushHost(), ":5500") {
		t.Errorf("got %v", err)
	}
}

// A cluster of the same name is someone else's: it is neither used nor deleted.
func TestForeignCluster(t *testing.T) {
	p := &fakeProvider{}
	c := testCluster(t, &fakeEngine{answers: map[string]string{"ps": "0123456789abcdef\n"}}, p)
	if err := c.Up(t.Context()); reason.Of(err) != reason.ClusterFailed || !strings.Contains(err.Error(), "not this run's: delete it (kind delete cluster --name test-1)") {
		t.Errorf("got %v", err)
	}
	if err := c.Down(t.Context()); err != nil || len(p.deleted) > 0 {
		t.Errorf("got %v, deleted %q", err, p.deleted)
	}
}

// Down deletes the containers that have this cluster's directory, and no others.
func TestDown_OnlyItsOwn(t *testing.T) {
	for name, tc := range map[string]struct {
		mounts  string
		deleted bool
	}{"ours": {"/lib/modules\nDIR\n", true}, "someone else's": {"/lib/modules\n/other/node\n", false}} {
		t.Run(name, func(t *testing.T) {
			p := &fakeProvider{create: func() error { return errors.New("failed to init node with kubeadm") }}
			f := &fakeEngine{answers: map[string]string{}}
			c := testCluster(t, f, p)
			if err := c.Up(t.Context()); reason.Of(err) != reason.ClusterFailed || !strings.Contains(err.Error(), "failed to init node") {
				t.Fatalf("got %v", err)
			}
			f.answers["ps"] = "0123456789abcdef\n"
			f.answers["inspect"] = strings.ReplaceAll(tc.mounts, "DIR", c.state.mount())
			err := c.Down(t.Context())
			_, left := os.Stat(c.state.dir)
			if tc.deleted != (err == nil) || tc.deleted != (len(p.deleted) == 1) || tc.deleted != errors.Is(left, os.ErrNotExist) {
				t.Errorf("got %v, deleted %q, its directory: %v", err, p.deleted, left)
			}
		})
	}
}

// kind cannot be cancelled: the cell ends at once, and Down waits for kind before it deletes.
func TestCancelledCreate(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cause, goOn := errors.New("the user has had enough"), make(chan struct{})
	created := false
	p := &fakeProvider{create: func() error {
		cancel(cause)
		<-goOn
		created = true
		return nil
	}}
	f := &fakeEngine{answers: map[string]string{}}
	c := testCluster(t, f, p)
	if err := c.Up(ctx); !errors.Is(err, cause) {
		t.Fatalf("got %v", err)
	}
	f.answers["ps"], f.answers["inspect"] = "0123\n", c.state.mount()+"\n"
	close(goOn)
	if err := c.Down(t.Context()); err != nil || !created || len(p.deleted) != 1 {
		t.Errorf("got %v, created %t, deleted %q", err, created, p.deleted)
	}
}

// What a killed run left is removed by the next one; what was meant to stay, and what belongs to a
// run that lives, is not.
func TestSweep(t *testing.T) {
	p := &fakeProvider{}
	f := &fakeEngine{answers: map[string]string{}}
	c := testCluster(t, f, p)
	platform := c.platform
	for _, name := range []string{"killed", "kept", "alive"} {
		s := newState(platform.Paths, name)
		if err := s.make(); err != nil {
			t.Fatal(err)
		}
		if name == "kept" {
			if err := s.keep(); err != nil {
				t.Fatal(err)
			}
		}
		if name == "alive" {
			defer func() { _ = s.lock.Unlock() }()
			continue
		}
		if err := s.lock.Unlock(); err != nil {
			t.Fatal(err)
		}
	}
	f.answers["ps"], f.answers["inspect"] = "0123\n", newState(platform.Paths, "killed").mount()+"\n"
	if err := platform.sweep(t.Context()); err != nil || strings.Join(p.deleted, " ") != "killed" {
		t.Errorf("got %v, deleted %q", err, p.deleted)
	}
	if got := strings.Join(Clusters(platform.Paths), " "); got != "kept" {
		t.Errorf("kept: %s", got)
	}
	f.answers["ps"] = "" // the user has deleted the container
	if err := platform.sweep(t.Context()); err != nil || len(Clusters(platform.Paths)) > 0 {
		t.Errorf("got %v; kept: %q", err, Clusters(platform.Paths))
	}
	if _, err := platform.Cluster(infra.Spec{Name: strings.Repeat("x", 50)}); reason.Of(err) != reason.Usage || !strings.Contains(err.Error(), "KWOK_CLUSTER") {
		t.Errorf("a long name: got %v", err)
	}
	if err := platform.Remove(t.Context(), "alive"); reason.Of(err) != reason.Usage {
		t.Errorf("a cluster that is in use was removed: %v", err)
	}
}

func TestCreateError(t *testing.T) {
	for text, want := range map[string]reason.Reason{
		"Bind for 127.0.0.1:5500 failed: port is already allocated":                       reason.PortTaken,
		"listen tcp4 127.0.0.1:5500: bind: address already in use":                        reason.PortTaken,
		"write /var/lib/x: no space left on device":                                       reason.NoSpace,
		"failed to pull image \"kindest/node:v1\": exit status 1":                         reason.ImageMissing,
		"node(s) already exist for a cluster with the name \"test\"":                      reason.ClusterFailed,
		"failed to init node with kubeadm: command \"docker exec\" failed with error: 1":  reason.ClusterFailed,
		"command \"docker run\" failed: Cannot connect to the Docker daemon at unix:///d": reason.ComponentDied,
	} {
		if err := createError(errors.New(text), "test", 5500); reason.Of(err) != want {
			t.Errorf("%s: got %s: %v", text, reason.Of(err), err)
		}
	}
}

func TestHopelessPod(t *testing.T) {
	waiting := func(why string) corev1.ContainerState {
		return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: why}}
	}
	for name, tc := range map[string]struct {
		status corev1.ContainerStatus
		want   string
	}{
		"running":              {corev1.ContainerStatus{Ready: true}, ""},
		"starting":             {corev1.ContainerStatus{State: waiting("ContainerCreating")}, ""},
		"crashed once":         {corev1.ContainerStatus{RestartCount: 1, State: waiting("CrashLoopBackOff")}, ""},
		"crashes":              {corev1.ContainerStatus{RestartCount: 3, State: waiting("CrashLoopBackOff")}, "crashes: 3 restarts"},
		"crashed, but is well": {corev1.ContainerStatus{RestartCount: 5, Ready: true}, ""},
		"no image":             {corev1.ContainerStatus{Image: "a:1", State: waiting("ImagePullBackOff")}, "image a:1 is not in the node"},
	} {
		p := &corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{tc.status}}}
		if got := hopelessPod(p); (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
			t.Errorf("%s: got %q", name, got)
		}
	}
}

// A killed engine ends the cell, and so does a node that ended; a cell that is over ends neither.
func TestWatchNode(t *testing.T) {
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"engine": {errors.New("unexpected EOF"), "the Docker engine of unix:///d.sock ended unexpectedly (unexpected EOF): see why it ended (journalctl -u docker), start it again"},
		"node":   {nil, "node n ended unexpectedly (its container ended with 137): b; its log is kind/n"},
	} {
		f := &fakeEngine{answers: map[string]string{"wait": "137\n", "logs": "a\nb\n"}, errors: map[string]error{}}
		if tc.err != nil {
			f.errors["wait"] = tc.err
		}
		c := testCluster(t, f, &fakeProvider{})
		c.platform.Engine.Getenv = func(string) string { return "unix:///d.sock" }
		c.watchNode(t.Context(), "n")
		select {
		case death := <-c.Died():
			if death.Reason != reason.ComponentDied || !strings.HasPrefix(death.Error(), tc.want) {
				t.Errorf("%s: got %+v", name, death)
			}
		default:
			t.Errorf("%s: nothing was delivered", name)
		}
		over, cancel := context.WithCancel(t.Context())
		cancel()
		c.watchNode(over, "n")
		select {
		case death := <-c.Died():
			t.Errorf("%s: got %+v of a cell that is over", name, death)
		default:
		}
	}
}

// kubeadm's error is reported with its cause and without the stack trace after it.
func TestWithoutStack(t *testing.T) {
	output := "[wait-control-plane] Waiting\nerror execution phase wait-control-plane: the API server is not healthy\nk8s.io/x/workflow.(*Runner).Run\n\tk8s.io/x/runner.go:234\nmain.main\n\tk8s.io/x/kubeadm.go:25"
	got := strings.Join(withoutStack(strings.Split(output, "\n")), "\n")
	if got != "[wait-control-plane] Waiting\nerror execution phase wait-control-plane: the API server is not healthy" {
		t.Errorf("got\n%s", got)
	}
}

// A cluster in containers has nothing to tell of processes on this machine, and refuses what needs
// them.
func TestNoProcessesHere(t *testing.T) {
	c := testCluster(t, &fakeEngine{}, &fakeProvider{})
	if got := [][]string{c.Sandbox(), c.Proxies(infra.ArgoCDControllers), c.Proxies(infra.FluxControllers)}; slices.ContainsFunc(got, func(lines []string) bool { return lines != nil }) || c.Processes() != nil || c.Runs(&corev1.Container{Image: "app:1"}) {
		t.Errorf("got %q and %v", got, c.Processes())
	}
	if err := c.Snapshot(t.Context(), filepath.Join(t.TempDir(), "state"), clusterstate.About{}); err == nil || !strings.Contains(err.Error(), c.Name()) {
		t.Errorf("a snapshot: got %v", err)
	}
	if _, err := c.StartJobControllers(t.Context(), "default", []string{"jobset"}); reason.Of(err) != reason.Internal {
		t.Errorf("controllers of jobs: got %v", err)
	}
}
