package report

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

var update = flag.Bool("update", false, "write testdata/terminal*.golden anew")

func terminalOf(t *testing.T, r *Report) string {
	t.Helper()
	var b strings.Builder
	if err := r.WriteTerminal(&b); err != nil {
		t.Fatalf("write for the terminal: %v", err)
	}
	return b.String()
}

// terminalSample has a cell of every status, every kind of remarks, a failure report that is longer
// than a screen, and lanes that were compared.
func terminalSample() *Report {
	r := sample()
	r.Replay = func(artifacts string) string { return "matrix replay " + artifacts }
	for i := range 3 {
		c := &r.Results[i]
		c.HealthPolicy = []string{"ServiceMonitor.monitoring.coreos.com (a/b) counts as healthy as soon as it exists: why (https://example.com)"}
		c.OutOfOrder = []string{"Application b started 3s before Application a finished"}
	}
	r.Results[0].Checks = 1
	r.Results[1].Kubeconfig = "/cache/clusters/x/kubeconfig.yaml"
	r.Results[1].ComparedWith, r.Results[1].ComparedObjects = "helm", 226
	r.Results[2].Stage = "schedule"
	for i := range 12 {
		r.Results[2].Details = append(slices.Clone(r.Results[2].Details), fmt.Sprintf("line %d", i+1))
	}
	return r
}

func TestTerminalGolden(t *testing.T) {
	green, explained := terminalSample(), terminalSample()
	green.Results, explained.Results = green.Results[:2], explained.Results[:2]
	explained.Explain = true
	for file, r := range map[string]*Report{"testdata/terminal.golden": terminalSample(), "testdata/terminal-green.golden": green, "testdata/terminal-explain.golden": explained} {
		got := terminalOf(t, r)
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatalf("%v (go test ./internal/report -run TestTerminalGolden -update writes it)", err)
		}
		if got != string(want) {
			t.Errorf("%s differs (-update writes it anew); got:\n%s\nwant:\n%s", file, got, want)
		}
	}
}

// The table is for pipes and logs too: no colour, no trailing blanks, and no failure report longer
// than a screen.
func TestTerminal(t *testing.T) {
	text := terminalOf(t, terminalSample())
	if strings.Contains(text, "\x1b") {
		t.Errorf("escape codes in:\n%q", text)
	}
	for _, line := range strings.Split(text, "\n") {
		if strings.TrimRight(line, " ") != line {
			t.Errorf("trailing blanks: %q", line)
		}
	}
	for _, part := range []string{"line 2\n", "line 12\n", "more lines in summary.md", TotalsText(sample().Results), "⚠ COMPONENT_DIED (14)", "◷ SYNC_TIMEOUT (50)", "inspect its cluster: matrix replay /out/"} {
		if !strings.Contains(text, part) {
			t.Errorf("want %q in:\n%s", part, text)
		}
	}
	if strings.Contains(text, "line 6\n") {
		t.Errorf("a story of 21 lines is not cut:\n%s", text)
	}
	r := sample()
	r.Unread = []string{"shard-2.json: cut off"}
	if text := terminalOf(t, r); !strings.Contains(text, "not included: shard-2.json: cut off\n") {
		t.Errorf("what could not be read is not named:\n%s", text)
	}
}

func TestTerminalGrid(t *testing.T) {
	r := sample()
	r.Results = []result.Result{r.Results[0], r.Results[4]} // another recipe, another deployer: two cells of the grid have no result
	want := "RECIPE         helm                 argocd-oci\neks            ✓ 29.8 s, 112 pods   -\neks-training   -                    ◷ SYNC_TIMEOUT (50)\n"
	if got := r.terminalGrid(); got != want {
		t.Errorf("got:\n%swant:\n%s", got, want)
	}
}

// The first column is named by what the cells ran, in every report; recipe if they differ.
func TestGrid_What(t *testing.T) {
	r := sample()
	r.Results = r.Results[:2]
	app, of := result.RecipesOfApp("deploy"), result.RecipesOfBundle("out")
	for _, c := range []struct{ recipes, other, want string }{{"recipes", "recipes", "recipe"}, {app, app, "app"}, {of, of, "bundle"}, {app, of, "recipe"}} {
		r.Results[0].Recipes, r.Results[1].Recipes = c.recipes, c.other
		var page, summary bytes.Buffer
		if err := errors.Join(r.WriteHTML(&page), r.WriteMarkdown(&summary)); err != nil {
			t.Fatal(err)
		}
		for what, found := range map[string]bool{
			"terminal": strings.HasPrefix(r.terminalGrid(), strings.ToUpper(c.want)+" "), "markdown": strings.Contains(summary.String(), "| "+c.want+" | "),
			"page": strings.Contains(page.String(), `<th scope="col">`+c.want+"</th>"),
		} {
			if !found {
				t.Errorf("%s, %s: the %s has no column %s", c.recipes, c.other, what, c.want)
			}
		}
	}
}

// Every report says of a cell that did not run whose verdict it has, red or green.
func TestTwin(t *testing.T) {
	r := sample()
	green, red := r.Results[0], r.Results[4]
	for _, c := range []*result.Result{&green, &red} {
		c.Recipe, c.SameAs, c.Notes = "twin-of-it", &result.Twin{Recipe: c.Recipe, Duration: c.Duration}, []string{"same as " + c.Cell.String() + ": equal"}
		c.Duration = 0
	}
	r.Results = []result.Result{green, red}
	want := "RECIPE       helm                        argocd-oci\ntwin-of-it   ✓ same as eks, 112 pods *   ◷ SYNC_TIMEOUT (50), same as eks-training\n"
	if got := r.terminalGrid(); got != want {
		t.Errorf("got:\n%swant:\n%s", got, want)
	}
	var junit, page, summary bytes.Buffer
	if err := errors.Join(r.WriteJUnit(&junit), r.WriteHTML(&page), r.WriteMarkdown(&summary)); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"terminal": terminalOf(t, r), "JUnit": junit.String(), "page": page.String(), "summary": summary.String()} {
		for _, want := range []string{"same as eks", "same as eks-training"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in\n%s", name, want, text)
			}
		}
	}
}

// What is the recipe's is printed, and what every run has is counted: a person reads for what is
// new. A count is said even if nothing else is.
func TestTerminal_Usual(t *testing.T) {
	cell := result.Result{Cell: result.Cell{Recipe: "eks", Deployer: "helm"}, Verdict: result.Verdict{Status: result.Passed}, Phases: []result.Phase{{Name: "sync"}}}
	texts := remarkFields(t, &cell)
	text := terminalOf(t, &Report{Results: []result.Result{cell}})
	for _, row := range result.RemarkRows() {
		if shown := strings.Contains(text, texts[row.Kind]); shown == row.Usual {
			t.Errorf("%s: printed is %t in\n%s", row.Kind, shown, text)
		}
	}
	if want := "\nnot shown: 1 not verified, 1 out of order, 1 stand-in, 1 override (--explain shows them)\n"; !strings.Contains(text, want) {
		t.Errorf("want %q in\n%s", want, text)
	}
}

// A run without remarks explains none. A passing run with remarks explains them in two lines.
func TestAboutRemarks(t *testing.T) {
	r := terminalSample()
	r.Results = r.Results[:1]
	about := aboutRemarks(r.remarks())
	want := []string{
		"The harness adds the health policy, stand-ins and overrides to every run, because nodes and operators are simulated.",
		"It reports warnings and items out of order for information. None of these affects the result: no cell fails because of them.",
	}
	if !slices.Equal(about, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(about, "\n"), strings.Join(want, "\n"))
	}
	r.Results = []result.Result{{Cell: result.Cell{Recipe: "a", Deployer: "helm"}, Verdict: result.Verdict{Status: result.Passed}, Duration: time.Second}}
	if about := aboutRemarks(r.remarks()); len(about) != 0 {
		t.Errorf("there is nothing to explain; got %q", about)
	}
}

func TestCompared(t *testing.T) {
	res := func(recipe, deployer, with string, r reason.Reason) result.Result {
		res := result.Result{Cell: result.Cell{Recipe: recipe, Deployer: deployer}, Verdict: result.Verdict{Reason: r}, ComparedWith: with}
		if with != "" {
			res.ComparedObjects = 226
		}
		return res
	}
	r := &Report{Results: []result.Result{
		res("eks", "helm", "", ""), res("eks", "argocd-oci", "helm", ""), res("eks", "argocd-helm-oci", "helm", reason.LaneDivergence), res("eks", "flux-oci", "helm", ""),
		res("gke", "helm", "", ""),
	}}
	if got, want := alikeLines(r.Results), []string{"lanes: eks: argocd-oci and flux-oci produced the same 226 objects as helm"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	var html, comment strings.Builder
	if err := errors.Join(r.WriteHTML(&html), r.WriteComment(&comment, "")); err != nil {
		t.Fatal(err)
	}
	const said = "eks: argocd-oci and flux-oci produced the same 226 objects as helm"
	if !strings.Contains(html.String(), `<p class="same">`+said+"</p>") || !strings.Contains(comment.String(), "`"+said+"`") {
		t.Errorf("the page or the comment does not say it:\n%s", comment.String())
	}
}

// One cause in several lanes of a recipe is printed once, with the lanes and one command; another cause, or another recipe,
// stands by itself.
func TestTerminal_OneCause(t *testing.T) {
	failed := func(recipe, lane, cause string) result.Result {
		return result.Result{Cell: result.Cell{Recipe: recipe, Deployer: lane}, Rerun: "matrix run " + recipe + " --deployer " + lane,
			Verdict: result.Verdict{Status: result.Failed, Reason: reason.WorkloadFailed, Cause: cause, Details: []string{cause, "  detail"}, Findings: []result.Finding{{Cause: cause, Story: []string{cause, "  detail"}}}}}
	}
	r := &Report{Results: []result.Result{failed("a", "helm", "x"), failed("a", "argocd-oci", "x"), failed("a", "flux-oci", "y"), failed("b", "helm", "x")}}
	var b strings.Builder
	if err := r.WriteTerminal(&b); err != nil {
		t.Fatal(err)
	}
	out := b.String()
	for want, times := range map[string]int{
		"✗ a in helm, argocd-oci  WORKLOAD_FAILED: x\n": 1, "✗ a/flux-oci  WORKLOAD_FAILED: y\n": 1, "✗ b/helm  WORKLOAD_FAILED: x\n": 1,
		"rerun: matrix run a --deployer helm\n": 1, "rerun: matrix run a --deployer argocd-oci\n": 0, "  detail\n": 3,
	} {
		if got := strings.Count(out, want); got != times {
			t.Errorf("%q is there %d times, want %d, in\n%s", want, got, times, out)
		}
	}
}
