package why

import (
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// A namespace that is missing is explained: which object is in it, and what creates it too late. Helm
// names neither.
func TestLocate_Namespace(t *testing.T) {
	object := func(component, file, text string) bundle.Object {
		return bundle.Object{Component: component, Template: file, Manifest: &recipe.Manifest{File: file, Content: []byte(text)}, Object: testkit.Parsed(t, text)}
	}
	role := object("a", "a.yaml", "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata:\n  name: reader\n  namespace: tenants\n")
	made := func(component string) bundle.Object {
		return object(component, "b.yaml", "# By hand.\napiVersion: v1\nkind: Namespace\nmetadata: {name: tenants}\n")
	}
	releases := []bundle.Release{{Name: "r", Component: "r", Namespace: "tenants"}}
	for want, e := range map[string]bundle.Expectation{
		"namespace tenants is created by component b, in b.yaml:":              {Objects: []bundle.Object{role, made("b")}},
		"namespace tenants is created by the same component, in b.yaml:":       {Objects: []bundle.Object{role, made("a")}},
		"namespace tenants is created with release r: let component r come fi": {Objects: []bundle.Object{role}, Releases: releases},
		"no component in the recipe creates the namespace tenants":             {Objects: []bundle.Object{role}},
	} {
		for _, f := range []result.Finding{
			{Component: "a", Object: &result.Ref{Kind: "Release", Name: "a"}, Cause: `Release a: install chart a 0.1.0: namespaces "tenants" not found`},
			{Component: "a", Object: &result.Ref{Kind: "HelmRelease", Name: "a"}, Cause: "HelmRelease a: InstallFailed", Story: []string{`HelmRelease a: namespaces "tenants" not found`}},
		} {
			all := []result.Finding{f}
			Locate(nil, &bundle.Bundle{Expectation: e}, all)
			if story := strings.Join(all[0].Story, "\n"); !strings.Contains(story, want) || !strings.Contains(story, "set in a.yaml:5") || all[0].Place.String() != "a.yaml:5" {
				t.Errorf("%s: got %q at %s", want, story, all[0].Place)
			}
		}
	}
	// Argo CD's lane names the object, and has said that nothing creates the namespace.
	const nobody = "no component in the recipe creates the namespace tenants"
	argo := []result.Finding{{Component: "a", Object: &result.Ref{Kind: "Application", Name: "a"}, Cause: `Application a: Role tenants/reader: namespaces "tenants" not found`, Story: []string{"  " + nobody}}}
	Locate(nil, &bundle.Bundle{Expectation: bundle.Expectation{Objects: []bundle.Object{role}}}, argo)
	if story := strings.Join(argo[0].Story, "\n"); strings.Count(story, nobody) != 1 || argo[0].Place.String() != "a.yaml:5" {
		t.Errorf("got %q at %s", story, argo[0].Place)
	}
	other := []result.Finding{{Component: "a", Cause: `secrets "x" not found`}}
	if Locate(nil, &bundle.Bundle{Expectation: bundle.Expectation{Objects: []bundle.Object{role}}}, other); len(other[0].Story) > 0 {
		t.Errorf("another error: %q", other[0].Story)
	}
}
