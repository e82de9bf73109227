package matrix

import (
	"strings"
	"time"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// reportedFaults are those that users of other charts have reported in public.
func reportedFaults() []fault {
	argo, others := []string{bundle.ArgoCDOCI}, []string{bundle.Helm, bundle.FluxOCI}
	const waits = "gets a volume only once a pod uses it (volumeBindingMode: WaitForFirstConsumer), and Argo CD creates Deployment b/b, whose pods do, in a later sync wave or phase (b/templates/web.yaml)"
	return []fault{
		{
			id: "F280", what: "a claim in a sync wave before that of its pods, or as a hook, of a class that waits for a pod: Argo CD waits for the claim, and the claim for a pod", verdict: "exit 51 in Argo CD before anything is deployed, with the claim's line and what to do; passes elsewhere",
			seeds: []seed{
				{name: "wave", nightly: argo, recipe: earlyClaim(`argocd.argoproj.io/sync-wave: "-1"`), want: red(reason.DeployFailed, "PersistentVolumeClaim b/data (b): "+waits).in(time.Minute)},
				{name: "hook", nightly: argo, recipe: earlyClaim("helm.sh/hook: pre-install"), want: red(reason.DeployFailed, "PersistentVolumeClaim b/data (b): "+waits).in(time.Minute)},
				{name: "wave", nightly: others, recipe: earlyClaim(`argocd.argoproj.io/sync-wave: "-1"`)},
				{name: "one wave", nightly: argo, recipe: earlyClaim("a: b")},
			},
			tests: []string{"internal/matrix/refs TestNever"},
		},
	}
}

// earlyClaim gives the pods of b a claim with an annotation.
func earlyClaim(annotation string) func(*tinyRecipe) {
	return func(r *tinyRecipe) {
		b := r.part("b")
		b.edit("      containers: [{", "      volumes: [{name: d, persistentVolumeClaim: {claimName: data}}]\n      containers: [{volumeMounts: [{name: d, mountPath: /d}], ")
		b.add("claim.yaml", strings.Replace("apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data, annotations: {%}}\nspec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n", "%", annotation, 1))
	}
}
