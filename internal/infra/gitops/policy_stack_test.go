package gitops_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/embedded"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit"
	"github.com/nvidia/aicr-action/internal/testkit/embeddedtest"
	"github.com/nvidia/aicr-action/internal/testkit/testskip"
	"github.com/nvidia/aicr-action/internal/util/wait"
)

// object is one in a test's table: its kind's API version, and all behind its metadata.
type object struct{ apiVersion, kind, namespace, name, rest string }

// TestPolicies_RealAPIServer tries on a real API server, with the real controllers behind it, what
// configures a controller beyond what a bundle needs; then it changes the policy itself.
func TestPolicies_RealAPIServer(t *testing.T) {
	testskip.Short(t, "no real stack")
	t.Parallel()
	kinds := []infra.ControllerKind{infra.ArgoCDControllers, infra.FluxControllers}
	c, _ := embeddedtest.Start(t, &embedded.Platform{Without: embedded.Protections{Static: true}}, nil, kinds...)
	running := map[infra.ControllerKind]infra.Controllers{}
	for _, kind := range kinds {
		controllers, err := c.Controllers(kind, infra.ControllerOptions{Root: "aicr-tiny"})
		if err != nil {
			t.Fatal(err)
		}
		if err := controllers.Install(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := controllers.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(controllers.Stop)
		running[kind] = controllers
	}
	host := c.Registry().PullHost()
	for _, test := range objects() {
		err := create(t, c.Clients(), test.object, host)
		switch {
		case test.want == "" && err != nil:
			t.Errorf("%s %s: rejected: %v", test.kind, test.name, err)
		case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "may not configure")):
			t.Errorf("%s %s: got %v; want it rejected with %q", test.kind, test.name, err, test.want)
		}
	}
	for kind, controllers := range running {
		if err := controllers.Unchanged(t.Context()); err != nil {
			t.Errorf("%s: nothing was changed: %v", kind, err)
		}
	}
	wantNoticed(t, c.Clients(), running)
}

type policyTest struct {
	object
	want string // of the message; empty: accepted
}

func objects() []policyTest {
	const app, flux = "argoproj.io/v1alpha1", ".toolkit.fluxcd.io/"
	source := `{repoURL: "oci://HOST/x", targetRevision: "1", path: .`
	destination := `, destination: {server: "https://kubernetes.default.svc", namespace: default}, project: default}`
	return []policyTest{
		{object{app, "Application", "argocd", "fine", `spec: {source: ` + source + `, helm: {releaseName: a, valuesObject: {x: 1}}}` + destination}, ""},
		{object{app, "Application", "argocd", "hydrator", `spec: {sourceHydrator: {drySource: {repoURL: "https://127.0.0.1:1/x", targetRevision: a, path: b}, syncSource: {targetBranch: a, path: b}}, source: ` + source + `}` + destination}, "a field of spec that no bundle needs"},
		{object{app, "Application", "argocd", "jsonnet", `spec: {source: ` + source + `, directory: {jsonnet: {libs: [a]}}}` + destination}, "a field of spec.source.directory"},
		{object{app, "Application", "argocd", "file-parameters", `spec: {sources: [` + source + `, helm: {fileParameters: [{name: a, path: /etc/passwd}]}}]` + destination}, "a field of spec.sources[].helm"},
		{object{app, "Application", "argocd", "operation", `spec: {source: ` + source + `}` + destination + "\noperation: {sync: {source: " + `{repoURL: "https://127.0.0.1:1/x"}}}`}, "would make Argo CD dial"},
		{object{app, "Application", "argocd", "manifests", `spec: {source: ` + source + `}` + destination + "\noperation: {sync: {manifests: [x]}}"}, "a field of operation.sync that"},
		{object{app, "Application", "argocd", "running", `spec: {source: ` + source + `}` + destination + "\noperation: {sync: {}}\n" +
			`status: {operationState: {phase: Running, startedAt: "2026-01-01T00:00:00Z", operation: {sync: {}}, syncResult: {revision: a, source: {repoURL: "https://127.0.0.1:1/x"}}}}`}, "would make Argo CD dial"},
		{object{app, "Application", "argocd", "running-manifests", `spec: {source: ` + source + `}` + destination + "\noperation: {sync: {}}\n" +
			`status: {operationState: {phase: Running, startedAt: "2026-01-01T00:00:00Z", operation: {sync: {manifests: [x]}}}}`}, "a field of status.operationState.operation.sync that"},
		{object{app, "ApplicationSet", "argocd", "aicr-stack", `spec: {generators: [{git: {repoURL: "https://127.0.0.1:1/x", revision: a, files: [{path: a}]}}], template: {metadata: {name: a}, spec: {source: ` + source + `}` + destination + `}}`}, "a field of spec.generators[] that"},
		{object{app, "ApplicationSet", "argocd", "aicr-second", `spec: {generators: [{list: {elements: []}}], template: {metadata: {name: a}, spec: {source: ` + source + `}` + destination + `}}`}, "would make Applications besides"},
		{object{"source" + flux + "v1", "Bucket", "flux-system", "sts", `spec: {interval: 1m, bucketName: a, endpoint: "HOST", insecure: true, provider: generic, sts: {provider: ldap, endpoint: "http://127.0.0.1:1"}}`}, "of a kind that no bundle needs"},
		{object{"source" + flux + "v1", "ExternalArtifact", "flux-system", "fine", `spec: {sourceRef: {apiVersion: source.extensions.fluxcd.io/v1beta1, kind: ArtifactGenerator, name: a, namespace: flux-system}}`}, ""},
		{object{"helm" + flux + "v2", "HelmRelease", "flux-system", "expression", `spec: {interval: 1m, chart: {spec: {chart: a, sourceRef: {kind: HelmRepository, name: a}}}, dependsOn: [{name: b, readyExpr: "true"}]}`}, "a field of spec.dependsOn[] that"},
		{object{"apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "applications.argoproj.io", definition("argoproj.io", "Application")}, "is the definition of objects that the deployer reads"},
		{object{"apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "buckets.source.toolkit.fluxcd.io", definition("source.toolkit.fluxcd.io", "Bucket")}, "is the definition of objects that the deployer reads"},
		{object{"apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "workflows.argoproj.io", definition("argoproj.io", "Workflow")}, ""},
		{object{"kustomize" + flux + "v1", "Kustomization", "flux-system", "aicr-tiny", `spec: {interval: 1m, path: ./, prune: true, sourceRef: {kind: OCIRepository, name: aicr-bundle}}`}, ""},
		{object{"kustomize" + flux + "v1", "Kustomization", "flux-system", "aicr-second", `spec: {interval: 1m, path: ./, prune: true, sourceRef: {kind: OCIRepository, name: aicr-bundle}}`}, "would make Flux build another directory"},
		{object{"source" + flux + "v1", "OCIRepository", "flux-system", "fine", `spec: {interval: 1m, insecure: true, url: "oci://HOST/x", ref: {tag: a}}`}, ""},
		{object{"source" + flux + "v1", "OCIRepository", "flux-system", "certificate", `spec: {interval: 1m, url: "oci://HOST/x", certSecretRef: {name: a}}`}, "a field of spec that no bundle needs"},
		{object{"helm" + flux + "v2", "HelmRelease", "flux-system", "post-renderers", `spec: {interval: 1m, chart: {spec: {chart: a, sourceRef: {kind: HelmRepository, name: a}}}, postRenderers: [{kustomize: {images: [{name: a, newTag: b}], patches: [{target: {kind: Job}, patch: "a: b"}]}}]}`}, ""},
		{object{"helm" + flux + "v2", "HelmRelease", "flux-system", "other-cluster", `spec: {interval: 1m, chart: {spec: {chart: a, sourceRef: {kind: HelmRepository, name: a}}}, kubeConfig: {secretRef: {name: a}}}`}, "would make Flux use another cluster (spec.kubeConfig)"},
		{object{"helm" + flux + "v2", "HelmRelease", "flux-system", "account", `spec: {interval: 1m, chart: {spec: {chart: a, sourceRef: {kind: HelmRepository, name: a}}}, serviceAccountName: a}`}, "a field of spec that no bundle needs"},
		{object{"helm" + flux + "v2", "HelmRelease", "flux-system", "fine", `spec: {interval: 1m, suspend: true, chart: {spec: {chart: a, version: "1", sourceRef: {kind: HelmRepository, name: a}}}, valuesFrom: [{kind: ConfigMap, name: a}]}`}, ""},
		{object{"source" + flux + "v1", "GitRepository", "flux-system", "git", `spec: {interval: 1m, url: "http://HOST/aicr/x.git", ref: {branch: main}}`}, "which is not the repository of the bundle"},
		{object{app, "Application", "argocd", "git", `spec: {sources: [{repoURL: "http://HOST/aicr/x.git", targetRevision: main, ref: values}]` + destination}, "would make Argo CD dial"},
		{object{"source.extensions.fluxcd.io/v1beta1", "ArtifactGenerator", "flux-system", "fine", `spec: {sources: [{alias: bundle, kind: OCIRepository, name: aicr-bundle}], artifacts: [{name: a, copy: [{from: "@bundle/a/**", to: "@artifact/a/"}]}]}`}, ""},
	}
}

// definition is the spec of a CustomResourceDefinition.
func definition(group, kind string) string {
	plural := strings.ToLower(kind) + "s"
	return "spec: {group: " + group + ", scope: Namespaced, names: {kind: " + kind + ", plural: " + plural + ", singular: " + strings.ToLower(kind) + ", listKind: " + kind + "List}, " +
		"versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}"
}

// create asks the API server whether it would create the object.
func create(t *testing.T, c *infra.Clients, o object, host string) error {
	t.Helper()
	metadata := "{name: " + o.name + "}"
	if o.namespace != "" {
		metadata = "{namespace: " + o.namespace + ", name: " + o.name + "}"
	}
	text := "apiVersion: " + o.apiVersion + "\nkind: " + o.kind + "\nmetadata: " + metadata + "\n" + strings.ReplaceAll(o.rest, "HOST", host) + "\n"
	decoded, err := infra.DecodeObjects([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v\n%s", o.name, err, text)
	}
	gvr := infra.ResourceFor(decoded[0].GroupVersionKind())
	var client dynamic.ResourceInterface = c.Dynamic.Resource(gvr)
	if o.namespace != "" {
		client = c.Dynamic.Resource(gvr).Namespace(o.namespace)
	}
	_, err = client.Create(t.Context(), decoded[0], metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}

// wantNoticed changes what guards the controllers, as a recipe's release can: the API server
// exempts admission policies from admission policies.
func wantNoticed(t *testing.T, c *infra.Clients, running map[infra.ControllerKind]infra.Controllers) {
	t.Helper()
	admission := func(resource string) schema.GroupVersionResource {
		return schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: resource}
	}
	patch := func(gvr schema.GroupVersionResource, name, patch string) {
		t.Helper()
		if _, err := c.Dynamic.Resource(gvr).Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	noticed := func(kind infra.ControllerKind, want string) {
		t.Helper()
		if err := running[kind].Unchanged(t.Context()); reason.Of(err) != reason.DeployFailed || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v; want %q", kind, err, want)
		}
	}
	patch(admission("validatingadmissionpolicies"), "aicr-action-argocd", `{"spec":{"validations":[{"expression":"true"}]}}`)
	noticed(infra.ArgoCDControllers, "ValidatingAdmissionPolicy aicr-action-argocd was changed")
	if err := c.Dynamic.Resource(admission("validatingadmissionpolicybindings")).Delete(t.Context(), "aicr-action-flux", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	noticed(infra.FluxControllers, "ValidatingAdmissionPolicyBinding aicr-action-flux is gone")
	patch(admission("validatingadmissionpolicybindings"), "aicr-action-argocd", `{"spec":{"validationActions":["Audit"]}}`)
	noticed(infra.ArgoCDControllers, "ValidatingAdmissionPolicyBinding aicr-action-argocd was changed")
	const crd, names = "applications.argoproj.io", `{"spec":{"names":{"shortNames":["x"]}}}`
	testkit.Eventually(t, "the API server to take the policy that lets all pass", time.Minute, func() wait.Result {
		if _, err := c.Dynamic.Resource(infra.CRDResource).Patch(t.Context(), crd, types.MergePatchType, []byte(names), metav1.PatchOptions{}); err != nil {
			return wait.NotYet("%v", err)
		}
		return wait.Done()
	})
	noticed(infra.ArgoCDControllers, "CustomResourceDefinition applications.argoproj.io was changed")
}
