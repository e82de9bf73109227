package bundle

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/recipe/document"
)

func names(ds []Deployer) []string {
	var out []string
	for _, d := range ds {
		out = append(out, d.Name())
	}
	return out
}

func TestByName(t *testing.T) {
	all, known := []string{"helm", "argocd-oci", "argocd-helm-oci", "flux-oci"}, names(Deployers()) // all are AICR's own
	for _, test := range []struct {
		in         []string
		want       []string
		unknown    string
		generation document.Generation
	}{
		{in: []string{"all"}, want: all},
		{in: []string{"all"}, generation: document.July, want: []string{"helm", "argocd-oci", "argocd-helm-oci", "argocd-git", "flux-oci", "flux-git"}},
		{in: []string{"flux-git"}, want: []string{"flux-git"}},
		{in: []string{"flux-oci,helm"}, want: []string{"helm", "flux-oci"}},
		{in: []string{"helm", "helm", "argocd-oci"}, want: []string{"helm", "argocd-oci"}},
		{in: []string{"helm", "all"}, want: all},
		{in: []string{"argocd"}, unknown: "argocd"},
		{in: []string{"helm,Flux"}, unknown: "Flux"},
		{in: nil, unknown: ""},
		{in: []string{" , "}, unknown: " , "},
	} {
		got, err := ByNameFor(test.in, test.generation)
		var unknown *unknownDeployerError
		if errors.As(err, &unknown) {
			if test.want != nil || unknown.Name != test.unknown || !reflect.DeepEqual(unknown.Known, known) {
				t.Errorf("%q: %v", test.in, err)
			}
			continue
		}
		if err != nil || !reflect.DeepEqual(names(got), test.want) {
			t.Errorf("%q: got %v, %v", test.in, names(got), err)
		}
	}
}

func TestExpectedNames(t *testing.T) {
	releases := []string{"web", "monitor", "gpu", "gpu-post", "tuning"}
	for _, d := range Deployers() {
		e := mustBundle(t, d, fixture()).Expectation
		const application, flux, release = "Application.argoproj.io argocd/", ".toolkit.fluxcd.io flux-system/", "HelmRelease.helm.toolkit.fluxcd.io flux-system/"
		var want []string
		switch d.Name() {
		case ArgoCDOCI, ArgoCDHelmOCI, ArgoCDGit:
			root := map[string]string{ArgoCDOCI: "nvidia-stack", ArgoCDHelmOCI: "aicr-stack", ArgoCDGit: "nvidia-stack"}[d.Name()]
			want = append(want, application+root+" (root)")
			for _, r := range releases {
				want = append(want, application+r)
			}
		case ArgoCDAppSet:
			want = []string{
				"ApplicationSet.argoproj.io argocd/aicr-stack (root)", application + "web", application + "monitor after " + application + "web",
				application + "gpu after " + application + "monitor", application + "gpu-post after " + application + "gpu", application + "tuning after " + application + "gpu-post",
			}
		case FluxOCI:
			const source, generator = "OCIRepository.source" + flux + "aicr-bundle", "ArtifactGenerator.source.extensions.fluxcd.io flux-system/"
			want = []string{
				source, "Kustomization.kustomize" + flux + "aicr-demo (root) after " + source,
				generator + "gpu-post after " + source, generator + "tuning after " + source,
				release + "web", release + "monitor after " + release + "web", release + "gpu after " + release + "monitor, " + release + "web",
				release + "gpu-post after " + generator + "gpu-post, " + release + "gpu",
				release + "tuning after " + generator + "tuning, " + release + "gpu, " + release + "gpu-post",
			}
		}
		if d.Name() == FluxGit {
			const source = "GitRepository.source" + flux + "aicr-bundle"
			want = []string{
				source, "Kustomization.kustomize" + flux + "aicr-demo (root) after " + source,
				release + "web", release + "monitor after " + release + "web", release + "gpu after " + release + "monitor, " + release + "web",
				release + "gpu-post after " + source + ", " + release + "gpu", release + "tuning after " + source + ", " + release + "gpu, " + release + "gpu-post",
			}
		}
		var got []string
		for _, o := range e.Delivered {
			line := o.Ref.String()
			if o.Root {
				line += " (root)"
			}
			for i, after := range o.DependsOn {
				line += map[bool]string{true: " after ", false: ", "}[i == 0] + after.String()
			}
			got = append(got, line)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got\n%s\nwant\n%s", d.Name(), strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

// Each object that a bundle lists as delivered is in its files.
func TestDelivered_InFiles(t *testing.T) {
	for _, d := range []Deployer{argoOCI{}, fluxOCI{}, argoGit{}, fluxGit{}} {
		b := mustBundle(t, d, fixture())
		for _, o := range b.Expectation.Delivered {
			found := slices.ContainsFunc(b.Files, func(f File) bool {
				return strings.Contains(string(f.Content), "kind: "+o.Kind+"\n") && strings.Contains(string(f.Content), "apiVersion: "+o.Group+"/") &&
					strings.Contains(string(f.Content), "  name: "+o.Name+"\n  namespace: "+o.Namespace+"\n")
			})
			if !found {
				t.Errorf("%s: no file has %s", d.Name(), o.Ref)
			}
		}
	}
}

// Every Application is of the project that the input says, and of default where it says none.
func TestArgoCDProject(t *testing.T) {
	for _, d := range []Deployer{argoOCI{}, argoHelmOCI{}} {
		for project, want := range map[string]string{"": "default", "gpu-team": "gpu-team"} {
			in := fixture()
			in.Project = project
			n := 0
			for _, f := range mustBundle(t, d, in).Files {
				if !strings.Contains(string(f.Content), "kind: Application\n") {
					continue
				}
				if n++; !strings.Contains(string(f.Content), "\n  project: "+want+"\n") {
					t.Errorf("%s, project %q: %s has another", d.Name(), project, f.Path)
				}
			}
			if n < 2 {
				t.Errorf("%s has %d files of Applications", d.Name(), n)
			}
		}
	}
}

func TestInRegistry(t *testing.T) {
	in := fixture()
	in.RepoURL, in.TargetRevision = "", ""
	got := in.InRegistry("registry:5000", "registry:5000", ArgoCDHelmOCI)
	at := in
	at.ChartRepository = "oci://registry:5000/charts"
	if got.ChartRepository != at.ChartRepository || got.RepoURL != "oci://registry:5000/aicr/demo" || got.TargetRevision != "0.0.0-"+Revision(at)+"-argocd-helm-oci" {
		t.Errorf("got charts at %s, the bundle at %s %s", got.ChartRepository, got.RepoURL, got.TargetRevision)
	}
	if got = in.InRegistry("registry:5000", "registry:5000", FluxGit); got.ChartRepository != at.ChartRepository || got.RepoURL != "http://registry:5000/aicr/demo.git" || got.TargetRevision != "main" {
		t.Errorf("Git: got charts at %s, the bundle at %s %s", got.ChartRepository, got.RepoURL, got.TargetRevision)
	}
}

func TestRepoURL(t *testing.T) {
	for _, d := range Deployers() {
		in := fixture()
		in.RepoURL = ""
		_, err := d.Bundle(context.Background(), in)
		git := ByGit(d.Name())
		needed := d.Name() == ArgoCDOCI || d.Name() == FluxOCI || d.Name() == ArgoCDAppSet || git
		if needed != errors.Is(err, ErrNoRepoURL) || !needed && err != nil {
			t.Errorf("%s without a repository URL: %v", d.Name(), err)
		}
		in.RepoURL = "https://github.com/x/y"
		if _, err = d.Bundle(context.Background(), in); (needed && !git) != (err != nil) {
			t.Errorf("%s with a Git URL: %v", d.Name(), err)
		}
		in.RepoURL = "oci://registry.example.com/x"
		if _, err = d.Bundle(context.Background(), in); git != (err != nil) {
			t.Errorf("%s with a registry's URL: %v", d.Name(), err)
		}
	}
}

func TestRootNames(t *testing.T) {
	in := fixture()
	in.Components[0].Name = ArgoRootApplication
	in.Components[0].DependencyRefs, in.Components[1].DependencyRefs, in.Components[2].DependencyRefs = nil, nil, nil
	if _, err := (argoOCI{}).Bundle(context.Background(), in); err == nil || !strings.Contains(err.Error(), "name of the root Application") {
		t.Errorf("got %v", err)
	}
}

func TestRecipeName(t *testing.T) {
	in := fixture()
	for _, test := range []struct {
		name    string
		applied []string
		want    string
	}{
		{"eks-training", nil, "eks-training"},
		{"", []string{"base", "eks"}, "eks"},
		{"", nil, "recipe"},
		{"My Recipe!", nil, "my-recipe"},
	} {
		in.Recipe.Metadata.Name, in.Recipe.Metadata.AppliedOverlays = test.name, test.applied
		if got := RecipeName(in.Recipe); got != test.want {
			t.Errorf("%q %q: got %q, want %q", test.name, test.applied, got, test.want)
		}
	}
}

func TestFlux_RepositoryNames(t *testing.T) {
	p := &plan{}
	for _, url := range []string{"https://a.b/c", "https://a.b/c", "https://a.b-c"} {
		p.releases = append(p.releases, &release{source: url})
	}
	objects, byURL := fluxRepositories(p, func(string) bool { return false })
	if len(objects) != 2 || byURL["https://a.b/c"] != "a-b-c" || byURL["https://a.b-c"] != "a-b-c-2" {
		t.Errorf("got %v", byURL)
	}
}

func TestWriteTo(t *testing.T) {
	b := mustBundle(t, helmDeployer{}, fixture())
	dir := filepath.Join(t.TempDir(), "a", "b")
	if err := b.WriteTo(dir, false); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, "deploy.sh"))
	if err != nil || info.Mode().Perm()&0o111 == 0 {
		t.Errorf("deploy.sh is not executable: %v %v", info, err)
	}
	mine := filepath.Join(dir, "web", "values.yaml")
	if err := os.WriteFile(mine, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := b.WriteTo(dir, false); !errors.Is(err, errNotEmpty) {
		t.Errorf("got %v, want ErrNotEmpty", err)
	}
	if data, _ := os.ReadFile(mine); string(data) != "mine" {
		t.Error("a file that a person changed was overwritten")
	}
	if err := b.WriteTo(dir, true); err != nil {
		t.Error(err)
	}
	if data, _ := os.ReadFile(mine); string(data) == "mine" {
		t.Error("force did not overwrite")
	}
	evil := &Bundle{Files: []File{{Path: "../evil", Mode: 0o644}}}
	if err := evil.WriteTo(t.TempDir(), false); err == nil {
		t.Error("a file outside the directory was written")
	}
	if err := b.WriteTo(mine, false); err == nil {
		t.Error("wrote into a file")
	}
}
