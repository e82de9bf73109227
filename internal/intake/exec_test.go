package intake

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/charts/render"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/testkit"
	"github.com/nvidia/aicr-action/internal/testkit/aicrclitest"
	"github.com/nvidia/aicr-action/internal/testkit/workers"
	"github.com/nvidia/aicr-action/internal/util/sandbox"
)

func TestMain(m *testing.M) {
	workers.Serve(sandbox.Hidden(), render.Hidden()) // first: the double renders charts too
	aicrclitest.Run()
	os.Exit(m.Run())
}

// external is the test double as a bundler.
func external(t *testing.T, variant string) *Exec {
	t.Helper()
	e, err := NewExec(t.Context(), aicrclitest.InstallFor(t, variant, march), "", os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// madeBy has the double make a bundle for a cell of the recipe kind.
func madeBy(t *testing.T, e *Exec, deployer string) (*bundle.Bundle, []string, error) {
	t.Helper()
	d := mustDeployer(t, deployer)
	in := ownInput(t, "kind").InRegistry(cellRegistry, cellRegistry, deployer)
	_, b, notes, err := e.Bundle(t.Context(), d, in, filepath.Join(t.TempDir(), "bundler"))
	return b, notes, err
}

// AICR's CLI makes a bundle for each of its deployers, in its own layout. The expectation of such a
// bundle equals that of this program's own bundle, except for the names of releases that Flux gives
// by default.
func TestExec_Bundles(t *testing.T) {
	e := external(t, aicrclitest.Good)
	if e.Version() != "0.11.2" {
		t.Errorf("version %q", e.Version())
	}
	for _, deployer := range []string{bundle.Helm, bundle.ArgoCDOCI, bundle.ArgoCDHelmOCI, bundle.FluxOCI} {
		t.Run(deployer, func(t *testing.T) {
			b, notes, err := madeBy(t, e, deployer)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(b.Foreign.Maker, "0.11.2") || !strings.Contains(strings.Join(notes, "\n"), "resolved the recipe") {
				t.Errorf("who made it is not said: %q, %q", b.Foreign.Maker, notes)
			}
			own, err := mustDeployer(t, deployer).Bundle(t.Context(), ownInput(t, "kind").InRegistry(cellRegistry, cellRegistry, deployer))
			if err != nil {
				t.Fatal(err)
			}
			if deployer != bundle.FluxOCI {
				same(t, "workloads", outlines(&own.Expectation), outlines(&b.Expectation))
			}
			if len(b.Expectation.Workloads) != len(own.Expectation.Workloads) || len(b.Expectation.Delivered) != len(own.Expectation.Delivered) {
				t.Errorf("%d workloads and %d objects; want %d and %d", len(b.Expectation.Workloads), len(b.Expectation.Delivered), len(own.Expectation.Workloads), len(own.Expectation.Delivered))
			}
			for _, r := range b.Expectation.Releases {
				want := r.Name
				if deployer == bundle.FluxOCI {
					want = r.Namespace + "-" + r.Name
				}
				if r.InHelm() != want {
					t.Errorf("release %s is %s in Helm, want %s", r.Name, r.InHelm(), want)
				}
			}
		})
	}
}

// The CLI is asked once what a recipe resolves to: for the comparison with other recipes, and for
// the bundles of all lanes. Another recipe is another question.
func TestExec_ResolvesOnce(t *testing.T) {
	e, root := external(t, aicrclitest.Telling), t.TempDir()
	asked := func(dir string) bool {
		_, err := os.Stat(filepath.Join(root, dir, aicrclitest.AskedFile))
		return err == nil
	}
	if _, err := e.Likeness(t.Context(), ownInput(t, "kind"), filepath.Join(root, "likeness")); err != nil || !asked("likeness") {
		t.Fatalf("%v; asked: %t", err, asked("likeness"))
	}
	for _, deployer := range []string{bundle.Helm, bundle.FluxOCI} {
		in := ownInput(t, "kind").InRegistry(cellRegistry, cellRegistry, deployer)
		if _, _, _, err := e.Bundle(t.Context(), mustDeployer(t, deployer), in, filepath.Join(root, deployer)); err != nil || asked(deployer) {
			t.Errorf("%s: %v; asked again: %t", deployer, err, asked(deployer))
		}
	}
	if _, err := e.Likeness(t.Context(), ownInput(t, "eks-training"), filepath.Join(root, "other")); err != nil || !asked("other") {
		t.Errorf("another recipe: %v; asked: %t", err, asked("other"))
	}
}

// The CLI is told which value of its profile a recipe is for, and asked again for each: without the flag it
// takes the default, and the cells of all values would test the same.
func TestExec_Profile(t *testing.T) {
	e, root := external(t, aicrclitest.Telling), t.TempDir()
	for _, value := range []string{"device-plugin", "dra"} {
		in, dir := ownInput(t, "kind"), filepath.Join(root, value)
		in.Recipe.Metadata.SelectedProfile = &recipe.ProfileSelected{Name: "gpu-allocation", Value: value}
		if _, err := e.Likeness(t.Context(), in, dir); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(dir, aicrclitest.AskedFile)); err != nil || string(got) != "gpu-allocation="+value {
			t.Errorf("it was asked for the profile %q, %v; want the value %s", got, err, value)
		}
	}
}

// A CLI that leaves no copy of a bundle that it pushes: what it pushed is the bundle.
func TestExec_OnlyPushed(t *testing.T) {
	copied, pushing := external(t, aicrclitest.Good), external(t, aicrclitest.Pushing)
	for _, deployer := range []string{bundle.ArgoCDOCI, bundle.ArgoCDHelmOCI, bundle.FluxOCI} {
		want, _, err := madeBy(t, copied, deployer)
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := madeBy(t, pushing, deployer)
		if err != nil {
			t.Fatal(err)
		}
		compareExpectations(t, &want.Expectation, &got.Expectation)
	}
}

// The digests of two recipes' bundles are equal if the CLI makes the same of them but for names, in
// every lane; the registry that it pushes to is another one each time.
func TestExec_Digest(t *testing.T) {
	good, forgetful := external(t, aicrclitest.Good), external(t, aicrclitest.Forgetful)
	digest := func(e *Exec, deployer, name string) string {
		t.Helper()
		got, err := e.Digest(t.Context(), mustDeployer(t, deployer), ownInput(t, name), filepath.Join(t.TempDir(), "bundler"))
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	const name, twin = "h100-eks-training", "h100-eks-ubuntu-training"
	deployers := []string{bundle.Helm, bundle.ArgoCDGit, bundle.ArgoCDHelmOCI, bundle.FluxOCI}
	if testing.Short() {
		deployers = deployers[:1]
	}
	for _, deployer := range deployers {
		if of := digest(good, deployer, name); of == "" || of != digest(good, deployer, twin) {
			t.Errorf("%s: two recipes that are equal have the digests %q and another one", deployer, of)
		}
	}
	if digest(good, bundle.FluxOCI, name) == digest(forgetful, bundle.FluxOCI, name) {
		t.Error("a bundle without a toleration has the same digest")
	}
	if got := digest(good, bundle.Helm, "eks-training"); got == digest(good, bundle.Helm, name) {
		t.Error("recipes of two accelerators have one digest")
	}
	named := ownInput(t, name)
	named.Recipe.Metadata.Name = "cert-manager"
	if got, err := good.Digest(t.Context(), mustDeployer(t, bundle.Helm), named, filepath.Join(t.TempDir(), "bundler")); got != "" || err != nil {
		t.Errorf("a recipe that is called like a component: %q, %v", got, err)
	}
	alike := map[string]string{}
	for _, one := range []string{name, twin, "eks-training"} {
		got, err := good.Likeness(t.Context(), ownInput(t, one), filepath.Join(t.TempDir(), "bundler"))
		if err != nil {
			t.Fatal(err)
		}
		alike[one] = got
	}
	if alike[name] != alike[twin] || alike[name] == alike["eks-training"] {
		t.Errorf("likeness: %v", alike)
	}
}

// AICR's CLI writes recipe.yaml into bundles for Helm only. In every lane, its constraints and
// dependencies are known, and what is left out is named.
func TestExec_Recipe(t *testing.T) {
	e := external(t, aicrclitest.Good)
	for _, deployer := range []string{bundle.Helm, bundle.ArgoCDOCI, bundle.FluxGit} {
		t.Run(deployer, func(t *testing.T) {
			d := mustDeployer(t, deployer)
			own := ownInput(t, "kind")
			in, b, notes, err := e.Bundle(t.Context(), d, own.InRegistry(cellRegistry, cellRegistry, deployer), filepath.Join(t.TempDir(), "bundler"))
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(strings.Join(notes, "\n"), "no recipe.yaml") {
				t.Errorf("the recipe is not known: %q", notes)
			}
			if len(in.Recipe.Constraints) != len(own.Recipe.Constraints) || in.Recipe.APIVersion != own.Recipe.APIVersion || in.Recipe.Criteria != own.Recipe.Criteria {
				t.Errorf("got %+v", in.Recipe)
			}
			if deployer != bundle.FluxGit && !slices.ContainsFunc(in.Components, func(c recipe.Component) bool { return len(c.DependencyRefs) > 0 }) {
				t.Error("no component depends on another one")
			}
			if !slices.ContainsFunc(b.Foreign.Original, func(f bundle.File) bool { return f.Path == recipeName }) {
				t.Error("the recipe is not among the files that the artifacts get")
			}
			if deployer != bundle.Helm && slices.ContainsFunc(b.Files, func(f bundle.File) bool { return f.Path == recipeName }) {
				t.Error("the recipe was added to what is published")
			}
		})
	}
}

// For a bundle without a required toleration, the expectation has the value path that would add it,
// and the place in the bundle where it is missing.
func TestExec_MissingToleration(t *testing.T) {
	e := external(t, aicrclitest.Forgetful)
	for deployer, file := range map[string]string{bundle.Helm: "bundle-original/001-cert-manager/values.yaml", bundle.FluxOCI: "bundle-original/cert-manager/helmrelease.yaml", bundle.ArgoCDOCI: "bundle-original/001-cert-manager/application.yaml"} {
		b, _, err := madeBy(t, e, deployer)
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, w := range b.Expectation.Workloads {
			for _, vp := range w.ForgottenPaths {
				found = true
				if vp.Path != aicrclitest.ForgottenPath || !vp.Lacking || !strings.HasSuffix(vp.Origin.File, file) || vp.Origin.Line == 0 || !strings.HasSuffix(w.Name, "cert-manager-webhook") {
					t.Errorf("%s: %s %s: %+v", deployer, w.Kind, w.Name, vp)
				}
			}
		}
		if !found {
			t.Errorf("%s: the missing toleration is not found", deployer)
		}
	}
}

// A CLI whose exit code or files are wrong is an error before a cluster exists.
func TestExec_WrongOutput(t *testing.T) {
	for variant, want := range map[string][]string{
		aicrclitest.Silent:    {"exited with 0 and wrote nothing to", "/bundle"},
		aicrclitest.Failing:   {"aicr-double-failing recipe: exit status 3 (in AICR: not found); stderr:\n  ::error title=x::no such criteria\n  ##[error]service is unknown"},
		aicrclitest.Leaving:   {"../../../etc/passwd\" leads out of the bundle", "install.sh:"},
		aicrclitest.Linking:   {"notes.txt is a symbolic link; a bundle may have regular files and directories only"},
		aicrclitest.Linked:    {"which is a symbolic link and not a directory"},
		aicrclitest.Shapeless: {"not a bundle for the helm lane: it has neither a deploy.sh nor directories 001-NAME"},
	} {
		t.Run(variant, func(t *testing.T) {
			_, _, err := madeBy(t, external(t, variant), bundle.Helm)
			if err == nil {
				t.Fatal("no error")
			}
			for _, part := range want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q is not in: %v", part, err)
				}
			}
			if strings.ContainsAny(err.Error(), "\x1b\x07") {
				t.Errorf("what a terminal would obey is in %q", err)
			}
		})
	}
	_, _, err := madeBy(t, external(t, aicrclitest.Leaving), bundle.FluxOCI)
	if err == nil || !strings.Contains(err.Error(), `kustomization.yaml:`) || !strings.Contains(err.Error(), "leads out of the bundle") {
		t.Errorf("a resource outside of the bundle: %v", err)
	}
}

// A CLI that exceeds its time limit is killed, together with the processes that it started.
func TestExec_TimeLimit(t *testing.T) {
	e := external(t, aicrclitest.Hanging)
	e.Limit = 5 * time.Second
	dir := filepath.Join(t.TempDir(), "bundler")
	d := mustDeployer(t, bundle.Helm)
	in := ownInput(t, "kind").InRegistry(cellRegistry, cellRegistry, d.Name())
	ended := make(chan error)
	go func() {
		_, _, _, err := e.Bundle(t.Context(), d, in, dir)
		ended <- err
	}()
	child := testkit.WaitNumber(t, filepath.Join(dir, "child"))
	err := <-ended
	if err == nil || !strings.Contains(err.Error(), "it did not end within 5s, and was ended") || !strings.Contains(err.Error(), "working on it") {
		t.Errorf("got %v", err)
	}
	testkit.WaitGone(t, child)
}

// The CLI sees an allow-list of the environment.
func TestExec_Environment(t *testing.T) {
	env := map[string]string{"PATH": os.Getenv("PATH"), "LANG": "C", "GITHUB_TOKEN": "secret", "KUBECONFIG": "/home/somebody/.kube/config", "HOME": "/home/somebody"}
	e, err := NewExec(t.Context(), aicrclitest.InstallFor(t, aicrclitest.Curious, march), "", func(name string) (string, bool) { v, ok := env[name]; return v, ok })
	if err != nil {
		t.Fatal(err)
	}
	b, _, err := madeBy(t, e, bundle.Helm)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(b.Files, func(f bundle.File) bool { return f.Path == "environment.txt" })
	seen := string(b.Files[i].Content)
	for _, bad := range []string{"secret", "KUBECONFIG", "somebody"} {
		if strings.Contains(seen, bad) {
			t.Errorf("the CLI saw %s:\n%s", bad, seen)
		}
	}
	for _, good := range []string{"PATH=", "LANG=C", "HOME="} {
		if !strings.Contains(seen, good) {
			t.Errorf("the CLI did not see %s:\n%s", good, seen)
		}
	}
	if !slices.ContainsFunc(b.Expectation.Warnings, func(w string) bool {
		return strings.Contains(w, "checksums.txt does not cover environment.txt")
	}) {
		t.Errorf("a file that checksums.txt does not cover goes unnoticed: %q", b.Expectation.Warnings)
	}
}

// What is no CLI of AICR is refused before anything else.
func TestNewExec(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, []byte("#!/bin/sh\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"":                             "pass --aicr PATH",
		filepath.Join(dir, "no"):       "no such file",
		"no-such-program-of-this-name": "no such file",
		plain:                          "not executable; run chmod +x",
		dir:                            "is a directory",
		aicrclitest.InstallFor(t, aicrclitest.Other, march): "prints no version, neither for the command version nor for the flag --version: is this AICR's CLI?; printed:\n  hello",
	} {
		_, err := NewExec(t.Context(), path, "", os.LookupEnv)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", path, err, want)
		}
	}
	b, _, err := madeBy(t, external(t, aicrclitest.Old), bundle.Helm)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(b.Expectation.Warnings, func(w string) bool { return strings.Contains(w, "version 0.3.1") }) {
		t.Errorf("an old version goes unnoticed: %q", b.Expectation.Warnings)
	}
}
