package lane

import (
	"strings"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/result"
)

// The order is what the deployers' own times say (faults F30).
func TestEarlyStarts(t *testing.T) {
	ref := func(kind, name string) result.Ref { return result.Ref{Kind: kind, Namespace: "ns", Name: name} }
	at := func(second string) time.Time {
		when, err := time.Parse(time.RFC3339, "2026-01-01T00:00:"+second+"Z")
		if err != nil {
			t.Fatal(err)
		}
		return when
	}
	application := func(wave int, began, ended string) *Timing {
		return &Timing{Began: at(began), Ended: at(ended), Wave: wave}
	}
	release := func(after, began, ready string) *Timing {
		tm := &Timing{Began: at(began), Ended: at(ready)}
		if after != "" {
			tm.After = []result.Ref{ref("HelmRelease", after)}
		}
		return tm
	}
	for name, c := range map[string]struct {
		items []Item
		want  string
	}{
		"waves that waited": {[]Item{{ID: "Application a", Ref: ref("Application", "a"), Timing: application(0, "01", "05")}, {ID: "Application b", Ref: ref("Application", "b"), Timing: application(1, "05", "06")}}, ""},
		"one wave":          {[]Item{{ID: "Application a", Ref: ref("Application", "a"), Timing: application(1, "01", "05")}, {ID: "Application b", Ref: ref("Application", "b"), Timing: application(1, "02", "06")}}, ""},
		"a wave that did not wait": {[]Item{{ID: "Application b", Ref: ref("Application", "b"), Timing: application(1, "02", "06")}, {ID: "Application a", Ref: ref("Application", "a"), Timing: application(0, "01", "05")}},
			"Application b started 3s before Application a finished"},
		"for two": {[]Item{{ID: "Application a", Ref: ref("Application", "a"), Timing: application(-1, "01", "05")}, {ID: "Application b", Ref: ref("Application", "b"), Timing: application(0, "01", "09")}, {ID: "Application c", Ref: ref("Application", "c"), Timing: application(10, "02", "09")}},
			"Application b started 4s before Application a finished\nApplication c started 7s before Application b finished (and before 1 other earlier item)"},
		"no history":              {[]Item{{ID: "Application a", Ref: ref("Application", "a"), Timing: application(0, "01", "05")}, {ID: "Application b", Ref: ref("Application", "b"), Timing: &Timing{Wave: 1}}}, ""},
		"a dependency that held":  {[]Item{{ID: "HelmRelease a", Ref: ref("HelmRelease", "a"), Timing: release("", "01", "05")}, {ID: "HelmRelease b", Ref: ref("HelmRelease", "b"), Timing: release("a", "07", "08")}}, ""},
		"no dependency":           {[]Item{{ID: "HelmRelease a", Ref: ref("HelmRelease", "a"), Timing: release("", "01", "05")}, {ID: "HelmRelease b", Ref: ref("HelmRelease", "b"), Timing: release("", "02", "03")}}, ""},
		"a dependency not waited": {[]Item{{ID: "HelmRelease a", Ref: ref("HelmRelease", "a"), Timing: release("", "01", "05")}, {ID: "HelmRelease b", Ref: ref("HelmRelease", "b"), Timing: release("a", "02", "03")}}, "HelmRelease b started 3s before HelmRelease a finished"},
	} {
		if got := strings.Join(EarlyStarts(c.items), "\n"); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, c.want)
		}
	}
}
