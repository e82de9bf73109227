package host

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/result/reason"
)

// A process that exited because of a full disk is not to blame.
func TestDeathReason(t *testing.T) {
	tests := map[string]struct {
		log  string
		want reason.Reason
	}{
		"disk full":      {"starting\n{\"msg\":\"failed to create WAL\",\"error\":\"write /x/0.tmp: no space left on device\"}\n", reason.NoSpace},
		"something else": {"starting\npanic: nil pointer\n", reason.ComponentDied},
		"nothing said":   {"", reason.ComponentDied},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			log := filepath.Join(t.TempDir(), "etcd.log")
			if err := os.WriteFile(log, []byte(tc.log), 0o644); err != nil {
				t.Fatal(err)
			}
			if got := DeathReason(log, reason.ComponentDied); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

// A stack trace must not push out the line that says what happened.
func TestLastWords(t *testing.T) {
	trace := strings.Repeat("goroutine 1 [running]:\n\tmain.go:1 +0x1\n", 20)
	tests := map[string]struct {
		log   string
		first string
	}{
		"panic":     {"starting\npanic: nil map\n" + trace, "panic: nil map"},
		"full disk": {"starting\n{\"level\":\"warn\",\"error\":\"no space left on device\"}\n" + trace, "no space left on device"},
		"nothing":   {"one\ntwo\nthree\nfour\nfive\nsix\n", "two"},
		"short":     {"panic: at once\n", "panic: at once"},
		"klog":      {"I1121 10:00:00 x.go:1] ok\nF1121 10:00:00 x.go:2] cannot listen\n" + trace, "cannot listen"},
		"empty":     {"", ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			log := filepath.Join(t.TempDir(), "x.log")
			if err := os.WriteFile(log, []byte(tc.log), 0o644); err != nil {
				t.Fatal(err)
			}
			got := lastWords(log, tailLines)
			if len(got) > tailLines || tc.first != "" && (len(got) == 0 || !strings.Contains(got[0], tc.first)) {
				t.Errorf("got %q, want at most 5 lines and %q first", got, tc.first)
			}
		})
	}
}

// A crash is what Go's runtime ends a program with, however much it writes after that line.
func TestCrash(t *testing.T) {
	stacks := strings.Repeat("goroutine 1 [select]:\n\tmain.go:1 +0x1\n", 20000)
	tests := map[string]struct {
		log    string
		status int
		want   string
	}{
		"panic":                    {"starting\npanic: nil map\n\ngoroutine 1 [running]:\n", 2, "panic: nil map"},
		"runtime":                  {"fatal error: concurrent map writes\n" + stacks, 2, "fatal error: concurrent map writes"},
		"fault":                    {"ok\nSIGSEGV: segmentation violation\nPC=0x1\n" + stacks, 2, "SIGSEGV: segmentation violation"},
		"a full disk":              {"{\"error\":\"write 0.tmp: no space left on device\"}\npanic: failed to create WAL\n" + stacks[:200], 2, ""},
		"wrong flag":               {"unknown flag: --panic\nusage: panic: no\n", 2, ""},
		"gave up":                  {"panic: recovered and logged\nerror: cannot go on\n", 1, ""},
		"killed":                   {"panic: recovered and logged\n", -1, ""},
		"asked for its stacks":     {"SIGQUIT: quit\n" + stacks, 2, ""},
		"in the midst of a line":   {"E1124 observed a panic: nil map\n", 2, ""},
		"a line of any length":     {strings.Repeat("x", 1<<20) + "\npanic: nil map\n", 2, "panic: nil map"},
		"nothing":                  {"", 2, ""},
		"longer than is looked at": {"panic: at the beginning\n" + strings.Repeat(stacks, 24), 2, ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			log := filepath.Join(t.TempDir(), "x.log")
			if err := os.WriteFile(log, []byte(tc.log), 0o644); err != nil {
				t.Fatal(err)
			}
			got := deathOf(ProcessSpec{Name: "x", Log: log}, tc.status, errors.New("exit status"))
			if got.Crash != tc.want || tc.want != "" && !slices.Contains(got.Tail, tc.want) || len(got.Tail) > tailLines {
				t.Errorf("got %q, with %q at its end; want %q", got.Crash, got.Tail, tc.want)
			}
		})
	}
}
