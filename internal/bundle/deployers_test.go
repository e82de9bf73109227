package bundle

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/action"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle/documents"
	"github.com/nvidia/aicr-action/internal/recipe/document"
	"github.com/nvidia/aicr-action/internal/testkit/testskip"
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
		var unknown *UnknownDeployerError
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
	got := in.InRegistry("registry:5000", ArgoCDHelmOCI)
	at := in
	at.ChartRepository = "oci://registry:5000/charts"
	if got.ChartRepository != at.ChartRepository || got.RepoURL != "oci://registry:5000/aicr/demo" || got.TargetRevision != "0.0.0-"+Revision(at)+"-argocd-helm-oci" {
		t.Errorf("got charts at %s, the bundle at %s %s", got.ChartRepository, got.RepoURL, got.TargetRevision)
	}
	if got = in.InRegistry("registry:5000", FluxGit); got.ChartRepository != at.ChartRepository || got.RepoURL != "http://registry:5000/aicr/demo.git" || got.TargetRevision != "main" {
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

// fakeHelm is a helm that writes its arguments to a file, one call a line with the words in
// brackets.
const fakeHelm = `#!/bin/sh
for word in "$@"; do printf '[%s]' "$word" >>"$CALLS"; done
echo >>"$CALLS"
`

// writtenHelmBundle writes the golden Helm bundle to dir/my bundle; a helm in dir writes down how
// it is called. It skips without bash.
func writtenHelmBundle(t *testing.T) (b *Bundle, bash, dir, bundleDir string) {
	t.Helper()
	bash, err := exec.LookPath("bash")
	if err != nil {
		testskip.Missing(t, "no bash here")
	}
	in := goldenInput(Helm)
	in.Components[0].Namespace = "it's odd" // must stay one word
	b = mustBundle(t, helmDeployer{}, in)
	dir = t.TempDir()
	bundleDir = filepath.Join(dir, "my bundle")
	if err := b.WriteTo(bundleDir, false); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "helm"), []byte(fakeHelm), 0o755); err != nil {
		t.Fatal(err)
	}
	return b, bash, dir, bundleDir
}

func TestDeployScript(t *testing.T) {
	b, bash, dir, bundleDir := writtenHelmBundle(t)
	calls := filepath.Join(dir, "calls")
	script := filepath.Join(bundleDir, "deploy.sh")
	if out, err := exec.Command(bash, "-n", script).CombinedOutput(); err != nil {
		t.Fatalf("bash -n: %v\n%s", err, out)
	}
	if own := strings.Count(content(t, b, "deploy.sh"), "\n") - len(b.Installs); own >= 50 {
		t.Errorf("deploy.sh has %d lines beside the releases", own)
	}
	run := func(args ...string) (string, error) {
		cmd := exec.Command(script, args...)
		cmd.Dir = "/"
		cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "CALLS="+calls)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	out, err := run("--kube-context", "a b")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !strings.Contains(out, "[4/5] gpu-post (namespace gpu)") {
		t.Errorf("progress:\n%s", out)
	}
	raw, err := os.ReadFile(calls)
	if err != nil {
		t.Fatal(err)
	}
	end := "[--kube-context][a b]\n"
	want := "[upgrade][--install][web][oci://127.0.0.1:5500/charts/web][--namespace][it's odd][--create-namespace][--version][v1.4.0][--plain-http][-f][" + bundleDir + "/web/values.yaml]" + end
	if got := string(raw); !strings.HasPrefix(got, want) {
		t.Errorf("the first call is\n%s, want\n%s", got, want)
	}
	if !strings.Contains(string(raw), "[upgrade][--install][tuning]["+bundleDir+"/tuning/chart][--namespace][tuning][--create-namespace]"+end) {
		t.Errorf("calls:\n%s", raw)
	}
	if strings.Contains(string(raw), "--wait") {
		t.Error("deploy.sh waits")
	}
	if out, err := run("--help"); err != nil || !strings.Contains(out, "HELM FLAG") || strings.Contains(out, "set -e") {
		t.Errorf("--help: %v\n%s", err, out)
	}
	if err := os.WriteFile(filepath.Join(dir, "helm"), []byte("#!/bin/sh\nexit 3\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := run(); err == nil || strings.Contains(out, "[2/5]") {
		t.Errorf("a failed release does not stop deploy.sh:\n%s", out)
	}
}

func TestDeployScript_Repositories(t *testing.T) {
	b := mustBundle(t, helmDeployer{}, fixture())
	script := content(t, b, "deploy.sh")
	for _, want := range []string{
		`release web web-system web --repo https://charts.example.com/stable --version v1.4.0 -f "${here}/web/values.yaml"`,
		`release monitor monitoring oci://registry.example.com/charts/monitor --version 82.8.0 -f`,
	} {
		if !strings.Contains(script, want) {
			t.Errorf("deploy.sh lacks %q:\n%s", want, script)
		}
	}
}

// A person runs the commands in the bundle, which has a directory with each chart's name. Helm
// would read that directory as the chart, and ignore --repo.
func TestDeployScript_WorkingDirectory(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		testskip.Missing(t, "no bash here")
	}
	b := mustBundle(t, helmDeployer{}, fixture())
	dir := t.TempDir()
	bundleDir, calls := filepath.Join(dir, "my bundle"), filepath.Join(dir, "calls")
	if err := b.WriteTo(bundleDir, false); err != nil {
		t.Fatal(err)
	}
	// Like Helm, it refuses a chart that is there and has no Chart.yaml, and a values file that is
	// not there.
	const helm = `#!/bin/sh
[ -e "$4" ] && [ ! -e "$4/Chart.yaml" ] && { echo "$4: Chart.yaml file is missing" >&2; exit 1; }
case "$4" in /*|./*) [ -e "$4" ] || { echo "$4: not found" >&2; exit 1; } ;; esac
file=
for word in "$@"; do [ "$file" != -f ] || [ -e "$word" ] || { echo "no $word" >&2; exit 1; }; file="$word"; done
echo "$3 $KUBECONFIG" >>"$CALLS"
`
	if err := os.WriteFile(filepath.Join(dir, "helm"), []byte(helm), 0o755); err != nil {
		t.Fatal(err)
	}
	run := func(in string, command string) {
		t.Helper()
		cmd := exec.Command(bash, "-c", command)
		cmd.Dir = in
		cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "CALLS="+calls, "KUBECONFIG=own:/other")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("in %s: %s: %v\n%s", in, command, err, out)
		}
	}
	want := ""
	run(bundleDir, "./deploy.sh")
	for _, r := range b.Expectation.Releases {
		want += r.Name + " " + bundleDir + "/own:/other\n"
	}
	for _, r := range b.Expectation.Releases {
		command := ""
		for _, line := range strings.Split(content(t, b, r.Name+"/README.md"), "\n") {
			if code, ok := strings.CutPrefix(line, "    "); ok {
				command += code + "\n"
			}
		}
		if !strings.HasPrefix(command, "helm upgrade --install "+r.Name+" ") {
			t.Errorf("%s/README.md has the commands %q", r.Name, command)
		}
		run(filepath.Join(bundleDir, r.Name), command)
		want += r.Name + " own:/other\n"
	}
	if got, err := os.ReadFile(calls); err != nil || string(got) != want {
		t.Errorf("%v; helm was called for\n%s, want\n%s", err, got, want)
	}
}

// The installs that a library caller gets are those of deploy.sh.
func TestInstalls(t *testing.T) {
	b := mustBundle(t, helmDeployer{}, goldenInput(Helm))
	var got []string
	for _, i := range b.Installs {
		got = append(got, i.Release.Name+" "+i.Ref)
		if i.Release.Local {
			ch, err := b.Chart(i.Release.Name + "/chart")
			if err != nil || ch.Metadata.Name != i.Chart.Metadata.Name || i.Values != nil {
				t.Errorf("%s: %v", i.Release.Name, err)
			}
			continue
		}
		fromFile, err := readValues([]byte(content(t, b, i.Release.Name+"/values.yaml")))
		if err != nil || !reflect.DeepEqual(fromFile, i.Values) {
			t.Errorf("%s: other values than in its file: %v", i.Release.Name, err)
		}
	}
	want := []string{"web oci://127.0.0.1:5500/charts/web", "monitor oci://127.0.0.1:5500/charts/monitor", "gpu oci://127.0.0.1:5500/charts/gpu", "gpu-post ", "tuning "}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q", got)
	}
	if len(b.Charts) != 3 {
		t.Errorf("%d charts to push, want 3", len(b.Charts))
	}
}

// renderWrapper installs the wrapper chart as `helm template` would.
func renderWrapper(t *testing.T, b *Bundle, values map[string]any) ([]rendered, error) {
	t.Helper()
	ch, err := b.Chart("")
	if err != nil {
		t.Fatal(err)
	}
	inst := action.NewInstall(&action.Configuration{Log: func(string, ...any) {}})
	inst.DryRun, inst.ClientOnly, inst.ReleaseName, inst.Namespace = true, true, WrapperRelease("demo"), "argocd"
	rel, err := inst.Run(ch, values)
	if err != nil {
		return nil, err
	}
	return parseManifest(rel.Manifest, "")
}

func TestWrapperChart(t *testing.T) {
	in := goldenInput(ArgoCDHelmOCI)
	in.RepoURL = "" // it is a value
	b := mustBundle(t, argoHelmOCI{}, in)
	at := map[string]any{"repoURL": "oci://127.0.0.1:5500/aicr/demo", "targetRevision": in.TargetRevision}

	for _, missing := range []string{"repoURL", "targetRevision"} {
		values := copyMap(at)
		delete(values, missing)
		if _, err := renderWrapper(t, b, values); err == nil || !strings.Contains(err.Error(), missing+" is required") {
			t.Errorf("without %s: %v", missing, err)
		}
	}
	if _, err := renderWrapper(t, b, map[string]any{"render": "both"}); err == nil || !strings.Contains(err.Error(), `render is "both"`) {
		t.Errorf("got %v", err)
	}

	roots, err := renderWrapper(t, b, at)
	if err != nil || len(roots) != 1 || roots[0].object.GetName() != "aicr-stack" {
		t.Fatalf("root: %v, %v", roots, err)
	}
	source, _, _ := unstructured.NestedMap(roots[0].object.Object, "spec", "source")
	inner, _, _ := unstructured.NestedMap(source, "helm", "valuesObject")
	if source["repoURL"] != at["repoURL"] || source["targetRevision"] != at["targetRevision"] || source["path"] != "." {
		t.Errorf("root source %v", source)
	}

	children, err := renderWrapper(t, b, inner) // what Argo CD renders next
	if err != nil {
		t.Fatal(err)
	}
	// They are the Applications of argocd-oci, with the local charts elsewhere.
	plain := goldenInput(ArgoCDOCI)
	plain.RepoURL, plain.TargetRevision = at["repoURL"].(string), in.TargetRevision
	want := mustBundle(t, argoOCI{}, plain)
	var got []string
	for _, c := range children {
		name := c.object.GetName()
		got = append(got, name)
		objs, err := documents.Parse(content(t, want, name+"/application.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		expected := objs[0].Object
		if path, _, _ := unstructured.NestedString(expected, "spec", "source", "path"); path == name+"/chart" {
			_ = unstructured.SetNestedField(expected, "local/"+name, "spec", "source", "path")
			if _, err := b.Chart("local/" + name); err != nil {
				t.Error(err)
			}
		}
		if !reflect.DeepEqual(c.object.Object, expected) {
			t.Errorf("%s: got\n%v\nwant\n%v", name, c.object.Object, expected)
		}
	}
	slices.Sort(got)
	if !reflect.DeepEqual(got, []string{"gpu", "gpu-post", "monitor", "tuning", "web"}) {
		t.Errorf("children %q", got)
	}
}

// Helm must not execute text from the recipe that looks like a template action.
func TestWrapper_BracesInValues(t *testing.T) {
	in := fixture()
	in.Components[0].Source = "https://example.com/{{ fail \"run\" }}"
	b := mustBundle(t, argoHelmOCI{}, in)
	children, err := renderWrapper(t, b, map[string]any{"repoURL": "oci://x/y", "targetRevision": "0.0.1", "render": "children"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range children {
		if url, _, _ := unstructured.NestedString(c.object.Object, "spec", "source", "repoURL"); c.object.GetName() == "web" && url != in.Components[0].Source {
			t.Errorf("the repository became %q", url)
		}
	}
}

func TestWrapper_VersionNotSemantic(t *testing.T) {
	in := fixture()
	in.TargetRevision = "1a2b3c4-argocd-helm-oci"
	if _, err := (argoHelmOCI{}).Bundle(context.Background(), in); err == nil || !strings.Contains(err.Error(), "0.0.0-") {
		t.Errorf("got %v", err)
	}
}

func TestFlux_RepositoryNames(t *testing.T) {
	for url, want := range map[string]string{
		"oci://127.0.0.1:5500/charts":               "127-0-0-1-5500-charts",
		"https://helm.ngc.nvidia.com/nvidia/":       "helm-ngc-nvidia-com-nvidia",
		"https://" + strings.Repeat("a", 59) + "/b": strings.Repeat("a", 59),
		"://": "charts",
	} {
		if got := repositoryName(url); got != want {
			t.Errorf("%s: got %s, want %s", url, got, want)
		}
	}
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
	if err := b.WriteTo(dir, false); !errors.Is(err, ErrNotEmpty) {
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
