package app

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// namesakes are two namespaces whose releases take values from a ConfigMap of the same name.
func namesakes() map[string]string {
	files := flux(map[string]string{"apps/kustomization.yaml": "", "apps/left-out.yaml": ""})
	for _, at := range []string{"web", "shop"} {
		files["apps/"+at+".yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: sizes, namespace: " + at + "}\ndata: {values.yaml: 'size: " + at + "'}\n---\n" +
			strings.NewReplacer("{name: web, namespace: web}", "{name: "+at+", namespace: "+at+"}", "  values:", "  valuesFrom: [{kind: ConfigMap, name: sizes}]\n  values:").Replace(webRelease)
	}
	return files
}

// A HelmRelease has the values of its own namespace, where another one has a ConfigMap of the same name.
func TestFlux_Namesakes(t *testing.T) {
	l, err := laidOut(t, namesakes(), "cluster", bundle.FluxGit)
	if err != nil {
		t.Fatal(err)
	}
	sizes, from := map[string]string{}, map[string]string{}
	for name, content := range l.files {
		docs, err := yamlx.Documents(content)
		if err != nil || !strings.HasSuffix(name, ".yaml") || strings.HasPrefix(name, "charts/") {
			continue
		}
		switch n := docs[0].Content[0]; yamlx.Text(n, "kind") {
		case "ConfigMap":
			sizes[yamlx.Text(n, "metadata", "name")] = yamlx.Text(n, "data", "values.yaml")
		case "HelmRelease":
			if list := yamlx.Find(n, "spec", "valuesFrom"); list != nil {
				from[yamlx.Text(n, "metadata", "name")] = yamlx.Text(list.Content[0], "name")
			}
		}
	}
	for _, name := range []string{"web", "shop"} {
		if got := sizes[from[name]]; got != "size: "+name {
			t.Errorf("HelmRelease %s: got the values %q of %q", name, got, from[name])
		}
	}
}

// Two Kustomizations of one name, in two namespaces, wait for their own dependencies.
func TestFlux_SameNames(t *testing.T) {
	files := flux(nil)
	files["cluster/other.yaml"] = strings.NewReplacer("name: apps, namespace: flux-system", "name: apps, namespace: shop", "./apps", "./shop", "  dependsOn: [{name: base}]\n", "", "{kind: GitRepository, name: flux-system}", "{kind: GitRepository, name: flux-system, namespace: flux-system}").Replace(files["cluster/apps.yaml"])
	files["cluster/base.yaml"] += "  wait: true\n"
	files["shop/shop.yaml"] = strings.ReplaceAll(webRelease, "{name: web, namespace: web}", "{name: shop, namespace: web}")
	l, err := laidOut(t, files, "cluster", bundle.FluxGit)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"web": true, "shop": false} {
		i := slices.IndexFunc(l.applied, func(o object) bool { return o.Kind() == kindRelease && o.Name() == name })
		if i < 0 {
			t.Fatalf("no HelmRelease %s", name)
		}
		var text string
		for file, content := range l.files {
			if strings.HasSuffix(file, "-helmrelease-"+name+".yaml") {
				text = string(content)
			}
		}
		if got := strings.Contains(text, "dependsOn"); got != want {
			t.Errorf("HelmRelease %s waits for the base: %v, want %v\n%s", name, got, want, text)
		}
	}
}

// What a signature or a digest decides is not verified, and no reason to refuse a chart.
func TestFlux_Signed(t *testing.T) {
	signed := strings.NewReplacer("  interval: 1h", "  interval: 1h\n  verify: {provider: cosign}", "tag: 1.2.3", "tag: 1.2.3, digest: sha256:0").Replace(ociRedis)
	l, err := laidOut(t, flux(map[string]string{"base/redis.yaml": signed}), "cluster", bundle.FluxGit)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"OCIRepository charts: the signature of its chart", "whether its tag 1.2.3 still has the digest that Flux pulls, sha256:0"} {
		if all := strings.Join(l.notVerified, "\n"); !strings.Contains(all, want) {
			t.Errorf("got %s; want %q in it", all, want)
		}
	}
	for name, content := range l.files {
		if strings.Contains(string(content), "cosign") || strings.Contains(string(content), "sha256:0") {
			t.Errorf("%s still has it:\n%s", name, content)
		}
	}
}

// An encrypted variable that no object has is no reason to refuse a Kustomization.
func TestFlux_SealedUnused(t *testing.T) {
	vars := strings.NewReplacer("name: a", "name: vars, namespace: flux-system", "password:", "OTHER:").Replace(sopsSecret)
	vars = strings.Replace(vars, "stringData:\n", "stringData:\n  N: \"7\"\n", 1)
	files := with(substituted("  postBuild: {substituteFrom: [{kind: Secret, name: vars}]}\n"), map[string]string{"cluster/vars.yaml": vars})
	if _, err := laidOut(t, files, "cluster", bundle.FluxGit); err != nil {
		t.Error(err)
	}
}

// What installs Flux is Flux's own, and what its operator would make is not verified.
func TestFlux_Operator(t *testing.T) {
	l, err := laidOut(t, flux(map[string]string{"cluster/flux.yaml": "apiVersion: fluxcd.controlplane.io/v1\nkind: FluxInstance\nmetadata: {name: flux, namespace: flux-system}\n---\napiVersion: fluxcd.controlplane.io/v1\nkind: ResourceSet\nmetadata: {name: apps, namespace: flux-system}\n"}), "cluster", bundle.FluxGit)
	if err != nil {
		t.Fatal(err)
	}
	if all := strings.Join(append(l.overrides, l.notVerified...), "\n"); !strings.Contains(all, "1 object of Flux's own installation") || !strings.Contains(all, "what they would make, are left out: ResourceSet apps (") {
		t.Errorf("got %s", all)
	}
	if i := slices.IndexFunc(l.applied, func(o object) bool { return o.Group() == groupOperator }); i >= 0 {
		t.Errorf("%s is applied", l.applied[i].Kind())
	}
}

// Values of a HelmRelease in Flux's own namespace may be in a ConfigMap that a Kustomization generates.
func TestFlux_OwnNamespace(t *testing.T) {
	files := flux(map[string]string{"apps/left-out.yaml": "", "apps/sizes.yaml": "size: large\n",
		"apps/kustomization.yaml": "resources: [web.yaml]\nconfigMapGenerator:\n- {name: sizes, namespace: flux-system, files: [values.yaml=sizes.yaml], options: {disableNameSuffixHash: true}}\n",
		"apps/web.yaml":           strings.NewReplacer("namespace: web}", "namespace: flux-system}", "  values:", "  targetNamespace: web\n  valuesFrom: [{kind: ConfigMap, name: sizes}]\n  values:").Replace(webRelease)})
	b, err := open(t, filepath.Join(repo(t, files), "cluster"), "")
	if err != nil {
		t.Fatal(err)
	}
	components, _ := b.Components()
	i := slices.IndexFunc(components, func(c recipe.Component) bool { return c.Name == "web" })
	if i < 0 || components[i].Values["size"] != "large" {
		t.Errorf("got %+v", components)
	}
}

// twoNamespaces are releases of one name in two namespaces, of which the third depends on that of its own.
func twoNamespaces(edit ...string) map[string]string {
	files := flux(map[string]string{"apps/kustomization.yaml": "", "apps/left-out.yaml": ""})
	files["apps/web.yaml"] = webRelease
	files["apps/shop.yaml"] = strings.NewReplacer(append(edit, "namespace: web}", "namespace: shop}")...).Replace(webRelease)
	files["apps/after.yaml"] = strings.NewReplacer("{name: web, namespace: web}", "{name: after, namespace: shop}", "  values:", "  dependsOn: [{name: web}]\n  values:").Replace(webRelease)
	return files
}

// HelmReleases of one name in two namespaces are two, each with its own release; what depends on one waits for that one.
func TestFlux_TwoNamespaces(t *testing.T) {
	l, err := laidOut(t, twoNamespaces(), "cluster", bundle.FluxGit)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for name, content := range l.files {
		if !strings.Contains(name, "-helmrelease-") {
			continue
		}
		docs, err := yamlx.Documents(content)
		if err != nil {
			t.Fatal(err)
		}
		n, after := docs[0].Content[0], ""
		if list := yamlx.Find(n, "spec", "dependsOn"); list != nil {
			for _, d := range list.Content {
				after += " after " + yamlx.Text(d, "name")
			}
		}
		got[yamlx.Text(n, "metadata", "name")] = yamlx.Text(n, "spec", "releaseName") + " in " + yamlx.Text(n, "spec", "targetNamespace") + after
	}
	want := map[string]string{"web": "web in shop", "web-web": "web in web", "after": "after in shop after web"}
	for name, text := range want {
		if !strings.HasPrefix(got[name], text) || strings.Contains(got[name], "web-web") {
			t.Errorf("HelmRelease %s: got %q, want %q", name, got[name], text)
		}
	}
}

// Two HelmReleases of one release name and one storage namespace are one release to Helm, wherever its objects go.
func TestFlux_OneRelease(t *testing.T) {
	files := twoNamespaces()
	for _, at := range []string{"web", "shop"} {
		files["apps/"+at+".yaml"] = strings.NewReplacer("name: web, namespace: web}", "name: "+at+", namespace: flux-system}", "  interval:", "  releaseName: web\n  targetNamespace: "+at+"\n  interval:").Replace(webRelease)
	}
	delete(files, "apps/after.yaml")
	if _, err := laidOut(t, files, "cluster", bundle.FluxGit); err == nil || !strings.Contains(err.Error(), "installs Helm release web, which is stored in the namespace flux-system, and so does HelmRelease") {
		t.Errorf("got %v", err)
	}
	files["apps/web.yaml"] = strings.Replace(files["apps/web.yaml"], "  releaseName: web\n", "  releaseName: web\n  storageNamespace: web\n", 1)
	if _, err := laidOut(t, files, "cluster", bundle.FluxGit); err != nil {
		t.Errorf("with storage of its own: %v", err)
	}
}

// A HelmRelease may have its chart from a HelmChart, which is in its own spec.chart then.
func TestFlux_HelmChart(t *testing.T) {
	chart := "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmChart\nmetadata: {name: web, namespace: flux-system}\nspec: {interval: 10m, chart: charts/web, sourceRef: {kind: GitRepository, name: flux-system}}\n---\n"
	release, _, _ := strings.Cut(webRelease, "  chart:\n")
	files := flux(map[string]string{"apps/web.yaml": chart + release + "  chartRef: {kind: HelmChart, name: web, namespace: flux-system}\n"})
	b, err := open(t, filepath.Join(repo(t, files), "cluster"), "")
	if err != nil {
		t.Fatal(err)
	}
	components, _ := b.Components()
	if !slices.ContainsFunc(components, func(c recipe.Component) bool { return c.Name == "web" && c.Namespace == "web" }) {
		t.Errorf("got %+v", components)
	}
	files["apps/web.yaml"] = strings.Replace(files["apps/web.yaml"], "kind: HelmChart, name: web, ", "kind: HelmChart, name: wep, ", 1)
	if _, err := open(t, filepath.Join(repo(t, files), "cluster"), ""); err == nil || !strings.Contains(err.Error(), "web.yaml:11") {
		t.Errorf("without the HelmChart: got %v", err)
	}
}
