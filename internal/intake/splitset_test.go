package intake

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
)

// A split set is its two halves, one after the other. What it and its recipe say of the classes must agree, and nothing of
// core may need what comes later.
func TestSplitSet(t *testing.T) {
	component := func(half, name string) map[string]string {
		dir := half + "/001-" + name + "/"
		return map[string]string{
			dir + "install.sh":   "source ./upstream.env\nhelm upgrade --install " + name + " \"${CHART}\" --version \"${VERSION}\" --namespace " + name + " -f values.yaml\n",
			dir + "upstream.env": "CHART=oci://example.org/charts/" + name + "\nVERSION=1.0.0\n", dir + "values.yaml": "x: 1\n",
			half + "/deploy.sh": "set -e\nbash 001-" + name + "/install.sh\n",
		}
	}
	const resolved = "apiVersion: aicr.run/v1\nkind: RecipeResult\nmetadata: {name: r}\ncomponentRefs:\n- {name: a, type: Helm, namespace: a, chart: a, source: 'oci://example.org/charts', version: 1.0.0}\n" +
		"- {name: z, type: Helm, namespace: z, chart: z, source: 'oci://example.org/charts', version: 1.0.0, dependencyRefs: []}\ndeploymentOrder: [a, z]\n"
	whole := map[string]string{"recipe.yaml": resolved, "split.yaml": "recipeDigest: x\norder: [core, ops]\ncomponents:\n  z: core\n  a: ops\n"}
	maps.Copy(whole, component("core", "z"))
	maps.Copy(whole, component("ops", "a"))
	for name, test := range map[string]struct {
		change map[string]string // empty: the file is not there
		want   string            // an error
	}{
		"whole":               {},
		"classes as a list":   {change: map[string]string{"split.yaml": "components:\n- {name: z, class: core}\n- {name: a, class: ops}\n"}},
		"without its file":    {change: map[string]string{"split.yaml": ""}, want: "it is a half of a split set, and the bundle has no split.yaml"},
		"without a half":      {change: map[string]string{"ops/001-a/install.sh": "", "ops/deploy.sh": ""}, want: "has only the half core: copy all files"},
		"a script beside":     {change: map[string]string{"deploy.sh": "bash core/deploy.sh\n"}, want: "and none beside them"},
		"no YAML":             {change: map[string]string{"split.yaml": "a: ["}, want: "split.yaml:"},
		"another class":       {change: map[string]string{"split.yaml": "components:\n  z: ops\n"}, want: "split.yaml:2: component z is of the class ops, and the bundle has it in core"},
		"in both":             {change: component("ops", "z"), want: "component z is in core and in ops"},
		"a part in the other": {change: map[string]string{"ops/002-z-post/install.sh": "helm upgrade --install z-post oci://example.org/charts/p --version 1.0.0 --namespace z\n"}, want: "component z is in core and in ops"},
		"an edge":             {change: map[string]string{"recipe.yaml": strings.Replace(resolved, "dependencyRefs: []", "dependencyRefs: [a]", 1)}, want: "component z is of the class core and depends on a, which is of ops"},
	} {
		t.Run(name, func(t *testing.T) {
			files := maps.Clone(whole)
			maps.Copy(files, test.change)
			dir := t.TempDir()
			for name, content := range files {
				if content == "" {
					continue
				}
				file := filepath.Join(dir, name)
				if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			b, err := Open(t.Context(), dir, mustDeployer(t, bundle.Helm))
			if test.want != "" {
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("got %v, want %q", err, test.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var order []string
			for _, u := range b.form.units() {
				order = append(order, u.half+" "+u.name)
			}
			if !slices.Equal(order, []string{"core z", "ops a"}) {
				t.Errorf("installed are %q", order)
			}
			if findings := splitFindings(t, b, files["recipe.yaml"]); len(findings) > 0 { // whose order is that within a class
				t.Errorf("against its recipe: %+v", findings)
			}
		})
	}
}

func splitFindings(t *testing.T, b *Bundle, resolved string) []result.Finding {
	t.Helper()
	p, err := promised(t.Context(), []byte(resolved), func(line int) recipe.Origin { return recipe.Origin{File: "recipe.yaml", Line: line} }, nil, nil, true)
	if err != nil {
		t.Fatal(err)
	}
	findings, _ := b.compare(p)
	return findings
}

// Of a bundle without a recipes directory, what its recipe.yaml sets is compared: a lost value is a warning, and not what a null
// deletes, a bundler adds to or a flag of a component is.
func TestOverridden(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"001-a/install.sh":  "helm upgrade --install a oci://example.org/charts/a --version 1.0.0 --namespace a -f values.yaml\n",
		"001-a/values.yaml": "kept: 1\ndriver: {version: old}\ntolerations: [{key: x}, {key: kwok}]\n",
		"recipe.yaml": "apiVersion: aicr.run/v1\nkind: RecipeResult\nmetadata: {name: r}\ndeploymentOrder: [a]\ncomponentRefs:\n- name: a\n  type: Helm\n  namespace: a\n  chart: a\n  source: oci://example.org/charts\n  version: 1.0.0\n" +
			"  overrides: {enabled: true, kept: 1, gone: null, tolerations: [{key: x}], nodeSelector: {a: b}, driver: {version: new, lost: {deep: true}}}\n",
	} {
		file := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(content), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	b, err := Open(t.Context(), dir, mustDeployer(t, bundle.Helm))
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewJudgedDir(b, nil).promised(t.Context(), b.tree.original[recipeName].Content)
	if err != nil {
		t.Fatal(err)
	}
	findings, warnings := b.compare(p)
	if len(findings) > 0 || len(warnings) != 1 || !strings.Contains(warnings[0], `driver.lost is {"deep":true} by the recipe (`) || !strings.Contains(warnings[0], "(and 1 more values)") {
		t.Errorf("got %+v, %q", findings, warnings)
	}
}

// A half may have the form of this program's own bundles: one deploy.sh, and a directory for each release.
func TestSplitSet_OwnForm(t *testing.T) {
	d := mustDeployer(t, bundle.Helm)
	made := elsewhere(t, d, ownInput(t, "eks-training"))
	releases := len(made.Installs)
	made.Files = slices.DeleteFunc(made.Files, func(f bundle.File) bool { return f.Path == checksumsFile })
	for i := range made.Files {
		if f := &made.Files[i]; f.Path != recipeName {
			f.Path = "core/" + f.Path
		}
	}
	made.Files = append(made.Files, bundle.File{Path: "split.yaml", Mode: 0o644, Content: []byte("components: {cert-manager: core, late: ops}\n")},
		bundle.File{Path: "ops/deploy.sh", Mode: 0o755, Content: []byte("helm upgrade --install late oci://example.org/charts/late --version 1.0.0 --namespace late\n")})
	b, err := Open(t.Context(), written(t, made), d)
	if err != nil {
		t.Fatal(err)
	}
	units := b.form.units()
	if len(units) != releases+1 || units[0].half != "core" || units[releases].half != "ops" || units[releases].name != "late" {
		t.Errorf("got %d releases of %d: %+v", len(units), releases+1, units[len(units)-1])
	}
	for class, want := range map[string]string{"ops": "ops is installed after core", "cores": `no class "cores"; did you mean "core"?`, "all": ""} {
		if err := b.Only(class); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("--class %s: got %v, want %q", class, err, want)
		}
	}
	if err := b.Only("core"); err != nil {
		t.Fatal(err)
	}
	if run := b.run(); len(run) != releases || slices.ContainsFunc(run, func(u unit) bool { return u.half != "core" }) || len(b.form.units()) != releases+1 {
		t.Errorf("of core alone: %d releases of %d", len(run), releases)
	}
	if left := b.leftOut(); len(left) != 1 || !strings.HasSuffix(left[0], "left out: late") {
		t.Errorf("left out: %q", left)
	}
}

// A bundle for Argo CD that this program has split is read with both of its roots: as what runs before an upgrade, or by
// itself. With a class, only that root is applied.
func TestSplitSet_Roots(t *testing.T) {
	own, err := bundle.Prepare(t.Context(), ownInput(t, "eks-training"))
	if err != nil {
		t.Fatal(err)
	}
	own.Split = map[string]string{"k8s-ephemeral-storage-metrics": "ops"}
	for _, name := range []string{bundle.ArgoCDOCI, bundle.ArgoCDGit} {
		d := mustDeployer(t, name)
		dir := written(t, elsewhere(t, d, own))
		b, in, made := readBack(t, dir, d, own)
		cell := ownInput(t, "eks-training")
		cell.Split = own.Split
		want, err := d.Bundle(t.Context(), cell.InRegistry(cellRegistry, cellRegistry, name))
		if err != nil {
			t.Fatal(err)
		}
		byRelease(&want.Expectation) // the halves are its order
		byRelease(&made.Expectation)
		compareExpectations(t, &want.Expectation, &made.Expectation)
		if !slices.EqualFunc(want.Expectation.Delivered, made.Expectation.Delivered, func(a, b bundle.Delivered) bool { return a.Ref == b.Ref && a.Root == b.Root && a.Of == b.Of }) {
			t.Errorf("%s: got %+v\nwant %+v", name, made.Expectation.Delivered, want.Expectation.Delivered)
		}
		var roots []string
		for _, r := range made.Foreign.Roots {
			path, _, _ := unstructured.NestedString(r.Object, "spec", "source", "path")
			repo, _, _ := unstructured.NestedString(r.Object, "spec", "source", "repoURL")
			if repo != in.RepoURL {
				t.Errorf("%s: root %s has the address %s", name, r.GetName(), repo)
			}
			roots = append(roots, r.GetName()+" "+path)
		}
		if !slices.Equal(roots, []string{"nvidia-stack-core core", "nvidia-stack-ops ops"}) {
			t.Errorf("%s: got the roots %q", name, roots)
		}
		if classes := b.Split(); classes["k8s-ephemeral-storage-metrics"] != "ops" || classes["gpu-operator"] != "core" {
			t.Errorf("%s: got the classes %v", name, classes)
		}
		if err := b.Only("core"); err != nil {
			t.Fatal(err)
		}
		if _, half, err := b.Make(t.Context(), in); err != nil || len(half.Foreign.Roots) != 1 || half.Foreign.Roots[0].GetName() != "nvidia-stack-core" ||
			slices.ContainsFunc(half.Expectation.Delivered, func(d bundle.Delivered) bool {
				return d.Name == "nvidia-stack-ops" || d.Name == "k8s-ephemeral-storage-metrics"
			}) {
			t.Errorf("%s: of core alone: %+v, %v", name, half, err)
		}
	}
	for what, wrong := range map[string]struct {
		change func(*bundle.Bundle)
		want   string
	}{
		"half": {func(b *bundle.Bundle) {
			b.Files = slices.DeleteFunc(b.Files, func(f bundle.File) bool { return strings.HasPrefix(f.Path, "ops/") })
		}, "has only the half core: copy all files"},
		"path": {func(b *bundle.Bundle) { editFile(b, "ops/app-of-apps.yaml", "path: ops", "path: core") }, `the root Application of the half ops has the path "core"; want ops`},
		"names": {func(b *bundle.Bundle) {
			editFile(b, "ops/app-of-apps.yaml", "name: nvidia-stack-ops", "name: nvidia-stack-core")
		}, "has the name of that in core/app-of-apps.yaml, nvidia-stack-core"},
	} {
		made := elsewhere(t, mustDeployer(t, bundle.ArgoCDOCI), own)
		made.Files = slices.DeleteFunc(made.Files, func(f bundle.File) bool { return f.Path == checksumsFile })
		wrong.change(made)
		if _, err := Open(t.Context(), written(t, made), mustDeployer(t, bundle.ArgoCDOCI)); err == nil || !strings.Contains(err.Error(), wrong.want) {
			t.Errorf("%s: got %v", what, err)
		}
	}
	if _, err := Open(t.Context(), written(t, elsewhere(t, mustDeployer(t, bundle.ArgoCDOCI), own)), mustDeployer(t, bundle.Helm)); err == nil || !strings.Contains(err.Error(), "it looks like a bundle for argocd-oci or argocd-git") {
		t.Errorf("for helm: got %v", err)
	}
}

// editFile replaces a text in a file of a bundle.
func editFile(b *bundle.Bundle, name, from, to string) {
	for i := range b.Files {
		if f := &b.Files[i]; f.Path == name {
			f.Content = []byte(strings.Replace(string(f.Content), from, to, 1))
		}
	}
}
