package matrix

import (
	"strings"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// textFaults are objects that are only text until a program applies them, and what a person reads about them.
func textFaults() []fault {
	const (
		held = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: storageclass}\ndata:\n  storageclass.yaml: |\n    kind: StorageClass\n    apiVersion: storage.k8s.io/v1\n    metadata: {name: shared, annotations: {storageclass.kubernetes.io/is-default-class: \"true\"}}\n    provisioner: driver.example.com\n"
		may  = "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: manager}\n---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: manager}\nrules: [{apiGroups: [storage.k8s.io], resources: [storageclasses], verbs: ['*']}]\n---\n" +
			"apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: manager}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: manager}\nsubjects: [{kind: ServiceAccount, name: manager, namespace: a}]\n"
		claim = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec: {storageClassName: shared, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n"
	)
	class := func(rights string) func(*tinyRecipe) {
		return func(r *tinyRecipe) {
			a, b := r.part("a"), r.part("b")
			a.add("class.yaml", held)
			a.add("rights.yaml", rights)
			a.edit("      containers:", "      serviceAccountName: manager\n      containers:")
			b.add("claim.yaml", claim)
			b.edit("      containers:", "      volumes: [{name: d, persistentVolumeClaim: {claimName: data}}]\n      containers:")
		}
	}
	return []fault{
		{
			id: "F272", what: "a StorageClass that is a text in a ConfigMap, which an operator applies when it runs (Longhorn), and a claim of that class", verdict: "passes, with a stand-in for the class; exit 1 if nothing there may create classes",
			seeds: []seed{
				{nightly: families, recipe: class(may)},
				{name: "of nobody", nightly: []string{bundle.Helm}, recipe: class(strings.Replace(may, "storageclasses", "csinodes", 1)), want: red(reason.SchedulingFailed, "pod has unbound immediate PersistentVolumeClaims").in(beforeBudget)},
			},
			tests: []string{"internal/matrix/facts TestFind", "internal/matrix/facts TestCreateClasses"},
		},
		{
			id: "F273", what: "with `--app`, a claim that no pod uses: of a HelmRelease, for which Flux waits until its timeout, and of a Kustomization without `wait`, which is ready without it", verdict: "exit 51 before anything is deployed, with the release's own timeout and the edits; the Kustomization passes",
			tests: []string{"internal/matrix/checks TestCases", "internal/intake/app TestOpen_Waits"},
		},
		{
			id: "F274", what: "a template that fails since lookup finds nothing; an object without kind or name in a later document of a file, or a document that is none beside objects; a chart with `--app`, which helm install puts into the namespace default", verdict: "exit 52 that says so and what to set; the line of the document in the file; the release is in default or `--namespace`",
			tests: []string{"internal/bundle TestRenderError_Manifest", "internal/bundle/manifestline TestHeadless", "internal/intake/app TestOpen_Refused", "internal/intake/app TestOpen_Namespace"},
		},
		{
			id: "F275", what: "an object that Argo CD calls OutOfSync for one value, beside the API server's defaults; a format in a definition's schema that the API server does not know, of which it names no field", verdict: "the note has the value first; the warning has the path in the schema and its line",
			tests: []string{"internal/matrix/intact TestDifference", "internal/matrix/intact TestFormatIn"},
		},
		{
			id: "F276", what: "a hook of a release of helmfile that uses the ServiceAccount of one that `needs` it", verdict: "exit 1 before anything is deployed, with both lines; passes where nothing orders them, or the other way round",
			tests: []string{"internal/matrix/checks TestCases", "internal/intake/app TestHelmfile_Needs"},
		},
	}
}
