package lane

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// What the API server offers is read once for all releases of a cell, and anew for a kind that is not
// there yet. Nothing is kept in files: they would outlive the cluster, and be used for the next one on
// its port.
func TestHelmClient_Discovery(t *testing.T) {
	outside := t.TempDir()
	t.Setenv("KUBECACHEDIR", outside)
	var asked, served atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch req.URL.Path {
		case "/api":
			asked.Add(1)
			_, _ = io.WriteString(w, `{"kind":"APIVersions","versions":["v1"]}`)
		case "/apis":
			groups := ""
			if served.Load() > 0 {
				groups = `{"name":"late.example.com","versions":[{"groupVersion":"late.example.com/v1","version":"v1"}],"preferredVersion":{"groupVersion":"late.example.com/v1","version":"v1"}}`
			}
			_, _ = io.WriteString(w, `{"kind":"APIGroupList","apiVersion":"v1","groups":[`+groups+`]}`)
		case "/apis/late.example.com/v1":
			_, _ = io.WriteString(w, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"late.example.com/v1","resources":[{"name":"lates","kind":"Late","namespaced":true,"verbs":["get"]}]}`)
		default:
			_, _ = io.WriteString(w, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"v1","resources":[{"name":"pods","kind":"Pod","namespaced":true,"verbs":["get"]}]}`)
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
	find := func(kind schema.GroupKind, version string) error {
		cfg, err := client.Config("ns")
		if err != nil {
			t.Fatal(err)
		}
		mapper, err := cfg.RESTClientGetter.ToRESTMapper()
		if err != nil {
			t.Fatal(err)
		}
		_, err = mapper.RESTMapping(kind, version)
		return err
	}
	late := schema.GroupKind{Group: "late.example.com", Kind: "Late"}
	for _, step := range []struct {
		kind  schema.GroupKind
		ver   string
		found bool
		asked int32
	}{
		{schema.GroupKind{Kind: "Pod"}, "v1", true, 1},
		{schema.GroupKind{Kind: "Pod"}, "v1", true, 1}, // by another client
		{late, "v1", false, 2},
		{late, "v1", true, 3}, // served by now
		{late, "v1", true, 3},
	} {
		served.Store(step.asked - 2)
		if err := find(step.kind, step.ver); (err == nil) != step.found || asked.Load() != step.asked {
			t.Errorf("%s: got %v after %d readings, want found %v after %d", step.kind, err, asked.Load(), step.found, step.asked)
		}
	}
	for _, kept := range []string{outside, filepath.Join(dir, "helm")} {
		if left, err := os.ReadDir(kept); err == nil && len(left) > 0 {
			t.Errorf("%s: %v, want no files", kept, left)
		}
	}
}
