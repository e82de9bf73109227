package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/command/reports"
	"github.com/nvidia/aicr-action/internal/testkit/testskip"
)

var (
	comment = regexp.MustCompile(`\s+# .*$`)
	// placeholder is a word that stands for something of the reader's.
	placeholder = regexp.MustCompile(`^(\[?[A-Z][A-Z/|]*(\.\.\.)?\]?|…)$`)
)

// another reports whether a page is of the other program, whose own tests execute its commands.
func another(d matrixDocument) bool { return d.name == "docs/aicr.md" }

// commandsIn are the commands of a page: the lines of its sh blocks, and what code spans have of
// matrix and make.
func commandsIn(d matrixDocument) (lines, spans []string) {
	for _, b := range d.blocks {
		if b.language != "sh" {
			continue
		}
		for _, line := range strings.Split(b.text, "\n") {
			for _, command := range strings.Split(comment.ReplaceAllString(line, ""), " && ") {
				if command = strings.TrimSpace(command); command != "" {
					lines = append(lines, command)
				}
			}
		}
	}
	for _, span := range d.spans {
		if first, _, more := strings.Cut(span, " "); more && (slices.Contains([]string{"matrix", "make", "eval"}, first)) {
			spans = append(spans, span)
		}
	}
	return lines, spans
}

// TestDocuments: each command of the pages has its row in the table, or is a synopsis whose command
// and flags exist. Each row is a command of a page. A row that another test executes names an
// existing test.
func TestDocuments(t *testing.T) {
	rows := map[string]docCommand{}
	for _, row := range documentedCommands() {
		if _, twice := rows[row.command]; twice {
			t.Errorf("%q has two rows", row.command)
		}
		rows[row.command] = row
		if dir, name, _ := strings.Cut(row.test, " "); row.where == elsewhere && (row.why == "" || !testExists(t, dir, name)) {
			t.Errorf("%q: executed by %q, which does not exist, or without a reason", row.command, row.test)
		}
	}
	used := map[string]bool{}
	for _, d := range documents(t) {
		if another(d) {
			continue
		}
		lines, spans := commandsIn(d)
		for _, command := range append(lines, spans...) {
			used[command] = true
			if strings.HasPrefix(command, "matrix ") {
				if problem := misspelt(command); problem != "" {
					t.Errorf("%s: `%s`: %s", d.name, command, problem)
				}
			}
			if _, ok := rows[command]; !ok && (slices.Contains(lines, command) || !synopsis(command)) {
				t.Errorf("%s: `%s` is executed by no test: give it a row in documentedCommands", d.name, command)
			}
		}
	}
	for command := range rows {
		if !used[command] && !strings.HasPrefix(command, "make ") {
			t.Errorf("%q has a row, and stands on no page", command)
		}
	}
}

// synopsis reports whether a text is only a command with flags, or has placeholders for the
// reader's values, so that it cannot be run unchanged.
func synopsis(command string) bool {
	words := strings.Fields(command)
	if words[0] != "matrix" {
		return false
	}
	_, rest, err := rootCommand(&cli.App{}, &reports.CIFiles{}).Find(words[1:])
	if err != nil {
		return false
	}
	flag := false
	for _, w := range rest {
		switch {
		case strings.HasPrefix(w, "-"):
			flag = true
		case flag || placeholder.MatchString(w):
			flag = false
		default:
			return false
		}
	}
	return true
}

// misspelt says what is wrong with the subcommand or the flags of a command, or "".
func misspelt(command string) string {
	command, _, _ = strings.Cut(command, " > ")
	words := strings.Fields(command)[1:]
	c, rest, err := rootCommand(&cli.App{}, &reports.CIFiles{}).Find(words)
	if err != nil {
		return err.Error()
	}
	if !c.HasParent() || c.HasSubCommands() && slices.ContainsFunc(rest, func(w string) bool { return !placeholder.MatchString(w) }) {
		return "there is no such verb"
	}
	if err := c.ParseFlags(rest); err != nil {
		return err.Error()
	}
	return ""
}

// commandBench executes documented commands in a copy of what they need of the repository.
type commandBench struct {
	t    *testing.T
	dir  string // the copy; bin/matrix is the program
	tmp  string // in the place of /tmp
	env  []string
	done []string // commands, as they are documented
	// skipped are those of programs that this machine does not have.
	skipped map[string]bool
}

func newCommandBench(t *testing.T, bin string, env ...string) *commandBench {
	t.Helper()
	if _, err := exec.LookPath("bash"); err != nil {
		testskip.Missing(t, "no bash")
	}
	b := &commandBench{t: t, dir: filepath.Join(t.TempDir(), "repository"), tmp: t.TempDir(), skipped: map[string]bool{}}
	for _, part := range []string{"recipes", "kwok", "workflows"} {
		if err := os.CopyFS(filepath.Join(b.dir, part), os.DirFS(filepath.Join(repository, part))); err != nil {
			t.Fatal(err)
		}
	}
	makefile, err := os.ReadFile(filepath.Join(repository, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(b.dir, "Makefile"), makefile, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(b.dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(bin, filepath.Join(b.dir, "bin", "matrix")); err != nil {
		t.Fatal(err)
	}
	b.env = append(append(os.Environ(), "PATH="+filepath.Join(b.dir, "bin")+":"+os.Getenv("PATH")), env...)
	return b
}

// command is the command as bash runs it here; substitute is pairs of a text and what takes its
// place.
func (b *commandBench) command(command string, substitute ...string) *exec.Cmd {
	b.done = append(b.done, command)
	command = strings.NewReplacer(append([]string{"/tmp/", b.tmp + "/"}, substitute...)...).Replace(command)
	cmd := exec.Command("bash", "-c", "set -euo pipefail\n"+command)
	cmd.Dir, cmd.Env = b.dir, b.env
	return cmd
}

// run runs a command to its end, and gives all that it printed.
func (b *commandBench) run(command string, code int, substitute ...string) string {
	b.t.Helper()
	cmd := b.command(command, substitute...)
	out, _ := cmd.CombinedOutput() // ProcessState has the exit code
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != code {
		b.t.Fatalf("%s: got %v, want exit code %d\n%s", command, cmd.ProcessState, code, out)
	}
	return string(out)
}

// fakeGo records how it is called. `go env` is the real one's.
const fakeGo = `#!/bin/sh
[ "$*" != "env CGO_ENABLED" ] || { echo 1; exit; } # there is a C compiler
[ "$1" != env ] || exec "$REAL_GO" "$@"
echo "go $*" >>"$CALLS"
`

// fakeMatrix does so too.
const fakeMatrix = `#!/bin/sh
echo "bin/matrix $*" >>"$CALLS"
`

// TestDocumentedCommands executes what needs neither the stack nor the network.
func TestDocumentedCommands(t *testing.T) {
	b := newCommandBench(t, buildProgram(t), "AICR_ACTION_CACHE="+t.TempDir())
	git(t, b.dir, "init", "--quiet", "--initial-branch=main")
	git(t, b.dir, "add", "--all")
	git(t, b.dir, "commit", "--quiet", "--message", "all")
	git(t, b.dir, "update-ref", "refs/remotes/origin/main", "HEAD")
	for _, row := range documentedCommands() {
		if row.where == here {
			wantText(t, row.command, b.run(row.command, 0), row.want...)
		}
	}

	if _, err := exec.LookPath("make"); err != nil {
		testskip.Missing(t, "no make")
	}
	realGo, err := exec.LookPath("go")
	if err != nil {
		testskip.Missing(t, "no go command")
	}
	recorders, calls := t.TempDir(), filepath.Join(t.TempDir(), "calls")
	for file, text := range map[string]string{filepath.Join(recorders, "go"): fakeGo, filepath.Join(recorders, "matrix"): fakeMatrix} {
		if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	m := newCommandBench(t, filepath.Join(recorders, "matrix"), "PATH="+recorders+":"+os.Getenv("PATH"), "CALLS="+calls, "REAL_GO="+realGo, "RACE_UNTIL=99999999999")
	for _, row := range documentedCommands() {
		if row.where != byMake {
			continue
		}
		if err := os.WriteFile(calls, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		m.run(row.command, 0)
		raw, err := os.ReadFile(calls)
		if err != nil {
			t.Fatal(err)
		}
		for _, call := range row.want {
			if !slices.Contains(strings.Split(string(raw), "\n"), call) {
				t.Errorf("%s: want the call %q, got\n%s", row.command, call, raw)
			}
		}
	}
}

// TestCommandsHaveHelp: the help of each command with a synopsis in the pages shows its usage.
func TestCommandsHaveHelp(t *testing.T) {
	seen := map[string]bool{}
	for _, d := range documents(t) {
		_, spans := commandsIn(d)
		for _, command := range spans {
			if !synopsis(command) {
				continue
			}
			c, _, err := rootCommand(&cli.App{}, &reports.CIFiles{}).Find(strings.Fields(command)[1:])
			if err != nil || seen[c.CommandPath()] {
				continue // TestDocuments has the error
			}
			seen[c.CommandPath()] = true
			r := invoke(t, nil, append(strings.Fields(c.CommandPath())[1:], "--help")...)
			r.want(t, 0)
			wantText(t, c.CommandPath()+" --help", r.stdout, "Usage:", "matrix")
		}
	}
	if len(seen) < 10 {
		t.Errorf("got synopses of %d verbs only", len(seen))
	}
}
