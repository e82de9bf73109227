package inspect

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/infra/embedded"
	"github.com/nvidia/aicr-action/internal/matrix/why"
)

// The cluster of a run that goes on is not one to ask: it goes away with the run.
func TestWhy_ClusterInUse(t *testing.T) {
	if inUse(&embedded.State{Name: "kept"}) || !inUse(&embedded.State{Name: "cell", Owner: 1}) {
		t.Error("want a kept cluster, and not one with an owner")
	}
}

// Without --name the only cluster is meant, and never one of several; those of killed runs do
// not count.
func TestWhyCluster(t *testing.T) {
	cache := t.TempDir()
	a := &app{App: &cli.App{Getenv: func(name string) string { return map[string]string{"AICR_ACTION_CACHE": cache}[name] }, Stdout: &strings.Builder{}, Stderr: &strings.Builder{}}}
	if err := a.Open(); err != nil {
		t.Fatal(err)
	}
	add := func(name, state string) {
		dir := filepath.Join(a.Paths.Clusters(), name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "aicr-cluster.json"), []byte(state), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	add("killed", `{"name": "killed", "owner": 2147483646}`)
	add("one", `{"name": "one"}`)
	if got, err := a.whyCluster("", ""); err != nil || !strings.HasSuffix(got, "/one/kubeconfig.yaml") {
		t.Errorf("one of which to ask: got %q, %v", got, err)
	}
	add("two", `{"name": "two"}`)
	if got, err := a.whyCluster("", ""); err == nil || !strings.Contains(err.Error(), "say which one with --name: one, two") {
		t.Errorf("two: got %q, %v", got, err)
	}
	if got, err := a.whyCluster("", "two"); err != nil || !strings.HasSuffix(got, "/two/kubeconfig.yaml") {
		t.Errorf("--name two: got %q, %v", got, err)
	}
}

func TestWhyText(t *testing.T) {
	system := why.NodeGroup{Name: "2 system nodes (m7i.4xlarge)"}
	accelerated := why.NodeGroup{Name: "4 accelerated nodes (p5.48xlarge)", Refusals: []why.Refusal{{Text: "taint a=b:NoSchedule not tolerated"}, {Text: "nodeSelector x=y (no such label)"}}}
	pending := why.Explanation{
		Pods: []string{"ns/web-1", "ns/web-2"}, Workload: "Deployment ns/web", Component: "web", Phase: "Pending", Scheduler: "0/4 nodes are available.",
		Groups: []why.NodeGroup{accelerated}, Sources: []string{"tolerations: value path t, set in f:1"}, Edits: []string{"do this", "do that"},
	}
	running := why.Explanation{Pods: []string{"ns/web-3"}, Phase: "Running", On: []string{"system-0"}, Groups: []why.NodeGroup{system, accelerated}}
	lost := why.Explanation{Workload: "DaemonSet ns/ds", Groups: []why.NodeGroup{accelerated}, Notes: []string{"a note"}}
	tests := map[string]struct {
		answer whyAnswer
		want   string
	}{
		"pending": {whyAnswer{Explanations: []why.Explanation{pending, running}}, `pod ns/web-1 and 1 more of Deployment ns/web (web): Pending, without a node
scheduler: 0/4 nodes are available.
NODES                               ANSWER
4 accelerated nodes (p5.48xlarge)   refuses: taint a=b:NoSchedule not tolerated
                                    refuses: nodeSelector x=y (no such label)
tolerations: value path t, set in f:1
edit: do this
  or: do that
pod ns/web-3: Running on system-0
`},
		"running, not of a run": {whyAnswer{Explanations: []why.Explanation{running}, Note: "nothing is known"}, `pod ns/web-3: Running on system-0
NODES                               ANSWER
2 system nodes (m7i.4xlarge)        fits
4 accelerated nodes (p5.48xlarge)   refuses: taint a=b:NoSchedule not tolerated
                                    refuses: nodeSelector x=y (no such label)
note: nothing is known
`},
		"a template": {whyAnswer{Explanations: []why.Explanation{lost}}, `pods of DaemonSet ns/ds: no node admits the template
note: a note
NODES                               ANSWER
4 accelerated nodes (p5.48xlarge)   refuses: taint a=b:NoSchedule not tolerated
                                    refuses: nodeSelector x=y (no such label)
edit: no single edit fixes this
`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := whyText(tc.answer); got != tc.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, tc.want)
			}
		})
	}
}
