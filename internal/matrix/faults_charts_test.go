package matrix

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// chartFaults are what ordinary charts contain, and a lane took for wrong or named late.
func chartFaults() []fault {
	return []fault{
		{
			id: "F131", what: "an Ingress, which nothing here routes: without an address it is Progressing to Argo CD for ever", verdict: "passes in every lane; what comes in a later wave of an ApplicationSet does not wait for it",
			seeds: []seed{{nightly: append(slices.Clone(families), bundle.ArgoCDAppSet), recipe: func(r *tinyRecipe) { r.part("a").add("ingress.yaml", ingress) }, want: outcomeWanted{check: nothingAccepted}}},
			tests: []string{"internal/infra/kind TestKwokConfig"},
		},
		{
			id: "F132", what: "a claim that no pod uses, of a class that waits for one: Flux waits for the claim as long as for a release", verdict: "exit 51 before anything is deployed, where the deployer waits for the claim",
			seeds: []seed{
				{nightly: []string{bundle.FluxOCI}, recipe: unusedClaim, want: red(reason.DeployFailed, "PersistentVolumeClaim b/spare (b): gets a volume only once a pod uses it").in(beforeBudget)},
				{name: "where nothing waits", nightly: []string{bundle.Helm, bundle.ArgoCDOCI}, recipe: unusedClaim},
			},
			tests: []string{"internal/matrix/checks TestCases"},
		},
		{
			id: "F133", what: "a manifest of the recipe that begins with a byte order mark, which Helm leaves out", verdict: "renders as without it",
			tests: []string{"internal/bundle TestManifests_ByteOrderMark"},
		},
		{
			id: "F134", what: "a policy of one component that denies another's pods or ReplicaSets, which were created before it was in force", verdict: "exit 1 in every lane: no pod could be created again",
			seeds: []seed{
				{nightly: families, recipe: deniedPods(`""`, "pods"), want: red(reason.WorkloadFailed, "Deployment b/b (b): the API server", "ValidatingAdmissionPolicy 'teams' with binding 'teams' denied request: pods need a team")},
				{name: "ReplicaSets", nightly: families, recipe: deniedPods("apps", "replicasets"), want: red(reason.WorkloadFailed, "Deployment b/b (b)", "ValidatingAdmissionPolicy 'teams' with binding 'teams' denied request: pods need a team")},
			},
			tests: []string{"internal/matrix/intact TestDenied"},
		},
		{
			id: "F135", what: "a ConfigMap or Secret of a hook that is deleted once it has succeeded, which an ordinary workload needs", verdict: "exit 1: a kubelet starts none of its containers, or none again",
			seeds: []seed{{nightly: families, recipe: func(r *tinyRecipe) {
				r.part("b").add("early.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: early, annotations: {helm.sh/hook: pre-install, helm.sh/hook-delete-policy: hook-succeeded}}\n")
				r.part("b").edit("containers: [{name: main,", "volumes: [{name: c, configMap: {name: early}}]\n      containers: [{name: main, volumeMounts: [{name: c, mountPath: /c}],")
			}, want: red(reason.WorkloadFailed, "Deployment b/b (b): mounts ConfigMap b/early, a hook that is deleted once it has succeeded")}},
			tests: []string{"internal/matrix/checks TestCases"},
		},
	}
}

func nothingAccepted(t *testing.T, r result.Result) {
	t.Helper()
	for _, n := range r.Notes {
		if strings.Contains(n, " passed as ") {
			t.Errorf("got %q: want a pass without an exception", n)
		}
	}
}

func unusedClaim(r *tinyRecipe) {
	r.part("b").add("claim.yaml", "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: spare}\nspec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n")
}

func deniedPods(group, resource string) func(*tinyRecipe) {
	return func(r *tinyRecipe) {
		r.part("a").add("policy.yaml", fmt.Sprintf(deniesWithoutTeam, group, resource))
	}
}

//go:embed testdata/objects/denies_without_team.yaml
var deniesWithoutTeam string

//go:embed testdata/objects/ingress.yaml
var ingress string
