package reason

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Class is what a reason is about. The status of a cell follows from it.
type Class string

// The classes.
const (
	// ClassPassed is the class of the empty reason.
	ClassPassed Class = "passed"
	// ClassFailed: the recipe, its files or the command line are at fault.
	ClassFailed Class = "failed"
	// ClassTimeout: a deadline passed.
	ClassTimeout Class = "timeout"
	// ClassInfrastructure: the machine, the stack or the harness is at fault, and not the recipe.
	ClassInfrastructure Class = "infrastructure"
	// ClassInterrupted: a signal ended it.
	ClassInterrupted Class = "interrupted"
	// ClassUnjudged: what had to be there before was not, so that nothing is known of the rest.
	ClassUnjudged Class = "not judged"
)

// Row is all that is known of a reason.
type Row struct {
	// Code is the exit code. Interrupted has SignalBase, to which the number of the signal is
	// added.
	Code int
	// Reason is empty in the row of success.
	Reason Reason
	Class  Class
	// Title is one line.
	Title string
	// Help says what the reason means, and what to do.
	Help string
	// Next are the debug artifacts to open for a failed cell, the most telling first.
	Next []Lead
}

// SignalBase is the exit code of an interrupted run, without the number of its signal.
const SignalBase = 128

// Lead is a file that is worth opening, and why.
type Lead struct {
	// File is a name in the directory of a cell's debug artifacts, without the name of the cluster
	// in front; or PodFiles, DeployerFiles, ControllerLogs or ComponentLog, for files that depend
	// on the cell. All of these but ControllerLogs have no Why of their own.
	File string
	Why  string
}

// What stands for files that depend on the cell.
const (
	// PodFiles are those that show the pods, and why they are not on their nodes.
	PodFiles = "<pods>"
	// DeployerFiles are those of the deployer's objects and processes.
	DeployerFiles = "<deployer>"
	// ControllerLogs are the logs of the deployer's controllers; the lead's Why holds for each.
	ControllerLogs = "<controllers>"
	// ComponentLog is the log of the process that is to blame.
	ComponentLog = "<component>"
)

// Name is the reason's name, and OK for success.
func (r Row) Name() string {
	if r.Reason == "" {
		return "OK"
	}
	return string(r.Reason)
}

// CodeText is the exit code as text: 128+n for an interrupted run.
func (r Row) CodeText() string {
	if r.Code == SignalBase {
		return "128+n"
	}
	return strconv.Itoa(r.Code)
}

// Row is the reason's row. A name that is not in the table is a mistake in this program: it has the
// row of Internal.
func (r Reason) Row() Row {
	var internal Row
	for _, row := range Table() {
		switch row.Reason {
		case r:
			return row
		case Internal:
			internal = row
		}
	}
	return internal
}

// OfRecipe reports whether the recipe is to blame for an error: it failed, or it was not ready when
// its lane's time was over.
func OfRecipe(err error) bool {
	r := Of(err)
	return r.Row().Class == ClassFailed || r == SyncTimeout
}

// Code is the reason's exit code: 0 for the empty one, SignalBase for Interrupted.
func (r Reason) Code() int { return r.Row().Code }

// Find returns the row of an exit code or a name, e.g. "50", "130" or "sync_timeout". Its error
// lists the codes.
func Find(what string) (Row, error) { return FindIn(Table(), what) }

// Also returns the other rows with a row's exit code.
func (r Row) Also(rows []Row) []Row {
	return slices.DeleteFunc(slices.Clone(rows), func(o Row) bool { return o.Code != r.Code || o.Reason == r.Reason })
}

// FindIn is Find in the rows that a program has.
func FindIn(rows []Row, what string) (Row, error) {
	var codes []string
	for _, row := range rows {
		if what == strconv.Itoa(row.Code) || strings.EqualFold(what, row.Name()) {
			return row, nil
		}
		if row.Code != SignalBase && !slices.Contains(codes, row.CodeText()) {
			codes = append(codes, row.CodeText())
		}
	}
	if code, err := strconv.Atoi(what); err == nil && code > SignalBase && code <= SignalBase+64 { // signals go up to 64
		return Interrupted.Row(), nil
	}
	return Row{}, New(Usage, "no exit code or reason %q; codes: %s; 128+n is signal n", what, strings.Join(codes, ", "))
}

// Named returns the rows whose names contain a text, in any case: SCHEDULING for SCHEDULING_FAILED.
func Named(rows []Row, part string) []Row {
	part = strings.ToUpper(strings.TrimSpace(part))
	return slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return part == "" || !strings.Contains(r.Name(), part) })
}

// Codes is the list of exit codes and their titles, for a terminal.
func Codes() string { return CodesOf(Table()) }

// CodesOf is Codes of the rows that a program has.
func CodesOf(rows []Row) string {
	var b strings.Builder
	for _, row := range rows {
		if row.Code == SignalBase {
			fmt.Fprintf(&b, "  %s  signal n ended the run (130: interrupt, 143: SIGTERM)\n", row.CodeText())
			continue
		}
		fmt.Fprintf(&b, "  %3d  %-26s %s\n", row.Code, row.Name(), row.Title)
	}
	return b.String()
}

// Markdown is docs/exit-codes.md.
func Markdown() string {
	var b strings.Builder
	b.WriteString("# Exit codes\n\nGenerated from the table in `internal/result/reason/table.go`; `matrix explain CODE` prints one row.\n\n| code | name | meaning | what to do |\n|---|---|---|---|\n")
	for _, row := range Table() {
		fmt.Fprintf(&b, "| %s | `%s` | %s | %s |\n", row.CodeText(), row.Name(), row.Title, row.Help)
	}
	return b.String()
}
