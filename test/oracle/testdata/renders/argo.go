package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/argoproj/argo-cd/v3/applicationset/controllers/template"
	"github.com/argoproj/argo-cd/v3/applicationset/generators"
	appsetutils "github.com/argoproj/argo-cd/v3/applicationset/utils"
	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/argoproj/argo-cd/v3/reposerver/apiclient"
	reposerver "github.com/argoproj/argo-cd/v3/reposerver/repository"
	"github.com/argoproj/argo-cd/v3/util/git"
	utilio "github.com/argoproj/argo-cd/v3/util/io"
	log "github.com/sirupsen/logrus"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"
)

// argo makes the objects of an Application's source, as the repo-server does. It runs kustomize and helm of PATH.
func argo(ctx context.Context, dir string, r *repository) ([]map[string]any, error) {
	var a v1alpha1.Application
	if err := r.read("Application", &a); err != nil {
		return nil, err
	}
	source := a.Spec.GetSource()
	request := &apiclient.ManifestRequest{Repo: &v1alpha1.Repository{Repo: source.RepoURL}, AppName: a.Name, Namespace: a.Spec.Destination.Namespace, ApplicationSource: &source, KubeVersion: "1.36.0", ProjectName: "default", ProjectSourceRepos: []string{"*"}}
	made, err := reposerver.GenerateManifests(ctx, filepath.Join(dir, source.Path), dir, "HEAD", request, true, git.NoopCredsStore{}, resource.MustParse("0"), utilio.NewRandomizedTempPaths(dir))
	if err != nil {
		return nil, err
	}
	var all []map[string]any
	for _, text := range made.Manifests {
		var o map[string]any
		if err := json.Unmarshal([]byte(text), &o); err != nil {
			return nil, err
		}
		all = append(all, o)
	}
	return all, nil
}

// files is the repo-server's service for the applicationset-controller.
type files struct{ dir string }

// GetFiles are those of a pattern.
func (f files) GetFiles(ctx context.Context, url, _, _, pattern string, _ bool, _ *v1alpha1.SourceIntegrity) (map[string][]byte, error) {
	c, err := git.NewClientExt(url, f.dir, git.NopCreds{}, true, false, "", "")
	if err != nil {
		return nil, err
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A", "-f"}} {
		cmd := exec.CommandContext(ctx, "git", args...)
		cmd.Dir = f.dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("git %s: %w: %s", args[0], err, out)
		}
	}
	names, err := c.LsFiles(pattern, false)
	if err != nil {
		return nil, err
	}
	all := map[string][]byte{}
	for _, name := range names {
		if all[name], err = os.ReadFile(filepath.Join(f.dir, name)); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// GetDirectories are all but hidden ones.
func (f files) GetDirectories(context.Context, string, string, string, bool, *v1alpha1.SourceIntegrity) (all []string, err error) {
	err = filepath.WalkDir(f.dir, func(name string, entry os.DirEntry, err error) error {
		switch rel, _ := filepath.Rel(f.dir, name); {
		case err != nil:
			return err
		case !entry.IsDir() || rel == ".":
		case strings.HasPrefix(entry.Name(), "."):
			return filepath.SkipDir
		default:
			all = append(all, rel)
		}
		return nil
	})
	return all, err
}

// appset makes the Applications of an ApplicationSet, as far as they reach a chart: name, namespace, path and values.
func appset(_ context.Context, dir string, r *repository) ([]map[string]any, error) {
	var set v1alpha1.ApplicationSet
	if err := r.read("ApplicationSet", &set); err != nil {
		return nil, err
	}
	api := cluster{r: r}
	leaves := map[string]generators.Generator{"List": generators.NewListGenerator(), "Clusters": generators.NewClusterGenerator(api, "argocd"), "Git": generators.NewGitGenerator(files{dir}, "argocd")}
	with := func(inner map[string]generators.Generator) map[string]generators.Generator {
		all := map[string]generators.Generator{"Matrix": generators.NewMatrixGenerator(inner), "Merge": generators.NewMergeGenerator(inner)}
		for name, g := range leaves {
			all[name] = g
		}
		return all
	}
	apps, _, err := template.GenerateApplications(log.NewEntry(log.StandardLogger()), set, with(with(leaves)), &appsetutils.Render{}, api)
	if err != nil {
		return nil, err
	}
	var all []map[string]any
	seen := map[string]bool{}
	for _, a := range apps {
		if wrong := validation.IsDNS1123Subdomain(a.Name); len(wrong) > 0 { // says the API server
			return nil, fmt.Errorf("the name %q: %s", a.Name, wrong[0])
		}
		if seen[a.Name] { // says the controller
			return nil, fmt.Errorf("applications with duplicate name: %s", a.Name)
		}
		seen[a.Name] = true
		values := map[string]any{}
		source := a.Spec.GetSource()
		if h := source.Helm; h != nil {
			if err := yaml.Unmarshal(h.ValuesYAML(), &values); err != nil {
				return nil, err
			}
			for _, p := range h.Parameters {
				values["parameter "+p.Name] = p.Value
			}
		}
		all = append(all, map[string]any{"apiVersion": "v1", "kind": "Application", "metadata": map[string]any{"name": a.Name, "namespace": a.Spec.Destination.Namespace}, "path": source.Path, "values": values})
	}
	slices.SortFunc(all, func(a, b map[string]any) int {
		return strings.Compare(a["metadata"].(map[string]any)["name"].(string), b["metadata"].(map[string]any)["name"].(string))
	})
	return all, nil
}
