package recipe

import (
	"slices"
	"strings"
	"testing"
)

// accounted is a recipe for Slurm with everything that accounting may need, as AICR has them since v1.0.
func accounted(t *testing.T, files map[string]string) *Store {
	t.Helper()
	all := map[string]string{
		"registry": `
components:
- {name: app, helm: {defaultRepository: "https://charts.example", defaultChart: app, defaultVersion: "1.0"}}
- {name: mariadb-operator-crds, helm: {defaultRepository: "https://charts.example", defaultChart: mariadb-operator-crds, defaultVersion: "1.0"}}
- {name: mariadb-operator, helm: {defaultRepository: "https://charts.example", defaultChart: mariadb-operator, defaultVersion: "1.0"}}
- {name: slurm-accounting-mariadb, helm: {defaultRepository: "https://charts.example", defaultChart: mariadb-cluster, defaultVersion: "1.0"}}
- {name: slinky-slurm, helm: {defaultRepository: "https://charts.example", defaultChart: slurm, defaultVersion: "1.0"}}
- {name: k8s-aibom, helm: {defaultRepository: "https://charts.example", defaultChart: k8s-aibom, defaultVersion: "1.0"}}`,
		"overlays/base": `{metadata: {name: base}, spec: {componentRefs: [{name: app}]}}`,
		"overlays/slurm": `{metadata: {name: slurm}, spec: {criteria: {service: eks, platform: slurm}, componentRefs: [{name: mariadb-operator-crds},
			{name: mariadb-operator, dependencyRefs: [mariadb-operator-crds]}, {name: slurm-accounting-mariadb, dependencyRefs: [mariadb-operator]},
			{name: slinky-slurm, dependencyRefs: [slurm-accounting-mariadb], overrides: {accounting: {host: db}}}]}}`,
		"overlays/old": `{metadata: {name: old}, spec: {criteria: {service: oke, platform: slurm}, componentRefs: [{name: slinky-slurm}]}}`,
		"overlays/gke": `{metadata: {name: gke}, spec: {criteria: {service: gke}, componentRefs: [{name: k8s-aibom}]}}`,
		"overlays/aks": `{metadata: {name: aks}, spec: {criteria: {service: aks}, componentRefs: [{name: k8s-aibom, overrides: {install: false}}]}}`,
	}
	for name, content := range files {
		all[name] = content
	}
	return open(t, july(t, all))
}

// Since AICR v1.0 each recipe for Slurm has the components of a database, and installs them only if it
// is asked for one (AICR's ADR-016).
func TestConfiguration_Accounting(t *testing.T) {
	s := accounted(t, nil)
	query := Criteria{Service: "eks", Platform: "slurm"}
	for mode, want := range map[string]struct {
		mode    string
		enabled bool
		order   []string
	}{
		"":                    {AccountingDisabled, false, []string{"app", "slinky-slurm"}},
		AccountingDisabled:    {AccountingDisabled, false, []string{"app", "slinky-slurm"}},
		CustomerManaged:       {CustomerManaged, true, []string{"app", "slinky-slurm"}},
		ConfigurationProvided: {ConfigurationProvided, true, []string{"app", "mariadb-operator-crds", "mariadb-operator", "slurm-accounting-mariadb", "slinky-slurm"}},
	} {
		r, err := s.ResolveWith(query, Choices{Configuration: ConfigurationChoice{Accounting: mode}})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Configuration.Choice().Accounting; got != want.mode || !slices.Equal(r.DeploymentOrder, want.order) || r.APIVersion != "aicr.run/v1alpha3" {
			t.Errorf("%q: mode %s, order %v, %s", mode, got, r.DeploymentOrder, r.APIVersion)
		}
		text, err := r.YAML()
		if err != nil {
			t.Fatal(err)
		}
		back, err := ReadResult("recipe.yaml", text)
		if err != nil {
			t.Fatalf("%q: %v\n%s", mode, err, text)
		}
		all, err := s.Components(back)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, c := range all {
			names = append(names, c.Name)
			if c.Name != "slinky-slurm" {
				continue
			}
			accounting := c.Values["accounting"].(map[string]any)
			if accounting["enabled"] != want.enabled || accounting["host"] != "db" || c.Origins["accounting.enabled"].Line == 0 {
				t.Errorf("%q: accounting is %v, set at %s", mode, accounting, c.Origins["accounting.enabled"])
			}
		}
		if !slices.Equal(names, want.order) {
			t.Errorf("%q: components %v, want %v", mode, names, want.order)
		}
	}
	// By name, and in recipes of before.
	if r, _ := resolve(t, s, "slurm"); r.Configuration == nil || len(r.DeploymentOrder) != 2 {
		t.Errorf("by name: %+v, %v", r.Configuration, r.DeploymentOrder)
	}
	if r, _ := resolve(t, s, "old"); r.Configuration != nil || r.APIVersion != "aicr.run/v1alpha2" {
		t.Errorf("an older recipe: %+v, %s", r.Configuration, r.APIVersion)
	}
}

func TestConfiguration_Inventory(t *testing.T) {
	s := accounted(t, nil)
	for mode, want := range map[string]int{"": 2, "enabled": 2, "disabled": 1} {
		r, err := s.ResolveWith(Criteria{Service: "gke"}, Choices{Configuration: ConfigurationChoice{Inventory: mode}})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.DeploymentOrder) != want || (r.Configuration != nil) != (mode != "") {
			t.Errorf("%q: %v, %+v", mode, r.DeploymentOrder, r.Configuration)
		}
	}
}

// On GKE a recipe that says nothing of the inventory gets it, with the values that the others have.
func TestConfiguration_InventoryGranted(t *testing.T) {
	s := accounted(t, map[string]string{
		"overlays/gke":                `{metadata: {name: gke}, spec: {criteria: {service: gke}}}`,
		"overlays/oke":                `{metadata: {name: oke}, spec: {criteria: {service: oke}}}`,
		"components/k8s-aibom/values": "a: b\n",
	})
	r, err := s.ResolveWith(Criteria{Service: "gke"}, Choices{Configuration: ConfigurationChoice{Inventory: "enabled"}})
	if err != nil {
		t.Fatal(err)
	}
	all, err := s.Components(r)
	if err != nil || len(all) != 2 || all[1].Name != "k8s-aibom" || all[1].Version != "1.0" || all[1].Values["a"] != "b" || r.Configuration.Choice().Inventory != "enabled" {
		t.Fatalf("got %+v, %v", all, err)
	}
	for _, c := range []struct{ service, mode string }{{"gke", "disabled"}, {"oke", "enabled"}} {
		if _, err := s.ResolveWith(Criteria{Service: c.service}, Choices{Configuration: ConfigurationChoice{Inventory: c.mode}}); err == nil || !strings.Contains(err.Error(), "only on gke is it added") {
			t.Errorf("%s, %s: got %v", c.service, c.mode, err)
		}
	}
	r, err = s.ResolveWith(Criteria{Service: "gke"}, Choices{})
	if err != nil || len(r.DeploymentOrder) != 1 {
		t.Errorf("got %v, %v", r, err)
	}
}

func TestConfiguration_Refused(t *testing.T) {
	s := accounted(t, map[string]string{
		"overlays/lke": `{metadata: {name: lke}, spec: {base: slurm, criteria: {service: lke, platform: slurm}, profile: {name: p, default: a, values: {a: {componentRefs: [{name: slinky-slurm, overrides: {accounting: {enabled: true}}}]}}}}}`,
	})
	for _, c := range []struct {
		query  Criteria
		choice ConfigurationChoice
		want   string
	}{
		{Criteria{Service: "gke"}, ConfigurationChoice{Accounting: "disabled"}, "the recipe's platform is any and not slurm"},
		{Criteria{Service: "eks", Platform: "slurm"}, ConfigurationChoice{Accounting: "aicr"}, "none of disabled, customer-managed, aicr-provided"},
		{Criteria{Service: "oke", Platform: "slurm"}, ConfigurationChoice{Accounting: "disabled"}, "the recipe has no component mariadb-operator-crds, mariadb-operator, slurm-accounting-mariadb"},
		{Criteria{Service: "eks", Platform: "slurm"}, ConfigurationChoice{Inventory: "enabled"}, "the recipe has no component k8s-aibom"},
		{Criteria{Service: "aks"}, ConfigurationChoice{Inventory: "enabled"}, "leaves component k8s-aibom out on purpose"},
		{Criteria{Service: "lke", Platform: "slurm"}, ConfigurationChoice{}, `accounting.enabled of component "slinky-slurm" is decided by the profile "p"`},
	} {
		if _, err := s.ResolveWith(c.query, Choices{Configuration: c.choice}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: got %v, want %q", c.choice, err, c.want)
		}
	}
}
