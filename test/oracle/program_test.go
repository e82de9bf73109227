package oracle

import (
	"bytes"
	"cmp"
	"context"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/mod/semver"

	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/infra/stack"
)

// root is this module's.
const root = "../.."

// verdict is what a program says of an input.
type verdict struct {
	Word    string                       `json:"word"`
	Reason  string                       `json:"reason,omitempty"`
	Message string                       `json:"message,omitempty"`
	Nodes   map[string]map[string]string `json:"nodes,omitempty"`
	Objects []map[string]any             `json:"objects,omitempty"`
}

// String is for the table of differences.
func (v *verdict) String() string {
	return strings.Trim(v.Word+" "+strings.Trim(v.Reason+": "+v.Message, ": "), " ")
}

type question struct {
	Inputs  []questionInput `json:"inputs"`
	Seconds int             `json:"seconds"`
	Root    string          `json:"root"`
}

type questionInput struct {
	Name    string           `json:"name"`
	Pod     map[string]any   `json:"pod"`
	Objects []map[string]any `json:"objects"`
}

type answer struct {
	Version  string             `json:"version"`
	Verdicts map[string]verdict `json:"verdicts"`
	Requests map[string]int     `json:"requests"`
}

// decider is a program of testdata.
type decider struct {
	path, version string
	// of is what it is compiled against, empty for Kubernetes.
	of string
	// env is its environment, nil for the test's.
	env []string
	// limit is how long it may take for one question.
	limit time.Duration
}

// build compiles a program of testdata in the stack's module, whose go.mod and go.sum stay as they are.
func build(ctx context.Context, dir, name, version string) (*decider, error) {
	at, err := filepath.Abs(filepath.Join(root, "kwok", "stack"))
	if err != nil {
		return nil, err
	}
	d := &decider{path: filepath.Join(dir, name), version: version, limit: 5 * time.Minute}
	if path := filepath.Join(*compiled, name); *compiled != "" {
		d.path = path
		return d, nil
	}
	files, err := filepath.Glob(filepath.Join("testdata", name, "*.go"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("testdata/%s has no program: %w", name, os.ErrNotExist)
	}
	replace := map[string]string{}
	for _, f := range files {
		if replace[filepath.Join(at, name, filepath.Base(f))], err = filepath.Abs(f); err != nil {
			return nil, err
		}
	}
	raw, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return nil, err
	}
	overlay := d.path + ".json"
	if err := os.WriteFile(overlay, raw, 0o600); err != nil {
		return nil, err
	}
	args := slices.Concat([]string{"build", "-mod=readonly", "-overlay", overlay, "-ldflags", "-s -w", "-o", d.path}, stack.CompilerFlags(), []string{"./" + name})
	if out, err := host.RunCommand(ctx, at, []string{"CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off"}, "go", args...); err != nil {
		return nil, fmt.Errorf("compile testdata/%s against Kubernetes %s of kwok/stack/go.mod: %w\n%s\nif the version is new, change the program to fit it", name, version, err, out)
	}
	return d, nil
}

// ask asks one part of Kubernetes about inputs; root is a directory that it may write to.
func (d *decider) ask(ctx context.Context, part, root string, inputs []input, seconds int) (*answer, error) {
	q := question{Seconds: seconds, Root: root}
	for i := range inputs {
		q.Inputs = append(q.Inputs, questionInput{inputs[i].Name, inputs[i].Subject, inputs[i].Objects})
	}
	raw, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, d.limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, d.path, part)
	var out, words bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Dir, cmd.Env = bytes.NewReader(raw), &out, &words, root, d.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	err = cmd.Run()
	of := cmp.Or(d.of, "Kubernetes")
	last, said := lastAsked(words.String())
	asked := fmt.Sprintf("the %s of %s %s was asked about %d inputs", part, of, d.version, len(inputs))
	var a answer
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("%s, and its program is missing: %w", asked, err)
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%s, and gave no answer within %s%s: %w", asked, d.limit, last, ctx.Err())
	case err != nil:
		return nil, fmt.Errorf("%s, and its program ended with %w%s:\n%s", asked, err, last, lastLines(said))
	case json.Unmarshal(out.Bytes(), &a) != nil:
		return nil, fmt.Errorf("%s, and what it wrote is no answer: %.200s", asked, out.String())
	case semver.MajorMinor(a.Version) != semver.MajorMinor(d.version):
		return nil, fmt.Errorf("%s, and it is one of %s %s: compile it anew", asked, of, a.Version)
	}
	for i := range inputs {
		if _, ok := a.Verdicts[inputs[i].Name]; !ok {
			return nil, fmt.Errorf("%s, and said nothing of %s", asked, inputs[i].Name)
		}
	}
	return &a, nil
}

// lastAsked takes out of what a program wrote the lines by which it says of which input it thinks: of an object that takes
// it minutes, or makes it crash, the last one has the name.
func lastAsked(words string) (at, said string) {
	var rest []string
	for line := range strings.Lines(words) {
		if name, is := strings.CutPrefix(line, "input: "); is {
			at = ", at input " + strings.TrimSpace(name)
			continue
		}
		rest = append(rest, line)
	}
	return at, strings.Join(rest, "")
}

// madeOf is an error unless a program is made of the minor version of a module that the stack has.
func madeOf(program, module, version string) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return fmt.Errorf("%s says of no module what it is made of: %w", filepath.Base(program), err)
	}
	all := append([]*debug.Module{&info.Main}, info.Deps...)
	at := slices.IndexFunc(all, func(d *debug.Module) bool { return d.Path == module })
	if at < 0 {
		return fmt.Errorf("%s is not made of %s", filepath.Base(program), module)
	}
	if have := all[at].Version; semver.MajorMinor(have) != semver.MajorMinor(version) {
		return fmt.Errorf("%s is made of %s %s, and the stack has %s: compile it anew", filepath.Base(program), module, have, version)
	}
	return nil
}

func lastLines(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(lines) > 30 { // of a crash: what it says is first, the goroutines follow
		lines = append(append(lines[:20:20], "…"), lines[len(lines)-8:]...)
	}
	return strings.Join(lines, "\n")
}
