package lane

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/infra"
)

// F39: a request to an API server that hangs ends with the cell, before the answer and in the middle of it.
func TestHelmRequestsEndWithTheCell(t *testing.T) {
	for name, begin := range map[string]string{"no answer": "", "half an answer": "half"} {
		t.Run(name, func(t *testing.T) {
			hang := make(chan struct{})
			asked := make(chan struct{}, 1)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if begin != "" {
					_, _ = io.WriteString(w, begin)
					_ = http.NewResponseController(w).Flush()
				}
				asked <- struct{}{}
				<-hang
			}))
			t.Cleanup(server.Close)
			t.Cleanup(func() { close(hang) })
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() {
				client := &http.Client{Transport: boundTransport{ctx, http.DefaultTransport}}
				resp, err := client.Get(server.URL)
				if err == nil {
					_, err = io.ReadAll(resp.Body)
					_ = resp.Body.Close()
				}
				ended <- err
			}()
			<-asked
			cancel()
			select {
			case err := <-ended:
				if err == nil {
					t.Error("a request that never got its answer succeeded")
				}
			case <-time.After(10 * time.Second):
				t.Fatal("the request outlives the cell")
			}
		})
	}
}

// Discovery by Helm stays in the cell's directory: elsewhere it would outlive the cluster, and be taken for that of the next one on its port.
func TestHelmDiscoveryStaysInTheCell(t *testing.T) {
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
	cfg, err := HelmConfig(t.Context(), &Env{Dir: dir, Cluster: fileCluster{kubeconfig: kubeconfig}, Log: slog.New(slog.DiscardHandler)}, "ns")
	if err != nil {
		t.Fatal(err)
	}
	client, err := cfg.RESTClientGetter.ToDiscoveryClient()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.ServerGroups(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(outside); err != nil || len(left) > 0 {
		t.Errorf("outside the cell's directory: %v, %v", left, err)
	}
	if kept, err := os.ReadDir(filepath.Join(dir, "helm", "discovery")); err != nil || len(kept) == 0 {
		t.Errorf("in the cell's directory: %v, %v; want the discovery", kept, err)
	}
}

// fileCluster is a cluster of which only the kubeconfig is asked for.
type fileCluster struct {
	infra.Cluster
	kubeconfig string
}

func (c fileCluster) Kubeconfig() string { return c.kubeconfig }
