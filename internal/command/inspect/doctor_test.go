package inspect

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/nvidia/aicr-action/internal/command/platform"
	"github.com/nvidia/aicr-action/internal/matrix/schedule"
)

func TestDoctorMemory(t *testing.T) {
	for name, test := range map[string]struct {
		m                   platform.Capacity
		status, detail, fix string
	}{
		"plenty":      {platform.Capacity{Cores: 4, Memory: 64 << 30, Known: true}, "ok", "enough for 43 cells at a time", ""},
		"for one":     {platform.Capacity{Cores: 4, Memory: 2 << 30, Known: true}, "note", "enough for 1 cell at a time; there are cores for 4", ""},
		"for none":    {platform.Capacity{Cores: 2, Memory: 1 << 30, Known: true}, "note", "enough for 0 cells", "raise the limit of the container"},
		"few cores":   {platform.Capacity{Cores: 1, Memory: 2 << 30, Known: true}, "ok", "enough for 1 cell at a time", ""},
		"no such tip": {platform.Capacity{Cores: 3, Memory: 0, Known: false}, "note", "unknown on this system, so that at most 2 cells", ""},
	} {
		if c := checkMemory(test.m, schedule.FootprintCell); c.Status != test.status || !strings.Contains(c.Detail, test.detail) || !strings.Contains(c.Fix, test.fix) || (c.Fix == "") != (test.fix == "") {
			t.Errorf("%s: got %+v, want %+v", name, c, test)
		}
	}
}

// A machine without a sandbox can run cells. matrix doctor says for which recipes that is not safe.
func TestDoctorSandbox(t *testing.T) {
	if c := checkSandbox("landlock ABI 4: files, TCP ports"); c.Status != "ok" || c.Detail != "landlock ABI 4: files, TCP ports" || c.Fix != "" {
		t.Errorf("got %+v", c)
	}
	if c := checkSandbox("none: macOS has no Landlock"); c.Status != "note" || c.Fix == "" {
		t.Errorf("got %+v", c)
	}
}

func TestDoctorHugePages(t *testing.T) {
	for text, want := range map[string]check{
		"always [madvise] never\n": {Status: "note", Detail: "transparent_hugepage is madvise; with always", Fix: "echo always > /sys/kernel/mm/transparent_hugepage/enabled"},
		"always madvise [never]\n": {Status: "note", Detail: "transparent_hugepage is never; with always", Fix: "as root: "},
		"[always] madvise never\n": {Status: "ok", Detail: "transparent_hugepage is always"},
	} {
		c, ok := checkPages(fstest.MapFS{hugePages: {Data: []byte(text)}})
		if !ok || c.Status != want.Status || !strings.Contains(c.Detail, want.Detail) || !strings.Contains(c.Fix, want.Fix) || (c.Fix == "") != (want.Fix == "") {
			t.Errorf("%q: got %+v, %v, want %+v", text, c, ok, want)
		}
	}
	for name, root := range map[string]fstest.MapFS{"no such file": {}, "nothing in force": {hugePages: {Data: []byte("always madvise never")}}} {
		if c, ok := checkPages(root); ok {
			t.Errorf("%s: got %+v, want no check", name, c)
		}
	}
}
