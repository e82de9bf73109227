package policy

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestWhy(t *testing.T) {
	for _, c := range []struct{ apiVersion, kind, namespace, name, want string }{
		{"admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", "", "aicr-action-argocd", "keeps for its own objects"},
		{"admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding", "", "aicr-action-flux", "keeps for its own objects"},
		{"admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", "", "mine", ""},
		{"rbac.authorization.k8s.io/v1", "ClusterRole", "", "aicr-action-checks", "keeps for its own objects"},
		{"v1", "ConfigMap", "apps", "aicr-action-settings", ""},
		{"apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "applications.argoproj.io", "Argo CD's own definition"},
		{"apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "workflows.argoproj.io", ""},
		{"apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "helmreleases.helm.toolkit.fluxcd.io", "Flux's own definition"},
		{"apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "artifactgenerators.source.extensions.fluxcd.io", "Flux's own definition"},
		{"apiregistration.k8s.io/v1", "APIService", "", "v2.helm.toolkit.fluxcd.io", "the objects of Flux"},
		{"apiregistration.k8s.io/v1", "APIService", "", "v1beta1.metrics.k8s.io", ""},
		{"apiregistration.k8s.io/v1", "APIService", "", "v1beta1.custom.metrics.k8s.io", ""},
		{"apiregistration.k8s.io/v1", "APIService", "", "v1.apps", "in place of the API server for Kubernetes' own objects"},
		{"apiregistration.k8s.io/v1", "APIService", "", "v1.", "in place of the API server for Kubernetes' own objects"},
		{"apiregistration.k8s.io/v1", "APIService", "", "v1.rbac.authorization.k8s.io", "in place of the API server for Kubernetes' own objects"},
		{"apiregistration.k8s.io/v1", "APIService", "", "v1.apiextensions.k8s.io", "in place of the API server for Kubernetes' own objects"},
		{"kustomize.toolkit.fluxcd.io/v1", "Kustomization", "apps", "mine", "build another directory"},
		{"argoproj.io/v1alpha1", "ApplicationSet", "argocd", "mine", "besides those of the bundle"},
		{"argoproj.io/v1alpha1", "Rollout", "argocd", "mine", ""},
		{"v1", "ConfigMap", "argocd", "argocd-cm", "setting of the Argo CD"},
		{"v1", "ConfigMap", "other", "argocd-cm", ""},
		{"v1", "Secret", "argocd", "cell-registry", "setting of the Argo CD"},
		{"argoproj.io/v1alpha1", "AppProject", "argocd", "default", "may do"},
		{"source.toolkit.fluxcd.io/v1", "OCIRepository", "flux-system", "aicr-bundle", "delivers the recipe from"},
		{"source.toolkit.fluxcd.io/v1", "OCIRepository", "flux-system", "mine", ""},
		{"v1", "Secret", "apps", "sh.helm.release.v1.web.v2", "Helm's own record"},
		{"v1", "ConfigMap", "apps", "sh.helm.release.v1.web.v2", "Helm's own record"},
		{"v1", "Secret", "apps", "helm", ""},
	} {
		o := &unstructured.Unstructured{}
		o.SetAPIVersion(c.apiVersion)
		o.SetKind(c.kind)
		o.SetNamespace(c.namespace)
		o.SetName(c.name)
		if got := WhyReserved(o); c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s %s/%s: got %q, want %q", c.kind, c.namespace, c.name, got, c.want)
		}
	}
}

// Helm finds its records by their labels and names, whatever type they have.
func TestWhy_HelmRecord(t *testing.T) {
	for name, c := range map[string]struct {
		object map[string]any
		want   bool
	}{
		"the type":   {map[string]any{"type": "helm.sh/release.v1"}, true},
		"the labels": {map[string]any{"type": "Opaque", "metadata": map[string]any{"labels": map[string]any{"owner": "helm", "name": "b", "status": "deployed", "version": "2"}}}, true},
		"an owner":   {map[string]any{"type": "Opaque", "metadata": map[string]any{"labels": map[string]any{"owner": "helm"}}}, false},
		"any Secret": {map[string]any{"type": "Opaque"}, false},
	} {
		o := &unstructured.Unstructured{Object: c.object}
		o.SetAPIVersion("v1")
		o.SetKind("Secret")
		o.SetName("mine")
		if got := WhyReserved(o); (got != "") != c.want {
			t.Errorf("%s: got %q", name, got)
		}
	}
}
