package kind

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/kind/pkg/cluster/nodes"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// reused is a platform with a cluster that an earlier run has left for reuse.
func reused(t *testing.T, f *fakeEngine, p *fakeProvider) *Platform {
	t.Helper()
	c := testCluster(t, f, p)
	platform := c.platform
	platform.Reuse = "stays"
	have, err := platform.read()
	if err != nil {
		t.Fatal(err)
	}
	s := newState(platform.Paths, "stays")
	err = errors.Join(s.make(), s.write(&record{Created: time.Now(), APIPort: 6001, RegistryPort: 6002, Fingerprint: have.digest, Controllers: []infra.ControllerKind{infra.FluxControllers}}), s.keep(), s.lock.Unlock())
	if err != nil {
		t.Fatal(err)
	}
	return platform
}

// A cluster that is there has its ports before anything runs, takes none, and says what it has.
func TestReusedCluster_Description(t *testing.T) {
	made, err := reused(t, &fakeEngine{}, &fakeProvider{}).Cluster(infra.Spec{Name: "prefix-run-1"})
	if err != nil {
		t.Fatal(err)
	}
	c := made.(*cluster)
	if c.Name() != "stays" || c.Registry().PushHost() != "127.0.0.1:6002" || len(c.taken) > 0 || !c.has(infra.FluxControllers) || c.has(infra.ArgoCDControllers) {
		t.Errorf("got %s, %s, ports %v", c.Name(), c.Registry().PushHost(), c.taken)
	}
	fresh := reused(t, &fakeEngine{}, &fakeProvider{})
	fresh.Reuse = "not-there"
	made, err = fresh.Cluster(infra.Spec{Name: "prefix-run-1"})
	if err != nil || made.Name() != "not-there" || made.(*cluster).record != nil {
		t.Errorf("one that is still to be made: %v", err)
	}
}

// What is not right to reuse is refused before anything of it is changed, and stays as it is.
func TestReuse_Invalid(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*testing.T, *Platform, *fakeEngine)
		reason reason.Reason
		want   string
	}{
		"another version":  {func(_ *testing.T, p *Platform, _ *fakeEngine) { p.NodeImage = "kindest/node:v9" }, reason.ClusterFailed, "another version of this program made it"},
		"another registry": {func(_ *testing.T, p *Platform, _ *fakeEngine) { p.RegistryImage = "registry:9" }, reason.ClusterFailed, "its images were others"},
		"another port":     {func(_ *testing.T, p *Platform, _ *fakeEngine) { p.Exact = true }, reason.PortTaken, "its registry has port 6002 for good, and KWOK_REGISTRY_HOST_PORT is 5500"},
		"left by --keep":   {func(t *testing.T, p *Platform, _ *fakeEngine) { remove(t, p, recordFile) }, reason.ClusterFailed, "a run with --keep left it"},
		"its container":    {func(_ *testing.T, _ *Platform, f *fakeEngine) { f.answers["ps"] = "" }, reason.ClusterFailed, "it has 0 containers, want 1"},
		"someone else's":   {func(_ *testing.T, _ *Platform, f *fakeEngine) { f.answers["inspect --format {{range"] = "/other\n" }, reason.ClusterFailed, "is not of the cluster that this program made"},
		"stopped":          {func(_ *testing.T, _ *Platform, f *fakeEngine) { f.answers["inspect --format {{.State"] = "false\n" }, reason.ClusterFailed, "does not run. Remove it: matrix cluster down --name stays"},
		"without a saved state": {func(_ *testing.T, _ *Platform, f *fakeEngine) {
			f.errors["exec stays-control-plane test"] = errors.New("exit status 1")
		}, reason.ClusterFailed, "its node has no saved state"},
		"in use": {func(t *testing.T, p *Platform, _ *fakeEngine) {
			other := newState(p.Paths, "stays")
			if err := other.take(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = other.lock.Unlock() })
		}, reason.ClusterFailed, "another run has it"},
	} {
		t.Run(name, func(t *testing.T) {
			f, p := &fakeEngine{answers: map[string]string{"ps": "0123\n", "inspect --format {{.State": "true\n"}, errors: map[string]error{}}, &fakeProvider{nodes: []nodes.Node{fakeNode{name: "stays-control-plane"}}}
			platform := reused(t, f, p)
			f.answers["inspect --format {{range"] = newState(platform.Paths, "stays").mount() + "\n"
			tc.change(t, platform, f)
			if strings.HasPrefix(name, "another ") {
				platform.installed = installed{} // another program
			}
			made, err := platform.Cluster(infra.Spec{Name: "x"})
			if err == nil {
				err = made.Up(t.Context())
				if down := made.Down(t.Context()); down != nil {
					t.Error(down)
				}
			}
			if reason.Of(err) != tc.reason || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %s %q", err, tc.reason, tc.want)
			}
			if f.called("exec stays-control-plane systemctl") > 0 || len(p.deleted) > 0 || !newState(platform.Paths, "stays").kept() {
				t.Errorf("it was touched: %q, deleted %q", f.calls, p.deleted)
			}
		})
	}
}

func remove(t *testing.T, p *Platform, file string) {
	t.Helper()
	if err := os.Remove(newState(p.Paths, "stays").dir + "/" + file); err != nil {
		t.Fatal(err)
	}
}

// fakeNode has only a name, since the tests use no other field of a node.
type fakeNode struct {
	nodes.Node
	name string
}

func (n fakeNode) String() string { return n.name }

// A reset ends what runs, puts etcd's data back while nothing uses it, and only then starts the
// kubelet.
func TestReset(t *testing.T) {
	f := &fakeEngine{answers: map[string]string{"exec n ctr --namespace k8s.io tasks list": "TASK    PID     STATUS    \naaa     12      RUNNING\nbbb     13      STOPPED\n"}}
	e := f.engine()
	run := e.Run
	e.Run = func(ctx context.Context, args ...string) (string, error) {
		out, err := run(ctx, args...)
		if slices.Contains(args, "kill") {
			f.answers["exec n ctr --namespace k8s.io tasks list"] = "TASK    PID     STATUS    \nbbb     13      STOPPED\n"
		}
		return out, err
	}
	if _, err := e.reset(t.Context(), "n"); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range f.calls {
		got = append(got, strings.TrimPrefix(strings.TrimPrefix(c, "exec n "), "ctr --namespace k8s.io "))
	}
	want := []string{
		"test -d /var/lib/aicr-action-etcd/member", "systemctl stop kubelet", "tasks list", "tasks kill --signal SIGKILL aaa", "tasks list",
		"rm -rf /var/lib/etcd/member", "cp -a /var/lib/aicr-action-etcd/member /var/lib/etcd/member", "systemctl start kubelet",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A copy that fails lets etcd go on, and does not replace the one before.
func TestSave(t *testing.T) {
	for name, failed := range map[string]error{"whole": nil, "no space": errors.New("no space left on device")} {
		f := &fakeEngine{errors: map[string]error{}}
		if failed != nil {
			f.errors["exec n cp"] = failed
		}
		err := f.engine().save(t.Context(), "n")
		if !errors.Is(err, failed) || f.called("exec n pkill -STOP") != 1 || f.called("exec n pkill -CONT") != 1 || (f.called("exec n mv") == 1) != (failed == nil) {
			t.Errorf("%s: got %v, %q", name, err, f.calls)
		}
	}
}

// A cluster that stays needs no room for images; one that is still to be made does.
func TestNeededSpace(t *testing.T) {
	info := `{"ServerVersion":"29.1.0","OSType":"linux","DockerRootDir":"/var/lib/docker"}`
	f := &fakeEngine{answers: map[string]string{"info": info, "ps": "0123\n"}}
	p := reused(t, f, &fakeProvider{})
	p.Engine.Free = func(string) (uint64, error) { return 1 << 30, nil }
	if err := p.Needs(t.Context()); err != nil {
		t.Errorf("1 GiB for a cluster that is there: %v", err)
	}
	p.Reuse = "not-there"
	if err := p.Needs(t.Context()); reason.Of(err) != reason.NoSpace {
		t.Errorf("1 GiB for a new cluster: got %v", err)
	}
}

// What stays is listed with what a person must know of it, and is removed by name unless a run has
// it.
func TestKept(t *testing.T) {
	f, provider := &fakeEngine{answers: map[string]string{"ps --format": "stays-control-plane\n"}}, &fakeProvider{}
	p := reused(t, f, provider)
	all := p.Kept(t.Context())
	if len(all) != 1 || !all[0].Reused || all[0].InUse || all[0].Err != nil || len(all[0].Containers) != 1 || all[0].Kubeconfig != Kubeconfig(p.Paths, "stays") {
		t.Errorf("got %+v", all)
	}
	if Kubeconfig(host.Paths{Root: t.TempDir()}, "stays") != "" {
		t.Error("a cluster that does not exist has a kubeconfig")
	}
	other := newState(p.Paths, "stays")
	if err := other.take(); err != nil {
		t.Fatal(err)
	}
	if all := p.Kept(t.Context()); !all[0].InUse {
		t.Errorf("got %+v", all)
	}
	if err := p.Remove(t.Context(), "stays"); reason.Of(err) != reason.Usage || !strings.Contains(err.Error(), "another run has it") {
		t.Errorf("in use: got %v", err)
	}
	if err := other.lock.Unlock(); err != nil {
		t.Fatal(err)
	}
	if err := p.Remove(t.Context(), "stays"); err != nil || len(Clusters(p.Paths)) > 0 {
		t.Errorf("got %v", err)
	}
}

// A reused cluster gets Argo CD whole, since its state is saved before a lane's settings come;
// another one gets what its lane needs.
func TestReusedCluster_ArgoCD(t *testing.T) {
	c := testCluster(t, &fakeEngine{}, &fakeProvider{})
	for reuse, want := range map[string]int{"": 1, "stays": 2} {
		c.platform.Reuse, c.record = reuse, nil
		made, err := c.Controllers(infra.ArgoCDControllers, infra.ControllerOptions{})
		if err != nil {
			t.Fatal(err)
		}
		kinds := made.(*controllers).kinds
		if len(kinds) != want || c.has(kinds...) {
			t.Errorf("reuse %q: %q are installed together", reuse, kinds)
		}
		c.record = &record{Controllers: []infra.ControllerKind{infra.ArgoCDControllers}}
		if whole := c.has(kinds...); whole != (want == 1) {
			t.Errorf("reuse %q: a cluster with Argo CD alone has %q: %t", reuse, kinds, whole)
		}
	}
}
