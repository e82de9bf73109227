package oracle

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/intake/scripts"
	"github.com/nvidia/aicr-action/internal/testkit/infratest"
	"github.com/nvidia/aicr-action/internal/testkit/testskip"
)

// recorder notes how it is called, a line a call, and succeeds.
const recorder = "#!/bin/bash\nline=helm\nfor word; do line+=\"|$word\"; done\nprintf '%s\\n' \"$line\" >>\"$CALLS\"\n"

// bash calls helm as the reader of scripts says, where that does not leave it open.
func TestOracleScripts(t *testing.T) {
	testskip.Short(t, "it starts bash for each script")
	bash, err := exec.LookPath("bash")
	if err != nil {
		testskip.Missing(t, "no bash")
	}
	dir := infratest.ShortTempDir(t)
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bin, "helm"), []byte(recorder), 0o755); err != nil {
		t.Fatal(err)
	}
	version, err := exec.CommandContext(t.Context(), bash, "-c", "echo v${BASH_VERSINFO[0]}.${BASH_VERSINFO[1]}.0").Output()
	if err != nil {
		t.Fatal(err)
	}
	o := &oracle{name: "scripts", version: strings.TrimSpace(string(version)), generate: (*generator).script}
	o.program = func(ctx context.Context, all []input) (map[string]verdict, error) {
		verdicts := map[string]verdict{}
		for i := range all {
			v, err := calls(ctx, bash, bin, filepath.Join(dir, fmt.Sprint("script-", i)), scriptOf(&all[i]))
			if err != nil {
				return nil, fmt.Errorf("%s: %w", all[i].Name, err)
			}
			verdicts[all[i].Name] = *v
		}
		return verdicts, nil
	}
	o.compare = func(_ context.Context, in *input, v *verdict) (*difference, error) {
		said, sure := readScript(scriptOf(in))
		if !sure || said == v.Message {
			return nil, nil
		}
		return &difference{*in, v.Word + " " + strings.ReplaceAll(v.Message, "\n", "; "), strings.ReplaceAll(said, "\n", "; ")}, nil
	}
	o.run(t, nil)
}

// calls runs a script where there is nothing but the recorder.
func calls(ctx context.Context, bash, bin, dir, script string) (*verdict, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if err := os.MkdirAll(filepath.Join(dir, "x"), 0o755); err != nil {
		return nil, err
	}
	record := filepath.Join(dir, "calls")
	cmd := exec.CommandContext(ctx, bash, "--noprofile", "--norc", "-c", script)
	cmd.Dir, cmd.Env = dir, []string{"PATH=" + bin, "CALLS=" + record}
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return nil, fmt.Errorf("bash did not end within 10 s:\n%s", script)
	}
	word := "ends"
	if err != nil {
		word = fmt.Sprintf("fails (%s)", strings.TrimSpace(lastLines(string(out))))
		word = strings.ReplaceAll(word, "\n", " ")
	}
	raw, err := os.ReadFile(record)
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	return &verdict{Word: word, Message: once(strings.Split(strings.TrimSuffix(string(raw), "\n"), "\n"))}, nil
}

// once leaves out what is tried again.
func once(lines []string) string { return strings.Join(slices.Compact(lines), "\n") }

// readScript are the calls that our reader finds; sure if it leaves nothing open.
func readScript(script string) (calls string, sure bool) {
	found, err := scripts.Read(script, func(string) ([]byte, bool) { return nil, false })
	if err != nil {
		return "error: " + err.Error(), false
	}
	var lines []string
	for _, c := range found {
		if c.Words[0] != "helm" {
			continue
		}
		if c.Maybe || len(c.Unknown)+len(c.Doubts) > 0 {
			return "", false
		}
		lines = append(lines, strings.Join(c.Words, "|"))
	}
	return once(lines), true
}

// scriptOf is the script of an input.
func scriptOf(in *input) string {
	var lines []string
	list, _ := in.Subject["lines"].([]any)
	for _, l := range list {
		lines = append(lines, fmt.Sprint(l))
	}
	return strings.Join(lines, "\n") + "\n"
}

// script makes one of the parts that scripts which install charts have.
func (g *generator) script() input {
	pick := func(all ...string) string { return all[g.IntN(len(all))] }
	name := func() string { return pick("A", "B", "NAME", "list") }
	word := func() string {
		return pick("a", "1.2", "''", `""`, `"a b"`, `'c d'`, "$A", `"$A"`, `"${B}"`, "${A:-x}", `"${B:-y z}"`, "${A:+set}", "${NAME#a}", "${NAME%b}", "${NAME##*/}", "${NAME%%.*}", "${#A}", "${A/a/b}", "${A//a/b}",
			"${A^^}", "${A,,}", "${A:1}", "${A:0:1}", `"${list[@]}"`, "${list[*]}", "${list[0]}", "${#list[@]}", "a{b,c}", `a\{b,c\}`, "a\\ b", `"a\"b"`, `$'a\x62'`, "~", "$((1+2))", "$(echo hi)", "`echo hi`", "*.none", "$$A", `\$A`, `"\$A"`, "'$A'", "a=b", "--set=x", `"$@"`, "$#", "$0x", "${A-}", "${NONE-d}", "${NONE=e}", "--version=${A}", "$A$B", "$NONE", "#a", "a#b", "${!A}", "${list[1]:-q}", "${A:?}", "-n", "!")
	}
	call := func() string {
		text := "helm"
		for range 1 + g.IntN(3) {
			text += " " + word()
		}
		return text
	}
	condition := func() string {
		return pick("[ -n \"$A\" ]", "[ -z \"$A\" ]", "[[ -n $A ]]", "[[ $A == a ]]", `[ "$A" = "$B" ]`, "[[ $A == a* ]]", "true", "false", "! true", "[[ -z $NONE && -n $A ]]", "[[ $A =~ ^a ]]", "[ 1 -lt 2 ]", "[[ ${#list[@]} -gt 1 ]]", "((1 < 2))", "test -n a", "[ -d x ]", "[ -f none ]", "[[ a < b ]]", "command -v helm", "[[ -v A ]]", "[ $# -gt 0 ]", "[[ $A != b || $B == c ]]")
	}
	line := func() string {
		switch g.IntN(22) {
		case 0, 1, 2:
			return name() + "=" + word()
		case 3:
			return "list=(" + word() + " " + word() + ")"
		case 4:
			return "list+=(" + word() + ")"
		case 5:
			return pick("A+=", "NAME+=") + word()
		case 6:
			return "if " + condition() + "; then " + call() + "; else " + call() + "; fi"
		case 7:
			return condition() + " && " + call()
		case 8:
			return condition() + " || " + call()
		case 9:
			return "f() { local A=$1; shift; helm f \"$A\" \"$@\"; }\nf " + word() + " " + word()
		case 10:
			return "case " + word() + " in a) " + call() + " ;; *b|x*) " + call() + " ;; *) " + call() + " ;; esac"
		case 11:
			return "(A=sub; " + call() + ")"
		case 12:
			return "{ B=group; " + call() + "; }"
		case 13:
			return "export " + name() + "=" + word()
		case 14:
			return "readonly R" + fmt.Sprint(g.IntN(100)) + "=" + word()
		case 15:
			return "unset " + name()
		case 16:
			return pick("set -e", "set -u", "set -euo pipefail", "shopt -s nullglob", "set -- a b", "set -f")
		case 17:
			return "A=temporary " + call()
		case 18:
			return "for i in only; do helm \"$i\"; done"
		case 19:
			return "declare " + pick("", "-r ", "-a ", "-x ") + "D" + fmt.Sprint(g.IntN(100)) + "=" + word()
		case 20:
			return call() + pick(" >/dev/null", " | cat", " || exit 1", " || true", " & wait", " 2>&1", " <<<x")
		}
		return call()
	}
	lines := []any{pick("A=a", "A=ab", "A='a b'", "A="), pick("B=b", "B=a", "B='x  y'"), pick("NAME=a/b.c", "NAME=ab"), pick("list=(1 '2 3')", "list=()", "list=(one)")}
	for range 1 + g.IntN(4) {
		for _, l := range strings.Split(line(), "\n") {
			lines = append(lines, l)
		}
	}
	lines = append(lines, call())
	return input{From: "script", Subject: map[string]any{"apiVersion": "oracle/v1", "kind": "Script", "metadata": map[string]any{"name": "script"}, "lines": lines}}
}
