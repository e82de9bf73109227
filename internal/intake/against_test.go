package intake

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/testkit/aicrclitest"
)

// unrendered is the bundle of a shipped recipe as its maker has it, in a directory, and the text of its recipe.
func unrendered(t *testing.T, lane, name string) (dir string, resolved []byte) {
	t.Helper()
	own := ownInput(t, name)
	own.Unrendered = true
	dir = written(t, elsewhere(t, mustDeployer(t, lane), own))
	resolved, err := os.ReadFile(filepath.Join(dir, recipeName))
	if err != nil {
		t.Fatal(err)
	}
	return dir, resolved
}

// held opens the bundle in a directory and holds it against its recipe. told: its maker's flags are known.
func held(t *testing.T, lane, dir string, resolved []byte, told bool) ([]result.Finding, []string) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(dir, checksumsFile)); err != nil {
		t.Fatal(err)
	}
	b, err := open(t.Context(), dir, "bundle", mustDeployer(t, lane), resolved)
	if err != nil {
		t.Fatal(err)
	}
	store, _ := shipped(t)
	p, err := promised(t.Context(), resolved, func(line int) recipe.Origin { return recipe.Origin{File: "resolved.yaml", Line: line} }, store, nil, told)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.notes) > 0 || len(p.releases) == 0 {
		t.Fatalf("nothing was compared: %q", p.notes)
	}
	return b.compare(p)
}

// A bundle that has what its recipe says is held against it in every lane without a finding: of every shipped recipe.
func TestAgainst_Equal(t *testing.T) {
	store, _ := shipped(t)
	names := store.Names()
	if testing.Short() {
		names = []string{"eks-training", "h100-gke-cos-training-kubeflow", "h100-aks-ubuntu-inference-dynamo"}
	}
	for _, row := range forms() {
		for _, name := range names {
			dir, resolved := unrendered(t, row.deployer, name)
			found, warned := held(t, row.deployer, dir, resolved, true)
			for _, f := range found {
				t.Errorf("%s %s: %s %q", name, row.deployer, f.Cause, f.Story)
			}
			if len(warned) > 0 {
				t.Errorf("%s %s: it warns: %q", name, row.deployer, warned)
			}
		}
	}
}

// edit changes texts of the files whose path matches.
func edit(t *testing.T, dir, pattern string, pairs ...string) {
	t.Helper()
	changed := 0
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, path)
		if ok, _ := filepath.Match(pattern, rel); err != nil || !ok || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		next := strings.NewReplacer(pairs...).Replace(string(text))
		if next == string(text) {
			return nil
		}
		changed++
		return os.WriteFile(path, []byte(next), 0o644)
	})
	if err != nil || changed == 0 {
		t.Fatalf("nothing was changed in %s: %v", pattern, err)
	}
}

// cut removes the lines with one of the texts from a file.
func cut(t *testing.T, file string, texts ...string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(text), "\n")
	kept := slices.DeleteFunc(slices.Clone(lines), func(line string) bool {
		return slices.ContainsFunc(texts, func(x string) bool { return strings.Contains(line, x) })
	})
	if len(kept) == len(lines) {
		t.Fatalf("%s has no line with %q", file, texts)
	}
	if err := os.WriteFile(file, []byte(strings.Join(kept, "")), 0o644); err != nil {
		t.Fatal(err)
	}
}

// A bundle that lost or changed what its recipe says is found out, in every lane, with both places.
func TestAgainst_Spoilt(t *testing.T) {
	const onGPU, onSystem = "aicr.nvidia.com/node-type: accelerated", "aicr.nvidia.com/node-type: system"
	valuesOf := map[string]string{bundle.Helm: "NAME/values.yaml", bundle.ArgoCDOCI: "NAME/application.yaml", bundle.ArgoCDGit: "NAME/values.yaml", bundle.ArgoCDHelmOCI: "values/NAME.yaml", bundle.FluxOCI: "NAME/helmrelease.yaml", bundle.FluxGit: "NAME/helmrelease.yaml", bundle.Helmfile: "NAME/values.yaml"}
	objectOf := map[string]string{bundle.ArgoCDOCI: "NAME/application.yaml", bundle.ArgoCDGit: "NAME/application.yaml", bundle.ArgoCDHelmOCI: "templates/children/NAME.yaml", bundle.FluxOCI: "NAME/helmrelease.yaml", bundle.FluxGit: "NAME/helmrelease.yaml"}
	of := func(table map[string]string, lane, component string) string {
		return strings.ReplaceAll(table[lane], "NAME", component)
	}
	for name, test := range map[string]struct {
		lanes []string // all, if there are none
		spoil func(t *testing.T, lane, dir string)
		want  []string // parts of the first finding, and of its story
		at    string   // the file of its place
		more  int      // findings besides
	}{
		"two components": {lanes: []string{bundle.Helm, bundle.ArgoCDOCI, bundle.ArgoCDGit, bundle.FluxOCI, bundle.FluxGit}, spoil: func(t *testing.T, lane, dir string) {
			for _, c := range []string{"prometheus-adapter", "kai-scheduler"} {
				switch lane {
				case bundle.Helm:
					cut(t, filepath.Join(dir, deployScript), "release "+c)
				case bundle.FluxOCI, bundle.FluxGit:
					cut(t, filepath.Join(dir, kustomizationFile), c+"/")
				}
				if err := os.RemoveAll(filepath.Join(dir, c)); err != nil {
					t.Fatal(err)
				}
			}
		}, want: []string{"component kai-scheduler of the recipe (recipes/overlays/base.yaml:", ", and resolved.yaml:", "is not in the bundle (bundle)"}, at: "recipes/overlays/base.yaml", more: 1},
		"a component that others need": {lanes: []string{bundle.Helm}, spoil: func(t *testing.T, _, dir string) {
			cut(t, filepath.Join(dir, deployScript), "release gpu-operator ")
		}, want: []string{"component gpu-operator of the recipe"}, at: "recipes/overlays/eks-training.yaml"},
		"manifests": {lanes: []string{bundle.Helm, bundle.ArgoCDOCI, bundle.ArgoCDGit}, spoil: func(t *testing.T, lane, dir string) {
			if lane == bundle.Helm {
				cut(t, filepath.Join(dir, deployScript), "release gpu-operator-post")
			}
			if err := os.RemoveAll(filepath.Join(dir, "gpu-operator-post")); err != nil {
				t.Fatal(err)
			}
		}, want: []string{"release gpu-operator-post, the manifests of component gpu-operator (recipes/"}, at: "recipes/overlays/eks-training.yaml"},
		"a stranger": {lanes: []string{bundle.Helm}, spoil: func(t *testing.T, _, dir string) {
			edit(t, dir, deployScript, "release kai-scheduler kai-scheduler oci://", "release other other oci://example.org/other --version 1.0.0\nrelease kai-scheduler kai-scheduler oci://")
		}, want: []string{"the bundle deploys other (bundle/deploy.sh:", "which the recipe does not have"}, at: "bundle/deploy.sh"},
		"on GPU nodes": {spoil: func(t *testing.T, lane, dir string) {
			edit(t, dir, of(valuesOf, lane, "cert-manager"), onSystem, onGPU)
		},
			want: []string{"component cert-manager is for system nodes by the registry (recipes/registry.yaml:", "select `aicr.nvidia.com/node-type: accelerated`", "change nodeSelector to `aicr.nvidia.com/node-type: system` in bundle/"}, at: "VALUES"},
		"on system nodes": {spoil: func(t *testing.T, lane, dir string) {
			edit(t, dir, of(valuesOf, lane, "gpu-operator"), onGPU, onSystem)
		},
			want: []string{"component gpu-operator is for accelerated nodes by the registry", "its daemonsets.nodeSelector in the bundle (bundle/", "change daemonsets.nodeSelector to `aicr.nvidia.com/node-type: accelerated` in bundle/"}, at: "VALUES"},
		"no selector": {spoil: func(t *testing.T, lane, dir string) {
			cut(t, filepath.Join(dir, of(valuesOf, lane, "kai-scheduler")), onSystem)
		}, want: []string{"kai-scheduler: global.nodeSelector", "by the registry's path, recipes/registry.yaml:"}, at: "VALUES"},
		"a value": {spoil: func(t *testing.T, lane, dir string) {
			edit(t, dir, of(valuesOf, lane, "kai-scheduler"), "gpuSharing: false", "gpuSharing: true")
		}, want: []string{"kai-scheduler: global.gpuSharing is false by the recipe (recipes/components/kai-scheduler/values.yaml:", "and true in the bundle (bundle/"}, at: "VALUES"},
		"a value more": {spoil: func(t *testing.T, lane, dir string) {
			file := filepath.Join(dir, filepath.FromSlash(of(valuesOf, lane, "kai-scheduler")))
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			text = regexp.MustCompile(`(?m)^( *)gpuSharing: false$`).ReplaceAll(text, []byte("${1}gpuSharing: false\n${1}other: 1"))
			if err := os.WriteFile(file, text, 0o644); err != nil {
				t.Fatal(err)
			}
		}, want: []string{"kai-scheduler: global.other: 1 (bundle/", "is only in the bundle"}, at: "VALUES"},
		"a namespace": {lanes: []string{bundle.Helm, bundle.ArgoCDOCI, bundle.FluxOCI}, spoil: func(t *testing.T, lane, dir string) {
			if lane == bundle.Helm {
				edit(t, dir, deployScript, "release prometheus-adapter monitoring", "release prometheus-adapter default")
				return
			}
			edit(t, dir, of(objectOf, lane, "prometheus-adapter"), "amespace: monitoring", "amespace: default")
		}, want: []string{"component prometheus-adapter: the namespace is default in the bundle (bundle/", "and monitoring by the recipe (recipes/"}, at: "recipes/"},
		"a version": {lanes: []string{bundle.Helm, bundle.ArgoCDOCI, bundle.FluxOCI, bundle.Helmfile}, spoil: func(t *testing.T, lane, dir string) {
			switch lane {
			case bundle.Helm:
				edit(t, dir, deployScript, "--version v0.13.0", "--version v0.12.0")
			case bundle.Helmfile:
				edit(t, dir, "level-*.yaml", "version: v0.13.0", "version: v0.12.0")
			default:
				edit(t, dir, of(objectOf, lane, "kai-scheduler"), "ersion: v0.13.0", "ersion: v0.12.0", "Revision: v0.13.0", "Revision: v0.12.0")
			}
		}, want: []string{"component kai-scheduler: the version of its chart is v0.12.0 in the bundle (bundle/", "and v0.13.0 by the recipe"}, at: "recipes/"},
		"a repository": {lanes: []string{bundle.Helm, bundle.ArgoCDOCI}, spoil: func(t *testing.T, lane, dir string) {
			file := deployScript
			if lane != bundle.Helm {
				file = of(objectOf, lane, "kai-scheduler")
			}
			edit(t, dir, file, "ghcr.io/nvidia/kai-scheduler", "ghcr.io/other/kai-scheduler")
		}, want: []string{"component kai-scheduler: the repository of its chart is oci://ghcr.io/other/kai-scheduler in the bundle", "and oci://ghcr.io/nvidia/kai-scheduler by the recipe"}, at: "recipes/"},
		"the order": {lanes: []string{bundle.Helm}, spoil: func(t *testing.T, _, dir string) {
			edit(t, dir, deployScript, "release prometheus-adapter monitoring", "release kai-scheduler kai-scheduler", "release kai-scheduler kai-scheduler", "release prometheus-adapter monitoring",
				"prometheus-adapter --repo https://prometheus-community.github.io/helm-charts --version 5.3.0 -f \"${here}/prometheus-adapter/", "oci://ghcr.io/nvidia/kai-scheduler/kai-scheduler --version v0.13.0 -f \"${here}/kai-scheduler/",
				"oci://ghcr.io/nvidia/kai-scheduler/kai-scheduler --version v0.13.0 -f \"${here}/kai-scheduler/", "prometheus-adapter --repo https://prometheus-community.github.io/helm-charts --version 5.3.0 -f \"${here}/prometheus-adapter/")
		}, want: []string{"component prometheus-adapter is installed (bundle/deploy.sh:", "where it is the turn of kai-scheduler by the recipe's deploymentOrder"}, at: "bundle/deploy.sh"},
		"a dependency": {lanes: []string{bundle.ArgoCDOCI, bundle.FluxOCI}, spoil: func(t *testing.T, lane, dir string) {
			if lane == bundle.FluxOCI {
				cut(t, filepath.Join(dir, "kai-scheduler", "helmrelease.yaml"), "  dependsOn:", "  - name: gpu-operator")
				return
			}
			edit(t, dir, "kai-scheduler/application.yaml", `sync-wave: "7"`, `sync-wave: "0"`)
		}, want: []string{"component kai-scheduler depends on gpu-operator by the recipe (recipes/", "and nothing in the bundle (bundle/kai-scheduler/"}, at: "bundle/kai-scheduler/"},
	} {
		lanes := test.lanes
		for _, row := range forms() {
			if row.deployer == bundle.Helm4 {
				continue // it reads what helm reads
			}
			if test.lanes == nil {
				lanes = append(lanes, row.deployer)
			}
		}
		for _, lane := range lanes {
			t.Run(name+"/"+lane, func(t *testing.T) {
				dir, resolved := unrendered(t, lane, "eks-training")
				test.spoil(t, lane, dir)
				found, _ := held(t, lane, dir, resolved, true)
				if len(found) != 1+test.more {
					t.Fatalf("got %d findings, want %d: %+v", len(found), 1+test.more, found)
				}
				said := found[0].Cause + "\n" + strings.Join(found[0].Story, "\n")
				for _, part := range test.want {
					if !strings.Contains(said, part) {
						t.Errorf("%q is not in: %s", part, said)
					}
				}
				want := strings.Replace(test.at, "VALUES", "bundle/"+of(valuesOf, lane, found[0].Component), 1)
				if lane == bundle.ArgoCDHelmOCI { // its templates have them
					want = "bundle/"
				}
				if !strings.HasPrefix(found[0].Place.File, want) || found[0].Place.Line == 0 && lane != bundle.ArgoCDHelmOCI {
					t.Errorf("the place is %+v, want %s", found[0].Place, want)
				}
			})
		}
	}
}

// The flags of the maker of a bundle in a directory are not known: another value may be what a --set said, a node
// selector is the maker's, and AICR's KWOK tests switch a component off. A lost component is lost.
func TestDir_Judged(t *testing.T) {
	store, _ := shipped(t)
	for name, test := range map[string]struct {
		spoil          func(t *testing.T, dir string)
		recipes        Recipes
		fails, warning string
	}{
		"nothing": {func(*testing.T, string) {}, store, "", ""},
		"a component": {func(t *testing.T, dir string) { cut(t, filepath.Join(dir, deployScript), "release nvsentinel ") }, nil,
			"component nvsentinel of the recipe (", ""},
		"a value": {func(t *testing.T, dir string) {
			edit(t, dir, "nvsentinel/values.yaml", "faultQuarantine:\n    enabled: true", "faultQuarantine:\n    enabled: false")
		}, store, "", "nvsentinel: global.faultQuarantine.enabled is true by the recipe (recipes/"},
		"a selector": {func(t *testing.T, dir string) {
			edit(t, dir, "nvsentinel/values.yaml", "aicr.nvidia.com/node-type: system", "pool: system")
		}, store, "", ""},
		"the other nodes": {func(t *testing.T, dir string) {
			edit(t, dir, "nvsentinel/values.yaml", "aicr.nvidia.com/node-type: system", "aicr.nvidia.com/node-type: accelerated")
		}, store, "component nvsentinel is for system nodes by the registry (recipes/registry.yaml:", ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir, _ := unrendered(t, bundle.Helm, "kind")
			test.spoil(t, dir)
			if err := os.RemoveAll(filepath.Join(dir, checksumsFile)); err != nil {
				t.Fatal(err)
			}
			d := mustDeployer(t, bundle.Helm)
			b, err := Open(t.Context(), dir, d)
			if err != nil {
				t.Fatal(err)
			}
			in := ownInput(t, "kind").InRegistry(cellRegistry, cellRegistry, d.Name())
			_, made, _, err := NewJudgedDir(b, test.recipes).Bundle(t.Context(), d, in, "")
			var failure *result.Failure
			if test.fails != "" {
				if !errors.As(err, &failure) || !strings.HasPrefix(failure.Cause(), test.fails) {
					t.Errorf("got %v, want %q", err, test.fails)
				}
				if _, _, _, err := NewDir(b).Bundle(t.Context(), d, in, ""); errors.As(err, &failure) {
					t.Errorf("a bundle that is taken as it is was judged: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			said := strings.Join(made.Expectation.Warnings, "\n")
			if got := strings.Contains(said, " by the recipe ("); got != (test.warning != "") || !strings.Contains(said, test.warning) {
				t.Errorf("got %q, want %q", said, test.warning)
			}
		})
	}
}

// A CLI that spoils what it writes ends the cell before it is rendered, and what it wrote is kept. A good one does not.
func TestExec_Promise(t *testing.T) {
	store, _ := shipped(t)
	const after = `[ "$1" != bundle ] || { "$good" "$@" && cd bundle && rm checksums.txt && `
	for name, test := range map[string]struct{ lane, text, want string }{
		"good":              {bundle.Helm, "", ""},
		"loses a component": {bundle.ArgoCDOCI, after + `rm -r [0-9]*-nvsentinel; exit; }`, "component nvsentinel of the recipe (recipes/overlays/"},
		"swaps nodes":       {bundle.FluxOCI, after + `sed -i s/node-type:.system/node-type:\ accelerated/ nvsentinel/*.yaml; exit; }`, "component nvsentinel is for system nodes by the registry (recipes/registry.yaml:"},
	} {
		t.Run(name, func(t *testing.T) {
			e := around(t, test.text)
			e.Recipes, e.Compared = store, true
			d := mustDeployer(t, test.lane)
			_, made, _, err := e.Bundle(t.Context(), d, ownInput(t, "kind").InRegistry(cellRegistry, cellRegistry, d.Name()), filepath.Join(t.TempDir(), "bundler"))
			if test.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			var failure *result.Failure
			if !errors.As(err, &failure) || !strings.HasPrefix(failure.Cause(), test.want) {
				t.Fatalf("got %v, want %q", err, test.want)
			}
			if made == nil || made.Foreign == nil || len(made.Foreign.Original) == 0 {
				t.Error("what the CLI wrote is not kept")
			}
		})
	}
}

// today gives this project's recipes as AICR has them since July: in a newer apiVersion, with the newer name of a
// component that its KWOK tests switch off.
func today(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(march)); err != nil {
		t.Fatal(err)
	}
	const old, now = "skyhook-customizations", "nodewright-customizations"
	for _, parent := range []string{"components", "checks"} {
		if err := os.Rename(filepath.Join(dir, parent, old), filepath.Join(dir, parent, now)); err != nil {
			t.Fatal(err)
		}
	}
	for _, pattern := range []string{"registry.yaml", "*/*.yaml", "components/*/*.yaml", "components/*/*/*.yaml", "checks/*/*.yaml"} {
		files, err := filepath.Glob(filepath.Join(dir, filepath.FromSlash(pattern)))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			changed := strings.NewReplacer(old, now, "aicr.nvidia.com/v1alpha1", "aicr.run/v1alpha2").Replace(string(text))
			if err := os.WriteFile(file, []byte(changed), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

// What the CLI is told to switch off is rendered all the same, and named.
func TestExec_SwitchedOff(t *testing.T) {
	dir := today(t)
	store, err := recipe.Open(os.DirFS(dir), "recipes")
	if err != nil {
		t.Fatal(err)
	}
	e, err := NewExec(t.Context(), aicrclitest.InstallFor(t, aicrclitest.Good, dir), "", os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	e.Recipes, e.Compared = store, true
	in := ownInput(t, "eks-training")
	if in.Recipe, err = store.ResolveName("eks-training"); err != nil {
		t.Fatal(err)
	}
	if in.Components, err = store.Components(in.Recipe); err != nil {
		t.Fatal(err)
	}
	d := mustDeployer(t, bundle.Helm)
	_, made, notes, err := e.Bundle(t.Context(), d, in.InRegistry(cellRegistry, cellRegistry, d.Name()), filepath.Join(t.TempDir(), "bundler"))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(made.Foreign.SwitchedOff, func(o bundle.Object) bool { return o.Object.GetKind() == "Skyhook" && o.Manifest != nil }) {
		t.Errorf("its objects are not tried: %+v", made.Foreign.SwitchedOff)
	}
	if slices.ContainsFunc(made.Expectation.Objects, func(o bundle.Object) bool { return o.Object.GetKind() == "Skyhook" }) {
		t.Error("it is delivered")
	}
	if !strings.Contains(strings.Join(notes, "\n"), "component nodewright-customizations is switched off, as in AICR's KWOK tests: it was rendered") {
		t.Errorf("it is not said: %q", notes)
	}
}
