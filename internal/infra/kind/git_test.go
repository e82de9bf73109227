package kind

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/kind/pkg/cluster/nodes"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/publish"
	"github.com/nvidia/aicr-action/internal/infra/gitserver"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// namedNode is a node of which only the name is asked.
type namedNode struct{ nodes.Node }

func (namedNode) String() string { return "test-1-control-plane" }

// servingGit is a cluster whose Git server listens on two addresses of this machine.
func servingGit(t *testing.T, f *fakeEngine) *cluster {
	t.Helper()
	c := testCluster(t, f, &fakeProvider{})
	c.node = namedNode{}
	handler, err := gitserver.New(t.Context(), filepath.Join(c.spec.Dir, "git"), bundle.GitBranch)
	if err == nil {
		err = c.git.listen(handler, "127.0.0.1", "127.0.0.2")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.git.stop()
		c.platform.Ports.Release(c.taken...)
	})
	return c
}

// What is pushed at the address of this program is there at the one that pods are led to, and the
// repository that pods know by a name of the cluster is the same.
func TestGitServer(t *testing.T) {
	c := servingGit(t, &fakeEngine{})
	push, pull := c.Registry().GitHosts()
	if pull != "git.aicr-registry.svc.cluster.local:3000" || push != net.JoinHostPort("127.0.0.1", strconv.Itoa(c.git.port)) {
		t.Fatalf("push %s, pull %s", push, pull)
	}
	b := &bundle.Bundle{Deployer: bundle.FluxGit, Files: []bundle.File{{Path: "a.yaml", Mode: 0o644, Content: []byte("a: 1\n")}}}
	published, err := publish.PublishGit(t.Context(), b, "http://"+push+"/aicr/r.git", bundle.GitBranch, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	// The next push fetches first, here from the other address.
	again, err := publish.PublishNext(t.Context(), b, strings.Replace(published.URL, "127.0.0.1", "127.0.0.2", 1), bundle.GitBranch, t.TempDir())
	if err != nil || again.Digest != published.Digest {
		t.Errorf("got %s, %v; want %s", again.Digest, err, published.Digest)
	}
	if err := c.git.reachable(t.Context(), "127.0.0.2"); err != nil {
		t.Error(err)
	}
	if err := c.git.writable(t.Context(), "http://"+push+"/aicr/other.git"); err != nil {
		t.Error(err)
	}
	c.git.stop()
	if _, err := net.DialTimeout("tcp", push, time.Second); err == nil {
		t.Error("it serves after its end")
	}
}

// A port that another program has on one of the addresses is not used on the other.
func TestGitServer_Port(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	port := l.Addr().(*net.TCPAddr).Port
	c := testCluster(t, &fakeEngine{}, &fakeProvider{})
	defer func() { c.platform.Ports.Release(c.taken...) }()
	c.platform.GitPort = port
	if err := c.git.listen(nil, "127.0.0.1", "127.0.0.2"); err != nil || c.git.port == port || c.git.port == 0 {
		t.Errorf("port %d, %v; %d is taken", c.git.port, err, port)
	}
	c.git.stop()
	if err := c.git.listen(nil, "127.0.0.1", "192.0.2.1"); err == nil || !strings.Contains(err.Error(), "127.0.0.1 and 192.0.2.1") {
		t.Errorf("an address of another machine: %v", err)
	}
}

// What keeps pods from the server has codes of its own, as a Gitea's have in AICR's clusters.
func TestGitServer_Codes(t *testing.T) {
	f := &fakeEngine{errors: map[string]error{"exec test-1-control-plane timeout": errors.New("connection refused")}}
	c := servingGit(t, f)
	c.git.budget = time.Millisecond
	if err := c.git.reachable(t.Context(), "127.0.0.2"); reason.Of(err) != reason.GitUnreachable || !strings.Contains(err.Error(), "127.0.0.2:"+strconv.Itoa(c.git.port)) || !strings.Contains(err.Error(), "firewall") {
		t.Errorf("got %v", err)
	}
	if err := os.WriteFile(filepath.Join(c.spec.Dir, "git"), nil, 0o600); err != nil { // where its directory should be
		t.Fatal(err)
	}
	push, _ := c.Registry().GitHosts()
	if err := c.git.writable(t.Context(), "http://"+push+"/aicr/r.git"); reason.Of(err) != reason.GitNotWritable || !strings.Contains(err.Error(), "make the repository aicr/r.git") {
		t.Errorf("got %v", err)
	}
	for answer, want := range map[string]string{"": "no IPv4 address", "fd00::1\n": "no IPv4 address", "\n172.18.0.1\n": ""} {
		f.answers = map[string]string{"inspect": answer}
		got, err := c.gateway(t.Context())
		if want == "" && (err != nil || got != "172.18.0.1") || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: got %q, %v", answer, got, err)
		}
	}
	t.Setenv("PATH", t.TempDir())
	if err := (&Platform{}).ServesGit(); reason.Of(err) != reason.GitNotReady || !strings.Contains(err.Error(), "install git") {
		t.Errorf("got %v", err)
	}
}

// The rule of a node is there once, however many cells have used it.
func TestLeaveAsNode(t *testing.T) {
	f := &fakeEngine{}
	e := f.engine()
	if err := e.leaveAsNode(context.Background(), "n", "172.18.0.1"); err != nil || f.called("exec n iptables --table nat --append") != 0 {
		t.Errorf("it is there: %v, %q", err, f.calls)
	}
	f.errors = map[string]error{"exec n iptables --table nat --check": errors.New("no such rule")}
	if err := e.leaveAsNode(context.Background(), "n", "172.18.0.1"); err != nil || f.called("exec n iptables --table nat --append POSTROUTING --destination 172.18.0.1 --jump MASQUERADE") != 1 {
		t.Errorf("it is missing: %v, %q", err, f.calls)
	}
}
