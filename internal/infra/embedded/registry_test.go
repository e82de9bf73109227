package embedded

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit"
)

func startRegistry(t *testing.T, o RegistryOptions) *MemoryRegistry {
	t.Helper()
	r, err := NewMemoryRegistry(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	if err := r.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r
}

func pull(t *testing.T, host string, want v1.Image) error {
	t.Helper()
	ref, err := name.ParseReference(host+"/bundles/eks:v1", name.Insecure)
	if err != nil {
		t.Fatal(err)
	}
	got, err := remote.Image(ref, remote.WithContext(t.Context()), remote.WithRetryPredicate(func(error) bool { return false }))
	if err != nil {
		return err
	}
	have, err := got.Digest()
	if err != nil {
		return err
	}
	if wanted, err := want.Digest(); err != nil || have != wanted {
		t.Errorf("pulled %s, pushed %s (%v)", have, wanted, err)
	}
	layers, err := got.Layers()
	if err != nil {
		return err
	}
	content, err := layers[0].Compressed()
	if err != nil {
		return err
	}
	return content.Close()
}

func TestRegistry(t *testing.T) {
	log := filepath.Join(t.TempDir(), "logs", "registry.log")
	r := startRegistry(t, RegistryOptions{Ports: host.NewPorts(t.TempDir()), Port: testkit.Listen(t, 0), Log: log})
	img, err := random.Image(1000, 1)
	if err != nil {
		t.Fatal(err)
	}
	ref, err := name.ParseReference(r.PushHost()+"/bundles/eks:v1", name.Insecure)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(ref, img, remote.WithContext(t.Context())); err != nil {
		t.Fatal(err)
	}
	if err := pull(t, r.PullHost(), img); err != nil {
		t.Fatal(err)
	}
	r.Stop()
	r.Stop() // a second time is harmless
	if err := pull(t, r.PullHost(), img); err == nil {
		t.Error("it answers after Stop")
	}
	if err := r.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := pull(t, r.PullHost(), img); err != nil {
		t.Errorf("after Stop and Start: %v", err)
	}
	raw, err := os.ReadFile(r.Log())
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"PUT /v2/bundles/eks/manifests/v1 201", "GET /v2/bundles/eks/manifests/v1 200"} {
		if !strings.Contains(string(raw), line) {
			t.Errorf("the log lacks %q:\n%s", line, raw)
		}
	}
	if n := strings.Count(string(raw), "GET /v2/bundles/eks/manifests/v1 200"); n != 2 {
		t.Errorf("%d pulls in the log, want the one before Stop and the one after Start", n)
	}
}

func TestRegistryPort(t *testing.T) {
	taken, dir := testkit.Listen(t, 0), t.TempDir()
	_, err := NewMemoryRegistry(RegistryOptions{Ports: host.NewPorts(dir), Port: taken, Exact: true, Log: filepath.Join(dir, "log")})
	if reason.Of(err) != reason.PortTaken || !strings.Contains(err.Error(), "KWOK_REGISTRY_HOST_PORT") {
		t.Errorf("exactly a taken port: got %v", err)
	}
	first := startRegistry(t, RegistryOptions{Ports: host.NewPorts(dir), Port: taken, Log: filepath.Join(dir, "log")})
	if first.port == taken {
		t.Error("a taken port was allotted")
	}
	second := startRegistry(t, RegistryOptions{Ports: host.NewPorts(dir), Port: first.port, Log: filepath.Join(dir, "log")})
	if second.port == first.port {
		t.Error("two registries on one port")
	}
	first.Close()
	startRegistry(t, RegistryOptions{Ports: host.NewPorts(dir), Port: first.port, Exact: true, Log: filepath.Join(dir, "log")})
}

// Runs of several users on one machine do not see each other's locks, and all ask for one port first.
func TestRegistry_ManyUsers(t *testing.T) {
	root := t.TempDir()
	var wg sync.WaitGroup
	for user := range 8 {
		dir := filepath.Join(root, strconv.Itoa(user))
		wg.Go(func() {
			for range 50 {
				r, err := NewMemoryRegistry(RegistryOptions{Ports: host.NewPorts(dir), Port: DefaultRegistryPort, Log: filepath.Join(dir, "log")})
				if err != nil {
					t.Error(err)
					return
				}
				r.Close()
			}
		})
	}
	wg.Wait()
}

// The registry holds its port from the allotment on, so that no other program can take it while the
// cluster starts.
func TestRegistry_HoldsPort(t *testing.T) {
	dir := t.TempDir()
	r, err := NewMemoryRegistry(RegistryOptions{Ports: host.NewPorts(dir), Port: DefaultRegistryPort, Log: filepath.Join(dir, "log")})
	if err != nil {
		t.Fatal(err)
	}
	if l, err := net.Listen("tcp", r.PushHost()); err == nil {
		_ = l.Close()
		t.Error("another program could listen on it before the start")
	}
	r.Close()
	l, err := net.Listen("tcp", r.PushHost())
	if err != nil {
		t.Fatalf("a registry that was never started keeps its port: %v", err)
	}
	_ = l.Close()
}

// Between a stop and a start another program may take the port.
func TestRegistry_PortTaken(t *testing.T) {
	port := testkit.Listen(t, 0)
	r := &MemoryRegistry{port: port, ports: host.NewPorts(t.TempDir()), log: filepath.Join(t.TempDir(), "log")}
	if err := r.Start(t.Context()); reason.Of(err) != reason.RegistryNotReady {
		t.Errorf("got %v", err)
	}
	r.Close()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r = &MemoryRegistry{port: port, ports: host.NewPorts(t.TempDir()), log: filepath.Join(file, "log")}
	if err := r.Start(t.Context()); reason.Of(err) != reason.RegistryNotReady {
		t.Errorf("got %v", err)
	}
}

// Clients recognize the registry by its answer to /v2/.
func TestRegistry_OnlyLoopback(t *testing.T) {
	r := startRegistry(t, RegistryOptions{Ports: host.NewPorts(t.TempDir()), Port: testkit.Listen(t, 0), Log: filepath.Join(t.TempDir(), "log")})
	if !strings.HasPrefix(r.PushHost(), "127.0.0.1:") || !strings.HasPrefix(r.PullHost(), "127.0.0.1:") {
		t.Errorf("push %s, pull %s", r.PushHost(), r.PullHost())
	}
	resp, err := http.Get("http://" + r.PullHost() + "/v2/")
	if err != nil {
		t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("%s, %v", resp.Status, err)
	}
}
