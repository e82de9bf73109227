package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/bundle"
)

// listedRecipes is what -o json has of recipes, as a program would read it.
type listedRecipes struct {
	Recipes []struct {
		Name, File string
		Tier       int
		Criteria   map[string]any
		Components []string
		Runnable   bool
		Missing    []struct{ Kind, Name, Why string }
	}
}

// kindsListed are what matrix list lists.
var kindsListed = []string{"recipes", "components", "profiles", "deployers", "charts", "checks"}

// Every list in every format says the same.
func TestList(t *testing.T) {
	recipes := fewRecipes(t)
	h100(t, recipes)
	edit(t, filepath.Join(recipes, "overlays", "h100-eks-training.yaml"), "accelerator: h100", "accelerator: vr200")
	for _, what := range kindsListed {
		t.Run(what, func(t *testing.T) {
			list := func(args ...string) string {
				t.Helper()
				r := invokeIn(t.Context(), t, t.TempDir(), nil, append([]string{"list", what, "--recipes-dir", recipes}, args...)...)
				r.want(t, 0)
				return r.stdout
			}
			fromJSON, fromYAML := map[string][]map[string]any{}, map[string][]map[string]any{}
			if err := json.Unmarshal([]byte(list("-o", "json")), &fromJSON); err != nil {
				t.Fatal(err)
			}
			if err := yaml.Unmarshal([]byte(list("-o", "yaml")), &fromYAML); err != nil {
				t.Fatal(err)
			}
			if fmt.Sprint(fromJSON) != fmt.Sprint(fromYAML) {
				t.Errorf("JSON and YAML differ:\n%v\n%v", fromJSON, fromYAML)
			}
			items := fromJSON[what]
			names := strings.Split(strings.TrimSuffix(list("-o", "name"), "\n"), "\n")
			table := strings.Split(list(), "\n")
			if len(items) == 0 || len(fromJSON) != 1 || len(names) != len(items) || len(table) != len(items)+3 {
				t.Fatalf("%d items, %d names, %d lines of the table:\n%s", len(items), len(names), len(table), strings.Join(table, "\n"))
			}
			if what == "checks" { // every run has them
				for i, item := range items {
					if names[i] != item["name"] || !strings.HasPrefix(table[i+1], item["id"].(string)+" ") {
						t.Errorf("%d: %v in JSON, %s by name, %s in the table", i, item, names[i], table[i+1])
					}
				}
				return
			}
			runnable := 0
			for i, item := range items {
				name := item["name"].(string)
				if before, _, _ := strings.Cut(names[i], ":"); before != name || !strings.HasPrefix(table[i+1], name+" ") {
					t.Errorf("%d: %s in JSON, %s by name, %s in the table", i, name, names[i], table[i+1])
				}
				here := "yes"
				if item["runnable"] == true {
					runnable++
				} else {
					here = "no: " + item["missing"].([]any)[0].(map[string]any)["kind"].(string) + " "
				}
				if !strings.Contains(table[i+1], "   "+here) {
					t.Errorf("want %q in the line %s", here, table[i+1])
				}
			}
			if last := table[len(items)+1]; !strings.HasPrefix(last, fmt.Sprintf("%d %s, %d of them can be run here", len(items), what, runnable)) {
				t.Errorf("the last line: %s", last)
			}
			if got := strings.Count(list("-o", "name", "--runnable"), "\n"); got != runnable {
				t.Errorf("--runnable lists %d of %d", got, runnable)
			}
		})
	}
}

func TestListRecipes(t *testing.T) {
	recipes := fewRecipes(t)
	h100(t, recipes)
	charts := filepath.Join(t.TempDir(), "charts")
	if err := os.CopyFS(charts, os.DirFS("../../kwok/charts")); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(charts, "aws-efa-k8s-device-plugin")); err != nil {
		t.Fatal(err)
	}
	read := func(args ...string) listedRecipes {
		t.Helper()
		r := invokeIn(t.Context(), t, t.TempDir(), nil, append([]string{"list", "recipes", "-o", "json", "--recipes-dir", recipes}, args...)...)
		r.want(t, 0)
		var l listedRecipes
		if err := json.Unmarshal([]byte(r.stdout), &l); err != nil {
			t.Fatal(err)
		}
		return l
	}
	var got []string
	for _, r := range read().Recipes {
		got = append(got, fmt.Sprintf("%s %d %v", r.Name, r.Tier, r.Runnable))
	}
	if want := []string{"eks 1 true", "eks-training 1 true", "h100-eks-training 2 true", "base 0 false", "monitoring-hpa 0 false"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, r := range read("--charts", charts).Recipes {
		if r.Tier > 0 && (r.Runnable || len(r.Missing) != 1 || r.Missing[0].Kind != "chart" || r.Missing[0].Name != "aws-efa-k8s-device-plugin v0.5.3" || !strings.Contains(r.Missing[0].Why, "is not in chart source dir:"+charts)) {
			t.Errorf("%s without its chart: %+v", r.Name, r)
		}
	}
	edit(t, filepath.Join(recipes, "overlays", "h100-eks-training.yaml"), "service: eks", "service: dgxc")
	for _, r := range read().Recipes {
		if r.Name == "h100-eks-training" && (r.Runnable || r.Missing[0].Kind != "profile" || r.Missing[0].Name != "dgxc/h100" || !strings.Contains(r.Missing[0].Why, "no KWOK node profile")) {
			t.Errorf("a cloud without profiles: %+v", r)
		}
	}
	completed := invoke(t, nil, "__complete", "run", "--recipes-dir", recipes, "h100").stdout
	if want := "h100-eks-training\tcannot be run here: profile dgxc/h100\n"; !strings.HasPrefix(completed, want) {
		t.Errorf("completion: got %q, want %q", completed, want)
	}
}

// Whether the stack is compiled does not matter, as long as there is a Go that could do it.
func TestListDeployers(t *testing.T) {
	names := invoke(t, nil, "list", "deployers", "-o", "name")
	names.want(t, 0)
	if want := strings.Join(bundle.Names(), "\n") + "\n"; names.stdout != want {
		t.Errorf("got %q, want %q", names.stdout, want)
	}
	table := invoke(t, nil, "list", "deployers") // without a go command
	wantText(t, "deployers", table.stdout, "helm-template     no           -                               no      no: toolchain go 1.", "flux-oci          yes          flux                            no      no: toolchain", "flux-git          since July   flux                            no      no: toolchain",
		"argocd-appset     no           argocd, argocd-applicationset   no      no: toolchain", "10 deployers, 0 of them")
}

// The wide list of profiles has what a service's clusters have.
func TestListProfiles_Wide(t *testing.T) {
	grown := t.TempDir()
	raw, err := os.ReadFile("../../kwok/profiles/eks-h100.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(raw), "name: eks-h100", "name: grown", 1) + "  groups: [{name: held, min: 1, max: 4}, {name: spot, max: 16}]\n"
	if err := os.WriteFile(filepath.Join(grown, "grown.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(invokeIn(t.Context(), t, t.TempDir(), nil, "list", "profiles", "-o", "wide", "--recipes-dir", "../../recipes", "--profiles", grown).stdout, "\n")
	for name, want := range map[string]string{
		"NAME ": "DEFAULT STORAGECLASS STORAGECLASSES LOAD BALANCER GROUPS", "eks-system ": "none gp2 yes -", "grown ": "none gp2 yes held 1-4, spot 0-16", "gke-system ": "standard-rwo standard-rwo,premium-rwo,standard yes -", "aks-h100 ": "default default,managed-csi,managed-csi-premium,azurefile-csi yes -",
		"oke-system ": "oci-bv oci-bv,oci yes -", "kind-h100 ": "standard - none -",
	} {
		i := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, name) })
		if i < 0 || !strings.HasSuffix(strings.Join(strings.Fields(lines[i]), " "), " "+want) {
			t.Errorf("%s: want %s in %q", name, want, lines)
		}
	}
}

func TestListBadInput(t *testing.T) {
	for name, test := range map[string]struct{ args, want []string }{
		"nothing":        {nil, []string{"list : want one of recipes, components, profiles, deployers, charts", "matrix list --help"}},
		"something else": {[]string{"clouds"}, []string{"list clouds: want one of"}},
		"two":            {[]string{"recipes", "charts"}, []string{"want one of"}},
		"format":         {[]string{"recipes", "-o", "xml"}, []string{`"xml"`, "table, wide, json, yaml or name"}},
		"a wide list":    {[]string{"recipes", "-o", "wide"}, []string{"--output wide is for profiles"}},
		"no recipes":     {[]string{"charts", "--recipes-dir", "/nonexistent"}, []string{"/nonexistent"}},
		"no charts":      {[]string{"charts", "--charts", "/nonexistent"}, []string{"--charts /nonexistent"}},
	} {
		t.Run(name, func(t *testing.T) { invoke(t, nil, append([]string{"list"}, test.args...)...).want(t, 2, test.want...) })
	}
	got := invoke(t, nil, "__completeNoDesc", "list", "")
	if want := strings.Join(kindsListed, "\n") + "\n:4\n"; got.stdout != want {
		t.Errorf("completion: got %q, want %q", got.stdout, want)
	}
}

// fiftyRecipes is a copy of the recipes with fifty that set a service.
func fiftyRecipes(tb testing.TB) string {
	tb.Helper()
	dir := filepath.Join(tb.TempDir(), "recipes")
	if err := os.CopyFS(dir, os.DirFS("../../recipes")); err != nil {
		tb.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(dir, "overlays", "*.yaml"))
	if err != nil {
		tb.Fatal(err)
	}
	for i := len(names); i < 52; i++ {
		name := fmt.Sprintf("h100-eks-training-%02d", i)
		text := "kind: RecipeMetadata\napiVersion: aicr.nvidia.com/v1alpha1\nmetadata: {name: " + name + "}\nspec:\n  base: eks-training\n" +
			fmt.Sprintf("  criteria: {service: eks, accelerator: h100, intent: training, platform: p%d}\n  componentRefs:\n    - {name: cert-manager, overrides: {replicaCount: %d}}\n", i, i)
		if err := os.WriteFile(filepath.Join(dir, "overlays", name+".yaml"), []byte(text), 0o644); err != nil {
			tb.Fatal(err)
		}
	}
	return dir
}

// BenchmarkListRecipes lists fifty recipes with the simulated charts. A call of the program takes
// its start on top.
func BenchmarkListRecipes(b *testing.B) {
	dir := fiftyRecipes(b)
	cache := b.TempDir()
	getenv := func(name string) string { return map[string]string{"AICR_ACTION_CACHE": cache}[name] }
	for b.Loop() {
		var stdout, stderr strings.Builder
		if code := execute(b.Context(), []string{"list", "recipes", "--recipes-dir", dir}, getenv, &stdout, &stderr); code != 0 || strings.Count(stdout.String(), "\n") < 52 {
			b.Fatalf("exit code %d\n%s%s", code, stdout.String(), stderr.String())
		}
	}
}
