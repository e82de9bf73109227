package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/charts"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// Recipes with a lock file run with the charts that it locks, unless others are named. A lock that
// cannot be read is an error: simulated charts in its place would hide it.
func TestChartsFor(t *testing.T) {
	a := &App{Getenv: func(string) string { return "" }}
	dir := func(lock string) string {
		d := t.TempDir()
		if lock != "" {
			if err := os.WriteFile(filepath.Join(d, charts.LockFile), []byte(lock), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		return d
	}
	for name, c := range map[string]struct {
		flags  []string
		lock   string
		dir    string
		want   []string
		refuse string
	}{
		"no lock":             {flags: []string{"auto"}, want: []string{"simulated"}},
		"in the binary":       {flags: []string{"auto"}, dir: InBinary, want: []string{"simulated"}},
		"a lock":              {flags: []string{"auto"}, lock: "version: 1\ncharts: []\n", want: []string{"upstream"}},
		"a broken lock":       {flags: []string{"auto"}, lock: "version: [\n", want: []string{"upstream"}, refuse: charts.LockFile + ":2: "},
		"a lock, and a flag":  {flags: []string{"simulated"}, lock: "version: 1\ncharts: []\n", want: []string{"simulated"}},
		"auto in a list":      {flags: []string{"auto", "simulated"}, want: []string{"auto", "simulated"}, refuse: "--charts auto cannot be one of a list"},
		"an input of 2 lines": {flags: []string{"upstream\nsimulated"}, lock: "version: 1\ncharts: []\n", want: []string{"upstream", "simulated"}},
	} {
		t.Run(name, func(t *testing.T) {
			where := c.dir
			if where == "" {
				where = dir(c.lock)
			}
			if got := a.ChartsFor(c.flags, where); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
			_, err := a.Charts(c.flags, where)
			if c.refuse == "" && err != nil || c.refuse != "" && (reason.Of(err) != reason.Usage || !strings.Contains(err.Error(), c.refuse)) {
				t.Errorf("opening them: got %v, want an error with %q", err, c.refuse)
			}
		})
	}
}
