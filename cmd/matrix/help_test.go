package main

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// The help of the program has two lines about it, usage, two examples, and every command in a
// group. The list of exit codes is at the end of run's help, and explain prints it.
func TestHelp(t *testing.T) {
	r := invoke(t, nil, "--help")
	r.want(t, 0)
	lines := strings.Split(r.stdout, "\n")
	at := func(head string) int {
		for i, line := range lines {
			if line == head {
				return i
			}
		}
		t.Errorf("--help lacks the line %q:\n%s", head, r.stdout)
		return 0
	}
	if usage, examples, verbs := at("Usage:"), at("Examples:"), at("Run recipes:"); usage > 5 || examples < usage || verbs != examples+4 {
		t.Errorf("want usage, two examples and then the verbs; got\n%s", r.stdout)
	}
	if v := invoke(t, nil, "--version"); v.code != 0 || v.stdout != "matrix "+cli.BuildOf(released).Version+"\n" {
		t.Errorf("--version: got code %d and %q", v.code, v.stdout+v.stderr)
	}
	if strings.Contains(r.stdout, "hidden") || strings.Contains(r.stdout, "render-charts") {
		t.Errorf("want no hidden commands; got\n%s", r.stdout)
	}
	if strings.Contains(r.stdout, "SCHEDULING_FAILED") || strings.Contains(r.stdout, "Additional") || strings.Contains(r.stdout, "Available") {
		t.Errorf("want no exit codes, and no verb without a group; got\n%s", r.stdout)
	}
	for _, args := range [][]string{{"parity", "--help"}, {"run", "--help-all"}} {
		r := invoke(t, nil, args...)
		r.want(t, 0)
		if !strings.HasSuffix(r.stdout, "\nExit codes:\n"+reason.Codes()) || strings.Count(r.stdout, "SCHEDULING_FAILED") != 1 || strings.Index(r.stdout, "Usage:") > strings.Index(r.stdout, "Exit codes:") {
			t.Errorf("%s: want the exit codes at the end, once; got\n%s", strings.Join(args, " "), r.stdout)
		}
	}
	if r := invoke(t, nil, "report", "--help"); strings.Contains(r.stdout, "SCHEDULING_FAILED") {
		t.Errorf("report --help lists the exit codes:\n%s", r.stdout)
	}
}

// run has more flags than a screen has lines: its help has those that most people need, in groups,
// and names the flag that prints all.
func TestHelp_Run(t *testing.T) {
	for _, args := range [][]string{{"run", "--help"}, {"help", "run"}, {"run", "eks", "--help"}} {
		r := invoke(t, nil, args...)
		r.want(t, 0)
		lines := strings.Split(r.stdout, "\n")
		if len(lines) > 41 { // 40, and what follows the last line's end
			t.Errorf("%s: %d lines do not fit on a screen:\n%s", strings.Join(args, " "), len(lines), r.stdout)
		}
		for _, line := range lines {
			if len([]rune(line)) > 100 {
				t.Errorf("%s: a line of %d columns: %s", strings.Join(args, " "), len([]rune(line)), line)
			}
		}
		wantText(t, strings.Join(args, " "), r.stdout, "Usage:\n  matrix run [RECIPE...] [flags]\n", "\nSelect:\n", "\n  -d, --deployer LIST ", "\nReports:\n", "`matrix run --help-all`")
	}
	r := invoke(t, nil, "run", "--help-all")
	wantText(t, "run --help-all", r.stdout, "--max-strikes int", "KWOK_SYNC_DEADLINE_EPOCH", "SYNC_TIMEOUT")
}

// `matrix explain` prints what the table of reasons has.
func TestExplain(t *testing.T) {
	for _, test := range []struct{ arg, want string }{{"", reason.Codes()}, {"--markdown", reason.Markdown()}} {
		if r := invoke(t, nil, append([]string{"explain"}, strings.Fields(test.arg)...)...); r.code != 0 || r.stdout != test.want {
			t.Errorf("explain %s: got code %d and\n%s", test.arg, r.code, r.stdout)
		}
	}
	for _, what := range []string{"50", "SYNC_TIMEOUT", "sync_timeout"} {
		r := invoke(t, nil, "explain", what)
		r.want(t, 0)
		wantText(t, "explain "+what, r.stdout, "exit code 50  SYNC_TIMEOUT", "KWOK_ARGOCD_SYNC_TIMEOUT")
	}
	if r := invoke(t, nil, "explain", "scheduling"); !strings.HasPrefix(r.stdout, "exit code 1  SCHEDULING_FAILED\n") {
		t.Errorf("explain scheduling: the one reason of which it is a part; got\n%s%s", r.stdout, r.stderr)
	}
	if r := invoke(t, nil, "explain", "flux"); r.code != 0 || strings.Count(r.stdout, "\n") != 3 || !strings.Contains(r.stdout, " 61  FLUX_NOT_READY ") {
		t.Errorf("explain flux: all reasons of which it is a part; got\n%s%s", r.stdout, r.stderr)
	}
	wantText(t, "explain 143", invoke(t, nil, "explain", "143").stdout, "exit code 128+n  INTERRUPTED")
	for _, row := range reason.Table() {
		for _, what := range []string{strconv.Itoa(row.Code), row.Name()} {
			if r := invoke(t, nil, "explain", what); r.code != 0 || !strings.Contains(r.stdout, row.Help) {
				t.Errorf("explain %s: got code %d and\n%s%s", what, r.code, r.stdout, r.stderr)
			}
		}
	}
}

// The variables of which a misspelt name is noticed are those that the page explains.
func TestVariables(t *testing.T) {
	page, err := os.ReadFile("../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for _, found := range regexp.MustCompile("(?m)^\\| `((?:KWOK|AICR_ACTION)_[A-Z_]+)` \\|").FindAllSubmatch(page, -1) {
		rows = append(rows, string(found[1]))
	}
	if got := variables(); !slices.Equal(got, rows) {
		t.Errorf("got %q, the page has %q", got, rows)
	}
}
