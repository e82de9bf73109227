package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/result"
)

// Every report for people has each step of a cell's chaos, with the workloads that are not whole;
// the results file has it as data.
func TestChaosInReports(t *testing.T) {
	r := sample()
	ref := result.Ref{Group: "apps", Kind: "Deployment", Namespace: "a", Name: "web"}
	hurt := []result.Survivor{{Workload: ref, State: result.Degraded, Ready: 1, Want: 2, Why: "0/4 nodes are available: <b>", Before: true}}
	for i := range mostHurt + 4 {
		hurt = append(hurt, result.Survivor{Workload: result.Ref{Kind: "Pod", Name: fmt.Sprintf("p%d", i)}, State: result.Waiting, Want: 1})
	}
	r.Results[0].Chaos = &result.Chaos{File: "rack.yaml", Seed: 7, Steps: []result.ChaosStep{
		{Name: "a rack", Action: "drain", Status: result.StepPassed, Did: "2 nodes cordoned", Whole: 9, Hurt: hurt, Unsettled: "waited 1s"},
		{Name: "stopNodes", Action: "stopNodes", Status: result.StepFailed, Error: "no node has the labels rack=r9"},
		{Name: "late", Action: "killPods", Status: result.StepNotRun},
	}}
	want := []string{
		"a rack (drain): 2 nodes cordoned. Of 34 workloads: 9 whole, 1 degraded, 24 waiting", "not at rest: waited 1s", "degraded: Deployment a/web, 1 of 2 pods, as before the first step: 0/4 nodes are available:",
		"and 5 more", "stopNodes: not done: no node has the labels rack=r9", "late (killPods): not run, since the run ended before it",
	}
	for name, write := range map[string]func(*bytes.Buffer) error{
		"terminal": func(b *bytes.Buffer) error { return r.WriteTerminal(b) },
		"markdown": func(b *bytes.Buffer) error { return r.WriteMarkdown(b) },
		"html":     func(b *bytes.Buffer) error { return r.WriteHTML(b) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		for _, part := range append(want, "rack.yaml, seed 7") {
			if !strings.Contains(strings.ReplaceAll(b.String(), "`", ""), part) {
				t.Errorf("%s lacks %q", name, part)
			}
		}
		if name == "html" && strings.Contains(b.String(), "<b>\n") {
			t.Error("html has a scheduler's text that was not escaped")
		}
	}
	var b bytes.Buffer
	if err := r.WriteCTRF(&b); err != nil {
		t.Fatal(err)
	}
	back, err := parse(b.Bytes())
	if err != nil || back.Results[0].Chaos == nil || len(back.Results[0].Chaos.Steps[0].Hurt) != len(hurt) {
		t.Errorf("read back: got %+v, %v", back, err)
	}
	if lines := r.chaosMany(); len(lines) != 1 || !strings.Contains(lines[0], "1 cell; in 1 of them") {
		t.Errorf("of many cells: got %q", lines)
	}
}
