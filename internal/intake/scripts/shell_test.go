package scripts

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// of reads a script beside a few files, and gives its commands of helm as text.
func of(t *testing.T, script string, files map[string]string) (made []string) {
	t.Helper()
	commands, err := Read(script, func(name string) ([]byte, bool) {
		text, ok := files[name]
		return []byte(text), ok
	})
	if err != nil {
		t.Fatalf("%v of\n%s", err, script)
	}
	for _, c := range commands {
		if c.Words[0] != "helm" && c.Words[0] != "bash" {
			continue
		}
		text := fmt.Sprintf("%d %s", c.Line, strings.Join(c.Words, "|"))
		if c.Dir != "." {
			text += " in " + c.Dir
		}
		if c.Maybe {
			text += " maybe"
		}
		for _, d := range c.Doubts {
			text += fmt.Sprintf(" %s=%q", d.Name, d.Others)
		}
		made = append(made, text)
	}
	return made
}

func TestRead(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		want   []string
	}{
		"known":                {"CHART=oci://example.org/a\nhelm install a \"${CHART}\"", []string{"2 helm|install|a|oci://example.org/a"}},
		"of another":           {"CHART=a\nREF=\"${CHART}\"\nhelm install a $REF", []string{"3 helm|install|a|a"}},
		"list":                 {`ARGS=(--version "1 2")` + "\nhelm a \"${ARGS[@]}\"", []string{"2 helm|a|--version|1 2"}},
		"list that grows":      {"ARGS=()\nARGS+=(--wait)\nhelm a ${ARGS[@]+\"${ARGS[@]}\"}", []string{"3 helm|a|--wait"}},
		"empty list":           {"ARGS=()\nhelm a ${ARGS[@]+\"${ARGS[@]}\"} \"${ARGS[@]}\"", []string{"2 helm|a"}},
		"unset":                {`helm a ${WAIT:-} "${EXTRA[@]}" ${REPO:+--repo "${REPO}"}`, []string{"1 helm|a"}},
		"default":              {`helm a -n ${NAMESPACE:-b} "${C:-d e}"`, []string{"1 helm|a|-n|b|d e"}},
		"if it is set":         {"REPO='https://a b'\nhelm a ${REPO:+--repo \"${REPO}\"}", []string{"2 helm|a|--repo|https://a b"}},
		"escapes":              {`helm a\ b "c\"d" 'e\f' \` + "\n  g # h", []string{`1 helm|a b|c"d|e\f|g`}},
		"of one command":       {"VERSION=1 true\nhelm a$VERSION", []string{"2 helm|a"}},
		"its directory":        {"here=\"$(cd \"$(dirname \"$0\")\" && pwd)\"\ncd \"$here/x\"\nhelm ${here}/chart ./y", []string{"3 helm|../chart|./y in x"}},
		"somewhere else":       {"cd \"$(mktemp -d)\"\nhelm ./chart", []string{"2 helm|./chart in //"}},
		"a subshell":           {"(cd x && A=1 && helm $A)\nhelm \"<$A>\"", []string{"1 helm|1 in x", "2 helm|<>"}},
		"another script":       {"source ./values.env\nhelm ${CHART} ${VERSION}", []string{"2 helm|nginx|1.2"}},
		"a function":           {"install() {\n  local name=\"$1\"; shift\n  helm \"$name\" \"$@\"\n}\ninstall a b 'c d'", []string{"5 helm|a|b|c d"}},
		"not called":           {"f() { helm a; }\nhelm b", []string{"2 helm|b"}},
		"for nobody":           {"if [[ -n \"${KUBECONFIG:-}\" && $X == y ]]; then helm a; elif [ -z \"$X\" ]; then helm b; else helm c; fi", []string{"1 helm|b"}},
		"a file that is there": {"if [[ -f values.env ]]; then helm a; fi\n[[ -f chart.tgz ]] && helm b\nhelm c", []string{"1 helm|a", "3 helm|c"}},
		"what a program says":  {"V=$(helm version)\nF=\nif [[ \"${V:-0}\" -ge 4 ]]; then F=--force; helm a; fi\nhelm b $F", []string{"3 helm|a maybe", `4 helm|b F=[["--force"]]`}},
		"a doubt of another":   {"V=$(x)\nF=1\n[[ $V == a ]] && F=2\nG=\"v$F\"\nhelm $G", []string{`5 helm|v1 G=[["2"]]`}},
		"retries":              {"until helm a; do sleep 1; done\nwhile true; do helm b && break; done\nfor i in 1 2; do helm c; done\nif ! helm d; then exit 1; fi\nhelm e || exit 1\nhelm f", []string{"1 helm|a", "2 helm|b", "3 helm|c", "4 helm|d", "5 helm|e", "6 helm|f"}},
		"each":                 {"for c in a b; do helm $c; done", []string{`1 helm|a c=[["b"]]`}},
		"options":              {"while [[ $# -gt 0 ]]; do case \"$1\" in --x) helm a; shift ;; esac; done\ncase \"${1:-}\" in -h) helm b; exit 0 ;; *) helm c ;; esac", []string{"2 helm|c"}},
		"braces":               {"A=1\nhelm --set x={a,b} \"{a,b}\" $A{,c} {a} y=\\{a,b\\}", []string{"2 helm|--set|x=a|x=b|{a,b}|1|1c|{a}|y={a,b}"}},
		"local":                {"A=1\nB=2\nf() { local A=$1 B; C=$1; helm $A$B; }\nf 3\nhelm $A$B$C", []string{"4 helm|3", "5 helm|123"}},
		"escaped":              {"helm $'a\\tb' 'a\\tb'", []string{"1 helm|a\tb|a\\tb"}},
		"a value is not split": {"A='x  y'\nB=$A${C:-u  v}\nhelm \"$B\"", []string{"3 helm|x  yu  v"}},
		"assigned in a word":   {"helm ${A=x} ${B:=y}\nhelm ${A-z} $B", []string{"1 helm|x|y", "2 helm|x|y"}},
		"first of a list":      {"L=(1 '2 3')\nL=a\nL+=b\nhelm \"${L[@]}\"", []string{"4 helm|ab|2 3"}},
		"braces in a list":     {"L=(x a{b,c})\nhelm ${L[@]}", []string{"2 helm|x|ab|ac"}},
		"its arguments":        {"set -- a 'b c'\nhelm $# \"$@\"\nshift\nhelm \"$1\"", []string{"2 helm|2|a|b c", "4 helm|b c"}},
		"an end":               {"helm a\nexit 0\nhelm b", []string{"1 helm|a"}},
		"no end":               {"command -v helm || exit 1\nif ! command -v kubectl >/dev/null; then exit 1; fi\nhelm a", []string{"3 helm|a"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := of(t, c.script, map[string]string{"values.env": "CHART=nginx\nVERSION=\"1.2\"\n", "x/values.env": ""})
			if !slices.Equal(got, c.want) {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

// The forms of AICR's install.sh since v1.0: how it finds out which cluster it is for, and that it
// installs a chart which the script before has pulled, if it has.
func TestRead_Connection(t *testing.T) {
	const script = `set -euo pipefail
SCRIPT_DIR="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
cd "${SCRIPT_DIR}"
source ./values.env
CONN=()
named() {
  kc="$1"
  shift
  CONN+=("$@")
}
if [[ -n "${FLAGS:-}" ]]; then
  argv=(${FLAGS})
  i=0
  while (( i < ${#argv[@]} )); do
    case "${argv[i]}" in
      --kubeconfig) named "${argv[i+1]}" --kubeconfig "${argv[i+1]}" ;;
    esac
  done
fi
if [[ -n "${KUBE_CONTEXT:-}" ]]; then
  CONN+=(--kube-context "${KUBE_CONTEXT}")
fi
MAJOR=$(helm version --template '{{.Version}}' 2>/dev/null | sed -nE 's/^v([0-9]+)\..*/\1/p')
FORCE=""
if [[ "${MAJOR:-0}" -ge 4 ]]; then
  FORCE="--force-conflicts"
fi
if [[ -z "${DRY_RUN:-}" ]]; then
  bash ./before.sh
fi
REF="${CHART}"
ARGS=(--version "${VERSION}")
if [[ -z "${DRY_RUN:-}" && -f "${SCRIPT_DIR}/.chart.tgz" ]]; then
  REF="${SCRIPT_DIR}/.chart.tgz"
  ARGS=()
fi
helm upgrade ${FORCE} 'a' "${REF}" \
  "${ARGS[@]}" ${DRY_RUN:-} ${CONN[@]+"${CONN[@]}"}
`
	files := map[string]string{"values.env": "CHART=oci://example.org/a\nVERSION=1.2.3\n"}
	want := []string{"29 bash|./before.sh", `37 helm|upgrade|a|oci://example.org/a|--version|1.2.3 FORCE=[["--force-conflicts"]]`}
	if got := of(t, script, files); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	// With the file, it is what is installed.
	files[".chart.tgz"] = "x"
	want[1] = `37 helm|upgrade|a|./.chart.tgz FORCE=[["--force-conflicts"]]`
	if got := of(t, script, files); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// A script is somebody else's. Whatever it has, reading it ends, soon and without much memory.
func TestRead_Hostile(t *testing.T) {
	deep := func(open, middle, shut string) string {
		n := (mostBytes - 100) / (len(open) + len(shut))
		return strings.Repeat(open, n) + middle + strings.Repeat(shut, n)
	}
	doubling := "A=xxxxxxxxxxxxxxxx\n" + strings.Repeat("A=$A$A\n", 100)
	var calls strings.Builder
	for i := range 60 {
		fmt.Fprintf(&calls, "f%d() { f%d; f%d; }\n", i, i+1, i+1)
	}
	for name, c := range map[string]struct{ script, want string }{
		"large":           {strings.Repeat("#", mostBytes+1), "larger than"},
		"no bash":         {"a\nif then", "not understood as a script of bash"},
		"doubles":         {doubling, "larger than"},
		"doubles a list":  {"A=(xxxxxxxxxxxxxxxx)\n" + strings.Repeat("A=(\"${A[@]}\" \"${A[@]}\")\n", 100), "larger than"},
		"many values":     {"A=" + strings.Repeat("x", 60<<10) + strings.Repeat("\nB=$A", 5000), "together larger than 16 MiB"},
		"calls itself":    {"f() { f; }\nf", "call each other"},
		"calls many":      {calls.String() + "f0", "call each other"},
		"two of each":     {"a() { :; }\n" + strings.Join([]string{"b() { a; a; a; a; a; a; a; a; a; a; }", "c() { b; b; b; b; b; b; b; b; b; b; }", "d() { c; c; c; c; c; c; c; c; c; c; }", "e() { d; d; d; d; d; d; d; d; d; d; }", "g() { e; e; e; e; e; e; e; e; e; e; }", "g"}, "\n"), "more than 20000 statements"},
		"reads itself":    {"source ./me.sh", "read each other"},
		"without an end":  {"while true; do A=$A$A; done\nuntil false; do :; done", ""},
		"parentheses":     {deep("(", "a", ")"), ""},
		"blocks":          {deep("{ ", "a", ";}"), ""},
		"outputs":         {deep("$(", "a", ")"), ""},
		"values":          {deep("${A:-", "a", "}"), ""},
		"conditions":      {deep("if a;then ", "a", ";fi"), ""},
		"tests":           {"[[ " + deep("( ", "a", " )") + " ]]", ""},
		"negations":       {"[[ " + deep("! ", "a", "") + " ]]", ""},
		"numbers":         {"(( " + deep("(", "1", ")") + " ))", ""},
		"quotes":          {deep("\"$(", "a", ")\""), ""},
		"commands in row": {strings.Repeat("a&&", mostBytes/3-10) + "a", ""},
		"functions":       {deep("f(){ ", "a", ";};f"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			_, err := Read(c.script, func(string) ([]byte, bool) { return []byte("source ./me.sh"), true })
			if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			t.Logf("%v in %s", err, time.Since(began).Round(time.Millisecond))
		})
	}
}

// What bash does not run is no bundle that can be installed: set refuses pipefail\r, and the values of a sourced file end with \r.
func TestRead_CRLF(t *testing.T) {
	for name, tc := range map[string]struct {
		script, sourced string
		line            int
	}{
		"the script": {"set -euo pipefail\nhelm upgrade --install a b\r\n", "", 2},
		"a sourced":  {"true\nsource ./upstream.env\nhelm upgrade --install a \"$CHART\"\n", "CHART=b\r\n", 2},
	} {
		_, err := Read(tc.script, func(string) ([]byte, bool) { return []byte(tc.sourced), true })
		if wrong := (*Error)(nil); !errors.As(err, &wrong) || wrong.Line != tc.line || !strings.Contains(wrong.Error(), "CR LF") {
			t.Errorf("%s: got %v, want an error of line %d", name, err, tc.line)
		}
	}
}

// What a script may leave out or make of a word is said to be unknown.
func TestRead_Unknown(t *testing.T) {
	for script, want := range map[string]bool{
		"helm a *.tgz":                        false,
		"shopt -s nullglob\nhelm a *.tgz":     true,
		"shopt -s nullglob\nhelm a '*.tgz'":   false,
		"f() { helm \"$@\"; }\nf a ${A//a/b}": true,
		"f() { helm \"$@\"; }\nf a b":         false,
	} {
		commands, err := Read("A=a\n"+script, func(string) ([]byte, bool) { return nil, false })
		if err != nil {
			t.Fatal(err)
		}
		if last := commands[len(commands)-1]; len(last.Unknown) > 0 != want {
			t.Errorf("%s: got %v", script, last.Unknown)
		}
	}
}
