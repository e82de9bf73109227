package intake

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
)

// What the lanes cannot take as it stands, or what leads out of the bundle, is refused with the
// file and the line; nothing of it is guessed.
func TestForms_Unknown(t *testing.T) {
	made := map[string]string{}
	for _, deployer := range []string{bundle.Helm, bundle.ArgoCDOCI, bundle.ArgoCDHelmOCI, bundle.FluxOCI, bundle.ArgoCDGit, bundle.FluxGit} {
		made[deployer] = written(t, elsewhere(t, mustDeployer(t, deployer), ownInput(t, "kind")))
	}
	const child, release = "cert-manager/application.yaml", "cert-manager/helmrelease.yaml"
	const helmAPI = "apiVersion: helm.toolkit.fluxcd.io/v2\n"
	for name, tc := range map[string]struct {
		deployer, file, from, to string
		want                     []string
	}{
		"several sources":          {bundle.ArgoCDOCI, child, "  source:\n", "  sources: []\n  source:\n", []string{child + ":", "several sources; $values of another source work with Git only"}},
		"parameters":               {bundle.ArgoCDOCI, child, "      releaseName:", "      parameters:\n      - {name: 'a[', value: b}\n      releaseName:", []string{child + ":", "Application cert-manager: parameter a["}},
		"options for a plugin":     {bundle.ArgoCDOCI, child, "      releaseName:", "      passCredentials: true\n      releaseName:", []string{child + ":", "spec.source.helm.passCredentials of Application"}},
		"a branch to write to":     {bundle.ArgoCDOCI, child, "spec:\n", "spec:\n  sourceHydrator: {}\n", []string{child + ":", "spec.sourceHydrator of Application may configure a controller"}},
		"an operation of its own":  {bundle.ArgoCDOCI, "app-of-apps.yaml", "spec:\n", "operation: {sync: {manifests: []}}\nspec:\n", []string{"app-of-apps.yaml:", "operation.sync.manifests of Application"}},
		"the same in a chart":      {bundle.ArgoCDHelmOCI, "templates/children/cert-manager.yaml", "spec:\n", "spec:\n  sourceHydrator: {}\n", []string{"cert-manager.yaml", "spec.sourceHydrator of Application"}},
		"another cluster":          {bundle.FluxOCI, release, "spec:\n", "spec:\n  kubeConfig: {}\n", []string{release + ":", "spec.kubeConfig of HelmRelease"}},
		"manifests that are run":   {bundle.ArgoCDOCI, "app-of-apps.yaml", "    directory:\n", "    directory:\n      jsonnet: {}\n", []string{"app-of-apps.yaml:", "spec.source.directory.jsonnet of Application"}},
		"a file for a value":       {bundle.ArgoCDOCI, child, "      releaseName:", "      fileParameters: []\n      releaseName:", []string{child + ":", "spec.source.helm.fileParameters of Application"}},
		"a second Kustomization":   {bundle.FluxOCI, release, helmAPI, "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: second, namespace: flux-system}\nspec: {path: ./}\n---\n" + helmAPI, []string{release + ":1", "Kustomization second would have Flux build another directory"}},
		"the harness's own policy": {bundle.FluxOCI, release, helmAPI, "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata: {name: aicr-action-flux}\n---\n" + helmAPI, []string{release + ":1", "ValidatingAdmissionPolicy aicr-action-flux has a name that this program keeps"}},
		"a plugin":                 {bundle.ArgoCDOCI, child, "    helm:\n", "    plugin: {}\n    helm:\n", []string{child + ":", "spec.source.plugin"}},
		"another namespace":        {bundle.ArgoCDOCI, child, "  namespace: argocd\n", "  namespace: elsewhere\n", []string{child + ":", `in the namespace "elsewhere"`}},
		"a wave in words":          {bundle.ArgoCDOCI, child, `sync-wave: "0"`, "sync-wave: first", []string{child + ":", `sync wave "first"`}},
		"another kind":             {bundle.ArgoCDOCI, child, "kind: Application", "kind: ApplicationSet", []string{child + ":1", `kind "ApplicationSet"`}},
		"a chart outside":          {bundle.ArgoCDOCI, "gpu-operator-post/application.yaml", "path: gpu-operator-post/chart", "path: ../../etc", []string{"gpu-operator-post/application.yaml:", "leads out of the bundle"}},
		"a directory of manifests": {bundle.ArgoCDOCI, "gpu-operator-post/application.yaml", "path: gpu-operator-post/chart", "path: gpu-operator-post", []string{"gpu-operator-post of the bundle has no Chart.yaml"}},
		"a Git repository":         {bundle.ArgoCDOCI, "gpu-operator-post/application.yaml", "repoURL: oci://elsewhere.example.org/aicr/kind", "repoURL: https://example.org/a.git", []string{"source https://example.org/a.git of Application gpu-operator-post is not understood"}},
		"no YAML":                  {bundle.ArgoCDOCI, "app-of-apps.yaml", "spec:", "spec: [", []string{"app-of-apps.yaml:"}},
		"patches":                  {bundle.FluxOCI, "kustomization.yaml", "resources:", "patches: []\nresources:", []string{"kustomization.yaml:", "patches is not understood"}},
		"a resource outside":       {bundle.FluxOCI, "kustomization.yaml", "- helmrepositories.yaml", "- ../helmrepositories.yaml", []string{"kustomization.yaml:", "leads out of the bundle"}},
		"an address for a file":    {bundle.FluxOCI, "kustomization.yaml", "- helmrepositories.yaml", "- https://example.org/x.yaml", []string{"kustomization.yaml:", "is not a file of the bundle"}},
		"values from elsewhere":    {bundle.FluxOCI, release, "spec:\n", "spec:\n  valuesFrom: [{kind: Secret, name: x}]\n", []string{release + ":", "spec.valuesFrom of HelmRelease cert-manager: the bundle has no Secret x"}},
		"post-renderers":           {bundle.FluxOCI, release, "spec:\n", "spec:\n  postRenderers: [{kustomize: {patches: [{}]}}]\n", []string{release + ":", "spec.postRenderers: a patch has no text"}},
		"a missing repository":     {bundle.FluxOCI, release, "kind: HelmRepository", "kind: GitRepository", []string{release + ":", "want one of a HelmRepository of the bundle"}},
		"a dependency that is not": {bundle.FluxOCI, release, "spec:\n", "spec:\n  dependsOn: [{name: nobody}]\n", []string{release + ":", "depends on nobody, which is not in the bundle"}},
		"a circle":                 {bundle.FluxOCI, release, "spec:\n", "spec:\n  dependsOn: [{name: cert-manager}]\n", []string{release + ":", "in a circle"}},
		"an artifact outside":      {bundle.FluxOCI, "gpu-operator-post/artifactgenerator.yaml", "@bundle/gpu-operator-post/chart/**", "@bundle/../../**", []string{"artifactgenerator.yaml:", "leads out of the bundle"}},
		"no version of a chart":    {bundle.ArgoCDHelmOCI, "Chart.yaml", "version: ", "version: x", []string{"Chart.yaml", "is invalid"}},
		"a template that fails":    {bundle.ArgoCDHelmOCI, "templates/children/cert-manager.yaml", "metadata:", `metadata: {{ fail "no" }}`, []string{"Chart.yaml", "does not render"}},
		"a Secret among them":      {bundle.ArgoCDHelmOCI, "templates/children/cert-manager.yaml", "kind: Application", "kind: Secret", []string{`kind "Secret" is not understood here`}},
		"a hook":                   {bundle.ArgoCDHelmOCI, "templates/root-application.yaml", "  name:", "  annotations: {helm.sh/hook: post-install}\n  name:", []string{"has hooks"}},
		"three sources":            {bundle.ArgoCDGit, child, "  sources:\n", "  sources:\n  - {repoURL: a, targetRevision: b, ref: c}\n", []string{child + ":", "the sources of Application cert-manager are not understood"}},
		"values of another source": {bundle.ArgoCDGit, child, "repoURL: http://elsewhere.example.org/aicr/kind.git", "repoURL: http://example.org/x.git", []string{child + ":", "in the repository http://example.org/x.git, which is not that of this bundle"}},
		"values of another name":   {bundle.ArgoCDGit, child, "$values/", "$other/", []string{child + ":", "want $values/PATH, a file of this bundle"}},
		"values outside":           {bundle.ArgoCDGit, child, "$values/", "$values/../", []string{child + ":", "leads out of the bundle"}},
		"values that are not":      {bundle.ArgoCDGit, child, "$values/cert-manager", "$values/nobody", []string{child + ":", "values file nobody/values.yaml is not in the bundle"}},
		"namespace called v3":      {bundle.ArgoCDOCI, child, "      releaseName:", "      namespace: v3\n      releaseName:", []string{child + ":", "spec.source.helm.namespace of Application cert-manager is not understood"}},
		"values by an address":     {bundle.ArgoCDOCI, child, "      releaseName:", "      valueFiles: [\"https://example.org/v.yaml\"]\n      releaseName:", []string{child + ":", "spec.source.helm.valueFiles of Application cert-manager is not understood"}},
		"Git from a registry":      {bundle.FluxOCI, release, helmAPI, "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: a, namespace: flux-system}\nspec: {url: x}\n---\n" + helmAPI, []string{release + ":1", "GitRepository a is not understood", "run it in the lane flux-git"}},
		"submodules of Flux":       {bundle.FluxGit, release, helmAPI, "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: a, namespace: flux-system}\nspec: {url: x, recurseSubmodules: true}\n---\n" + helmAPI, []string{release + ":", "spec.recurseSubmodules of GitRepository"}},
		"a chart of another Git":   {bundle.FluxGit, "gpu-operator-post/helmrelease.yaml", "name: aicr-bundle", "name: another", []string{"gpu-operator-post/helmrelease.yaml:", "want a directory of a GitRepository of the bundle"}},
		"a chart outside of Git":   {bundle.FluxGit, "gpu-operator-post/helmrelease.yaml", "chart: ./gpu-operator-post/chart", "chart: ../../etc", []string{"gpu-operator-post/helmrelease.yaml:", "leads out of the bundle"}},
		"an address that is made":  {bundle.ArgoCDHelmOCI, "templates/children/cert-manager.yaml", "repoURL: https://charts.jetstack.io", `repoURL: {{ printf "https://charts.jetstack.io" }}`, []string{"cannot be changed to the cell's registry"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "bundle")
			if err := os.CopyFS(dir, os.DirFS(made[tc.deployer])); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(dir, filepath.FromSlash(tc.file))
			text, err := os.ReadFile(file)
			if err != nil || !strings.Contains(string(text), tc.from) {
				t.Fatalf("%s has no %q: %v", tc.file, tc.from, err)
			}
			if err := os.WriteFile(file, []byte(strings.Replace(string(text), tc.from, tc.to, 1)), 0o644); err != nil {
				t.Fatal(err)
			}
			if err := os.Remove(filepath.Join(dir, checksumsFile)); err != nil {
				t.Fatal(err)
			}
			own := ownInput(t, "kind")
			d := mustDeployer(t, tc.deployer)
			b, err := Open(t.Context(), dir, d)
			if err == nil {
				in := bundle.Input{Recipe: b.Resolved("kind"), Charts: own.Charts, PlainHTTP: true, KubeVersion: own.KubeVersion, APIs: own.APIs}
				_, _, err = b.Make(t.Context(), in.InRegistry(cellRegistry, cellRegistry, d.Name()))
			}
			if err == nil {
				t.Fatal("no error")
			}
			for _, part := range tc.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q is not in: %v", part, err)
				}
			}
		})
	}
}

// Links, files of other kinds and files that are too large are refused; so is a file that
// checksums.txt does not fit.
func TestReadTree(t *testing.T) {
	for name, tc := range map[string]struct {
		make func(dir string) error
		want string
	}{
		"a link to a file":      {func(dir string) error { return os.Symlink("/etc/passwd", filepath.Join(dir, "a")) }, "a is a symbolic link"},
		"a link to a directory": {func(dir string) error { return os.Symlink("/etc", filepath.Join(dir, "a")) }, "a is a symbolic link"},
		"a large file":          {func(dir string) error { return os.Truncate(filepath.Join(dir, "x"), mostFile+1) }, "larger than 10 MiB"},
		"another content": {func(dir string) error {
			return os.WriteFile(filepath.Join(dir, checksumsFile), []byte(strings.Repeat("0", 64)+"  x\n"), 0o644)
		}, checksumsFile + ":1: x has the SHA-256"},
		"a file that is not there": {func(dir string) error {
			return os.WriteFile(filepath.Join(dir, checksumsFile), []byte(strings.Repeat("0", 64)+"  y\n"), 0o644)
		}, checksumsFile + ":1: y is listed and is not in the bundle: copy all of its files"},
		"a sum of another file": {func(dir string) error {
			return os.WriteFile(filepath.Join(dir, checksumsFile), []byte(strings.Repeat("0", 64)+"  ../y\n"), 0o644)
		}, checksumsFile + `:1: "../y" leads out of the bundle`},
		"no sums": {func(dir string) error {
			return os.WriteFile(filepath.Join(dir, checksumsFile), []byte("hello\n"), 0o644)
		}, checksumsFile + ":1: not a line of sha256sum"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "x"), nil, 0o644); err != nil {
				t.Fatal(err)
			}
			if err := tc.make(dir); err != nil {
				t.Fatal(err)
			}
			if _, err := Open(t.Context(), dir, mustDeployer(t, bundle.Helm)); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

// A directory for the Git lanes with submodules, Git LFS or hooks is refused, each with its own
// message; the other lanes do not follow any of them.
func TestGitParts(t *testing.T) {
	made := written(t, elsewhere(t, mustDeployer(t, bundle.FluxGit), ownInput(t, "kind")))
	for name, tc := range map[string]struct{ file, content, want string }{
		"a submodule":    {".gitmodules", "[submodule \"x\"]\n", ".gitmodules: the repository has a submodule"},
		"Git LFS":        {".gitattributes", "*.tgz filter=lfs\n", ".gitattributes:1: the repository uses Git LFS"},
		"an LFS pointer": {"a.tgz", "version https://git-lfs.github.com/spec/v1\n", "a.tgz:1: the repository uses Git LFS"},
		"a hook":         {".git/hooks/post-checkout", "#!/bin/sh\n", ".git/hooks/post-checkout: the repository has a hook"},
		"a sample":       {".git/hooks/pre-push.sample", "#!/bin/sh\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "bundle")
			if err := os.CopyFS(dir, os.DirFS(made)); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(dir, filepath.FromSlash(tc.file))
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(tc.content), 0o644); err != nil {
				t.Fatal(err)
			}
			_, err := Open(t.Context(), dir, mustDeployer(t, bundle.FluxGit))
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

// A file by which Argo CD would change a source past every check is refused in its lanes only.
func TestForms_SourceOverrides(t *testing.T) {
	for _, deployer := range []string{bundle.ArgoCDOCI, bundle.ArgoCDHelmOCI, bundle.ArgoCDGit, bundle.Helm} {
		dir := written(t, elsewhere(t, mustDeployer(t, deployer), ownInput(t, "kind")))
		if err := os.Remove(filepath.Join(dir, checksumsFile)); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, ".argocd-source-cert-manager.yaml"), []byte("plugin: {name: x}\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := Open(t.Context(), dir, mustDeployer(t, deployer))
		if deployer == bundle.Helm {
			if err != nil {
				t.Errorf("%s: %v", deployer, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), ".argocd-source-cert-manager.yaml:1: Argo CD merges this file into the source") {
			t.Errorf("%s: got %v", deployer, err)
		}
	}
}
