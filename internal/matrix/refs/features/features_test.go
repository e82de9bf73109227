package features

import (
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/refs/problem/problemtest"
)

func TestFind(t *testing.T) {
	vendor := func(expression string) string {
		return "matchFeatures: [{feature: pci.device, matchExpressions: {vendor: {" + expression + "}}}]"
	}
	for name, c := range map[string]struct{ rule, want string }{
		"a vendor":              {rule: vendor("op: In, value: ['10de']") + ", labels: {feature.node.kubernetes.io/gpu: 'true', example.com/gpu: 'true', gpu: 'true'}"},
		"a pattern":             {rule: vendor("op: InRegexp, value: ['^(10de|1af4)$']")},
		"a version":             {rule: vendor("op: Ge, type: version, value: ['v1.2']")},
		"a range":               {rule: vendor("op: GtLt, value: ['1', '5']")},
		"an unknown operator":   {rule: vendor("op: Equals, value: ['1']")},
		"no pattern":            {rule: vendor("op: InRegexp, value: ['a', '(10de']"), want: `rule r compares vendor of pci.device with the regular expression "(10de", which is none`},
		"no value":              {rule: vendor("op: In"), want: "by In with no value"},
		"a value too many":      {rule: vendor("op: Exists, value: ['1']"), want: "by Exists, which takes no value"},
		"two for one":           {rule: vendor("op: Gt, value: ['1', '2']"), want: "by Gt, which takes one value, with 2"},
		"one for two":           {rule: vendor("op: GeLe, value: ['1']"), want: "by GeLe, which takes two values, with 1"},
		"no number":             {rule: vendor("op: Lt, value: [many]"), want: `by Lt with "many", which is no number`},
		"an alternative":        {rule: "matchAny: [{" + vendor("op: Exists") + "}, {" + vendor("op: In") + "}]", want: "by In with no value"},
		"a name":                {rule: "matchFeatures: [{feature: cpu.cpuid, matchName: {op: InRegexp, value: ['(']}}]", want: "compares the names of cpu.cpuid"},
		"a label of Kubernetes": {rule: vendor("op: Exists") + ", labels: {node.kubernetes.io/gpu: 'true'}", want: "is to set the label node.kubernetes.io/gpu"},
	} {
		t.Run(name, func(t *testing.T) {
			e := &bundle.Expectation{Objects: problemtest.Objects(t, "c", "apiVersion: nfd.k8s-sigs.io/v1alpha1\nkind: NodeFeatureRule\nmetadata: {name: x}\nspec: {rules: [{name: r, "+c.rule+"}]}\n")}
			got := Find(e)
			if c.want == "" && len(got) > 0 || c.want != "" && (len(got) != 1 || !strings.Contains(got[0].Text, c.want) || got[0].Reason != "" || got[0].Name == "") {
				t.Errorf("got %+v, want %q", got, c.want)
			}
		})
	}
}
