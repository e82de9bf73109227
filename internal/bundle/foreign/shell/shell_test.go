package shell

import (
	"slices"
	"strings"
	"testing"
)

func TestScriptVariables(t *testing.T) {
	for name, tc := range map[string]struct{ script, want string }{
		"known":                  {"CHART=oci://example.org/a\nhelm upgrade --install a \"${CHART}\"", "helm upgrade --install a oci://example.org/a"},
		"of another":             {"CHART=a\nCHART_REF=\"${CHART}\"\nhelm upgrade --install a $CHART_REF", "helm upgrade --install a a"},
		"list":                   {`ARGS=(--version "1 2")` + "\nhelm upgrade --install a a \"${ARGS[@]}\"", "helm upgrade --install a a --version 1 2"},
		"list that grows":        {"ARGS=()\nARGS+=(--wait)\nhelm upgrade --install a a ${ARGS[@]+\"x\"}", "helm upgrade --install a a --wait"},
		"unknown":                {`helm upgrade --install a a ${COMPONENT_WAIT_ARGS:-} "${EXTRA_ARGS[@]}"`, "helm upgrade --install a a"},
		"the script's directory": {`SCRIPT_DIR="$(cd "$(dirname "$0")" && pwd)"` + "\nhelm upgrade --install a ${SCRIPT_DIR}/chart", "helm upgrade --install a ./chart"},
		"of one command":         {"VERSION=1 true\nhelm upgrade --install a a$VERSION", "helm upgrade --install a a"},
	} {
		vars := New()
		var got []string
		for _, line := range strings.Split(tc.script, "\n") {
			if !vars.Assign(line) {
				got = Words(vars.Expand(line))
			}
		}
		if want := strings.Fields(tc.want); !slices.Equal(strings.Fields(strings.Join(got, " ")), want) {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	vars := New()
	for _, line := range []string{"A=1", "if [[ -n $X ]]; then", "  A=2", "  B=3", "fi", "C=4"} {
		vars.Assign(line)
	}
	for command, want := range map[string]string{"helm $A": "A", "helm ${B[@]}": "B", "helm ${C:-}": ""} {
		if got := vars.Uncertain(command); got != want {
			t.Errorf("uncertain of %q is %q, want %q", command, got, want)
		}
	}
}
