package main

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/testkit"
)

// twoComponents leaves the recipes with one, eks, of a chart from each of the repositories.
func (u *upstream) twoComponents(t *testing.T) {
	t.Helper()
	overlays := filepath.Join(u.recipes, "overlays")
	if err := os.RemoveAll(overlays); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(overlays, 0o755); err != nil {
		t.Fatal(err)
	}
	head := "kind: RecipeMetadata\napiVersion: aicr.nvidia.com/v1alpha1\nmetadata:\n  name: "
	for name, text := range map[string]string{
		"base": "base\nspec:\n  componentRefs:\n" +
			"    - {name: cert-manager, type: Helm, valuesFile: components/cert-manager/values.yaml}\n" +
			"    - {name: kai-scheduler, type: Helm, valuesFile: components/kai-scheduler/values.yaml}\n",
		"eks": "eks\nspec:\n  criteria: {service: eks}\n",
	} {
		if err := os.WriteFile(filepath.Join(overlays, name+".yaml"), []byte(head+text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Charts are downloaded once. A run on the real stack that comes after needs neither repository,
// and says where each chart is from.
func TestUpstream_NoNetwork(t *testing.T) {
	paths, _ := needStack(t)
	p := newProgram(t, buildProgram(t), paths)
	u := newUpstream(t, "127.0.0.1")
	u.twoComponents(t)
	p.run(t, time.Minute, nil, "charts", "lock", "--recipes-dir", u.recipes).want(t, 0, "2 charts of ")
	u.close()
	r := p.run(t, 5*time.Minute, nil, "run", "eks", "--deployer", "flux-oci", "--charts", "upstream", "--recipes-dir", u.recipes, "-o", "json")
	r.want(t, 0, `"charts": "upstream"`, "cert-manager: chart cert-manager v1.17.2 from upstream: "+u.http.URL+"/charts, sha256:",
		"kai-scheduler: chart kai-scheduler v0.13.0 from upstream: oci://"+u.oci.Listener.Addr().String()+"/nvidia/kai-scheduler, sha256:")
}

// ownAddress is an address of this machine that programs dial through their proxy: not that of the
// loopback interface, if there is another.
func ownAddress(t *testing.T) string {
	t.Helper()
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && n.IP.IsGlobalUnicast() {
			return n.IP.String()
		}
	}
	t.Log("this machine has no address but that of the loopback interface, so that no proxy is in the way")
	return "127.0.0.1"
}

// The real Argo CD and Flux pull from both repositories themselves, in the sandbox, which is open
// only for these. They reach other machines through the job's proxy, and programs on this machine
// without it: the API server, the registry, each other, the repository on the loopback interface.
func TestDirectCharts(t *testing.T) {
	paths, _ := needStack(t)
	p := newProgram(t, buildProgram(t), paths)
	address := ownAddress(t)
	u := newUpstream(t, address)
	u.twoComponents(t)
	// NO_PROXY keeps a download from a proxy that does not answer.
	p.run(t, time.Minute, []string{"HTTP_PROXY=http://127.0.0.1:1", "HTTPS_PROXY=http://127.0.0.1:1", "NO_PROXY=" + address}, "charts", "lock", "--recipes-dir", u.recipes).want(t, 0)
	proxy, throughProxy := testkit.Proxy(t, "")
	env := []string{"HTTP_PROXY=" + proxy, "http_proxy=" + proxy, "HTTPS_PROXY=http://127.0.0.1:1", "https_proxy=http://127.0.0.1:1", "ALL_PROXY=http://127.0.0.1:1", "NO_PROXY="}
	archives, blobs := u.asks("cert-manager-v1.17.2.tgz"), u.asks("/nvidia/kai-scheduler/")
	artifacts := t.TempDir()
	r := p.run(t, 8*time.Minute, env, "run", "eks", "--deployer", "argocd-oci,flux-oci", "--charts", "direct", "--recipes-dir", u.recipes, "--artifacts", artifacts, "--parallel", "1", "-o", "json")
	r.want(t, 0, `"charts": "direct"`, `"open for the controllers, to pull charts: `, u.http.Listener.Addr().String(), u.oci.Listener.Addr().String(),
		"charts: with --charts direct the controllers pull", "cert-manager: chart cert-manager v1.17.2 from direct: "+u.http.URL+"/charts, sha256:")
	if a, b := u.asks("cert-manager-v1.17.2.tgz")-archives, u.asks("/nvidia/kai-scheduler/")-blobs; a < 2 || b < 2 {
		t.Errorf("the controllers of two lanes have pulled %d archives and asked the registry %d times", a, b)
	}
	if got := throughProxy(); address != "127.0.0.1" && (len(got) < 2 || len(slices.Compact(slices.Clone(got))) != 1 || got[0] != u.http.Listener.Addr().String()) {
		t.Errorf("through the job's proxy: %q, want the chart repository and nothing else", got)
	}
	logs, err := filepath.Glob(filepath.Join(artifacts, "*", "logs", "chart-proxy.log"))
	if err != nil || address != "127.0.0.1" && len(logs) != 2 {
		t.Fatalf("logs of the proxy: %q, %v", logs, err)
	}
	for _, log := range logs {
		raw, err := os.ReadFile(log)
		if err != nil || !strings.Contains(string(raw), "GET "+u.http.Listener.Addr().String()) || strings.Contains(string(raw), "refused") {
			t.Errorf("%s: %v\n%s", log, err, raw)
		}
	}
}
