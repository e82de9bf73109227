package matrix

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// A cell that runs without an app whose chart cannot be had never passes, and does not hide what is wrong with the rest.
func TestAbsent(t *testing.T) {
	missing := &recipe.FileError{File: "a.yaml", Line: 3, Err: errors.New("download chart a: no such host\nmore")}
	a := &Absent{Err: reason.Wrap(reason.ChartDownloadFailed, missing), Apps: []string{"a"}, Errs: []error{missing}, Dependents: []string{"b"}, Of: 5, Advice: "a directory helps"}
	red := &reason.Error{Reason: reason.SchedulingFailed, Err: result.NewFailure(result.Finding{Cause: "no node for c", Story: []string{"no node for c", "its story"}})}
	for name, c := range map[string]struct {
		rest error
		want reason.Reason
		text []string
	}{
		"a green rest":  {nil, reason.ChartDownloadFailed, []string{"2 of 5 apps not run, since 1 chart cannot be had; the rest passed", "a is not run: a.yaml:3: download chart a: no such host", "not run either: b", "a directory helps"}},
		"a red rest":    {red, reason.ChartDownloadFailed, []string{"the rest failed (SCHEDULING_FAILED): no node for c", "its story", "a is not run: a.yaml:3"}},
		"a late rest":   {reason.New(reason.SyncTimeout, "not ready"), reason.ChartDownloadFailed, []string{"the rest failed (SYNC_TIMEOUT): not ready"}},
		"no rest":       {reason.New(reason.Interrupted, "interrupted"), reason.Interrupted, []string{"interrupted"}},
		"a dead server": {reason.New(reason.ComponentDied, "etcd died"), reason.ChartDownloadFailed, []string{"the rest failed (COMPONENT_DIED): etcd died"}},
	} {
		v := result.VerdictOf(a.verdict(c.rest))
		text := v.Cause + "\n" + strings.Join(v.Details, "\n")
		if v.Reason != c.want || v.Status.Good() {
			t.Errorf("%s: got %s, %s", name, v.Status, v.Reason)
		}
		for _, want := range c.text {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in %s", name, want, text)
			}
		}
	}
	if v := result.VerdictOf(a.verdict(red)); len(v.Findings) != 2 || v.Findings[0].Cause != "no node for c" || v.Findings[1].Place != (result.Place{File: "a.yaml", Line: 3}) {
		t.Errorf("got %+v", v.Findings)
	}
	if got := (*Absent)(nil).verdict(red); !errors.Is(got, red) {
		t.Errorf("a cell that has all: got %v", got)
	}
	if err := (*Absent)(nil).verdict(nil); err != nil || (*Absent)(nil).lines() != nil || len(a.lines()) != 2 {
		t.Error(err, a.lines())
	}
	if v := result.VerdictOf(a.verdict(context.Canceled)); v.Status.Good() {
		t.Error(v)
	}
}
