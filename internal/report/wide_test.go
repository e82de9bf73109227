package report

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// wide has 40 recipes of six services with four lanes each, in no order, and every way for a recipe
// to end.
func wide() *Report {
	lanes := []string{"helm", "argocd-oci", "argocd-helm-oci", "flux-oci"}
	r := &Report{Meta: Meta{Tool: "v0.3.0", RunID: "wide", Started: began, Written: began.Add(time.Hour), Code: codes4test, Replay: func(a string) string { return "matrix replay " + a }}}
	passed := result.Verdict{Status: result.Passed}
	failedAt := func(why reason.Reason, cause, file string, line int) result.Verdict {
		return result.Verdict{Status: result.Failed, Reason: why, Cause: cause, Findings: []result.Finding{{Cause: cause, Story: []string{cause, "more about it", "and more"}, Place: result.Place{File: file, Line: line}}}}
	}
	taint := failedAt(reason.SchedulingFailed, "DaemonSet gpu-operator/nvidia-driver-daemonset (gpu-operator): no node admits its pods: taint nvidia.com/gpu=present:NoSchedule not tolerated", "recipes/overlays/gke-cos.yaml", 41)
	bundle := failedAt(reason.DeployFailed, "chart kgateway v2.0.0 is not in chart source simulated", "recipes/overlays/aks-inference.yaml", 17)
	timeout := result.Verdict{Status: result.Timeout, Reason: reason.SyncTimeout, Cause: "not ready after 5m0s: Application kube-prometheus-stack: OutOfSync, Missing"}
	died := result.Verdict{Status: result.Infrastructure, Reason: reason.ComponentDied, Component: "helm-controller", Cause: "helm-controller ended unexpectedly (signal: killed)"}
	differs := failedAt(reason.LaneDivergence, "Prometheus monitoring/k8s differs from lane helm: spec.storage", "", 0)
	notRun := result.Verdict{Status: result.NotRun, Reason: reason.Interrupted, Cause: "the run was ended before this cell began"}
	noProfile := result.Verdict{Status: result.Skipped, Reason: reason.NoProfile, Cause: "no node profile for service lke, accelerator any; there are: eks-h100, gke-h100"}
	verdict := func(recipe, lane string) result.Verdict {
		switch {
		case strings.HasPrefix(recipe, "h100-gke-cos-training") && lane != "helm", recipe == "gke-cos-training":
			return taint
		case strings.Contains(recipe, "aks") && strings.Contains(recipe, "inference"):
			return bundle
		case recipe == "gb200-eks-training" && lane == "argocd-oci":
			return timeout
		case recipe == "gb200-eks-inference" && lane == "flux-oci":
			return died
		case recipe == "h100-kind-training" && lane == "flux-oci":
			return differs
		case recipe == "oke" && lane != "helm":
			return notRun
		case recipe == "oke":
			return result.Verdict{Status: result.Interrupted, Reason: reason.Interrupted, Cause: "interrupted by interrupt"}
		case strings.HasPrefix(recipe, "l40-oke"):
			return notRun
		case strings.Contains(recipe, "lke"):
			return noProfile
		}
		return passed
	}
	for i, name := range wideRecipes() {
		service, recipe, _ := strings.Cut(name, ":")
		for j, lane := range lanes {
			v := verdict(recipe, lane)
			if recipe == "a100-eks-training" && lane != "helm" {
				continue // tier 2
			}
			took := time.Duration(28000+i*310+j*9000) * time.Millisecond
			if v.Status == result.NotRun || v.Status == result.Skipped {
				took = 0
			}
			c := cellOf(recipe, lane, took, v)
			c.Service = service
			if v.Status == result.Passed && lane != "helm" && took > 0 {
				c.ComparedWith, c.ComparedObjects = "helm", 226
			}
			if broken(v.Status) {
				c.Artifacts = "/out/kwok-debug-" + recipe + "-" + lane + "-wide"
			}
			if recipe == "eks-training" && lane == "argocd-oci" {
				c.Notes = []string{"Application web passed as OutOfSync, Healthy"}
			}
			c.Warnings = []string{fmt.Sprintf("component-%d: scheduling path a.b.nodeSelector (system) reaches no object of its chart", i%20)}
			r.Results = append(r.Results, c)
		}
	}
	return r
}

func wideRecipes() []string {
	all := []string{
		"lke:lke", "lke:lke-training", "oke:oke", "oke:l40-oke-inference", "oke:oke-training",
		"kind:kind", "kind:kind-inference", "kind:h100-kind-training", "kind:h100-kind-inference", "kind:h100-kind-inference-dynamo",
		"gke:gke-cos", "gke:gke-cos-training", "gke:gke-cos-inference", "gke:h100-gke-cos-training", "gke:h100-gke-cos-training-kubeflow", "gke:h100-gke-cos-inference", "gke:h100-gke-cos-inference-dynamo",
		"aks:aks", "aks:aks-training", "aks:aks-inference", "aks:h100-aks-training", "aks:h100-aks-inference", "aks:h100-aks-ubuntu-training", "aks:h100-aks-ubuntu-training-kubeflow", "aks:h100-aks-ubuntu-inference-dynamo",
		"eks:h100-eks-ubuntu-training", "eks:h100-eks-ubuntu-training-kubeflow", "eks:h100-eks-training", "eks:h100-eks-inference", "eks:h100-eks-ubuntu-inference", "eks:h100-eks-ubuntu-inference-dynamo",
		"eks:eks", "eks:eks-training", "eks:eks-inference", "eks:a100-eks-training",
		"eks:gb200-eks-training", "eks:gb200-eks-inference", "eks:gb200-eks-ubuntu-training", "eks:gb200-eks-ubuntu-inference", "eks:gb200-eks-ubuntu-inference-dynamo",
	}
	return all
}

// The terminal's report and the step summary are golden files: read them when they change.
func TestWideGolden(t *testing.T) {
	for file, text := range map[string]string{
		"testdata/wide-80.golden": terminalOf(t, wideFor(80)), "testdata/wide-120.golden": terminalOf(t, wideFor(120)), "testdata/wide-160.golden": terminalOf(t, wideFor(160)),
		"testdata/wide.golden.md": wide().markdown(maxMarkdown),
	} {
		if *update {
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatalf("%v (go test ./internal/report -run TestWideGolden -update writes it)", err)
		}
		if text != string(want) {
			t.Errorf("%s differs (-update writes it anew); got:\n%s", file, text)
		}
	}
}

// A comment is narrow: its grid has two columns for any number of lanes from three on, and names the
// lanes that did not pass.
func TestComment_Grid(t *testing.T) {
	for name, want := range map[string]struct {
		report *Report
		row    string
	}{
		"many recipes": {wide(), "| `gb200-eks-training` | 3 of 4 passed<br>`argocd-oci` ◷ `SYNC_TIMEOUT (50)` |\n"},
		"lanes agree":  {wide(), "| `aks` | ✓ 4 lanes, 33.3 to 60.3 s, 112 pods |\n"},
		"one recipe":   {&Report{Results: wide().Results[:4]}, "<br>"},
	} {
		var b strings.Builder
		if err := want.report.WriteComment(&b, ""); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), want.row) {
			t.Errorf("%s: no row %q in\n%s", name, want.row, b.String())
		}
		rows := 0
		_, grid, _ := strings.Cut(b.String(), "\n| recipe |")
		grid, _, _ = strings.Cut("| recipe |"+grid, "\n\n")
		for line := range strings.Lines(grid) {
			if strings.HasPrefix(line, "| ") {
				if rows++; strings.Count(line, "|") != 3 {
					t.Errorf("%s: %q has not two columns", name, line)
				}
			}
		}
		if rows < 2 {
			t.Errorf("%s: %d rows", name, rows)
		}
	}
}

func wideFor(width int) *Report {
	r := wide()
	r.Width = width
	return r
}

// For every width of the terminal, no line of the grid is wider, and the grid has every recipe and
// every failure.
func TestWide_TerminalWidth(t *testing.T) {
	for _, width := range []int{60, 72, 80, 100, 120, 160, 200} {
		text := wideFor(width).terminalGrid()
		for line := range strings.Lines(text) {
			if n := utf8.RuneCountInString(strings.TrimSpace(line)); n > width {
				t.Errorf("width %d: a line of %d: %s", width, n, line)
			}
		}
		for _, name := range wideRecipes() {
			_, recipe, _ := strings.Cut(name, ":")
			if !slices.ContainsFunc(strings.Split(text, "\n"), func(line string) bool { return strings.Fields(line + " x")[0] == recipe }) {
				t.Errorf("width %d: no line of %s in\n%s", width, recipe, text)
			}
		}
		for _, mark := range []string{"✗", "◷", "⚠", "■", "○", "–"} {
			if !strings.Contains(text, mark) {
				t.Errorf("width %d: no %s in\n%s", width, mark, text)
			}
		}
	}
	// Fewer recipes lose nothing: what does not fit side by side is one below the other.
	few := sample()
	few.Results, few.Width = few.Results[:3], 60
	want := "eks\n    ✓ 29.8 s, 112 pods: helm\n    ✓ 77.0 s, 112 pods *: argocd-oci\n    ✗ SCHEDULING_FAILED (1): flux-oci\n"
	if got := few.terminalGrid(); got != want {
		t.Errorf("a recipe at 60 columns: got\n%swant\n%s", got, want)
	}
}

// Recipes are sorted by service, then by name, for any order of the results. Those without a
// service come last.
func TestWideOrder(t *testing.T) {
	r := wide()
	for i := range r.Results {
		if strings.HasSuffix(r.Results[i].Recipe, "lke") {
			r.Results[i].Service = ""
		}
	}
	g := r.grid()
	var got []string
	for _, l := range g.lines() {
		got = append(got, l.Recipe)
	}
	var want []string
	for _, name := range wideRecipes() {
		if name != "lke:lke" {
			want = append(want, name)
		}
	}
	slices.SortFunc(want, func(a, b string) int {
		as, an, _ := strings.Cut(a, ":")
		bs, bn, _ := strings.Cut(b, ":")
		if as != bs {
			return strings.Compare(as, bs)
		}
		return strings.Compare(an, bn)
	})
	for i := range want {
		_, want[i], _ = strings.Cut(want[i], ":")
	}
	if want = append(want, "lke"); !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	if title := g.Groups[0].Title; title != "aks: 8 recipes, 5 passed in every lane" {
		t.Errorf("the first group is called %q", title)
	}
	if title := g.Groups[len(g.Groups)-1].Title; title != "no service: 1 recipe, 0 passed in every lane" {
		t.Errorf("the last group is called %q", title)
	}
	for i := range r.Results {
		r.Results[i].Service = ""
	}
	if g := r.grid(); len(g.Groups) != 1 || g.Groups[0].Title != "" || g.Groups[0].Lines[0].Recipe != "lke" {
		t.Errorf("results without services must keep their order: %+v", g.Groups)
	}
}

// Every cell that failed is named by a cause, the gravest come first, and the totals are the last
// lines.
func TestWideFailures(t *testing.T) {
	r := wide()
	text := terminalOf(t, r)
	at := -1
	for _, head := range []string{"⚠ COMPONENT_DIED (14) in 1 cell", "✗ DEPLOY_FAILED (51) in 12 cells", "✗ SCHEDULING_FAILED (1) in 10 cells", "✗ LANE_DIVERGENCE (53) in 1 cell", "◷ SYNC_TIMEOUT (50) in 1 cell", "157 cells:"} {
		i := strings.Index(text, "\n"+head)
		if i < at || i < 0 {
			t.Errorf("%q is not there, or not behind what is graver, in\n%s", head, text)
		}
		at = i
	}
	if !strings.HasSuffix(text, "\n40 recipes: 27 passed in every lane, 13 did not\n") {
		t.Errorf("the last line:\n%s", text[len(text)-200:])
	}
	for _, want := range []string{"lanes: in 26 recipes: argocd-oci, argocd-helm-oci and flux-oci produced the same objects as helm\n", "warning: and 9 more (all: -o json)\n", "  look at: recipes/overlays/gke-cos.yaml:41\n", "  cells: gke-cos-training (all lanes), h100-gke-cos-training (argocd-oci, argocd-helm-oci, flux-oci), h100-gke-cos-training-kubeflow (argocd-oci, argocd-helm-oci, flux-oci)\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("want %q in\n%s", want, text)
		}
	}
	if n := strings.Count(text, "more about it"); n != 3 {
		t.Errorf("the stories of %d cells, want one per cause", n)
	}
}

// Many causes do not fill the terminal, and all recipes of the step summary fit below GitHub's
// limit with the grid first.
func TestWideWithManyCauses(t *testing.T) {
	r := wide()
	for i := range r.Results {
		c := &r.Results[i]
		long := fmt.Sprintf("cause %d: %s", i, strings.Repeat("x", 3000))
		c.Verdict = result.Verdict{Status: result.Failed, Reason: reason.DeployFailed, Cause: long, Details: slices.Repeat([]string{long}, 60)}
	}
	text := terminalOf(t, r)
	if n := strings.Count(text, "\n✗ DEPLOY_FAILED (51) in 1 cell: cause"); n != mostCauses || !strings.Contains(text, "and 137 more root causes: matrix report") {
		t.Errorf("got %d causes", n)
	}
	summary := r.markdown(maxMarkdown)
	grid := strings.Index(summary, "| recipe | all lanes |")
	if len(summary) > 1<<20 || grid < 0 || grid > 1000 || !strings.Contains(summary, "left out to stay below") {
		t.Errorf("%d bytes, the grid at %d", len(summary), grid)
	}
	for _, name := range wideRecipes() {
		_, recipe, _ := strings.Cut(name, ":")
		if !strings.Contains(summary, "| <code>"+recipe+"</code> |") && !strings.Contains(summary, "| `"+recipe+"` |") {
			t.Errorf("the summary's grid lacks %s", recipe)
		}
	}
}

// Of nodes that are alike the page has one, with the names of all, and pods that are only counted
// are in the count.
func TestPage_LargeCluster(t *testing.T) {
	r := result.Result{Cell: result.Cell{Recipe: "r", Deployer: "helm"}, Verdict: result.Verdict{Status: result.Passed}, Placement: &result.Placement{
		Nodes: []result.PlacedNode{
			{Name: "accelerated-0", Kind: "accelerated", Alike: 999, Names: []string{"accelerated-0 to accelerated-499", "accelerated-501 to accelerated-999"}},
			{Name: "accelerated-500", Kind: "accelerated"},
		},
		Unplaced: []result.PodGroup{{Namespace: "ns", Workload: "DaemonSet driver", Pods: []string{"a", "b"}, More: 998}},
	}}
	var b strings.Builder
	if err := (&Report{Results: []result.Result{r}}).WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"and the other 998 of accelerated-0 to accelerated-499, accelerated-501 to accelerated-999, each", "driver ×1000"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if n := strings.Count(b.String(), "and the other"); n != 1 {
		t.Errorf("%d nodes stand for others, want one", n)
	}
}
