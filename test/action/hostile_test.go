package action_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// hostile are values that an attacker might set for an input: words that would create the file
// owned if a shell executed them, flags, commands to the runner, and bytes that are not text.
func hostile() []string {
	return append(awkward(), "$(touch owned)", "`touch owned`", "a; touch owned", "\"; touch owned; \"", "'; touch owned; '", "${IFS}&touch owned", "a[$(touch owned)]", "x>owned|touch owned",
		"--keep", "-h", "x\n::set-output name=a::b", "::error file=a,line=1::x", "##[error]x", "a=b\nconclusion=success", "\"'", "-rf", "${{ github.token }}", strings.Repeat("x", 10000))
}

// awkward are those of them that the program itself could stumble over.
func awkward() []string {
	return []string{"a\ntouch owned", "--", "--help", "%0A::error::x", "x\r::error::x\n ::add-mask::x\nx ##[add-mask]a", "x<<EOF\na=b\nEOF", "\x1b[2J\x1b]0;x\x07", "é\xff\xfe\u2028", strings.Repeat("x ,'\"\n$(touch owned)", 526)[:10000]}
}

// free are the inputs that are any text, and what an error about each has in it. Every other input
// has a form, which the first step checks.
var free = map[string]string{"recipe": "recipe", "deployer": "deployer", "recipes-dir": "recipes directory", "data": "data directory", "profiles": "profiles", "from": "--from", "kubernetes": "--kubernetes", "helm": "--helm", "mixins": "--mixin", "charts": "--charts", "aicr": "--aicr", "aicr-path": "--aicr", "bundle-dir": "--bundle-dir", "args": ""}

// everyInput runs a check for each input of action.yml for which want returns true, with each
// value.
func everyInput(t *testing.T, values []string, want func(name string) bool, check func(t *testing.T, r *runner, name, value string)) {
	t.Helper()
	small := source(t)
	for name := range readAction(t).Inputs {
		if !want(name) {
			continue
		}
		for i, value := range values {
			t.Run(fmt.Sprintf("%s/%d", name, i), func(t *testing.T) {
				t.Parallel()
				r := newRunner(t, map[string]string{name: value})
				r.known["github.action_path"] = small
				check(t, r, name, value)
				r.wantNotOwned(value)
			})
		}
	}
}

// wantNotOwned fails if a hostile value was executed, or set an output.
func (r *runner) wantNotOwned(value string) {
	r.t.Helper()
	for _, dir := range []string{r.dir, "."} {
		if _, err := os.Stat(filepath.Join(dir, "owned")); err == nil {
			r.t.Fatalf("%q was executed", value)
		}
	}
	for _, step := range []string{"prepare", "find", "run", "self", "select"} {
		if got := r.output(step + ".outputs.a"); got != "" {
			r.t.Errorf("%q set an output to %q", value, got)
		}
	}
}

func isFree(name string) bool { _, ok := free[name]; return ok }

// TestHostileInputs: an input that has a form is refused by name, before anything is run with it.
func TestHostileInputs(t *testing.T) {
	everyInput(t, hostile(), func(name string) bool { return !isFree(name) }, func(t *testing.T, r *runner, name, value string) {
		code, out := r.prepare()
		if code != 2 || !strings.Contains(out, "Input "+name) || len(out) > 500 {
			t.Errorf("exit code %d, want 2 and the input's name:\n%.500s", code, out)
		}
		if all := commands(out); len(all) != 1 || all[0].properties != "title=Input "+name || strings.Contains(all[0].message, "touch") {
			t.Errorf("commands in the log: %+v, want one error", all)
		}
	})
}

// TestHostileSetup: the inputs of setup have a form too.
func TestHostileSetup(t *testing.T) {
	small := source(t)
	for name := range parseAction(t, "setup/action.yml").Inputs {
		for i, value := range hostile() {
			t.Run(fmt.Sprintf("%s/%d", name, i), func(t *testing.T) {
				t.Parallel()
				r := newRunner(t, nil)
				r.action = parseAction(t, "setup/action.yml")
				r.known["github.action_path"] = small + "/setup"
				r.known["inputs.version"], r.known["inputs.stack"], r.known["inputs.images"] = "", "true", "false"
				r.known["inputs."+name] = value
				code, out := r.prepare()
				all := commands(out)
				if code != 2 || len(all) != 1 || all[0].properties != "title=Input "+name || len(out) > 500 {
					t.Errorf("exit code %d, commands %+v, want 2 and one error\n%.500s", code, all, out)
				}
				if _, err := os.Stat(r.file("owned")); err == nil {
					t.Errorf("%q was executed", value)
				}
			})
		}
	}
}

// TestHostileText: an input that is any text is one argument, or with args one a line, and no
// command to the runner even if the program repeats it. All inputs have the value at a time, except
// for args, whose arguments could be taken for those of the others.
func TestHostileText(t *testing.T) {
	small := source(t)
	for i, value := range hostile() {
		for _, only := range []string{"", "args"} {
			t.Run(fmt.Sprintf("%d/%s", i, only), func(t *testing.T) {
				t.Parallel()
				inputs := map[string]string{"args": value}
				if only == "" {
					for name := range free {
						inputs[name] = value
					}
					delete(inputs, "args")
				}
				r := newRunner(t, inputs)
				r.known["github.action_path"] = small
				if code, out := r.prepare(); code != 0 || len(commands(out)) > 0 {
					t.Fatalf("prepare: exit code %d\n%s", code, out)
				}
				r.program("exit 0")
				code, out := r.do("run")
				if code != 0 {
					t.Fatalf("exit code %d\n%s", code, out)
				}
				r.wantNotOwned(value)
				args := r.args()
				for name := range inputs {
					want := "--" + name + "=" + value
					switch name {
					case "mixins": // one argument of a flag that can be repeated
						want = "--mixin=" + value
					case "args":
						want = strings.Split(value, "\n")[0]
					case "recipe":
						want = value
						if last := args[len(args)-2]; last != "--" {
							t.Errorf("the recipe is behind %q, and could be a flag", last)
						}
					}
					if !slices.Contains(args, want) {
						t.Errorf("input %s did not reach the program as it is: %.300q", name, args)
					}
				}
				if all := commands(out); len(all) != 1 || all[0].name != "stop-commands" || len(all[0].message) != 32 {
					t.Errorf("commands in the log: %+v, want the one that stops them", all)
				}
			})
		}
	}
}

// noGo is a directory for PATH, with what the steps need and no go command.
func noGo(t *testing.T) string {
	t.Helper()
	return only(t, append(posix(), "git")...)
}

// posix are the programs that the steps of both actions need, all of which a small image has.
func posix() []string {
	return []string{"bash", "date", "mkdir", "tr", "od", "cat", "touch", "find", "sort", "sha256sum", "cut", "sed", "dirname", "rm", "mktemp"}
}

// only is a directory for PATH with these programs.
func only(t *testing.T, programs ...string) string {
	t.Helper()
	tools := t.TempDir()
	for _, tool := range programs {
		path, err := exec.LookPath(tool)
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(tools, tool), "#!/bin/sh\nexec "+path+" \"$@\"\n")
	}
	return tools
}

// TestHostileText_Program: the real program rejects hostile text, and its error names the input.
// Without a go command no stack is compiled, so that a text that is not rejected ends with code 12.
func TestHostileText_Program(t *testing.T) {
	bin, tools := matrix(t), noGo(t)
	everyInput(t, awkward(), isFree, func(t *testing.T, r *runner, name, value string) {
		r.env = []string{"PATH=" + tools}
		if name != "recipes-dir" {
			r.known["inputs.recipes-dir"] = "embedded" // there is no checkout, and what comes after that is asked here
		}
		if code, out := r.prepare(); code != 0 {
			t.Fatalf("prepare: exit code %d\n%s", code, out)
		}
		if err := os.Link(bin, r.output("find.outputs.bin")); err != nil {
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

// TestHostileFileNames: a workflow's own step that calls the program does not switch commands off.
// The runner finds no command for any names of files, in any place that names them.
func TestHostileFileNames(t *testing.T) {
	bin, tools := matrix(t), noGo(t)
	for name, test := range map[string]struct {
		file, content string
		args          []string
		code          int
		want          string // in the log, which names the file
	}{
		"table":           {"recipes/checks/cert-manager/##[error]x.yaml", "kind: Test\n", []string{"discover", "--base", "HEAD"}, 0, `##\[error]x.yaml (check of cert-manager)`},
		"note":            {"recipes/##[error]x.txt", "x", []string{"discover", "--base", "HEAD"}, 0, `note: recipes/##\[error]x.txt has no part`},
		"JSON":            {"recipes/checks/cert-manager/##[error]x.yaml", "kind: Test\n", []string{"discover", "--base", "HEAD", "-o", "json"}, 0, `#\u0023[error]x.yaml (check of`},
		"matrix":          {"recipes/a\n::error::b", "x", []string{"discover", "--base", "HEAD", "--format", "github"}, 0, `note: "recipes/a\n::error::b" has no part`},
		"cells":           {"recipes/::add-mask::b/##[add-mask]h", "x", []string{"discover", "--base", "HEAD", "--format", "cells"}, 0, `##\[add-mask]h has no part`},
		"terminal":        {"recipes/\x1b[2J\r::error::b", "x", []string{"discover", "--base", "HEAD"}, 0, `\x1b[2J\r::error::b" has no part`},
		"an expression":   {"recipes/checks/cert-manager/${{ github.token }}.yaml", "kind: Test\n", []string{"discover", "--base", "HEAD"}, 0, "${{ github.token }}.yaml (check of cert-manager)"},
		"a flag":          {"recipes/checks/cert-manager/--help.yaml", "kind: Test\n", []string{"discover", "--base", "HEAD"}, 0, "--help.yaml (check of cert-manager)"},
		"a quote":         {"recipes/checks/cert-manager/\"'`touch owned`$(touch owned).yaml", "kind: Test\n", []string{"discover", "--base", "HEAD"}, 0, "(check of cert-manager)"},
		"long":            {"recipes/checks/cert-manager/" + strings.Repeat("x", 200) + ".yaml", "kind: Test\n", []string{"discover", "--base", "HEAD"}, 0, "x.yaml (check of cert-manager)"},
		"a recipe's name": {"recipes/overlays/b.yaml", "kind: RecipeMetadata\napiVersion: aicr.run/v1beta1\nmetadata: {name: \"$(touch owned)\\n::error::x\"}\nspec: {base: eks, criteria: {service: eks}}\n", []string{"discover", "--tier", "1"}, 2, "recipes/overlays/b.yaml"},
		"broken overlay":  {"recipes/overlays/##[error]x.yaml", "kind: [\n", []string{"discover", "--tier", "1"}, 2, `recipes/overlays/##\[error]x.yaml`},
		"broken, in run":  {"recipes/overlays/a\n::error::b.yaml", "kind: [\n", []string{"run", "eks", "-d", "helm"}, 2, `:\:error::b.yaml`},
		"a value":         {"recipes/overlays/b.yaml", "kind: \"::error::x\\n##[error]y\\r::error::z\"\n", []string{"discover", "--tier", "1"}, 2, "error::x"},
		"why, of the run": {"recipes/checks/cert-manager/##[error]x.yaml", "kind: Test\n", []string{"run", "--tier", "1,2", "--base", "HEAD", "-d", "helm"}, 12, `##\[error]x.yaml (check of cert-manager)`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRunner(t, nil)
			if err := os.CopyFS(r.file("recipes"), os.DirFS("recipes")); err != nil {
				t.Fatal(err)
			}
			write(t, r.file("recipes/overlays/h100-eks.yaml"), "kind: RecipeMetadata\napiVersion: aicr.run/v1beta1\nmetadata: {name: h100-eks}\nspec:\n  base: eks\n  criteria: {service: eks, accelerator: h100}\n")
			for _, args := range [][]string{{"init", "--quiet"}, {"add", "recipes"}, {"-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "--quiet", "--message", "recipes"}} {
				cmd := exec.Command("git", args...)
				cmd.Dir = r.dir
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("git %q: %v\n%s", args, err, out)
				}
			}
			write(t, r.file(test.file), test.content)
			cmd := exec.Command("bash", "-c", `"$@" 2>&1`, "step", bin)
			cmd.Args = append(cmd.Args, test.args...)
			cmd.Dir, cmd.Env = r.dir, []string{"PATH=" + tools, "HOME=" + r.dir, "CI=true", "GITHUB_ACTIONS=true"}
			out, _ := cmd.CombinedOutput() // ProcessState has the exit code
			if code := cmd.ProcessState.ExitCode(); code != test.code || !strings.Contains(string(out), test.want) {
				t.Errorf("exit code %d, want %d and %s in\n%s", code, test.code, test.want, out)
			}
			if all := commands(string(out)); len(all) > 0 {
				t.Errorf("commands in the log: %+v\n%s", all, out)
			}
			r.wantNotOwned(test.file)
		})
	}
}

// TestNoCheckout: a job without a checkout fails, instead of running the recipes in the binary.
func TestNoCheckout(t *testing.T) {
	bin, tools := matrix(t), noGo(t)
	for input, want := range map[string]string{"": "exit-reason=USAGE", "embedded": "exit-reason=TOOLCHAIN_MISSING"} {
		r := newRunner(t, map[string]string{"recipe": "eks", "deployer": "helm", "recipes-dir": input})
		if code, out := r.prepare(); code != 0 {
			t.Fatalf("prepare: exit code %d\n%s", code, out)
		}
		if err := os.Link(bin, r.output("find.outputs.bin")); err != nil {
			t.Fatal(err)
		}
		r.env = []string{"PATH=" + tools}
		_, out := r.do("run")
		r.want("conclusion=failure", want, "total="+map[string]string{"": "0", "embedded": "1"}[input])
		all := commands(out)
		if last := all[len(all)-1]; input == "" && (last.name != "error" || !strings.Contains(last.message, "actions/checkout") || !strings.Contains(last.message, "recipes-dir embedded")) {
			t.Errorf("the annotation does not say what to do: %+v", all)
		}
	}
}
