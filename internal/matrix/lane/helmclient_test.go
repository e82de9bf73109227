package lane

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
)

// Helm's discovery cache stays in the cell's directory: elsewhere it would outlive the cluster, and
// be used for the next one on its port.
func TestHelmClient_DiscoveryCache(t *testing.T) {
	outside := t.TempDir()
	t.Setenv("KUBECACHEDIR", outside)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch req.URL.Path {
		case "/api":
			_, _ = io.WriteString(w, `{"kind":"APIVersions","versions":["v1"]}`)
		case "/apis":
			_, _ = io.WriteString(w, `{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`)
		default:
			_, _ = io.WriteString(w, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"v1","resources":[]}`)
		}
	}))
	t.Cleanup(server.Close)
	dir := t.TempDir()
	kubeconfig := filepath.Join(dir, "kubeconfig")
	text := "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{name: c, cluster: {server: " + server.URL + "}}]\ncontexts: [{name: c, context: {cluster: c}}]\n"
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	client := HelmClient{Dir: filepath.Join(dir, "helm"), Kubeconfig: kubeconfig, Log: func(string) {}}
	cfg, err := client.Config("ns")
	if err != nil {
		t.Fatal(err)
	}
	found, err := cfg.RESTClientGetter.ToDiscoveryClient()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := found.ServerGroups(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(outside); err != nil || len(left) > 0 {
		t.Errorf("outside the cell's directory: %v, %v", left, err)
	}
	if kept, err := os.ReadDir(filepath.Join(dir, "helm", "discovery")); err != nil || len(kept) == 0 {
		t.Errorf("in the cell's directory: %v, %v; want the discovery", kept, err)
	}
}
