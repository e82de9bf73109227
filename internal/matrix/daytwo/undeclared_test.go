package daytwo

import (
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// A field that the definition in the cluster lacks, and the new chart's crds/ has, is explained with
// both; one that neither has is the chart's own mistake.
func TestFailed_OlderDefinition(t *testing.T) {
	of := func(fields string) *bundle.Bundle {
		crd := "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: queues.x.y}\nspec: {versions: [{name: v1, schema: {openAPIV3Schema: {properties: {spec: {properties: {a: {type: string}" + fields + "}}}}}}]}\n"
		r := bundle.Release{Name: "b", Component: "b"}
		return &bundle.Bundle{Installs: []bundle.Install{{Release: r, Chart: &chart.Chart{Metadata: &chart.Metadata{APIVersion: "v2", Name: "b", Version: "1.0.0"}, Files: []*chart.File{{Name: "crds/q.yaml", Data: []byte(crd)}}}}}}
	}
	b := Bundles{Before: of(""), Now: of(", weight: {type: integer}, list: {items: {properties: {x: {type: string}}}}, map: {additionalProperties: {properties: {size: {type: string}}}}, any: {x-kubernetes-preserve-unknown-fields: true}")}
	const lacks = "CustomResourceDefinition queues.x.y in the cluster is that of before the upgrade, which has no FIELD (component b, b/crds/q.yaml has it): "
	for text, want := range map[string]string{
		`/apis/x.y/v1/queues/q: unknown field "spec.weight" (the API server dropped it)`: strings.Replace(lacks, "FIELD", "spec.weight", 1) + "Helm does not update",
		`unknown field "spec.list[0].x"`:                                                 strings.Replace(lacks, "FIELD", "spec.list[0].x", 1),
		`unknown field "spec.map.one.size"`:                                              strings.Replace(lacks, "FIELD", "spec.map.one.size", 1),
		`unknown field "spec.any.thing.z"`:                                               strings.Replace(lacks, "FIELD", "spec.any.thing.z", 1),
		"ComparisonError: error building typed value from config resource: .spec.weight: field not declared in schema": strings.Replace(lacks, "FIELD", "spec.weight", 1) + "Argo CD compares",
		"ComparisonError: error building typed value from config resource: .spec.other: field not declared in schema":  "spec.other is not in the definition that is in the cluster: Argo CD compares",
		`unknown field "spec.wieght" (the API server dropped it)`:                                                      "",
		`unknown field "spec.list[0].z"`: "",
	} {
		got := strings.Join(result.VerdictOf(Failed(UpgradeFrom("main"), reason.New(reason.DeployFailed, "%s", text), b, nil)).Details, "\n")
		if want == "" && strings.Contains(got, "CustomResourceDefinition") || !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

// A value that only the new definition allows, or a field that the old one requires, is explained in the
// same way.
func TestFailed_OtherDefinition(t *testing.T) {
	of := func(spec string) *bundle.Bundle {
		crd := "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: queues.x.y}\nspec: {group: x.y, names: {kind: Queue}, versions: [{name: v1, schema: {openAPIV3Schema: {properties: {spec: " + spec + "}}}}]}\n"
		return &bundle.Bundle{Installs: []bundle.Install{{Release: bundle.Release{Name: "b", Component: "b"}, Chart: &chart.Chart{Metadata: &chart.Metadata{APIVersion: "v2", Name: "b", Version: "1.0.0"}, Files: []*chart.File{{Name: "crds/q.yaml", Data: []byte(crd)}}}}}}
	}
	b := Bundles{Before: of("{required: [old], properties: {mode: {enum: [a]}, list: {items: {properties: {x: {maximum: 1}}}}, same: {enum: [a]}}}"), Now: of("{properties: {mode: {enum: [a, b]}, list: {items: {properties: {x: {maximum: 2}}}}, same: {enum: [a]}}}")}
	both := Bundles{Before: of("{properties: {same: {enum: [a]}, mode: {enum: [a]}}}"), Now: of("{properties: {same: {enum: [a]}, mode: {enum: [a, b]}}}")}
	const head = `cannot patch "one" with kind Queue: Queue.x.y "one" is invalid: `
	for _, tc := range []struct {
		b          Bundles
		text, want string
	}{
		{b, head + `spec.mode: Unsupported value: "b": supported values: "a"`, "CustomResourceDefinition queues.x.y in the cluster is that of before the upgrade, which has another spec.mode (component b, b/crds/q.yaml has the new one): Helm does not update"},
		{b, head + `spec.old: Required value`, "has another spec.old"},
		{b, head + `[spec.list[0].x: Invalid value: 2: should be less than or equal to 1, <nil>: Invalid value: "null"]`, "has another spec.list[0].x"},
		{both, head + `spec.same: Unsupported value: "b"`, ""},
		{b, `HelmRelease b: Queue.x.y "one" is invalid: spec.mode: Unsupported value: "b"`, ""},
	} {
		got := strings.Join(result.VerdictOf(Failed(UpgradeFrom("main"), reason.New(reason.DeployFailed, "%s", tc.text), tc.b, nil)).Details, "\n")
		if tc.want == "" && strings.Contains(got, "CustomResourceDefinition") || !strings.Contains(got, tc.want) {
			t.Errorf("%s: got %q, want %q", tc.text, got, tc.want)
		}
	}
}

// A kind whose definition is new in crds/ is explained; one that the old chart had there, or that comes with
// a release that is new, is not.
func TestFailed_NotInstalled(t *testing.T) {
	of := func(release string, names ...string) *bundle.Bundle {
		c := &chart.Chart{Metadata: &chart.Metadata{APIVersion: "v2", Name: "b", Version: "1.0.0"}}
		for _, name := range names {
			c.Files = append(c.Files, &chart.File{Name: "crds/" + name + ".yaml", Data: []byte("apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: " + name + ".x.y}\nspec: {group: x.y, names: {kind: Queue}, versions: [{name: v1}]}\n")})
		}
		return &bundle.Bundle{Installs: []bundle.Install{{Release: bundle.Release{Name: release, Component: "b"}, Chart: c}}}
	}
	const text = `Release b: resource mapping not found for name: "one" namespace: "" from "": no matches for kind "Queue" in version "x.y/v1"`
	for name, tc := range map[string]struct {
		before *bundle.Bundle
		want   bool
	}{"new": {of("b"), true}, "known": {of("b", "queues"), false}, "release is new": {of("other"), false}} {
		v := result.VerdictOf(Failed(UpgradeFrom("main"), reason.New(reason.DeployFailed, "%s", text), Bundles{Before: tc.before, Now: of("b", "queues")}, nil))
		if got := strings.Contains(strings.Join(v.Details, "\n"), "CustomResourceDefinition queues.x.y is new in the chart's crds/ (component b, b/crds/queues.yaml), which Helm installs with a release"); got != tc.want {
			t.Errorf("%s: got %q", name, v.Details)
		}
	}
}
