package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/nvidia/aicr-action/internal/reason"
)

// One table: --help, explain, docs/exit-codes.md and this golden file are made from it.
func TestExitCodesGolden(t *testing.T) {
	golden(t, "testdata/exit-codes.golden", codesTable())
	golden(t, "../../docs/exit-codes.md", codesMarkdown())
	for _, args := range [][]string{{"--help"}, {"run", "--help"}, {"explain"}} {
		r := invoke(t, nil, args...)
		r.want(t, 0)
		wantText(t, strings.Join(args, " "), r.stdout, codesTable())
	}
	if r := invoke(t, nil, "explain", "--markdown"); r.code != 0 || r.stdout != codesMarkdown() {
		t.Errorf("explain --markdown: got code %d and\n%s", r.code, r.stdout)
	}
}

func TestEveryReasonHasACode(t *testing.T) {
	rows := map[reason.Reason]int{}
	codes := map[int]reason.Reason{}
	for _, row := range exitCodes() {
		if other, taken := codes[row.code]; taken {
			t.Errorf("code %d stands for %q and for %q", row.code, other, row.reason)
		}
		if _, twice := rows[row.reason]; twice {
			t.Errorf("reason %q has two rows", row.reason)
		}
		codes[row.code], rows[row.reason] = row.reason, row.code
		if row.title == "" || row.help == "" || strings.ContainsAny(row.title+row.help, "|\n") {
			t.Errorf("code %d: want a title and a help text that fit into a table; got %q, %q", row.code, row.title, row.help)
		}
		if row.code < 0 || row.code > 125 { // 126 and more are the shell's and the signals'
			t.Errorf("code %d is out of range", row.code)
		}
	}
	names := reasonConstants(t)
	for name, r := range names {
		if _, ok := rows[r]; !ok && r != reason.Interrupted { // 128 plus the signal's number
			t.Errorf("reason.%s (%s) has no exit code", name, r)
		}
	}
	for r := range rows {
		known := r == ""
		for _, have := range names {
			known = known || have == r
		}
		if !known {
			t.Errorf("the table has %q, which is no reason", r)
		}
	}
}

// reasonConstants reads the names and values of the closed set from its source.
func reasonConstants(t *testing.T) map[string]reason.Reason {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../../internal/reason/reason.go", nil, 0)
	if err != nil {
		t.Fatalf("parse the reasons: %v", err)
	}
	all := map[string]reason.Reason{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		if lit, ok := spec.Values[0].(*ast.BasicLit); ok && lit.Kind == token.STRING {
			text, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatalf("read %s: %v", lit.Value, err)
			}
			all[spec.Names[0].Name] = reason.Reason(text)
		}
		return true
	})
	if len(all) < 20 {
		t.Fatalf("found %d reasons in reason.go, want all of them: %v", len(all), all)
	}
	return all
}

// The numbers that scripts have known since the shell harness keep their meaning.
func TestSeedCodes(t *testing.T) {
	for code, r := range map[int]reason.Reason{
		0: "", 1: reason.SchedulingFailed, 2: reason.Usage, 10: reason.SettingsInvalid, 20: reason.RegistryNotReady, 21: reason.RegistryUnreachable,
		30: reason.ArgoCDInstallFailed, 31: reason.ArgoCDCRDMissing, 40: reason.RepositorySecretFailed, 50: reason.SyncTimeout,
		60: reason.FluxInstallFailed, 61: reason.FluxNotReady, 62: reason.FluxCRDMissing,
		// This project's own, which its users know by now.
		11: reason.StackBuildFailed, 12: reason.ToolchainMissing, 13: reason.ClusterFailed, 14: reason.ComponentDied, 15: reason.NoSpace, 16: reason.PortTaken,
		17: reason.NodesFailed, 18: reason.NoProfile, 19: reason.Internal, 22: reason.PublishFailed, 33: reason.ArgoCDNotReady, 51: reason.DeployFailed, 52: reason.BundleFailed,
		53: reason.LaneDivergence, 3: reason.NothingSelected,
	} {
		if got := codeOfReason(r); got != code {
			t.Errorf("%q: got code %d, want %d", r, got, code)
		}
	}
	for _, code := range []int{32, 70, 71, 72} { // upstream's, for what this project does not do
		for _, row := range exitCodes() {
			if row.code == code {
				t.Errorf("code %d is upstream's for something else; got %s", code, row.reason)
			}
		}
	}
}

func TestCodeOf(t *testing.T) {
	interrupt := &interruptError{signal: syscall.SIGINT}
	tests := map[string]struct {
		err  error
		want int
	}{
		"none":              {nil, 0},
		"named":             {reason.New(reason.SyncTimeout, "late"), 50},
		"wrapped":           {fmt.Errorf("cell: %w", reason.New(reason.DeployFailed, "refused")), 51},
		"reported":          {&reported{reason.New(reason.SchedulingFailed, "pods")}, 1},
		"nameless":          {errors.New("surprise"), 19},
		"unknown name":      {reason.New("NO_SUCH", "x"), 19},
		"SIGINT":            {interrupt, 130},
		"SIGTERM":           {&interruptError{signal: syscall.SIGTERM}, 143},
		"SIGINT, wrapped":   {fmt.Errorf("waiting for x: %w", interrupt), 130},
		"SIGINT, reported":  {&reported{interrupt}, 130},
		"SIGINT and a mess": {errors.Join(fmt.Errorf("wait: %w", interrupt), reason.New(reason.Internal, "cleanup")), 130},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := codeOf(tc.err); got != tc.want {
				t.Errorf("got %d, want %d", got, tc.want)
			}
		})
	}
	if got := reason.Of(fmt.Errorf("wait: %w", interrupt)); got != reason.Interrupted {
		t.Errorf("the name of an interrupt: got %s, want %s", got, reason.Interrupted)
	}
}

func TestExplain(t *testing.T) {
	for _, what := range []string{"50", "SYNC_TIMEOUT", "sync_timeout"} {
		r := invoke(t, nil, "explain", what)
		r.want(t, 0)
		wantText(t, "explain "+what, r.stdout, "exit code 50  SYNC_TIMEOUT", "KWOK_ARGOCD_SYNC_TIMEOUT")
	}
	for _, row := range exitCodes() {
		if r := invoke(t, nil, "explain", strconv.Itoa(row.code)); r.code != 0 || !strings.Contains(r.stdout, row.help) {
			t.Errorf("explain %d: got code %d and\n%s%s", row.code, r.code, r.stdout, r.stderr)
		}
	}
}
