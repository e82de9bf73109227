package chartversions

import (
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/refs/problem"
	"github.com/nvidia/aicr-action/internal/testkit"
)

func TestFind(t *testing.T) {
	const version = "1.2.3+0123456789ab"
	for name, c := range map[string]struct{ object, fault, warning string }{
		"an annotation":        {object: "kind: ConfigMap\nmetadata: {name: a, annotations: {chart: web-" + version + "}}"},
		"a label":              {object: "kind: ConfigMap\nmetadata: {name: a, labels: {helm.sh/chart: web-" + version + "}}", fault: "has the label helm.sh/chart: web-1.2.3+0123456789ab"},
		"a label of its pods":  {object: "kind: Deployment\nmetadata: {name: a}\nspec: {template: {metadata: {labels: {v: " + version + "}}}}", fault: "has the label v: "},
		"a label with _":       {object: "kind: ConfigMap\nmetadata: {name: a, labels: {helm.sh/chart: web-1.2.3_0123456789ab}}"},
		"a selector with _":    {object: "kind: Deployment\nmetadata: {name: a}\nspec: {selector: {matchLabels: {v: 1.2.3_0123456789ab}}}", warning: "in its selector (v)"},
		"a label of another +": {object: "kind: ConfigMap\nmetadata: {name: a, labels: {x: a+b}}"},
	} {
		e := &bundle.Expectation{Releases: []bundle.Release{{Name: "web", SeenVersion: version}}, Objects: []bundle.Object{{Release: "web", Object: testkit.Parsed(t, "apiVersion: v1\n"+c.object)}}}
		want := c.fault + c.warning
		var found []problem.Problem
		for range 2 { // the second time without the digest, where there is nothing to find
			got := Find(e)
			if e.Releases[0].SeenVersion == "" && len(got) > 0 {
				t.Errorf("%s, without a digest: got %v", name, got)
			} else if e.Releases[0].SeenVersion != "" {
				found = got
			}
			e.Releases[0].SeenVersion = ""
		}
		if want == "" && len(found) == 0 {
			continue
		}
		if len(found) != 1 || !strings.Contains(found[0].Text, want) || (found[0].Reason == "") != (c.fault == "") {
			t.Errorf("%s: got %+v, want %q", name, found, want)
		}
	}
}
