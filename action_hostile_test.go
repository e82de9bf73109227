package aicraction_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// hostile is what somebody might put into an input: words that would leave the file owned if a shell read them, flags, commands to the
// runner, and what is no text.
func hostile() []string {
	return append(awkward(), "$(touch owned)", "`touch owned`", "a; touch owned", "\"; touch owned; \"", "'; touch owned; '", "${IFS}&touch owned", "a[$(touch owned)]", "x>owned|touch owned",
		"--keep", "-h", "x\n::set-output name=a::b", "::error file=a,line=1::x", "##[error]x", "a=b\nconclusion=success", strings.Repeat("x", 10000))
}

// awkward are those of them that the program itself could stumble over.
func awkward() []string {
	return []string{"a\ntouch owned", "--", "--help", "%0A::error::x", "x\r::error::x\n ::add-mask::x\nx ##[add-mask]a", "x<<EOF\na=b\nEOF", "é\xff\xfe\u2028", strings.Repeat("x ,'\"\n$(touch owned)", 526)[:10000]}
}

// free are the inputs that are any text, and what an error about each has in it. Every other input has a form, which the first step checks.
var free = map[string]string{"recipe": "recipe", "deployer": "deployer", "recipes-dir": "recipes directory", "charts": "--charts", "args": ""}

// everyInput runs a check for each input that action.yml has, as far as it is wanted, with each value.
func everyInput(t *testing.T, values []string, want func(name string) bool, check func(t *testing.T, r *runner, name, value string)) {
	t.Helper()
	for name := range readAction(t).Inputs {
		if !want(name) {
			continue
		}
		for i, value := range values {
			t.Run(fmt.Sprintf("%s/%d", name, i), func(t *testing.T) {
				t.Parallel()
				r := newRunner(t, map[string]string{name: value})
				check(t, r, name, value)
				for _, dir := range []string{r.dir, "."} {
					if _, err := os.Stat(filepath.Join(dir, "owned")); err == nil {
						t.Fatalf("%q was executed", value)
					}
				}
				if key := r.output("run.outputs.a"); key != "" {
					t.Errorf("the value set an output")
				}
			})
		}
	}
}

func isFree(name string) bool { _, ok := free[name]; return ok }

// TestHostileInputs: an input that has a form is refused by name, before anything is run with it.
func TestHostileInputs(t *testing.T) {
	everyInput(t, hostile(), func(name string) bool { return !isFree(name) }, func(t *testing.T, r *runner, name, value string) {
		code, out := r.do("prepare")
		if code != 2 || !strings.Contains(out, "Input "+name) || len(out) > 500 {
			t.Errorf("exit code %d, want 2 and the input's name:\n%.500s", code, out)
		}
		if all := commands(out); len(all) != 1 || all[0].properties != "title=Input "+name || strings.Contains(all[0].message, "touch") {
			t.Errorf("commands in the log: %+v, want one error", all)
		}
	})
}

// TestHostileText: an input that is any text is one argument, or with args one a line, and no command to the runner even if the program
// repeats it.
func TestHostileText(t *testing.T) {
	everyInput(t, hostile(), isFree, func(t *testing.T, r *runner, name, value string) {
		if code, out := r.do("prepare"); code != 0 || len(commands(out)) > 0 {
			t.Fatalf("prepare: exit code %d\n%s", code, out)
		}
		r.program("exit 0")
		code, out := r.do("run")
		if code != 0 {
			t.Fatalf("exit code %d\n%s", code, out)
		}
		args := r.args()
		whole := slices.ContainsFunc(args, func(arg string) bool { return strings.HasSuffix(arg, value) })
		if name != "args" && !whole || name == "args" && !slices.Contains(args, strings.Split(value, "\n")[0]) {
			t.Errorf("the value did not reach the program as it is: %.300q", args)
		}
		if at := slices.Index(args, value); name != "args" && at >= 0 && at < slices.Index(args, "--") {
			t.Errorf("the value became a flag: %q", args)
		}
		if all := commands(out); len(all) != 1 || all[0].name != "stop-commands" || len(all[0].message) != 32 {
			t.Errorf("commands in the log: %+v, want the one that stops them", all)
		}
	})
}

// matrix compiles the program.
func matrix(t *testing.T) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "matrix")
	if out, err := exec.Command("go", "build", "-o", bin, "./cmd/matrix").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return bin
}

// TestHostileTextAndTheProgram: the real program refuses it, and the error says which input it was. Without a go command no stack is
// compiled, so that what is not refused ends with code 12.
func TestHostileTextAndTheProgram(t *testing.T) {
	bin := matrix(t)
	tools := t.TempDir()
	for _, tool := range []string{"bash", "date", "mkdir", "git", "tr", "od", "cat", "touch", "find", "sort"} {
		path, err := exec.LookPath(tool)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(tools, tool), []byte("#!/bin/sh\nexec "+path+" \"$@\"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	everyInput(t, awkward(), isFree, func(t *testing.T, r *runner, name, value string) {
		r.env = []string{"PATH=" + tools}
		if code, out := r.do("prepare"); code != 0 {
			t.Fatalf("prepare: exit code %d\n%s", code, out)
		}
		if err := os.Link(bin, r.output("prepare.outputs.bin")); err != nil {
			t.Fatal(err)
		}
		code, out := r.do("run")
		if fine := name == "args" && value == "--"; fine {
			if code != 12 {
				t.Errorf("exit code %d, want 12\n%.2000s", code, out)
			}
			return
		}
		if code != 2 {
			t.Errorf("exit code %d, want 2\n%.2000s", code, out)
		}
		all := commands(out)
		if len(all) != 2 || all[0].name != "stop-commands" || all[1].name != "error" || all[1].properties != "title=USAGE (2)" {
			t.Fatalf("commands in the log: %+v, want one error\n%.2000s", all, out)
		}
		if !strings.Contains(all[1].message, free[name]) || len(all[1].message) > 8000 {
			t.Errorf("the error does not name %s, or is too long: %.2000s", name, all[1].message)
		}
		r.want("conclusion=failure", "exit-code=2", "exit-reason=USAGE", "total=0", "failed-cells=[]")
	})
}
