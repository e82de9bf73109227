package intake

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
)

// small writes a bundle of few files, and gives its directory.
func small(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "bundle")
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(indented(name, content)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// with gives the files with others for some; an empty one is left out.
func with(files map[string]string, others ...string) map[string]string {
	all := map[string]string{}
	for name, content := range files {
		all[name] = content
	}
	for i := 0; i+1 < len(others); i += 2 {
		if all[others[i]] = others[i+1]; others[i+1] == "" {
			delete(all, others[i])
		}
	}
	return all
}

// madeOf reads a small bundle and makes it for a cell.
func madeOf(t *testing.T, dir, deployer string) (*Bundle, *bundle.Bundle) {
	t.Helper()
	d := mustDeployer(t, deployer)
	b, err := Open(t.Context(), dir, d)
	if err != nil {
		t.Fatal(err)
	}
	_, charts := shipped(t)
	in := bundle.Input{Recipe: b.Resolved("small"), Charts: charts, PlainHTTP: true, KubeVersion: "v1.36.1", APIs: bundle.StackAPIs()}
	_, made, err := b.Make(t.Context(), in.InRegistry(cellRegistry, cellRegistry, d.Name()))
	if err != nil {
		t.Fatal(err)
	}
	return b, made
}

// replicasOf are those that a bundle promises for a workload.
func replicasOf(t *testing.T, b *bundle.Bundle, name string) int {
	t.Helper()
	i := slices.IndexFunc(b.Expectation.Workloads, func(w bundle.Workload) bool { return strings.HasSuffix(w.Name, name) })
	if i < 0 {
		t.Fatalf("no workload %s among %v", name, outlines(&b.Expectation))
	}
	return b.Expectation.Workloads[i].Replicas
}

func fluxBundle() map[string]string {
	return map[string]string{
		"kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n- sources/jetstack.yaml\n- cert-manager/configmap-values.yaml\n- cert-manager/helmrelease.yaml\n",
		"sources/jetstack.yaml": "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {name: jetstack, namespace: flux-system}\n" +
			"spec: {interval: 5m, url: https://charts.example.org}\n",
		"cert-manager/configmap-values.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: cert-manager-values, namespace: flux-system}\ndata:\n" +
			"\tvalues.yaml: |\n\t\twebhook:\n\t\t\treplicaCount: 2\n\t\tcainjector:\n\t\t\treplicaCount: 5\n",
		"cert-manager/helmrelease.yaml": "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: cert-manager, namespace: flux-system}\nspec:\n" +
			"\tinterval: 10m\n\ttargetNamespace: cert-manager\n\tchart:\n\t\tspec:\n\t\t\tchart: cert-manager\n\t\t\tversion: v1.17.2\n\t\t\tsourceRef: {kind: HelmRepository, name: jetstack, namespace: flux-system}\n" +
			"\tvaluesFrom:\n\t- {kind: ConfigMap, name: cert-manager-values}\n\tvalues:\n\t\tcainjector:\n\t\t\treplicaCount: 4\n",
	}
}

// A HelmRelease's values from ConfigMaps and Secrets are those that the bundle promises; the inline
// ones are laid over them, as helm-controller does.
func TestFlux_ValuesFrom(t *testing.T) {
	const release, from = "cert-manager/helmrelease.yaml", "\t- {kind: ConfigMap, name: cert-manager-values}\n"
	files := fluxBundle()
	b, made := madeOf(t, small(t, files), bundle.FluxOCI)
	if got := [2]int{replicasOf(t, made, "webhook"), replicasOf(t, made, "cainjector")}; got != [2]int{2, 4} {
		t.Errorf("replicas %v, want those of the ConfigMap, 2, and the inline ones, 4", got)
	}
	if at := b.form.units()[0].values.nearest("webhook.replicaCount"); !strings.HasSuffix(at.File, "configmap-values.yaml") || at.Line != 7 {
		t.Errorf("the value is at %s, want line 7 of configmap-values.yaml", at)
	}
	if notes := strings.Join(b.NotVerified(made), "\n"); !strings.Contains(notes, "filled in where it is installed") || strings.Contains(notes, "nothing here verifies it") {
		t.Errorf("what is filled in later is not said, or the ConfigMap counts as unknown: %s", notes)
	}

	secret := "apiVersion: v1\nkind: Secret\nmetadata: {name: more, namespace: flux-system}\ndata:\n\tcount: " + base64.StdEncoding.EncodeToString([]byte("7")) + "\n"
	more := from + "\t- {kind: Secret, name: more, valuesKey: count, targetPath: webhook.replicaCount}\n\t- {kind: Secret, name: nobody, optional: true}\n"
	_, made = madeOf(t, small(t, with(files, release, secret+"---\n"+strings.Replace(files[release], from, more, 1))), bundle.FluxOCI)
	if got := replicasOf(t, made, "webhook"); got != 7 {
		t.Errorf("%d replicas, want those of the Secret at targetPath, 7", got)
	}
}

// Values that a HelmRelease cannot have are refused with file and line.
func TestFlux_ValuesFromUnknown(t *testing.T) {
	const release, store = "cert-manager/helmrelease.yaml", "cert-manager/configmap-values.yaml"
	for name, tc := range map[string]struct{ file, from, to, want string }{
		"missing":           {store, "name: cert-manager-values", "name: other", "helmrelease.yaml:13: spec.valuesFrom of HelmRelease cert-manager: the bundle has no ConfigMap cert-manager-values in the namespace flux-system"},
		"another namespace": {store, "flux-system", "elsewhere", "the bundle has no ConfigMap cert-manager-values in the namespace flux-system"},
		"no such key":       {store, "values.yaml:", "other.yaml:", "has no key values.yaml"},
		"no mapping":        {store, "webhook:\n", "- webhook:\n", "configmap-values.yaml:5: values.yaml of ConfigMap cert-manager-values is no YAML mapping of values"},
		"a field":           {release, "name: cert-manager-values}", "name: cert-manager-values, literal: true}", "literal is not understood"},
		"encrypted":         {store, "data:\n", "sops: {}\ndata:\n", "configmap-values.yaml:4: ConfigMap cert-manager-values is encrypted by SOPS"},
	} {
		t.Run(name, func(t *testing.T) {
			files := fluxBundle()
			_, err := Open(t.Context(), small(t, with(files, tc.file, strings.Replace(files[tc.file], tc.from, tc.to, 1))), mustDeployer(t, bundle.FluxOCI))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

func helmBundle() map[string]string {
	return map[string]string{
		"001-cert-manager/upstream.env":        "CHART=cert-manager\nREPO=https://charts.example.org\nVERSION=v1.17.2\n",
		"001-cert-manager/values.yaml":         "webhook:\n\treplicaCount: 3\n",
		"001-cert-manager/cluster-values.yaml": "webhook:\n\treplicaCount: 2\n",
		"001-cert-manager/install.sh": "source ./upstream.env\nhelm upgrade --install cert-manager \"${CHART}\" --repo \"${REPO}\" --version \"${VERSION}\" \\\n" +
			"\t--namespace cert-manager -f values.yaml -f cluster-values.yaml\n",
	}
}

// The values of a cluster are laid over those of the release, in the forms of Helm and Argo CD too.
func TestDynamicValues(t *testing.T) {
	application := func(source string) string {
		return "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: gate, namespace: argocd}\nspec:\n\tdestination: {namespace: gate}\n\tsource:\n" + source
	}
	for name, tc := range map[string]struct {
		deployer, workload string
		files              map[string]string
	}{
		"helm": {bundle.Helm, "webhook", helmBundle()},
		"argocd with a chart of the bundle": {bundle.ArgoCDOCI, "gate", map[string]string{
			"app-of-apps.yaml":                "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: root, namespace: argocd}\nspec:\n\tsource: {repoURL: oci://own.example.org/a, path: .}\n",
			"001-gate/application.yaml":       application("\t\trepoURL: oci://own.example.org/a\n\t\tpath: 001-gate\n\t\thelm:\n\t\t\tvalueFiles: [values.yaml, cluster-values.yaml]\n"),
			"001-gate/Chart.yaml":             "apiVersion: v2\nname: gate\nversion: 0.1.0\n",
			"001-gate/values.yaml":            "replicas: 1\n",
			"001-gate/cluster-values.yaml":    "replicas: 2\n",
			"001-gate/templates/objects.yaml": workload("Deployment", "gate", "\treplicas: {{ .Values.replicas }}\n"),
		}},
		"argocd-helm": {bundle.ArgoCDHelmOCI, "webhook", map[string]string{
			"Chart.yaml":  "apiVersion: v2\nname: stack\nversion: 0.1.0\n",
			"values.yaml": "repoURL: \"\"\ntargetRevision: \"\"\ncertmanager:\n\twebhook:\n\t\treplicaCount: 2\n", "static/cert-manager.yaml": "webhook:\n\treplicaCount: 3\n",
			"templates/root.yaml": "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: root, namespace: argocd}\nspec:\n\tsource:\n" +
				"\t\trepoURL: {{ .Values.repoURL }}/{{ .Chart.Name }}\n\t\ttargetRevision: {{ .Values.targetRevision }}\n\t\tpath: .\n\t\thelm:\n\t\t\tvaluesObject:\n{{ toYaml .Values | indent 8 }}\n",
			"templates/cert-manager.yaml": "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: cert-manager, namespace: argocd}\nspec:\n\tdestination: {namespace: cert-manager}\n\tsource:\n" +
				"\t\trepoURL: https://charts.example.org\n\t\tchart: cert-manager\n\t\ttargetRevision: v1.17.2\n\t\thelm:\n\t\t\tvalues: |-\n" +
				"\t\t\t\t{{- $own := index .Values \"certmanager\" }}\n\t\t\t\t{{- mustMergeOverwrite (.Files.Get \"static/cert-manager.yaml\" | fromYaml) $own | toYaml | nindent 8 }}\n",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			b, made := madeOf(t, small(t, tc.files), tc.deployer)
			if got := replicasOf(t, made, tc.workload); got != 2 {
				t.Errorf("%d replicas, want the cluster's, 2", got)
			}
			if notes := strings.Join(b.NotVerified(made), "\n"); !strings.Contains(notes, "filled in where it is installed") {
				t.Errorf("what is filled in later is not said: %s", notes)
			}
			if at := b.form.units()[0].values.nearest("webhook.replicaCount"); tc.workload == "webhook" && (strings.Contains(at.File, "static") || at.File == "") {
				t.Errorf("the value is said to be at %s", at)
			}
		})
	}
}

// workload is an object with pods, of a chart in a bundle. spec is what it has besides them.
func workload(kind, name, spec string) string {
	version := map[string]string{"Job": "batch/v1"}[kind]
	if version == "" {
		version, spec = "apps/v1", spec+"\tselector: {matchLabels: {app: "+name+"}}\n"
	}
	return "apiVersion: " + version + "\nkind: " + kind + "\nmetadata: {name: " + name + "}\nspec:\n" + spec +
		"\ttemplate:\n\t\tmetadata: {labels: {app: " + name + "}}\n\t\tspec:\n\t\t\tcontainers: [{name: a, image: example.org/a}]\n"
}

// indented writes tabs, which are short in a test, as YAML has them; an archive stays as it is.
func indented(name, content string) string {
	if strings.HasSuffix(name, ".tgz") {
		return content
	}
	return strings.ReplaceAll(content, "\t", "  ")
}
