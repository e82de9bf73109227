package embedded

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/host"
)

func wayOutOf(t *testing.T, e *infra.Egress) *cluster {
	t.Helper()
	ports := host.NewPorts(t.TempDir())
	c := &cluster{platform: &Platform{Ports: ports}, spec: infra.Spec{Egress: e}, logs: filepath.Join(t.TempDir(), "logs"), control: &ControlPlane{}, registry: &MemoryRegistry{port: 5500}}
	if err := c.openWayOut(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.wayOut.close)
	return c
}

// A way out opens what it names: a proxy for other machines, whose port the sandbox opens, and the
// ports of repositories on this one.
func TestWayOut(t *testing.T) {
	c := wayOutOf(t, &infra.Egress{
		Repositories: []string{"https://charts.example.com", "oci://127.0.0.1:5000/charts", "oci://registry.example.com/charts", "http://127.0.0.1:8080/charts"},
		Hosts:        []string{"127.0.0.1:5000", "127.0.0.1:8080", "charts.example.com:443"},
	})
	env := c.wayOut.environment()
	proxy, ok := strings.CutPrefix(env[0], "HTTP_PROXY=")
	if !ok || len(env) != 2 || env[1] != "HTTPS_PROXY="+proxy {
		t.Fatalf("the environment is %q", env)
	}
	if want := []int{0, 5500, 5000, 8080, c.wayOut.port}; !slices.Equal(c.confine().Connect, want) {
		t.Errorf("the sandbox opens the ports %v, want %v", c.confine().Connect, want)
	}
	if got := c.wayOut.plainRegistries(); !slices.Equal(got, []string{"127.0.0.1:5000"}) {
		t.Errorf("registries with plain HTTP: %q", got)
	}
	if lines := strings.Join(c.Sandbox(), "\n"); !strings.Contains(lines, "to pull charts: 127.0.0.1:5000, 127.0.0.1:8080, charts.example.com:443") {
		t.Errorf("the result's line:\n%s", lines)
	}
	// What is not named is refused, also on this machine.
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	via, err := url.Parse(proxy)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(via)}}
	resp, err := client.Get(other.URL)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusForbidden {
		t.Errorf("another host: %s", resp.Status)
	}
	log, err := os.ReadFile(filepath.Join(c.logs, "chart-proxy.log"))
	if err != nil || !strings.Contains(string(log), "refused GET "+other.Listener.Addr().String()) {
		t.Errorf("the log: %q, %v", log, err)
	}
}

func TestNoWayOut(t *testing.T) {
	for name, e := range map[string]*infra.Egress{"none": nil, "this machine": {Hosts: []string{"127.0.0.1:8080"}}} {
		c := wayOutOf(t, e)
		if env := c.wayOut.environment(); env != nil {
			t.Errorf("%s: the environment has %q", name, env)
		}
		if e == nil && !slices.Equal(c.confine().Connect, []int{0, 5500}) {
			t.Errorf("the sandbox opens the ports %v", c.confine().Connect)
		}
	}
}
