package reason

import (
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write testdata/exit-codes.golden and docs/exit-codes.md anew")

// What people and pages get of the table.
func TestExitCodesGolden(t *testing.T) {
	for file, got := range map[string]string{"testdata/exit-codes.golden": Codes(), "../../../docs/exit-codes.md": Markdown()} {
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s differs (go test ./internal/result/reason -update writes it); got:\n%s\nwant:\n%s", file, got, want)
		}
	}
}

// Each row is whole, and no code or name has two: but 1, which is all that AICR's check of pods says.
func TestTable(t *testing.T) {
	codes, names := map[int]bool{}, map[string]bool{}
	classes := []Class{ClassPassed, ClassFailed, ClassTimeout, ClassInfrastructure, ClassInterrupted, ClassUnjudged}
	for _, row := range Table() {
		if codes[row.Code] && row.Reason != WorkloadFailed || names[row.Name()] {
			t.Errorf("%s (%d) has two rows", row.Name(), row.Code)
		}
		codes[row.Code], names[row.Name()] = true, true
		if row.Title == "" || row.Help == "" || strings.ContainsAny(row.Title+row.Help, "|\n") {
			t.Errorf("%s: want a title and a help text that fit into a table; got %q, %q", row.Name(), row.Title, row.Help)
		}
		if (row.Code < 0 || row.Code > 125) && row.Reason != Interrupted { // 126 and more are the shell's and the signals'
			t.Errorf("%s: code %d is out of range", row.Name(), row.Code)
		}
		if !slices.Contains(classes, row.Class) || (row.Class == ClassPassed) != (row.Reason == "") {
			t.Errorf("%s: got class %q", row.Name(), row.Class)
		}
		for _, l := range row.Next {
			if of := strings.HasPrefix(l.File, "<") && l.File != ControllerLogs; l.File == "" || of != (l.Why == "") || of && !slices.Contains([]string{PodFiles, DeployerFiles, ComponentLog}, l.File) {
				t.Errorf("%s: got the lead %+v", row.Name(), l)
			}
		}
	}
}

// A name that packages can attach has a row.
func TestTable_EveryName(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "table.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if kind, ok := spec.Type.(*ast.Ident); !ok || kind.Name != "Reason" {
			return true
		}
		found++
		text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if row := Reason(text).Row(); err != nil || string(row.Reason) != text {
			t.Errorf("%s (%s) has no row (%v)", spec.Names[0].Name, text, err)
		}
		return true
	})
	if rows := len(Table()) - 1; found != rows {
		t.Errorf("%d names and %d rows, want one row for each name", found, rows)
	}
}

// The numbers that scripts have known since the shell harness keep their meaning, and so do those
// that this project added.
func TestTable_FixedCodes(t *testing.T) {
	for code, r := range map[int]Reason{
		0: "", 1: SchedulingFailed, 2: Usage, 10: SettingsInvalid, 20: RegistryNotReady, 21: RegistryUnreachable,
		30: ArgoCDInstallFailed, 31: ArgoCDCRDMissing, 32: ArgoCDConfigFailed, 40: RepositorySecretFailed, 50: SyncTimeout, 60: FluxInstallFailed, 61: FluxNotReady, 62: FluxCRDMissing,
		3: NothingSelected, 11: StackBuildFailed, 12: ToolchainMissing, 13: ClusterFailed, 14: ComponentDied, 15: NoSpace, 16: PortTaken, 17: NodesFailed,
		18: NoProfile, 19: Internal, 22: PublishFailed, 33: ArgoCDNotReady, 34: ArgoCDSchemaTooOld, 51: DeployFailed, 52: BundleFailed, 53: LaneDivergence,
		54: CheckFailed, 55: JobDeadline, 63: WorkflowFailed, 64: SchedulerMissing, 65: ProbeFailed, 67: SchedulerFailed, 68: PodsTooSlow, 69: MachineTooSlow, 70: GitNotReady, 71: GitUnreachable, 72: GitNotWritable, 73: UpgradeFailed, 74: UpgradeDiverged, 75: BaseFailed, 76: LeftBehind, 77: NeverSettles, 58: ValidationFailed, 59: PlatformDivergence, SignalBase: Interrupted,
	} {
		if got := r.Code(); got != code {
			t.Errorf("%q: got code %d, want %d", r, got, code)
		}
	}
	if got := Reason("NO_SUCH").Code(); got != Internal.Code() {
		t.Errorf("a name without a row: got code %d, want that of %s", got, Internal)
	}
}

func TestFind(t *testing.T) {
	for what, want := range map[string]string{"50": "SYNC_TIMEOUT", "sync_timeout": "SYNC_TIMEOUT", "0": "OK", "ok": "OK", "130": "INTERRUPTED", "INTERRUPTED": "INTERRUPTED"} {
		if row, err := Find(what); err != nil || row.Name() != want {
			t.Errorf("%s: got %s, %v; want %s", what, row.Name(), err, want)
		}
	}
	for _, what := range []string{"99", "", "SYNC", "-1", "255"} {
		_, err := Find(what)
		if Of(err) != Usage || !strings.Contains(err.Error(), "50, 51, 52") || !strings.Contains(err.Error(), "78; 128+n is signal n") {
			t.Errorf("%q: got %v, want it refused with the codes", what, err)
		}
	}
}

// The package is a leaf of this module.
func TestLeaf(t *testing.T) {
	pkg, err := build.ImportDir(".", 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range pkg.Imports {
		if strings.Contains(path, "aicr-action") {
			t.Errorf("reason imports %s", path)
		}
	}
}

// The name nearest to the cause counts.
func TestOf(t *testing.T) {
	named := New(NoSpace, "write x: %w", os.ErrClosed)
	for _, test := range []struct {
		err  error
		want Reason
	}{{nil, ""}, {errors.New("surprise"), Internal}, {named, NoSpace}, {fmt.Errorf("a: %w", named), NoSpace}, {Wrap(Usage, named), NoSpace}, {Wrap(Usage, os.ErrClosed), Usage}} {
		if got := Of(test.err); got != test.want {
			t.Errorf("%v: got %q, want %q", test.err, got, test.want)
		}
	}
	if Wrap(Usage, nil) != nil || !errors.Is(named, os.ErrClosed) {
		t.Error("Wrap made an error of nil, or New hides its cause")
	}
}
