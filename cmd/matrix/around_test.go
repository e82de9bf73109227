package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/command/reports"
	"github.com/nvidia/aicr-action/internal/command/run"
)

// Around the program: hooks of pre-commit, a preset of Renovate, jobs of other CI systems, manual pages.

// Each hook is a command that there is. That of recipes names a mistake with file and line.
func TestPreCommitHooks(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(repository, ".pre-commit-hooks.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var hooks []struct{ ID, Name, Entry, Language, Files string }
	if err := yaml.Unmarshal(raw, &hooks); err != nil {
		t.Fatal(err)
	}
	entries := map[string][]string{}
	for _, h := range hooks {
		entries[h.ID] = strings.Fields(h.Entry)
		if h.Name == "" || h.Language != "system" || entries[h.ID][0] != "matrix" {
			t.Errorf("hook %+v", h)
		}
		if _, err := regexp.Compile(h.Files); err != nil {
			t.Error(err)
		}
	}
	few, flow := fewRecipes(t), filepath.Join(repository, "workflows", "nodes.yaml")
	invoke(t, nil, append(entries["aicr-workflows"][1:], flow)...).want(t, 0)
	t.Chdir(repository)
	invoke(t, nil, entries["aicr-recipes"][1:]...).want(t, 0)
	t.Chdir(t.TempDir())
	if err := os.Symlink(few, "recipes"); err != nil {
		t.Fatal(err)
	}
	invoke(t, nil, entries["aicr-checks"][1:]...).want(t, 0)
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"registry.yaml":      "apiVersion: aicr.nvidia.com/v1alpha1\nkind: ComponentRegistry\ncomponents: []\n",
		"overlays/base.yaml": "apiVersion: aicr.nvidia.com/v1alpha1\nkind: RecipeMetadata\nmetadata: {name: base}\nspec:\n  criterai: {}\n",
	} {
		file := filepath.Join("recipes", name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	invoke(t, nil, entries["aicr-recipes"][1:]...).want(t, 2, "recipes/overlays/base.yaml:5", "criterai")
}

// The preset finds the version of every chart in the registry and of every component with a source.
func TestRenovatePreset(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(repository, "renovate", "charts.json"))
	if err != nil {
		t.Fatal(err)
	}
	var preset struct {
		CustomManagers []struct {
			ManagerFilePatterns, MatchStrings []string
		}
	}
	if err := json.Unmarshal(raw, &preset); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(repository, "recipes", "overlays", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	files = append(files, filepath.Join(repository, "recipes", "registry.yaml"))
	found, want := 0, 0
	version := regexp.MustCompile(`(?m)^ +(defaultVersion|version): v?\d`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if registry := filepath.Base(file) == "registry.yaml"; registry || strings.Contains(string(text), "source: https://") {
			want += len(version.FindAll(text, -1)) - strings.Count(string(text), "source: oci://")
		}
		for _, m := range preset.CustomManagers {
			if !slices.ContainsFunc(m.ManagerFilePatterns, func(p string) bool {
				return regexp.MustCompile(strings.Trim(p, "/")).MatchString(strings.TrimPrefix(filepath.ToSlash(file), repository+"/"))
			}) {
				continue
			}
			for _, pattern := range m.MatchStrings {
				for _, match := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(text), -1) {
					found++
					if slices.Contains(match[1:], "") {
						t.Errorf("%s: a part is empty in %q", file, match[0])
					}
				}
			}
		}
	}
	if found == 0 || found != want {
		t.Errorf("found %d versions, want %d", found, want)
	}
}

// The jobs of other CI systems use flags that there are.
func TestCIExamples(t *testing.T) {
	flag := regexp.MustCompile(`(?:^|\s)--([a-z-]+)`)
	for _, name := range []string{"gitlab-ci.yml", "Jenkinsfile"} {
		raw, err := os.ReadFile(filepath.Join(repository, "examples", "ci", name))
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, ".yml") {
			var jobs map[string]any
			if err := yaml.UnmarshalStrict(raw, &jobs); err != nil || jobs["recipes"] == nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		of := run.RunCommand(&cli.App{}, &reports.CIFiles{})
		for _, line := range strings.Split(string(raw), "\n") {
			if _, command, ok := strings.Cut(line, "matrix\" run "); ok || strings.Contains(line, "matrix run ") {
				if !ok {
					_, command, _ = strings.Cut(line, "matrix run ")
				}
				flags := flag.FindAllStringSubmatch(" "+command, -1)
				if len(flags) == 0 {
					t.Errorf("%s: %s", name, line)
				}
				for _, f := range flags {
					if of.Flags().Lookup(f[1]) == nil {
						t.Errorf("%s: matrix run has no --%s", name, f[1])
					}
				}
			}
		}
	}
}

func TestManualPages(t *testing.T) {
	dir := t.TempDir()
	invoke(t, nil, "man", "--to", dir).want(t, 0)
	page, err := os.ReadFile(filepath.Join(dir, "matrix-run.1"))
	if err != nil || !strings.Contains(string(page), "eks-training") || !strings.Contains(string(page), "watch") {
		t.Errorf("matrix-run.1: %v\n%.300s", err, page)
	}
	invoke(t, nil, "man").want(t, 2, "--to: name a directory")
}

// As a plugin of kubectl the program is called through kubectl.
func TestKubectlPlugin(t *testing.T) {
	self := os.Args[0]
	t.Cleanup(func() { os.Args[0] = self })
	os.Args[0] = "/home/me/bin/kubectl-matrix"
	if help := invoke(t, nil, "run", "--help").stdout; !strings.Contains(help, "kubectl matrix run [RECIPE...]") {
		t.Errorf("help: %s", help)
	}
	for program, want := range map[string]string{"matrix": "matrix", "/usr/bin/matrix": "matrix", "kubectl-matrix": "kubectl matrix", "kubectl-other": "matrix"} {
		if got := cli.DisplayName(program); got != want {
			t.Errorf("%s: %q, want %q", program, got, want)
		}
	}
}

func TestWatch_Refused(t *testing.T) {
	invoke(t, nil, "run", "eks-training", "--watch", "--keep", "--recipes-dir", filepath.Join(repository, "recipes")).want(t, 2, "--keep and --watch")
	invoke(t, nil, "run", "eks-training", "--watch", "--recipes-dir", "embedded").want(t, 2, "no file to watch")
}
