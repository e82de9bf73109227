package bundle

import (
	"context"
	"errors"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"

	"github.com/nvidia/aicr-action/internal/charts/catalog"
	"github.com/nvidia/aicr-action/internal/charts/render"
	"github.com/nvidia/aicr-action/internal/recipe"
)

// attackedBy is a recipe of one component, whose chart has that template.
func attackedBy(template string) Input {
	return Input{
		Recipe: &recipe.Result{Metadata: recipe.Metadata{Name: "demo"}},
		Components: []recipe.Component{{
			ComponentRef: recipe.ComponentRef{Name: "c", Namespace: "c", Chart: "c", Source: "https://charts.example.com", Version: "1.0.0"}, Values: map[string]any{},
			Declared: recipe.Origin{File: "recipes/overlays/demo.yaml", Line: 12},
		}},
		Charts: oneChart{&chart.Chart{
			Metadata: &chart.Metadata{APIVersion: "v2", Name: "c", Version: "1.0.0"}, Templates: []*chart.File{{Name: "templates/a.yaml", Data: []byte(template)}},
		}},
		KubeVersion: "v1.36.1",
	}
}

// oneChart is a chart source with one chart.
type oneChart struct{ chart *chart.Chart }

func (oneChart) Name() string { return "test" }

func (s oneChart) Load(context.Context, catalog.Ref) (*chart.Chart, string, error) {
	return s.chart, "test", nil
}

// A chart that makes more than any cluster has ends with the place where the recipe declares it.
// The other limits are charts/render's to show.
func TestChart_TooManyObjects(t *testing.T) {
	for name, c := range map[string]struct{ template, want string }{
		"objects":         {"{{ range until 10001 }}\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: a{{ . }}}}\n{{ end }}", "its templates make 10001 objects; the limit is 10000"},
		"objects in List": {"apiVersion: v1\nkind: List\nitems:\n{{ range until 10001 }}- {apiVersion: v1, kind: ConfigMap, metadata: {name: a{{ . }}}}\n{{ end }}", "its templates make 10001 objects; the limit is 10000"},
	} {
		deployers := []Deployer{helmDeployer{}}
		if name == "objects" {
			deployers = append(deployers, argoOCI{}, helmTemplate{})
		}
		for _, d := range deployers {
			in := attackedBy(c.template)
			in.RepoURL = "oci://127.0.0.1:5500/aicr/demo"
			_, err := d.Bundle(context.Background(), in)
			var limit *render.LimitError
			if !errors.As(err, &limit) || !strings.Contains(err.Error(), "recipes/overlays/demo.yaml:12: component c: chart c 1.0.0 does not render: its templates make ") || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s through %s: got %v, want %q", name, d.Name(), err, c.want)
			}
		}
	}
}

// What a chart renders may be a bomb although none of its files is.
func TestRender_AliasBomb(t *testing.T) {
	bomb := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  a: &a {{ repeat 100000 \"x\" }}\n  b: [{{ repeat 1000 \"*a,\" }}]\n"
	_, err := helmDeployer{}.Bundle(context.Background(), attackedBy(bomb))
	if err == nil || !strings.Contains(err.Error(), "recipes/overlays/demo.yaml:12: component c: chart c 1.0.0 does not render") || !strings.Contains(err.Error(), "with this alias the document stands for more than 64 MiB") {
		t.Errorf("got %.500v", err)
	}
	in := attackedBy("a: b")
	in.Charts.(oneChart).chart.Files = []*chart.File{{Name: "crds/a.yaml", Data: []byte("apiVersion: example.com/v1\nkind: A\nmetadata: {name: a}\na: &a " + strings.Repeat("x", 1<<20) + "\nb: [" + strings.Repeat("*a,", 1000) + "]\n")}}
	if _, err := (helmDeployer{}).Bundle(context.Background(), in); err == nil || !strings.Contains(err.Error(), "with this alias") {
		t.Errorf("in crds/: got %.500v", err)
	}
}

// A component may not replace what judges it: the harness's policies, or the deployers' own CRDs.
func TestReservedObjects(t *testing.T) {
	const policy = "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata: {name: aicr-action-flux}\n"
	const crd = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: applications.argoproj.io}\nspec: {group: argoproj.io, names: {kind: Application, plural: applications}, scope: Namespaced, versions: []}\n"
	const hydrator = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: a, namespace: argocd}\nspec: {sourceHydrator: {}}\n"
	const second = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: a}\nspec: {path: ./}\n"
	const service = "apiVersion: apiregistration.k8s.io/v1\nkind: APIService\nmetadata: {name: v1alpha1.argoproj.io}\nspec: {group: argoproj.io, version: v1alpha1}\n"
	const artifact = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: ExternalArtifact\nmetadata: {name: a}\nspec: {sourceRef: {apiVersion: source.extensions.fluxcd.io/v1beta1, kind: ArtifactGenerator, name: a}}\n"
	for _, d := range []Deployer{helmDeployer{}, argoOCI{}, fluxOCI{}} {
		for template, want := range map[string]string{
			artifact: "ExternalArtifact a (c/templates/a.yaml:2) is what a controller of Flux makes",
			policy:   "ValidatingAdmissionPolicy aicr-action-flux (c/templates/a.yaml:2) has a name that this program keeps",
			crd:      "CustomResourceDefinition applications.argoproj.io (c/templates/a.yaml:2) is Argo CD's own definition",
			hydrator: "Application a (c/templates/a.yaml:2) sets spec.sourceHydrator of Application",
			second:   "Kustomization a (c/templates/a.yaml:2) would have Flux build another directory",
			service:  "APIService v1alpha1.argoproj.io (c/templates/a.yaml:2) would answer in place of the API server for the objects of Argo CD",
		} {
			in := attackedBy(template)
			in.RepoURL = "oci://127.0.0.1:5500/aicr/demo"
			_, err := d.Bundle(t.Context(), in)
			if err == nil || !strings.Contains(err.Error(), "recipes/overlays/demo.yaml:12: component c: ") || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v; want %q", d.Name(), err, want)
			}
		}
	}
	in := attackedBy("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
	in.Charts.(oneChart).chart.Files = []*chart.File{{Name: "crds/a.yaml", Data: []byte(crd)}}
	if _, err := (helmDeployer{}).Bundle(t.Context(), in); err == nil || !strings.Contains(err.Error(), "(c/crds/a.yaml:2) is Argo CD's own definition") {
		t.Errorf("in crds/: got %v", err)
	}
}

// A record that Helm would take for its own, and a quantity that no program can read, are refused with
// the line, whichever deployer is to have them.
func TestRefused(t *testing.T) {
	for template, want := range map[string]string{
		"apiVersion: v1\nkind: Secret\nmetadata: {name: sh.helm.release.v1.c.v2}\ntype: helm.sh/release.v1\n":                                                           "recipes/overlays/demo.yaml:12: component c: Secret sh.helm.release.v1.c.v2 (c/templates/a.yaml:2) looks like Helm's own record of a release",
		"apiVersion: v1\nkind: ResourceQuota\nmetadata:\n  name: q\nspec:\n  hard:\n    pods: \"1e999999999\"\n":                                                        "component c: ResourceQuota q (c/templates/a.yaml:7) has a quantity of more than a thousand digits, spec.hard.pods: 1e999999999",
		"apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n  - name: m\n    image: i\n    resources:\n      limits:\n        memory: 1e999999999\n": "Pod p (c/templates/a.yaml:10) has a quantity of more than a thousand digits, spec.containers.0.resources.limits.memory: 1e999999999",
	} {
		for _, d := range []Deployer{helmDeployer{}, argoOCI{}, fluxOCI{}} {
			in := attackedBy(template)
			in.RepoURL = "oci://127.0.0.1:5500/aicr/demo"
			if _, err := d.Bundle(context.Background(), in); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s through %s: got %v, want %q", template, d.Name(), err, want)
			}
		}
	}
}
