package intake

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/adjust"
)

func TestChecksums_AbsolutePaths(t *testing.T) {
	dir := written(t, elsewhere(t, mustDeployer(t, "argocd-oci"), ownInput(t, "kind")))
	file := filepath.Join(dir, checksumsFile)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	write := func(prefix string) error {
		t.Helper()
		if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(text), "  ", "  "+prefix)), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := Open(t.Context(), dir, mustDeployer(t, "argocd-oci"))
		return err
	}
	if err := write("/home/runner/work/bundle/"); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(file, []byte(strings.Repeat("0", 64)+"  /etc/passwd\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), dir, mustDeployer(t, "argocd-oci")); err == nil || !strings.Contains(err.Error(), "/etc/passwd is listed, and no file of the bundle is at the end of this path") {
		t.Errorf("got %v", err)
	}
}

// The version that an AICR CLI from a checkout gives itself is replaced, whatever ends the file's lines.
func TestWrapper_VersionDev(t *testing.T) {
	d := mustDeployer(t, "argocd-helm-oci")
	made := elsewhere(t, d, ownInput(t, "kind"))
	for _, end := range []string{"\n", "\r\n"} {
		dir := written(t, made)
		file := filepath.Join(dir, "Chart.yaml")
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(text), "\n")
		for i, l := range lines {
			if strings.HasPrefix(l, "version:") {
				lines[i] = `version: "dev"`
			}
		}
		if err := os.WriteFile(file, []byte(strings.Join(lines, end)), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(filepath.Join(dir, checksumsFile)); err != nil {
			t.Fatal(err)
		}
		b, err := Open(t.Context(), dir, d)
		if err != nil {
			t.Errorf("%q: %v", end, err)
		} else if !strings.Contains(strings.Join(b.warnings, "\n"), "published as 0.0.0-dev") {
			t.Errorf("%q: it is not said: %q", end, b.warnings)
		}
	}
}

// Projects and clusters of a user's own Argo CD, which only the rendered Applications show, are those of the
// cell in every form (F354).
func TestApplications_OfTheUsersOwn(t *testing.T) {
	for deployer, files := range map[string][]string{
		"argocd-helm-oci": {"templates/root-application.yaml", "templates/children/cert-manager.yaml"},
		"argocd-oci":      {"app-of-apps.yaml", "cert-manager/application.yaml"},
	} {
		d, own := mustDeployer(t, deployer), ownInput(t, "kind")
		dir := written(t, elsewhere(t, d, own))
		if err := os.Remove(filepath.Join(dir, checksumsFile)); err != nil {
			t.Fatal(err)
		}
		project := "project: team"
		if deployer == "argocd-helm-oci" {
			project = `project: '{{ .Values.nothing | default "team" }}'`
		}
		for _, name := range files {
			file := filepath.Join(dir, filepath.FromSlash(name))
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			changed := strings.ReplaceAll(string(text), "project: default", project)
			changed = strings.ReplaceAll(changed, "server: https://kubernetes.default.svc", "server: https://10.0.0.1:6443")
			if err := os.WriteFile(file, []byte(changed), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		_, _, made := readBack(t, dir, d, own)
		for _, name := range files {
			for _, f := range made.Files {
				if text := string(f.Content); f.Path == name && (strings.Contains(text, "team") || strings.Contains(text, "10.0.0.1")) {
					t.Errorf("%s: %s still has the user's:\n%s", deployer, name, text)
				}
			}
		}
		if said := strings.Join(made.Expectation.Overrides, "\n"); strings.Count(said, "of the project team") != 1 || strings.Count(said, "for the cluster https://10.0.0.1:6443") != 1 {
			t.Errorf("%s: it is not said once: %s", deployer, said)
		}
	}
}

// Where no recipe.yaml has dependencies, the waves of a bundle's Applications say what comes after what.
func TestApplications_Waves(t *testing.T) {
	for _, deployer := range []string{"argocd-helm-oci", "argocd-oci"} {
		d, own := mustDeployer(t, deployer), ownInput(t, "kind")
		dir := written(t, elsewhere(t, d, own))
		for _, name := range []string{checksumsFile, recipeName} {
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
		b, _, made := readBack(t, dir, d, own)
		e := made.Expectation.Releases
		for i := range e {
			if i > 0 && e[i].Component != e[i-1].Component && !slices.Contains(e[i].DependsOn, e[i-1].Name) {
				t.Errorf("%s: %s is in the wave after %s and depends on %q", deployer, e[i].Name, e[i-1].Name, e[i].DependsOn)
			}
		}
		if deployer != "argocd-oci" {
			continue
		}
		laid, err := OpenLaid(t.Context(), Laid{Dir: dir, Called: "app", Places: map[string]UserAppPlace{}}, d)
		if err != nil {
			t.Fatal(err)
		}
		if needs := laid.form.units()[len(b.form.units())-1].needs; needs != nil {
			t.Errorf("a user's own Applications: got %q; Argo CD does not wait for these", needs)
		}
	}
}

// Releases with AICR's namePrefix are those of the recipe's components: none is missed, and each has its
// dependencies.
func TestApplications_NamePrefix(t *testing.T) {
	d, own := mustDeployer(t, "argocd-oci"), ownInput(t, "h100-eks-ubuntu-training-kubeflow")
	made := elsewhere(t, d, own)
	warned := len(made.Expectation.Warnings)
	want := map[string][]string{}
	for _, r := range made.Expectation.Releases {
		for _, on := range r.DependsOn {
			want["team-"+r.Name] = append(want["team-"+r.Name], "team-"+on)
		}
	}
	if err := (adjust.ArgoOptions{NamePrefix: "team-"}).Apply(made, bundle.ArgoRootApplication); err != nil {
		t.Fatal(err)
	}
	index := "apiVersion: aicr.run/v1\nkind: BundleInfo\nbuild: {deployer: argocd}\nlayout:\n  releases:\n"
	for _, r := range made.Expectation.Releases { // by the names of their folders
		index += "  - {name: " + r.Name + ", component: " + r.Component + ", namespace: " + r.Namespace + "}\n"
	}
	made.Files = append(made.Files, bundle.File{Path: infoFile, Mode: 0o644, Content: []byte(index)})
	if err := made.Sum(); err != nil {
		t.Fatal(err)
	}
	_, _, made = readBack(t, written(t, made), d, own)
	if said := made.Expectation.Warnings; len(said) != warned {
		t.Errorf("it warns: %s", strings.Join(said, "\n"))
	}
	for _, r := range made.Expectation.Releases {
		if !slices.Equal(r.DependsOn, want[r.Name]) {
			t.Errorf("%s depends on %q, want %q", r.Name, r.DependsOn, want[r.Name])
		}
	}
}

// The values of a bundle are those that it has: nothing that AICR's bundler derives from a recipe is added to
// them, as it was by this program for a bundle of an older bundler.
func TestValues_AsTheyAre(t *testing.T) {
	d, own := mustDeployer(t, "argocd-oci"), ownInput(t, "eks-training")
	made := elsewhere(t, d, own)
	dir := written(t, made)
	if err := os.Remove(filepath.Join(dir, checksumsFile)); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, recipeName)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	july := strings.Replace(string(text), "apiVersion: aicr.nvidia.com/v1alpha1", "apiVersion: aicr.run/v1alpha2", 1)
	if err := os.WriteFile(file, []byte(july), 0o644); err != nil || july == string(text) {
		t.Fatal(err, "no version was changed")
	}
	_, _, again := readBack(t, dir, d, own)
	for _, o := range again.Expectation.Overrides {
		if strings.HasPrefix(o, "nvidia-dra-driver-gpu:") {
			t.Errorf("it adds values: %s", o)
		}
	}
	compareExpectations(t, &made.Expectation, &again.Expectation)
}
