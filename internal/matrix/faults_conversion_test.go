package matrix

import (
	_ "embed"
	"slices"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// conversionFaults are those that one lane named at once, and another only after its whole budget, or by
// chance.
func conversionFaults() []fault {
	return []fault{
		{
			id: "F104", what: "an object of an owner that does not exist, a conversion that the API server cannot call, an object that only Flux's controllers make", verdict: "one code in every lane, before anything is deployed, with file and line",
			seeds: []seed{
				{name: "owner", nightly: families, recipe: func(r *tinyRecipe) {
					r.part("b").add("owned.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: owned, ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: gone, uid: 5d3a}]}\n")
				}, want: red(reason.DeployFailed, "ConfigMap b/owned (b): has ConfigMap gone with UID 5d3a as its owner").in(beforeBudget)},
				{name: "conversion", nightly: families, recipe: func(r *tinyRecipe) {
					convertedThing(r, ", caBundle: {{ $other.Cert | b64enc }}")
				}, want: red(reason.DeployFailed, "CustomResourceDefinition things.example.com (a): webhook of the conversion has a caBundle that is not of the authority of the certificate in Secret a/tls").in(beforeBudget)},
				{name: "Kustomization", nightly: families, recipe: func(r *tinyRecipe) {
					r.part("b").add("second.yaml", "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: second}\nspec: {path: ./}\n")
				}, want: red(reason.BundleFailed, "Kustomization second (b/templates/second.yaml:2) would have Flux build another directory").in(beforeBudget)},
				{name: "ExternalArtifact", nightly: families, recipe: func(r *tinyRecipe) {
					r.part("b").add("artifact.yaml", "apiVersion: source.toolkit.fluxcd.io/v1\nkind: ExternalArtifact\nmetadata: {name: own}\nspec: {sourceRef: {apiVersion: v1, kind: ConfigMap, name: own}}\n")
				}, want: red(reason.BundleFailed, "ExternalArtifact own (b/templates/artifact.yaml:2) is what a controller of Flux makes").in(beforeBudget)},
			},
			tests: []string{"internal/matrix/checks TestCases", "internal/bundle TestReservedObjects"},
		},
		{
			id: "F105", what: "a CustomResourceDefinition whose versions a webhook of the recipe converts: its pods are simulated", verdict: "passes, and the result names the conversion as not verified; a stand-in changes only the version",
			seeds: []seed{
				{name: "no caBundle", nightly: families, recipe: func(r *tinyRecipe) {
					convertedThing(r, "")
				}, want: outcomeWanted{check: conversionNotVerified}},
				{name: "caBundle", nightly: families, recipe: func(r *tinyRecipe) {
					convertedThing(r, ", caBundle: {{ $one.Cert | b64enc }}")
				}, want: outcomeWanted{check: conversionNotVerified}},
			},
			tests: []string{"internal/infra/simulate TestConversions", "internal/matrix/checks TestCases"},
		},
		{
			id: "F106", what: "minReadySeconds about as long as the lane's budget; a ReplicaSet of its own, whose pods only a race had counted", verdict: "one verdict each time: minReadySeconds lengthens the budgets, and where Flux itself gives up before it is exit 51 before anything is deployed",
			seeds: []seed{
				{name: "ReplicaSet", nightly: families, recipe: func(r *tinyRecipe) {
					r.part("b").add("set.yaml", loneSet)
				}, want: outcomeWanted{check: fivePods}},
				{name: "longer than Flux waits", nightly: []string{bundle.FluxOCI}, recipe: func(r *tinyRecipe) {
					r.part("b").edit("  replicas: 1\n", "  replicas: 1\n  minReadySeconds: 300\n")
				}, want: red(reason.DeployFailed, "Deployment b/b (b): has minReadySeconds: 300").in(beforeBudget)},
			},
			tests: []string{"internal/matrix/checks TestCases", "internal/matrix/facts TestMinReady", "internal/matrix/lane TestBudgetsFor", "internal/matrix TestNightlyRepeated"},
		},
	}
}

func conversionNotVerified(t *testing.T, r result.Result) {
	t.Helper()
	if !slices.ContainsFunc(r.NotVerified, func(n string) bool {
		return strings.HasPrefix(n, "CustomResourceDefinition things.example.com (a): has versions that are converted by Service a/a")
	}) || !slices.Contains(r.StandIns, "conversion of example.com by a.a.svc (apiVersion is all that changes)") {
		t.Errorf("got not verified %q, stand-ins %q: want the conversion in both", r.NotVerified, r.StandIns)
	}
}

func fivePods(t *testing.T, r result.Result) {
	t.Helper()
	if r.Pods != 5 {
		t.Errorf("got %d pods, want those of three Deployments and of the ReplicaSet: 5", r.Pods)
	}
}

//go:embed testdata/objects/lone_set.yaml
var loneSet string

// convertedThing adds an object of another version than the stored one. A webhook of component a
// converts between them.
func convertedThing(r *tinyRecipe, caBundle string) {
	r.part("a").add("things.yaml", strings.Replace(thingDefinition, ", caBundle: CA", caBundle, 1))
	r.part("b").add("thing.yaml", "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: thing}\nspec: {size: 3}\n")
}

//go:embed testdata/objects/thing_definition.yaml
var thingDefinition string
