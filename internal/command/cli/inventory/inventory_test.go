package inventory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/recipe"
)

// noCharts has every chart but those that are named.
type noCharts []string

func (n noCharts) Find(_ context.Context, c *recipe.ComponentRef) error {
	if slices.Contains(n, c.Chart+" "+c.Version) {
		return errors.New("chart " + c.Chart + " is not there")
	}
	return nil
}

// sources has the recipes that the files make, over a registry of one component of each type.
func sources(t testing.TB, missing noCharts, overlays map[string]string) Sources {
	t.Helper()
	dir := t.TempDir()
	const head = "apiVersion: aicr.nvidia.com/v1alpha1\nkind: "
	write := func(name, text string) {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	write("registry.yaml", head+`ComponentRegistry
components:
  - name: web
    helm: {defaultRepository: https://charts.example.com, defaultChart: repo/web, defaultVersion: 1.0.0, defaultNamespace: web}
  - name: kust
    kustomize: {defaultSource: https://example.com/k, defaultPath: a, defaultTag: v1}
  - name: own
    displayName: Our own
    manifest: {defaultNamespace: own}
`)
	write("components/own/a.yaml", "kind: ConfigMap\n")
	for name, spec := range overlays {
		write("overlays/"+name+".yaml", head+"RecipeMetadata\nmetadata: {name: "+name+"}\nspec: "+spec+"\n")
	}
	store, err := recipe.Open(os.DirFS(dir), "recipes")
	if err != nil {
		t.Fatal(err)
	}
	var profiles []simulate.Profile
	for _, p := range [][]string{{"eks-system", "eks", "", "system"}, {"eks-h100", "eks", "h100", "accelerated"}, {"gke-system", "gke", "", "system"}} {
		var made simulate.Profile
		made.Metadata.Name = p[0]
		made.Spec.Criteria.Service, made.Spec.Criteria.Accelerator, made.Spec.NodeType = p[1], p[2], p[3]
		if p[3] == "accelerated" {
			made.Spec.Default, made.Spec.GPU = true, &simulate.GPU{Product: "H100", Count: 8}
		}
		profiles = append(profiles, made)
	}
	return Sources{Store: store, Charts: missing, Profiles: profiles, Nodes: simulate.DefaultNodeGroups(2, 4), KubeVersion: "v1.36.1"}
}

func someRecipes() map[string]string {
	return map[string]string{
		"base":         "{componentRefs: [{name: web}]}",
		"eks":          "{criteria: {service: eks}}",
		"a-eks-h100":   "{base: eks, criteria: {service: eks, accelerator: h100}, componentRefs: [{name: own, manifestFiles: [components/own/a.yaml]}]}",
		"b-eks-l40":    "{base: eks, criteria: {service: eks, accelerator: l40}}",
		"gke":          "{criteria: {service: gke}, componentRefs: [{name: web, version: 2.0.0}]}",
		"old":          "{criteria: {service: eks, intent: training}, constraints: [{name: K8s.server.version, value: < 1.30}]}",
		"unreadable":   "{criteria: {service: eks, os: cos}, constraints: [{name: K8s.server.version, value: newest}]}",
		"kust":         "{criteria: {service: eks, platform: kust}, componentRefs: [{name: kust}]}",
		"off":          "{criteria: {service: eks, platform: off}, componentRefs: [{name: web, overrides: {enabled: false}}]}",
		"off-mistaken": "{criteria: {service: eks, platform: mistaken}, componentRefs: [{name: web, overrides: {enabled: 'no'}}]}",
	}
}

// Each recipe with its tier, in the order of services and names, and everything that it lacks.
func TestRecipes(t *testing.T) {
	all, err := Recipes(t.Context(), sources(t, noCharts{"web 2.0.0"}, someRecipes()))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range all {
		got = append(got, fmt.Sprintf("%s: tier %d, %s; %v %s", r.Name, r.Tier, strings.Join(r.Components, "+"), r.Runnable, r.Brief()))
		if (len(r.Missing) == 0) != r.Runnable || !strings.HasPrefix(r.File, "recipes/overlays/"+r.Name+".yaml:3") {
			t.Errorf("%+v", r)
		}
	}
	want := []string{
		"a-eks-h100: tier 2, own+web; true ",
		"b-eks-l40: tier 2, web; false profile eks/l40",
		"eks: tier 1, web; true ",
		"kust: tier 1, kust+web; false source https://example.com/k (kust)",
		"off: tier 1, ; true ",
		"off-mistaken: tier 1, ; false recipe unresolved",
		"old: tier 1, web; false constraint K8s.server.version < 1.30",
		"unreadable: tier 1, web; false constraint unreadable",
		"gke: tier 1, web; false profile gke/any, chart web 2.0.0",
		"base: tier 0, web; false service not set",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if c := all[0].Criteria; c.Service != "eks" || c.Accelerator != "h100" {
		t.Errorf("criteria: %+v", c)
	}
	for _, r := range all {
		for _, m := range r.Missing {
			if m.Why == "" || m.Kind == "" || m.Name == "" {
				t.Errorf("%s lacks something that is not named: %+v", r.Name, m)
			}
		}
	}
}

func TestComponents(t *testing.T) {
	all, err := Components(t.Context(), sources(t, noCharts{"web 1.0.0"}, someRecipes()))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.MarshalIndent(all, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"name": "kust",`, `"type": "Kustomize",`, `"version": "v1",`, `"kind": "source",`,
		`"displayName": "Our own",`, `"file": "recipes/registry.yaml:8",`, `"type": "Manifest",`, `"namespace": "own",`,
		`"chart": "web",`, `"repository": "https://charts.example.com",`, `"name": "web 1.0.0",`,
	} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("want %s in\n%s", want, raw)
		}
	}
	var users []string
	for _, c := range all {
		users = append(users, c.Name+": "+strings.Join(c.Recipes, " "))
	}
	if want := []string{"kust: kust", "own: a-eks-h100", "web: a-eks-h100 b-eks-l40 eks gke kust old unreadable"}; !slices.Equal(users, want) {
		t.Errorf("got %q, want %q", users, want)
	}
}

// A chart is listed as each recipe pins it.
func TestListCharts(t *testing.T) {
	all, err := ListCharts(t.Context(), sources(t, noCharts{"web 2.0.0"}, someRecipes()))
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 2 || all[0].Version != "1.0.0" || !all[0].Runnable || all[1].Version != "2.0.0" || all[1].Runnable ||
		!slices.Equal(all[1].Recipes, []string{"gke"}) || !slices.Equal(all[0].Components, []string{"web"}) || all[0].Repository != "https://charts.example.com" {
		t.Errorf("got %+v", all)
	}
}

func TestListProfiles(t *testing.T) {
	all, err := ListProfiles(t.Context(), sources(t, nil, someRecipes()))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range all {
		got = append(got, fmt.Sprintf("%s: %v %s, %d recipes", p.Name, p.Runnable, p.Brief(), len(p.Recipes)))
	}
	want := []string{"eks-system: true , 7 recipes", "eks-h100: true , 7 recipes", "gke-system: false profile gke accelerated, 0 recipes"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	if all[1].GPU != "H100" || all[1].GPUs != 8 || !all[1].Default {
		t.Errorf("got %+v", all[1])
	}
}

// A list that was interrupted is no list.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := sources(t, nil, someRecipes())
	_, a := Recipes(ctx, s)
	_, b := Components(ctx, s)
	_, c := ListCharts(ctx, s)
	_, d := ListProfiles(ctx, s)
	for _, err := range []error{a, b, c, d} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	}
}
