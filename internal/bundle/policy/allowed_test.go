package policy

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// holes are objects that make a controller fetch, run or write what no bundle needs, and the field
// that does. The API server refuses each too: TestPolicies_RealAPIServer in internal/infra/gitops.
func TestCheck(t *testing.T) {
	for text, want := range map[string]string{
		"kind: Application\nspec: {source: {repoURL: x, helm: {releaseName: a, valuesObject: {anything: 1}}}, syncPolicy: {automated: {}}}": "",
		"kind: Application\nspec: {sources: [{repoURL: x, ref: values}, {repoURL: y, helm: {valueFiles: [$values/a]}}]}":                    "",
		"kind: Application\nspec: {sourceHydrator: {drySource: {repoURL: x}}}":                                                              "spec.sourceHydrator",
		"kind: Application\nspec: {source: {directory: {jsonnet: {tlas: []}}}}":                                                             "spec.source.directory.jsonnet",
		"kind: Application\nspec: {sources: [{}, {helm: {fileParameters: []}}]}":                                                            "spec.sources.helm.fileParameters",
		"kind: Application\nspec: {source: {kustomize: {}}}":                                                                                "spec.source.kustomize",
		"kind: Application\noperation: {sync: {source: {repoURL: x, plugin: {}}}}":                                                          "operation.sync.source.plugin",
		"kind: Application\noperation: {sync: {manifests: [x]}}":                                                                            "operation.sync.manifests",
		"kind: Application\noperation: {sync: {revision: x}}":                                                                               "",
		"kind: Kustomization\nspec: {postBuild: {substituteFrom: []}}":                                                                      "spec.postBuild",
		"kind: HelmRelease\nspec: {kubeConfig: {}}":                                                                                         "spec.kubeConfig",
		"kind: HelmRelease\nspec: {chart: {spec: {verify: {}}}}":                                                                            "spec.chart.spec.verify",
		"kind: OCIRepository\nspec: {proxySecretRef: {}}":                                                                                   "spec.proxySecretRef",
		"kind: ArtifactGenerator\nspec: {artifacts: [{copy: [{from: a, to: b, run: c}]}]}":                                                  "spec.artifacts.copy.run",
		"kind: Application\nstatus: {operationState: {syncResult: {sources: [{repoURL: x, kustomize: {}}]}}}":                               "status.operationState.syncResult.sources.kustomize",
		"kind: Application\nstatus: {operationState: {phase: Running}, sync: {anything: 1}}":                                                "",
		"kind: ApplicationSet\nspec: {generators: [{matrix: {generators: [{list: {}}, {plugin: {}}]}}]}":                                    "spec.generators.matrix.generators.plugin",
		"apiVersion: app.k8s.io/v1beta1\nkind: Application\nspec: {componentKinds: []}":                                                     "",
		"apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: []":                                                   "",
		"kind: Deployment\nspec: {anything: 1}":                                                                                             "",
	} {
		var o map[string]any
		if err := yaml.Unmarshal([]byte(text), &o); err != nil {
			t.Fatal(err)
		}
		refused := Check(o["kind"].(string), o)
		got := ""
		if refused != nil {
			got = strings.Join(refused.Path, ".")
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

// Of a field that has another program make the manifests, the error names the program.
func TestRefused(t *testing.T) {
	for want, source := range map[string]map[string]any{
		"spec.source.plugin of Application has a plugin beside Argo CD's repo-server make the manifests": {"plugin": map[string]any{}},
		"spec.source.directory.jsonnet of Application has Jsonnet make the manifests":                    {"directory": map[string]any{"jsonnet": map[string]any{}}},
		"spec.source.kustomize of Application may configure a controller":                                {"kustomize": map[string]any{}},
	} {
		refused := Check("Application", map[string]any{"spec": map[string]any{"source": source}})
		if refused == nil || !strings.HasPrefix(refused.Error(), want) {
			t.Errorf("got %v, want %s", refused, want)
		}
	}
}
