package leftout

import (
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// Only what is in a chart's own crds/ counts, and no definition.
func TestDefinitions(t *testing.T) {
	object := func(template, text string) bundle.Object {
		return bundle.Object{Template: template, Object: testkit.Parsed(t, text)}
	}
	const config, definition = "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}", "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: d}}"
	found := Definitions(&bundle.Expectation{Objects: []bundle.Object{object("a/crds/d.yaml", definition), object("a/templates/crds/c.yaml", config), object("a/charts/b/crds/c.yaml", config)}})
	if len(found) != 1 || found[0].Template != "a/charts/b/crds/c.yaml" || !strings.Contains(found[0].Text, "of which Flux applies CustomResourceDefinitions alone") {
		t.Errorf("got %+v", found)
	}
}

func TestFind(t *testing.T) {
	for text, want := range map[string]string{
		"apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {name: db}":                                                         "is of a kind that Argo CD excludes by default (resource.exclusions in its settings), so that it never applies it",
		"apiVersion: v1\nkind: Endpoints\nmetadata: {name: db}":                                                                              "is of a kind that Argo CD excludes by default",
		"apiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata: {name: leader}":                                                          "is of a kind that Argo CD excludes always",
		"apiVersion: authorization.k8s.io/v1\nkind: SubjectAccessReview\nmetadata: {name: may}":                                              "",
		"apiVersion: v1\nkind: Service\nmetadata: {name: db}":                                                                                "",
		"apiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata: {name: db}":                                                            "",
		"apiVersion: certificates.k8s.io/v1\nkind: CertificateSigningRequest\nmetadata: {name: db}":                                          "is of a kind that Argo CD excludes by default",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {argocd.argoproj.io/hook: postsync}}":                             `has argocd.argoproj.io/hook: "postsync", which is none of PreSync, Sync, PostSync`,
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {argocd.argoproj.io/hook: 'PreSync, PostSync'}}":                  "",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {argocd.argoproj.io/hook: ''}}":                                   `has argocd.argoproj.io/hook: ""`,
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {argocd.argoproj.io/hook: postsync, helm.sh/hook: post-install}}": "",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {argocd.argoproj.io/hook: PostDelete}}":                           "",
	} {
		got := ""
		for _, p := range Find(&bundle.Expectation{Objects: []bundle.Object{{Object: testkit.Parsed(t, text)}}}) {
			got += p.Text
		}
		if !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}
