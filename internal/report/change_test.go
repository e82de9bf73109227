package report

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/nvidia/aicr-action/internal/result"
)

// upgraded is a report with an upgrade whose texts are those of a hostile recipe.
func upgraded() *Report {
	cell := cellOf("eks", "helm", 40*time.Second, result.Verdict{Status: result.Passed})
	cell.From = "main"
	driver := result.Ref{Group: "apps", Kind: "DaemonSet", Namespace: "gpu-operator", Name: "driver"}
	cell.Change = &result.Change{From: "main (1a2b3c4d5e6f)", Objects: 40, Components: []result.ComponentChange{{
		Component: "gpu-operator", FromVersion: "v25", ToVersion: "v26", Rolls: []result.Roll{{Ref: driver, Pods: 6, Nodes: 6, Fields: []string{"spec.containers[driver].image"}}},
		Images: []result.ImageChange{{From: "nvcr.io/driver:1", To: "<img src=x onerror=alert(1)>", Workloads: []result.Ref{driver}}},
		Changed: []result.ObjectChange{{Ref: driver, Fields: []result.FieldChange{{
			Path: `spec.template.metadata.annotations["` + strings.Repeat("averylongkey", 20) + `"]`, From: "nothing", To: `"1"`,
		}}}},
	}}}
	return &Report{Meta: Meta{Tool: "v0.2.0", RunID: "1", Started: began, Code: codes4test}, Results: []result.Result{cell}}
}

// The difference is in every report, folded where it can be, and comes back out of the results file.
func TestChangeInReports(t *testing.T) {
	r := upgraded()
	const line = "rolls: DaemonSet gpu-operator/driver, 6 pods on 6 nodes; by spec.containers[driver].image"
	const summary = "1 workload rolls (6 pods), 1 image changes, 1 object is changed"
	for name, tc := range map[string]struct {
		write func(*bytes.Buffer) error
		want  []string
	}{
		"terminal": {func(b *bytes.Buffer) error { return r.WriteTerminal(b) }, []string{"change: eks/helm from main: " + summary, "  gpu-operator v25 → v26: "}},
		"summary":  {func(b *bytes.Buffer) error { return r.WriteMarkdown(b) }, []string{"<details><summary>What changes in the cluster: " + summary, "- `" + line + "`"}},
		"comment":  {func(b *bytes.Buffer) error { return r.WriteComment(b, "") }, []string{"<details><summary>What changes in the cluster: " + summary, "- `" + line + "`"}},
		"page":     {func(b *bytes.Buffer) error { return r.WriteHTML(b) }, []string{`<details class="change"><summary>What changes in the cluster: ` + summary, "<li>" + line, "&lt;img src=x"}},
	} {
		var b bytes.Buffer
		if err := tc.write(&b); err != nil {
			t.Fatal(err)
		}
		for _, want := range tc.want {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%s lacks %q:\n%s", name, want, b.String())
			}
		}
		if name == "page" && strings.Contains(b.String(), "<img src=x") {
			t.Error("the page has a tag of the recipe's")
		}
	}
	var b bytes.Buffer
	if err := r.WriteCTRF(&b); err != nil {
		t.Fatal(err)
	}
	var file struct {
		Results struct {
			Tests []struct{ Extra result.Result }
		}
	}
	if err := json.Unmarshal(b.Bytes(), &file); err != nil || file.Results.Tests[0].Extra.Change == nil || file.Results.Tests[0].Extra.Change.Components[0].Rolls[0].Nodes != 6 {
		t.Errorf("the results file: %v\n%s", err, b.String())
	}
}

// On a narrow screen, no line of the difference is wider than its place, and neither is the grid,
// whose cells then say their lanes themselves.
func TestPageChange(t *testing.T) {
	b := newBrowser(t)
	if _, err := chromedp.Call(b.ctx, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: 380, Height: 800, DeviceScaleFactor: 1}); err != nil {
		t.Fatal(err)
	}
	b.open(t, upgraded())
	if eval[bool](t, b, `(g => g.scrollWidth > g.clientWidth)(document.querySelector('.scroll'))`) {
		t.Error("the grid is wider than the page")
	}
	if lane := eval[string](t, b, `getComputedStyle(document.querySelector('#grid td a'), '::before').content`); !strings.Contains(lane, "helm") {
		t.Errorf("a cell says %s before its verdict, want its lane", lane)
	}
	if eval[bool](t, b, `document.querySelectorAll('details').forEach(d => { d.open = true }); document.querySelector('.change').scrollIntoView(); [...document.querySelectorAll(".change li")].some(li => li.scrollWidth > li.clientWidth)`) {
		t.Error("a line is wider than its place")
	}
	b.shot(t, "change")
	b.clean(t)
}
