package embedded

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// KWOK goes on where a watch ended. Upstream's begins anew from version 0, with all pods of the cluster.
// The API server is a fake: a real one ends a watch only when its client is late, or after half an hour.
func TestKWOK_ResumesWatches(t *testing.T) {
	t.Parallel()
	versions := make(chan string, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		resource, _ := strings.CutPrefix(r.URL.Path, "/api/v1/")
		if r.URL.Query().Get("watch") != "" {
			resource += ", watched"
		}
		switch resource {
		case "pods, watched":
			select {
			case versions <- r.URL.Query().Get("resourceVersion"):
			default: // nobody reads any more
			}
			_, _ = io.WriteString(w, `{"type":"ADDED","object":{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"n","name":"p","resourceVersion":"7"}}}`+"\n")
			// and the watch ends
		case "nodes, watched":
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		case "pods":
			_, _ = io.WriteString(w, `{"apiVersion":"v1","kind":"PodList","metadata":{"resourceVersion":"5"},"items":[]}`)
		case "nodes":
			_, _ = io.WriteString(w, `{"apiVersion":"v1","kind":"NodeList","metadata":{"resourceVersion":"5"},"items":[]}`)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	home := t.TempDir()
	kubeconfig := filepath.Join(home, "kubeconfig")
	err := clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{"fake": {Server: server.URL}}, Contexts: map[string]*clientcmdapi.Context{"fake": {Cluster: "fake"}}, CurrentContext: "fake",
	}, kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	stages := filepath.Join(home, "stages.yaml")
	err = os.WriteFile(stages, []byte("apiVersion: kwok.x-k8s.io/v1alpha1\nkind: Stage\nmetadata:\n  name: pods\nspec:\n  resourceRef:\n    apiGroup: v1\n    kind: Pod\n  selector:\n    matchLabels:\n      none: has-it\n  next:\n    delete: false\n"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	var said bytes.Buffer
	kwok := exec.CommandContext(ctx, realStack(t).Bin("kwok"), "--kubeconfig", kubeconfig, "--config", stages, "--manage-all-nodes", "--node-lease-duration-seconds", "0")
	kwok.Env, kwok.Stdout, kwok.Stderr = append(os.Environ(), "HOME="+home, "KWOK_WORKDIR="+home), &said, &said
	if err := kwok.Start(); err != nil {
		t.Fatal(err)
	}
	got := ""
	for deadline := time.After(time.Minute); len(got) < len("5 7 7 "); {
		select {
		case v := <-versions:
			got += v + " "
		case <-deadline:
			got += "and no more within a minute"
		}
	}
	end()
	_ = kwok.Wait() // it was killed
	if got != "5 7 7 " {
		t.Errorf("pods were watched from the versions %q, want that of the list, and then that of the last event\n%s", got, said.String())
	}
}
