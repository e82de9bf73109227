package matrix

import (
	"slices"

	"github.com/nvidia/aicr-action/internal/bundle"
)

// bundleFaults are of bundles and recipes as today's AICR writes them.
func bundleFaults() []fault {
	return []fault{
		{
			id: "F352", what: "a release that renders to nothing, e.g. a component's manifests that its values turn off", verdict: "passes in every lane, also in those of Argo CD, which never syncs what it finds Synced; in argocd-appset it was SYNC_TIMEOUT by chance",
			seeds: []seed{{nightly: slices.Concat(families, otherLanes, []string{bundle.ArgoCDAppSet}), recipe: func(r *tinyRecipe) {
				r.part("b").templates = map[string]string{"none.yaml": "{{- if .Values.on }}\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: none}\n{{- end }}\n"}
			}}},
			tests: []string{"internal/matrix/lane/argocd TestAppSetPoll", "internal/matrix/lane/argocd TestHasNothing"},
		},
		{
			id: "F353", what: "a deploy.sh that installs releases or applies objects besides every `install.sh`", verdict: "such a release is one of the bundle's, in its place; a condition around it is a warning, objects are \"not verified\"; it passed unseen",
			tests: []string{"internal/intake TestDeployScript_More"},
		},
		{
			id: "F354", what: "a bundle for an AppProject or a cluster that only its user's Argo CD has (AICR's `--set deployer:project=…`, `deployer:destinationServer=…`)", verdict: "passes in argocd-git, argocd-oci and argocd-helm-oci, in the project default of the cell's cluster, as an override; it was DEPLOY_FAILED",
			tests: []string{"internal/bundle/argoapi TestRetarget_Bring"},
		},
	}
}
