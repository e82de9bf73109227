package report

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/result"
)

// The page has a picture of a cell's nodes over time; the results file has it as data, and small.
func TestSchedulingInReports(t *testing.T) {
	r := &Report{Results: []result.Result{cellOf("eks", "helm", 60e9, result.Verdict{Status: result.Passed})}}
	s := r.Results[0].Scheduling
	s.Rows[0].Name, s.Rows[0].Taken = `<b>"n"`, "-00a!"
	var b bytes.Buffer
	if err := r.WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, part := range []string{
		"129 of 130 pods placed; median 41 ms from creation to node, at most 2512 ms.", "Of 32 GPUs, at most 32 were taken (100%), and 4 were free but fitted no waiting pod.", "block rack-1: 90 pods on 4 nodes.",
		"from the deployment to the end of the cell, 20.0 s", `<rect class="s0" x="1" y="0" width="2" height="1">`, `<rect class="s10" x="3" y="0" width="1" height="1">`, "accelerated-1, from 0.0 s: 0% of the GPUs taken", "&lt;b&gt;",
	} {
		if !strings.Contains(page, part) {
			t.Errorf("the page lacks %q", part)
		}
	}
	if strings.Contains(page, "<b>\"n\"") || strings.Contains(page, `class="s-1"`) {
		t.Error("the page has a name that was not escaped, or a part where nothing is taken")
	}
	b.Reset()
	if err := r.WriteCTRF(&b); err != nil {
		t.Fatal(err)
	}
	with := b.Len()
	back, err := parse(b.Bytes())
	if err != nil || !reflect.DeepEqual(back.Results[0].Scheduling, s) {
		t.Errorf("read back: got %+v, %v", back, err)
	}
	r.Results[0].Scheduling = nil
	b.Reset()
	if err := r.WriteCTRF(&b); err != nil {
		t.Fatal(err)
	}
	if more := with - b.Len(); more < 500 || more > 8<<10 {
		t.Errorf("the results file has %d bytes more for a cell's scheduling; want at most 8 KiB", more)
	}
	b.Reset()
	if err := r.WriteHTML(&b); err != nil || strings.Contains(b.String(), "Scheduling</h4>") {
		t.Errorf("without: got %v", err)
	}
}
