package matrix

import (
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/gate"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/matrix/lane/argocd"
	"github.com/nvidia/aicr-action/internal/matrix/lane/flux"
	"github.com/nvidia/aicr-action/internal/matrix/lane/helm"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit"
)

var updateSummaries = flag.Bool("update-summaries", false, "write testdata/summary-*.md anew")

// demoRecord is a cell that ended in its gate.
func demoRecord(deployer string, v result.Verdict) cellRecord {
	return cellRecord{Result: result.Result{
		Cell: result.Cell{Recipe: "demo", Deployer: deployer}, Verdict: v, Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Duration: 21500 * time.Millisecond,
		Phases: []result.Phase{{Name: "bundle", Duration: 400 * time.Millisecond}, {Name: "cluster", Duration: 4 * time.Second}, {Name: "sync", Duration: 17 * time.Second}},
		Charts: "simulated", Recipes: "recipes", Cluster: "embedded", Rerun: "matrix run demo --deployer " + deployer + " --keep",
	}}
}

// seen is an item as cell.json has it.
func seen(kind, name, state, text string) gate.ObservedItem {
	return gate.ObservedItem{ID: kind + " " + name, State: state, Text: text, Object: result.Ref{Kind: kind, Name: name}}
}

func demoFiles(names ...string) []artifact {
	var files []artifact
	for _, n := range names {
		files = append(files, artifact{name: n, what: "what is in " + n})
	}
	return files
}

// schedulingRecord: one pod refused, one workload on the wrong nodes, one not made; text that
// Markdown could misread.
func schedulingRecord() cellRecord {
	rec := demoRecord(bundle.Helm, result.Verdict{
		Status: result.Failed, Reason: reason.SchedulingFailed, Cause: "Deployment ns/web (web): 0/3 nodes are available: 3 node(s) didn't match | <selector>.",
		Details: []string{"Deployment ns/web (web): 0/3 nodes are available: 3 node(s) didn't match | <selector>.", "  pods: ns/web-1", "  selector: value path a.b, set in values.yaml:3", "  it says ``` here"},
	})
	rec.Overrides = []string{"web: system nodeSelector at a.b"}
	rec.StandIns = []string{"Prometheus ns/p"}
	rec.HealthPolicy = []string{"Widget.example.com (ns/w) counts as healthy as soon as it exists: why (https://example.com)"}
	rec.Warnings = []string{"web: path c reaches nothing"}
	rec.Expectation = &expectationRecord{}
	rec.Observed = &gate.ObservedRecord{
		At:    time.Date(2026, 1, 2, 3, 4, 25, 0, time.UTC),
		Items: []gate.ObservedItem{seen("Release", "web", "good", "deployed"), seen("Release", "db", "waiting", "is being installed"), seen("Release", "ui", "blocked", "not installed yet")},
		Workloads: []gate.ObservedWorkload{
			{ID: "Deployment ns/web", Problems: []string{"0 of 1 pods as expected (pod ns/web-1 is not scheduled)"},
				Pods: []gate.ObservedPod{{Name: "ns/web-1", Phase: "Pending", Refused: "0/3 nodes are available: 3 node(s) didn't match | <selector>."}}},
			{ID: "DaemonSet ns/agent", Problems: []string{"it belongs on system nodes, but its template also admits a0 (accelerated)"}},
			{ID: "Deployment ns/ui", Absent: true, Problems: []string{"does not exist yet"}},
			{ID: "Deployment ns/ok", Pods: []gate.ObservedPod{{Name: "ns/ok-1", Node: "s0", Phase: "Running", Ready: true}}},
		},
		Nodes: []observe.NodePool{
			{Kind: "system", Instance: "m7i", Taints: []string{"k=v:NoSchedule"}, Allocatable: "cpu=16", Nodes: []string{"s0", "s1"}, Pods: 7, NotReady: []string{"s1"}},
			{Kind: "accelerated", Instance: "p5", Nodes: []string{"a0"}, Pods: 2},
		},
	}
	return rec
}

// chainRecord: one cause, and two that wait for it; the API server did not answer at the end.
func chainRecord() cellRecord {
	rec := demoRecord(bundle.FluxOCI, result.Verdict{Status: result.Failed, Reason: reason.DeployFailed, Stage: result.StagePull, Cause: "HelmRelease a: chart pull error", Details: []string{"HelmRelease a: chart pull error", "2 more blocked by this failure"}})
	rec.Observed = &gate.ObservedRecord{
		Unreadable: "list nodes: connection refused", Missing: []string{"ConfigMap ns/c (a, a/templates/c.yaml)"},
		Items: []gate.ObservedItem{
			seen("OCIRepository", "aicr-bundle", "good", ""), seen("HelmRelease", "b", "blocked", "dependency 'a' is not ready"), seen("HelmRelease", "c", "blocked", "dependency 'b' is not ready"),
			seen("HelmRelease", "a", "failed", "chart pull error: failed to pull oci://r/a\nmore of it"),
		},
	}
	return rec
}

// demoLane has the files of the record's lane.
func demoLane(rec cellRecord) lane.Artifacts {
	switch rec.Deployer {
	case bundle.ArgoCDOCI:
		return argocd.New(nil).Artifacts()
	case bundle.FluxOCI:
		return flux.New(nil).Artifacts()
	}
	return helm.New(nil).Artifacts()
}

func demoSummary(rec cellRecord, files []artifact) string {
	return summary(rec, demoLane(rec), files)
}

// The pages, as a person sees them.
func TestSummary(t *testing.T) {
	passed := demoRecord(bundle.Helm, result.Verdict{Status: result.Passed})
	passed.Pods = 12
	noCluster := demoRecord(bundle.ArgoCDOCI, result.Verdict{Status: result.Failed, Reason: reason.BundleFailed, Cause: "chart x 1.0 is not in the source"})
	noCluster.Phases = noCluster.Phases[:1]
	cluster := []string{"cell.json", "logs", "bundle", "c-1-resources.txt", "c-1-nodes.txt", "c-1-events.txt", "c-1-pods.txt", "c-1-registry.log"}
	flux := append(demoFiles(append(cluster, "c-1-flux-source-controller.log", "c-1-flux-kustomize-controller.log", "c-1-flux-helm-controller.log")...),
		artifact{"c-1-flux-resources.yaml", "Flux's objects", "list helmreleases: connection refused"})
	for name, page := range map[string]string{
		"scheduling": demoSummary(schedulingRecord(), demoFiles(cluster...)),
		"chain":      demoSummary(chainRecord(), flux),
		"no-cluster": demoSummary(noCluster, demoFiles("cell.json", "logs")),
		"passed":     demoSummary(passed, demoFiles("cell.json", "logs", "bundle")),
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join("testdata", "summary-"+name+".md")
			if *updateSummaries {
				if err := os.MkdirAll("testdata", 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(page), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatalf("%v (go test ./internal/matrix -run TestSummary -update-summaries writes it)", err)
			}
			if page != string(want) {
				t.Errorf("%s differs (-update-summaries writes it anew); got:\n%s", file, page)
			}
		})
	}
}

// Which file a reader is sent to first, by reason.
func TestNextFiles(t *testing.T) {
	all := demoFiles("cell.json", "logs", "bundle", "c-1-resources.txt", "c-1-nodes.txt", "c-1-events.txt", "c-1-pods.txt", "c-1-registry.log",
		"c-1-argo-apps.yaml", "c-1-argo-reposerver.log", "c-1-argo-appcontroller.log")
	item := func(v result.Verdict, id, text string) cellRecord {
		rec := demoRecord(bundle.ArgoCDOCI, v)
		rec.Observed = &gate.ObservedRecord{Items: []gate.ObservedItem{seen("Application", "ok", "good", ""), {ID: id, State: "failed", Text: text}}}
		return rec
	}
	refused := result.Verdict{Status: result.Failed, Reason: reason.DeployFailed}
	for name, tc := range map[string]struct {
		rec   cellRecord
		first []string
	}{
		"refused object":  {item(refused, "Application web", "Pod ns/p: is invalid"), []string{"c-1-argo-apps.yaml", "c-1-argo-appcontroller.log"}},
		"cannot pull":     {item(result.Verdict{Status: result.Failed, Reason: reason.DeployFailed, Stage: result.StagePull}, "Application web", `ComparisonError: unsupported scheme "oci"`), []string{"c-1-argo-reposerver.log", "c-1-registry.log"}},
		"helm refused":    {demoRecord(bundle.Helm, refused), []string{"logs/harness.log", "c-1-events.txt"}},
		"timeout":         {item(result.Verdict{Status: result.Timeout, Reason: reason.SyncTimeout}, "Application web", "OutOfSync"), []string{"c-1-argo-apps.yaml"}},
		"component died":  {demoRecord(bundle.ArgoCDOCI, result.Verdict{Status: result.Infrastructure, Reason: reason.ComponentDied, Component: "kube-scheduler"}), []string{"logs/kube-scheduler.log", "logs/harness.log"}},
		"cluster":         {demoRecord(bundle.ArgoCDOCI, result.Verdict{Status: result.Infrastructure, Reason: reason.ClusterFailed}), []string{"logs/kube-apiserver.log", "logs/etcd.log"}},
		"pods not there":  {demoRecord(bundle.ArgoCDOCI, result.Verdict{Status: result.Failed, Reason: reason.SchedulingFailed}), []string{"c-1-resources.txt", "c-1-pods.txt"}},
		"interrupted":     {demoRecord(bundle.ArgoCDOCI, result.Verdict{Status: result.Interrupted, Reason: reason.Interrupted}), []string{"cell.json"}},
		"nothing special": {demoRecord(bundle.ArgoCDOCI, result.Verdict{Status: result.Infrastructure, Reason: reason.Internal}), []string{"logs/harness.log"}},
	} {
		t.Run(name, func(t *testing.T) {
			var names []string
			for _, l := range nextFiles(tc.rec, demoLane(tc.rec), all) {
				names = append(names, l.name)
			}
			if len(names) < len(tc.first) || !slices.Equal(names[:len(tc.first)], tc.first) {
				t.Errorf("got %q, want first %q", names, tc.first)
			}
			if len(slices.Compact(slices.Sorted(slices.Values(names)))) != len(names) {
				t.Errorf("a file is named twice: %q", names)
			}
		})
	}
	// The object's kind decides which controller's log comes first, not its name.
	for kind, first := range map[string]string{"Kustomization": "flux-kustomize-controller.log", "HelmRelease": "flux-helm-controller.log"} {
		rec := demoRecord(bundle.FluxOCI, refused)
		rec.Observed = &gate.ObservedRecord{Items: []gate.ObservedItem{{ID: "called otherwise", State: "failed", Object: flux.Ref(kind, "web")}}}
		if got := nextFiles(rec, demoLane(rec), demoFiles("flux-helm-controller.log", "flux-kustomize-controller.log")); got[0].name != first {
			t.Errorf("%s: got %q first, want %q", kind, got[0].name, first)
		}
	}
	if got := nextFiles(demoRecord(bundle.ArgoCDOCI, refused), argocd.New(nil).Artifacts(), []artifact{{"c-1-argo-apps.yaml", "", "connection refused"}}); strings.Contains(got[0].name, "argo-apps") {
		t.Errorf("got %q: a file that is not there", got)
	}
}

// summary.md prints everything that is not the recipe's own: every list of strings of a result
// itself.
func TestSummary_AllRemarks(t *testing.T) {
	rec := demoRecord(bundle.Helm, result.Verdict{Status: result.Passed})
	var want []string
	v := reflect.ValueOf(&rec.Result).Elem()
	for i := range v.NumField() {
		if f := v.Type().Field(i); !f.Anonymous && f.Type == reflect.TypeFor[[]string]() {
			want = append(want, "unique-"+f.Name)
			v.Field(i).Set(reflect.ValueOf([]string{"unique-" + f.Name}))
		}
	}
	if len(want) < 6 {
		t.Fatalf("only %q found", want)
	}
	testkit.WantText(t, "summary.md", demoSummary(rec, nil), append(want, "## Overrides, stand-ins and notes")...)
}
