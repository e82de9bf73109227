package report

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// reworded replaces every message: without leading blanks, without "set in", and without anything
// that could be parsed as a file name. Equal messages stay equal.
func reworded(r *Report) *Report {
	said := map[string]string{}
	say := func(text string) string {
		if said[text] == "" {
			said[text] = fmt.Sprintf("sentence %d", len(said)+1)
		}
		return said[text]
	}
	all := func(lines []string) (others []string) {
		for _, l := range lines {
			others = append(others, say(l))
		}
		return others
	}
	other := &Report{Meta: r.Meta}
	for i := range r.Results {
		c := r.Results[i]
		c.Cause, c.Details, c.Findings = say(c.Cause), all(c.Details), slices.Clone(c.Findings)
		for j := range c.Findings {
			c.Findings[j].Cause, c.Findings[j].Story = say(c.Findings[j].Cause), all(c.Findings[j].Story)
		}
		other.Results = append(other.Results, c)
	}
	return other
}

// No report parses a message: with other messages every annotation has the same place, and every
// cell the same root cause.
func TestRewordedMessages(t *testing.T) {
	at := Checkout{Root: "/ws", Dir: "/ws"}
	for name, r := range map[string]*Report{"sample": sample(), "big": big()} {
		outline := func(r *Report) (lines []string) {
			for _, c := range r.causes() {
				lines = append(lines, fmt.Sprintf("%s at %q: %s; %d lines", c.Reason, c.Place, cellNames(c.Cells, 999), len(c.Story)))
			}
			for _, a := range r.Annotations(at) {
				lines = append(lines, fmt.Sprintf("%s at %s:%d", a.Title, a.File, a.Line))
			}
			return lines
		}
		before, after := outline(r), outline(reworded(r))
		if len(before) < 4 || !slices.Equal(before, after) {
			t.Errorf("%s: with the words of today\n%s\nwith other words\n%s", name, strings.Join(before, "\n"), strings.Join(after, "\n"))
		}
	}
	// Lines in the format of a failure report are not parsed for places.
	quoted := cellOf("eks", "helm", 1, result.Verdict{Status: result.Failed, Reason: reason.SchedulingFailed, Cause: "one", Details: []string{"one", "  set in recipes/a.yaml:1", "two", "  set in recipes/b.yaml:2"}})
	quoted.Findings = []result.Finding{{Cause: "one", Story: quoted.Details}}
	if got := (&Report{Results: []result.Result{quoted}}).causes(); len(got) != 1 || got[0].Place != (result.Place{}) {
		t.Errorf("got %+v, want one cause without a place", got)
	}
}

// Findings survive the results file; a file from before there were findings is read, and each of
// its cells has one cause.
func TestFindings_ReadBack(t *testing.T) {
	read := func(r *Report) *Report {
		var b bytes.Buffer
		if err := r.WriteCTRF(&b); err != nil {
			t.Fatal(err)
		}
		back, err := parse(b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		return back
	}
	r := sample()
	if got := read(r).Results[2].Findings; !reflect.DeepEqual(got, r.Results[2].Findings) {
		t.Errorf("got %+v\nwant %+v", got, r.Results[2].Findings)
	}
	for i := range r.Results {
		r.Results[i].Findings = nil
	}
	r.Results = r.Results[2:3]
	old := read(r).causes()
	if len(old) != 1 || old[0].Text != r.Results[0].Cause || len(old[0].Story) != len(r.Results[0].Details) {
		t.Errorf("got %+v, want one cause with the whole story", old)
	}
}
