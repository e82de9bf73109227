package compare

import (
	"slices"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/testkit"
)

func TestDifferences(t *testing.T) {
	for name, tc := range map[string]struct {
		a, b string
		want []string // "path: a | b"
	}{
		"the same":   {`{a: {b: [1, x]}}`, `{a: {b: [1, x]}}`, nil},
		"a value":    {`{spec: {replicas: 1}}`, `{spec: {replicas: 2}}`, []string{`spec.replicas: 1 | 2`}},
		"a type":     {`{data: {port: 80}}`, `{data: {port: "80"}}`, []string{`data.port: 80 | "80"`}},
		"an odd key": {`{labels: {a.b/c: x}}`, `{labels: {}}`, []string{`labels["a.b/c"]: "x" | nothing`}},
		"null is not nothing (F34)": {
			`{spec: {storage: {}}}`, `{spec: {storage: {emptyDir: null}}}`, []string{`spec.storage.emptyDir: nothing | null`},
		},
		"null against a value": {`{a: null}`, `{a: 1}`, []string{`a: null | 1`}},
		"empty is not nothing": {`{a: {}}`, `{}`, []string{`a: {} | nothing`}},
		"named elements": {
			`{c: [{name: x, v: 1}, {name: w, v: 1}, {name: z, v: 1}]}`, `{c: [{name: x, v: 1}, {name: z, v: 2}]}`,
			[]string{`c[w]: {"name":"w","v":1} | nothing`, `c[z].v: 1 | 2`},
		},
		"order":            {`{env: [{name: x}, {name: w}]}`, `{env: [{name: w}, {name: x}]}`, []string{`env (order): "x w" | "w x"`}},
		"same name twice":  {`{env: [{name: x, v: 1}, {name: x, v: 2}]}`, `{env: [{name: x, v: 1}]}`, []string{`env[1]: {"name":"x","v":2} | nothing`}},
		"unnamed elements": {`{args: [a, b]}`, `{args: [a, c, d]}`, []string{`args[1]: "b" | "c"`, `args[2]: nothing | "d"`}},
		"one line of many": {`{data: {conf: "a\nb\nc\n"}}`, `{data: {conf: "a\nB\nc\n"}}`, []string{`data.conf: line 2 "b" | line 2 "B"`}},
		"a map and a list": {`{a: {}}`, `{a: []}`, []string{`a: {} | []`}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, d := range differences(testkit.Parsed(t, tc.a).Object, testkit.Parsed(t, tc.b).Object) {
				a, b := d.texts()
				got = append(got, d.path+": "+a+" | "+b)
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestValueText_LongValues(t *testing.T) {
	if got := valueText(strings.Repeat("ä", 500)); len(got) > longestValue+10 || !strings.HasSuffix(got, "…") {
		t.Errorf("got %d bytes: %s", len(got), got)
	}
}

// Every entry of the list must be printed in a report.
func TestBenignRules_Reviewed(t *testing.T) {
	for _, r := range BenignRules() {
		if r.object == "" || r.path == "" || len(r.lanes) == 0 && r.only == nil || r.reason == "" || !strings.HasPrefix(r.link, "https://") {
			t.Errorf("%+v: want an object, a path, lanes or values, a reason and a link", r)
		}
		if r.object == "*" && r.path == "*" && !r.renamed {
			t.Errorf("%+v hides everything", r)
		}
		for _, l := range r.lanes {
			if !slices.ContainsFunc(bundle.Deployers(), func(d bundle.Deployer) bool { return d.Name() == l }) {
				t.Errorf("%+v: there is no lane %s", r, l)
			}
		}
	}
}
