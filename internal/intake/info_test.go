package intake

import (
	"crypto/sha256"
	"fmt"
	"os"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/nvidia/aicr-action/internal/bundle"
)

// gatedBundle has a release, the folder that waits for it, a chart that is inside, and the index.
func gatedBundle(t *testing.T) map[string]string {
	t.Helper()
	install := func(name string) string {
		return "helm upgrade --install " + name + " ./ --namespace cert-manager -f values.yaml -f cluster-values.yaml\n"
	}
	chartOf := func(name string) string { return "apiVersion: v2\nname: " + name + "\nversion: 0.1.0\n" }
	tarball, err := chartutil.Save(&chart.Chart{
		Metadata:  &chart.Metadata{APIVersion: "v2", Name: "inner", Version: "1.2.3"},
		Values:    map[string]any{"replicas": 1},
		Templates: []*chart.File{{Name: "templates/objects.yaml", Data: []byte(strings.ReplaceAll(workload("Deployment", "inside", "\treplicas: {{ .Values.replicas }}\n"), "\t", "  "))}},
		Raw:       []*chart.File{{Name: "values.yaml", Data: []byte("replicas: 1\n")}},
	}, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	packed, err := os.ReadFile(tarball)
	if err != nil {
		t.Fatal(err)
	}
	return with(helmBundle(),
		"002-cert-manager-readiness/install.sh", install("cert-manager-readiness"),
		"002-cert-manager-readiness/Chart.yaml", chartOf("cert-manager-readiness"), "002-cert-manager-readiness/cluster-values.yaml", "{}\n",
		"002-cert-manager-readiness/values.yaml", "{}\n",
		"002-cert-manager-readiness/templates/gate.yaml", "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: gate}\n---\n"+workload("Job", "gate", "\tbackoffLimit: 3\n"),
		"003-inner/install.sh", install("inner"), "003-inner/Chart.yaml", chartOf("inner-wrapper")+"dependencies:\n- {name: inner, version: 1.2.3, repository: https://charts.example.org}\n",
		"003-inner/values.yaml", "inner:\n\treplicas: 3\n", "003-inner/cluster-values.yaml", "{}\n", "003-inner/charts/inner-1.2.3.tgz", string(packed),
		"provenance.yaml", fmt.Sprintf("kind: BundleProvenance\nvendoredCharts:\n- name: inner\n\ttarballName: inner-1.2.3.tgz\n\tsha256: %x\n", sha256.Sum256(packed)),
		"bundle-info.yaml", `apiVersion: aicr.run/v1
kind: BundleInfo
build:
  deployer: helm
layout:
  provenance: provenance.yaml
  releases:
  - {name: cert-manager, component: cert-manager, namespace: cert-manager, path: 001-cert-manager, manifest: install.sh, chart: cert-manager, version: 1.17.2}
  - {name: cert-manager-readiness, component: cert-manager, namespace: cert-manager, path: 002-cert-manager-readiness/}
  - {name: inner, component: inner, namespace: cert-manager, path: ./003-inner, chart: inner, version: v1.2.3}
`)
}

// The Job that waits for a component gets the toleration of simulated nodes, which is an override; a
// chart inside the bundle has the values below its name.
func TestGatesAndVendoredCharts(t *testing.T) {
	b, made := madeOf(t, small(t, gatedBundle(t)), bundle.Helm)
	if len(b.warnings) > 0 {
		t.Errorf("warnings of a good bundle: %q", b.warnings)
	}
	tolerations := -1
	for _, w := range made.Expectation.Workloads {
		if w.Kind == "Job" {
			tolerations = len(w.PodSpec.Tolerations)
		}
	}
	if tolerations != 1 {
		t.Errorf("the gate's Job has %d tolerations, want that of simulated nodes", tolerations)
	}
	if all := strings.Join(made.Expectation.Overrides, "\n"); !strings.Contains(all, "002-cert-manager-readiness/templates/gate.yaml tolerates kwok.x-k8s.io/node=fake:NoSchedule") {
		t.Errorf("the toleration is not among the overrides: %s", all)
	}
	if got := replicasOf(t, made, "inside"); got != 3 {
		t.Errorf("%d replicas of the vendored chart, want those of the bundle's values, 3", got)
	}
	if string(b.tree.original["002-cert-manager-readiness/templates/gate.yaml"].Content) == string(b.tree.files["002-cert-manager-readiness/templates/gate.yaml"].Content) {
		t.Error("the original file is not kept")
	}
}

func TestTolerated(t *testing.T) {
	job := strings.ReplaceAll(workload("Job", "a", ""), "\t", "  ")
	const item = "      - {key: kwok.x-k8s.io/node, operator: Equal, value: fake, effect: NoSchedule}\n"
	const containers = "      containers: [{name: a, image: example.org/a}]\n"
	for name, tc := range map[string]struct{ text, want string }{
		"none":        {job, strings.Replace(job, containers, "      tolerations:\n"+item+containers, 1)},
		"an empty":    {job + "      tolerations: []\n", job + "      tolerations:\n" + item},
		"another":     {job + "      tolerations:\n        - key: b\n", job + "      tolerations:\n  " + item + "        - key: b\n"},
		"its own":     {job + "      tolerations:\n      - key: kwok.x-k8s.io/node\n", ""},
		"a template":  {job + "      tolerations: {{ toJson .Values.t }}\n", ""},
		"no Job":      {strings.Replace(job, "kind: Job", "kind: CronJob", 1), ""},
		"no template": {"kind: Job\nspec: {}\n", ""},
	} {
		got, ok := gateTolerated(tc.text, bundle.KwokScheduling().SystemTolerations[0])
		if ok != (tc.want != "") || ok && got != tc.want {
			t.Errorf("%s: %v, got:\n%s\nwant:\n%s", name, ok, got, tc.want)
		}
	}
}

// An index that is wrong about a release, and a chart that is not the one that was vendored, are refused
// with file and line, each in its own words.
func TestInfo_Lies(t *testing.T) {
	const info, provenance = "bundle-info.yaml", "provenance.yaml"
	for name, tc := range map[string]struct{ file, from, to, want string }{
		"another chart":     {info, "chart: cert-manager,", "chart: trust-manager,", "bundle-info.yaml:8: release cert-manager is said to have the chart trust-manager, and the bundle installs cert-manager ("},
		"another version":   {info, "version: 1.17.2", "version: 1.18.0", "bundle-info.yaml:8: release cert-manager is said to have the version 1.18.0, and the bundle installs v1.17.2 ("},
		"a vendored one":    {info, "version: v1.2.3", "version: v1.2.4", "release inner is said to have the version v1.2.4, and the bundle installs 1.2.3 ("},
		"another namespace": {info, "namespace: cert-manager, path: 001", "namespace: other, path: 001", "bundle-info.yaml:8: release cert-manager is said to be in the namespace other, and the bundle installs it in cert-manager"},
		"a folder":          {info, "path: 001-cert-manager", "path: 009-cert-manager", "bundle-info.yaml:8: release cert-manager is said to be in 009-cert-manager, which the bundle does not have"},
		"a manifest":        {info, "manifest: install.sh", "manifest: a.yaml", "release cert-manager is said to have the manifest a.yaml, which the bundle does not have"},
		"a release":         {info, "name: inner, component", "name: outer, component", "bundle-info.yaml:10: release outer is not one that the bundle deploys; it deploys cert-manager, cert-manager-readiness, inner"},
		"twice":             {info, "name: inner, component", "name: cert-manager, component", "bundle-info.yaml:10: release cert-manager is listed twice"},
		"one less":          {info, "  - {name: inner,", "#", "bundle-info.yaml:8: the bundle deploys the release inner ("},
		"another deployer":  {info, "deployer: helm", "deployer: flux", "bundle-info.yaml:4: the bundle was made for the deployer flux, and the lane helm takes those for helm or helmfile"},
		"no index":          {info, "kind: BundleInfo", "kind: Other", "want one document of the kind BundleInfo"},
		"no list":           {info, "releases:", "others:", "has no list layout.releases"},
		"other bytes":       {provenance, "sha256: ", "sha256: 0", "provenance.yaml:5: the vendored chart of inner, 003-inner/charts/inner-1.2.3.tgz, has another SHA-256 than 0"},
		"no tarball":        {provenance, "inner-1.2.3.tgz", "inner-9.tgz", "provenance.yaml:4: the vendored chart of inner, inner-9.tgz, is not in the bundle"},
	} {
		t.Run(name, func(t *testing.T) {
			files := gatedBundle(t)
			changed := strings.Replace(files[tc.file], tc.from, tc.to, 1)
			if changed == files[tc.file] {
				t.Fatal("nothing is changed")
			}
			_, err := Open(t.Context(), small(t, with(files, tc.file, changed)), mustDeployer(t, bundle.Helm))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
	files := gatedBundle(t)
	text := strings.Replace(files[info], "provenance: provenance.yaml", "entrypoint: deploy.sh", 1)
	i, j := strings.Index(text, "  - {name: cert-manager-r"), strings.Index(text, "  - {name: inner")
	b, err := Open(t.Context(), small(t, with(files, info, text[:i]+text[j:]+text[i:j])), mustDeployer(t, bundle.Helm))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"layout.entrypoint is deploy.sh, which the bundle does not have", "in another order than that in which the bundle installs them"} {
		if !strings.Contains(strings.Join(b.warnings, "\n"), want) {
			t.Errorf("%q is not among the warnings: %q", want, b.warnings)
		}
	}
}

// An index of another version than the one that is known is read, and a warning says so; a chart inside the
// bundle that cannot be read is named with the directory that has it.
func TestInfo_Version(t *testing.T) {
	files := gatedBundle(t)
	files["bundle-info.yaml"] = strings.Replace(files["bundle-info.yaml"], "aicr.run/v1\n", "aicr.run/v7\n", 1)
	b, _ := madeOf(t, small(t, files), bundle.Helm)
	if got := strings.Join(b.warnings, "\n"); !strings.Contains(got, "bundle-info.yaml:1: apiVersion is aicr.run/v7, and the one that is known is aicr.run/v1") {
		t.Errorf("got %q", got)
	}
	files["003-inner/charts/inner-1.2.3.tgz"] = "no archive"
	delete(files, "provenance.yaml")
	files["bundle-info.yaml"] = strings.Replace(files["bundle-info.yaml"], "  provenance: provenance.yaml\n", "", 1)
	if _, err := Open(t.Context(), small(t, files), mustDeployer(t, bundle.Helm)); err == nil || !strings.Contains(err.Error(), "/003-inner: charts/inner-1.2.3.tgz: ") {
		t.Errorf("got %v", err)
	}
}
