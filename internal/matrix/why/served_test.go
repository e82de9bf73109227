package why

import (
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// An API that Kubernetes has removed is explained by the version that is served today, with the
// object's own line.
func TestLocate_RemovedAPI(t *testing.T) {
	object := func(component, text string) bundle.Object {
		return bundle.Object{Component: component, Template: "a.yaml", Manifest: &recipe.Manifest{File: "a.yaml", Content: []byte(text)}, Object: testkit.Parsed(t, text)}
	}
	e := bundle.Expectation{Objects: []bundle.Object{
		object("other", "apiVersion: policy/v1beta1\nkind: PodDisruptionBudget\nmetadata: {name: other}\n"),
		object("a", "kind: PodDisruptionBudget\n# old\napiVersion: policy/v1beta1\nmetadata: {name: web}\n"),
		object("a", "apiVersion: extensions/v1beta1\nkind: Ingress\nmetadata: {name: web}\n"),
		object("a", "\napiVersion: policy/v1beta1\nkind: PodSecurityPolicy\nmetadata: {name: web}\n"),
		object("a", "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: things.example.com}\nspec: {group: example.com, names: {kind: Thing}, versions: [{name: v1, served: true}, {name: v1beta1, served: false}]}\n"),
		object("a", "\n\n\napiVersion: example.com/v1beta1\nkind: Thing\nmetadata: {name: web}\n"),
		object("a", "\n\n\n\n\napiVersion: cluster.x-k8s.io/v1\nkind: Cluster\nmetadata: {name: web}\n"),
		object("a", "\n\n\n\napiVersion: example.com/v1\nkind: Thing\nmetadata: {name: new}\n"),
	}}
	for cause, want := range map[string][2]string{
		`Kustomization aicr-web: HelmRelease/flux-system/web dry-run failed: no matches for kind "HelmRelease" in version "helm.toolkit.fluxcd.io/v2beta1"`:   {"HelmRelease is served as helm.toolkit.fluxcd.io/v2, and not as helm.toolkit.fluxcd.io/v2beta1; edit: `apiVersion: helm.toolkit.fluxcd.io/v2`", ""},
		`Release a: resource mapping not found for name: "web" namespace: "" from "": no matches for kind "PodDisruptionBudget" in version "policy/v1beta1"`:  {"PodDisruptionBudget is served as policy/v1, and not as policy/v1beta1; edit: `apiVersion: policy/v1`", "a.yaml:3"},
		`Application a: The Kubernetes API could not find version "v1beta1" of policy/PodDisruptionBudget for requested resource a/web.`:                      {"edit: `apiVersion: policy/v1`", "a.yaml:3"},
		`HelmRelease a: no matches for kind "Ingress" in version "extensions/v1beta1"`:                                                                        {"edit: `apiVersion: networking.k8s.io/v1`, and its fields, which differ", "a.yaml:1"},
		`HelmRelease a: [no matches for kind "PodSecurityPolicy" in version "policy/v1beta1", no matches for kind "Ingress" in version "extensions/v1beta1"]`: {"a.yaml:1: Ingress is served as networking.k8s.io/v1", "a.yaml:2"},
		`Application a: The Kubernetes API could not find policy/PodSecurityPolicy for requested resource a/web.`:                                             {"Kubernetes has no PodSecurityPolicy since 1.25", "a.yaml:2"},
		`HelmRelease a: no matches for kind "PodSecurityPolicy" in version "policy/v1beta1"`:                                                                  {"Kubernetes has no PodSecurityPolicy since 1.25", "a.yaml:2"},
		`HelmRelease a: no matches for kind "Thing" in version "example.com/v1beta1"`:                                                                         {"edit: `apiVersion: example.com/v1`", "a.yaml:4"},
		`HelmRelease a: unable to build kubernetes objects from release manifest: no matches for kind "Thing" in version "example.com/v1"`:                    {"its definition is in the same release, a.yaml:2, and Helm asks for the kinds of all templates", "a.yaml:5"},
		`Release a: no matches for kind "Cluster" in version "cluster.x-k8s.io/v1"`:                                                                           {"nothing here installs the CRD for Cluster.cluster.x-k8s.io: deliver the CRD", "a.yaml:6"},
		`no component in the recipe installs the CRD for Cluster.cluster.x-k8s.io: no matches for kind "Cluster" in version "cluster.x-k8s.io/v1"`:            {"", ""},
		`HelmRelease a: unable to build kubernetes objects from current release manifest: no matches for kind "Thing" in version "example.com/v1beta1"`:       {"", ""},
		`HelmRelease a: no matches for kind "Other" in version "example.com/v1beta1"`:                                                                         {"", ""},
	} {
		all := []result.Finding{{Component: "a", Object: &result.Ref{Kind: "Release", Name: "a"}, Cause: cause}}
		Locate(nil, &bundle.Bundle{Expectation: e}, all)
		if story := strings.Join(all[0].Story, "\n"); !strings.Contains(story, want[0]) || want[0] == "" && story != "" || all[0].Place.String() != want[1] {
			t.Errorf("%s\ngot %q at %s", cause, story, all[0].Place)
		}
	}
}
