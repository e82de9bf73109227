// Package cli is what every program of this module needs besides its commands: its streams and
// environment, signals, progress on stderr, tables and JSON on stdout, usage errors and exit codes,
// shell completion, and opening what flags name (recipes, charts, settings, the stack).
//
// It knows the packages that open those things, and the events of a run that --progress json
// prints. It must not know any command, choose cells, judge a result or write a report: the
// packages of cmd, and those that they call, do that. It imports no package of cmd.
package cli

import (
	"io"
	"log/slog"
	"strings"

	"k8s.io/klog/v2"

	"github.com/nvidia/aicr-action"
	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/infra/programs"
	"github.com/nvidia/aicr-action/internal/infra/stack"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/filesys"
	"github.com/nvidia/aicr-action/kwok"
)

// App is what all commands of a program share. New makes it, and Open fills the other fields before
// a command runs.
type App struct {
	Getenv func(string) string
	// Stdout is for data, Stderr for progress, warnings and errors. Stderr makes all text inert;
	// a command must do that itself for text on Stdout.
	Stdout, Stderr io.Writer
	// Progress writes to Stderr. Execute closes it.
	Progress *Progress
	// Released is the version that a release's build gives to the linker; empty in every other build.
	Released string
	// Verbose is --verbose.
	Verbose bool
	logJSON bool        // --log-json, of a Bare program
	streams []io.Writer // of the process

	// Bare is for a program that runs no cells: it has no --settings, and Settings, Ports and Stack
	// stay empty unless it calls Open itself.
	Bare bool
	// ExitRow gives the exit code of an error, with its name for explain; nil for the table of
	// package reason.
	ExitRow func(error) reason.Row

	// SettingsFile is --settings, or else what Open finds in AICR_ACTION_SETTINGS; empty for the
	// settings in the binary.
	SettingsFile string

	// AllowPrivate is --allow-private.
	AllowPrivate []string

	// StackSource is --stack, or else what Open finds in AICR_ACTION_STACK; AllowUnpinned is --allow-unpinned.
	StackSource   string
	AllowUnpinned bool
	// VerifySignatures is --verify-signatures.
	VerifySignatures bool

	// Of Open.
	Settings Settings
	Paths    host.Paths
	Stack    *stack.Stack
	// Schedulers are second schedulers, which are compiled when a workflow needs them.
	Schedulers *stack.Stack
	// Operators are operators of recipes, which are compiled when a cell runs them.
	Operators []*stack.Stack
	// Helmfile is helmfile, which is compiled when its lane is run.
	Helmfile *stack.Stack
	// Karpenter is compiled when a node profile has groups of which nodes may be made.
	Karpenter *stack.Stack
	// Origin is where programs of these come from that are not in the cache.
	Origin *stack.Origin
	Ports  *host.Ports
}

// New makes an App of what a process was started with. It starts to show progress on stderr.
func New(getenv func(string) string, stdout, stderr io.Writer) *App {
	return &App{Getenv: getenv, streams: []io.Writer{stdout, stderr}, Stdout: stdout, Stderr: NewInertWriter(stderr), Progress: NewProgress(stderr, getenv)}
}

// EndsUnread lets the program end although nobody reads what it prints, which is for a run: its
// results are in files too, and its machine is needed. Another command waits for its reader, e.g. a
// pager.
func (a *App) EndsUnread() {
	for _, w := range a.streams {
		if o, ok := w.(*patientOutput); ok {
			o.EndUnread()
		}
	}
}

// maxSettings is the largest file of settings that is read, in bytes.
const maxSettings = 1 << 20

// Open reads what every command needs: the settings, the cache directory, and the stack's list of
// parts. It starts no process.
func (a *App) Open() error {
	a.openLog()
	raw, name := aicraction.Settings, ".settings.yaml"
	if file := FirstOf(a.SettingsFile, a.Getenv("AICR_ACTION_SETTINGS")); file != "" {
		content, err := filesys.File(file, maxSettings)
		if err != nil {
			return reason.New(reason.SettingsInvalid, "read the settings: %w", err)
		}
		raw, name, a.SettingsFile = content, file, file
	}
	var err error
	if a.Settings, err = readSettings(raw, name); err != nil {
		return err
	}
	if a.Paths, err = host.DefaultPaths(a.Getenv); err != nil {
		return err
	}
	a.Ports = host.NewPorts(a.Paths.Ports())
	if err := a.OpenStacks(); err != nil {
		return err
	}
	return a.openOrigin()
}

// OpenStacks reads the parts lists. Each call makes new stacks of them.
func (a *App) OpenStacks() error {
	var err error
	if a.Stack, err = stack.NewStack(a.Paths, kwok.StackMod, kwok.StackSum, kwok.StackSources); err != nil {
		return err
	}
	if a.Schedulers, err = stack.NewSchedulers(a.Paths, kwok.SchedulersMod, kwok.SchedulersSum); err != nil {
		return err
	}
	if a.Operators, err = programs.Stacks(a.Paths); err != nil {
		return err
	}
	a.Operators = append(a.Operators, a.Schedulers) // recipes have its controllers too
	if a.Helmfile, err = stack.NewHelmfile(a.Paths, kwok.HelmfileMod, kwok.HelmfileSum); err != nil {
		return err
	}
	a.Karpenter, err = stack.NewKarpenter(a.Paths, kwok.KarpenterMod, kwok.KarpenterSum, kwok.KarpenterSources)
	return err
}

// openLog sends the logs of this program and of its libraries to stderr, or, without --verbose or
// --log-json, nowhere.
func (a *App) openLog() {
	var handler slog.Handler = slog.DiscardHandler // progress and reports are for people, --verbose is for us. A level would not do: klog asks for none when it has an error
	options := &slog.HandlerOptions{Level: slog.LevelDebug}
	switch {
	case a.logJSON:
		handler = slog.NewJSONHandler(a.Stderr, options)
	case a.Verbose:
		handler = slog.NewTextHandler(a.Stderr, options)
	}
	log := slog.New(handler)
	slog.SetDefault(log)
	klog.SetSlogLogger(log) // client-go would write to stderr by itself
}

// FirstOf is the first value that is not empty, or "".
func FirstOf(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

// SplitList splits comma and newline separated lists, as the Action's inputs are. Empty parts are
// left out.
func SplitList(values []string) []string {
	var out []string
	for _, v := range values {
		for _, part := range strings.FieldsFunc(v, func(r rune) bool { return r == ',' || r == '\n' }) {
			if part = strings.TrimSpace(part); part != "" {
				out = append(out, part)
			}
		}
	}
	return out
}
