package recipe

import (
	_ "embed"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

//go:embed testdata/objects/driver_profile.yaml
var driverProfile string

func TestProfile(t *testing.T) {
	s := open(t, july(t, map[string]string{"overlays/gke": driverProfile}))
	var names []string
	for _, v := range s.Variants("gke") {
		names = append(names, v.Name+"="+v.Value)
	}
	if want := []string{"gke=own", "gke--provider=Provider"}; !slices.Equal(names, want) {
		t.Errorf("variants %v, want %v", names, want)
	}
	for name, want := range map[string]struct{ mode, value, advertiser string }{
		"gke":           {"operator", "own", ""},
		"gke--provider": {"cloud", "Provider", "external"},
		"gke--own":      {"operator", "own", ""},
	} {
		r, refs := resolve(t, s, name)
		selected := r.Metadata.SelectedProfile
		mode := refs["app"].Overrides["driver"].(map[string]any)["mode"]
		if selected == nil || mode != want.mode || selected.Value != want.value || selected.Advertiser != want.advertiser {
			t.Errorf("%s: mode %v, %+v", name, mode, selected)
		}
		if r.APIVersion != "aicr.run/v1alpha3" || r.Metadata.Name != name {
			t.Errorf("%s: %s of %s", name, r.APIVersion, r.Metadata.Name)
		}
		if owned := selected.OwnedPaths["app"]; !slices.Equal(owned, []string{"driver.mode", "enabled"}) {
			t.Errorf("owned %v", owned)
		}
		all, err := s.Components(r)
		if err != nil {
			t.Fatal(err)
		}
		if got := all[0].Values["driver"].(map[string]any)["mode"]; got != want.mode {
			t.Errorf("%s: value %v", name, got)
		}
		if at := all[0].Origins["driver.mode"]; !strings.Contains(at.String(), "gke.yaml") || at.Line < 13 {
			t.Errorf("%s: it is said to be set at %s", name, at)
		}
		out, _ := r.YAML()
		back, err := ReadResult("r.yaml", out)
		if err != nil || back.Metadata.SelectedProfile == nil || back.Metadata.SelectedProfile.Value != want.value {
			t.Errorf("%s: read back %+v, %v", name, back, err)
		}
	}
	r, _ := resolve(t, s, "gke--provider")
	out, _ := yaml.Marshal(r.Validation)
	if !strings.Contains(string(out), "ready") {
		t.Errorf("the readiness constraint is not there:\n%s", out)
	}
	if _, err := s.ResolveName("gke--none"); err == nil {
		t.Error("a value that is not there is taken")
	}
}

func TestProfile_Selection(t *testing.T) {
	s := open(t, july(t, map[string]string{
		"overlays/gke": driverProfile,
		"overlays/eks": `{metadata: {name: eks}, spec: {criteria: {service: eks}}}`,
	}))
	for _, test := range []struct{ service, text, want string }{
		{"gke", "driver=Provider", ""},
		{"gke", "driver=provider", `profile "driver" has no value "provider" (recipes/overlays/gke.yaml:7)`},
		{"gke", "gpus=own", `profile "gpus" was asked for, and that of the recipe is "driver"`},
		{"eks", "driver=own", "the recipe has no profile"},
		{"gke", "driver", "write NAME=VALUE"},
		{"gke", "driver=a=b", "write NAME=VALUE"},
	} {
		selection, err := ParseProfile(test.text)
		if err == nil {
			_, err = s.ResolveWith(Criteria{Service: test.service}, Choices{Profile: selection})
		}
		if test.want == "" && err != nil {
			t.Errorf("%v: %v", test, err)
		} else if test.want != "" {
			refused(t, err, test.want)
		}
	}
}

func TestProfile_Refused(t *testing.T) {
	for name, test := range map[string]struct{ old, with, want string }{
		"an unknown field":         {"advertiser: external", "advertised: external", `unknown field "advertised" in spec.profile.values.Provider`},
		"another advertiser":       {"advertiser: external", "advertiser: me", "write external or remove it"},
		"no such default":          {"default: own", "default: mine", `default "mine" of profile "driver" is not one of its values`},
		"paths of one value":       {"{driver: {mode: cloud}}", "{driver: {other: cloud}}", "all values must set the same paths"},
		"a key with a dot":         {"{driver: {mode: cloud}}", "{driver.mode: cloud}", "has a dot or is empty"},
		"an empty map":             {"{driver: {mode: cloud}}", "{driver: {}}", "is an empty map"},
		"enabled":                  {"{driver: {mode: cloud}}", "{driver: {mode: cloud}, enabled: false}", "overrides.enabled is not for a profile"},
		"names that differ little": {"      Provider:", "      OWN:", "differ only by case"},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(driverProfile, test.old, test.with, 1)
			if text == driverProfile {
				t.Fatal("nothing was replaced")
			}
			_, err := Open(july(t, map[string]string{"overlays/gke": text}), "recipes")
			refused(t, err, test.want, "recipes/overlays/gke.yaml:")
		})
	}
	_, err := Open(july(t, map[string]string{"overlays/gke": "apiVersion: aicr.run/v1alpha2" + driverProfile}), "recipes")
	refused(t, err, "spec.profile is not a field of apiVersion aicr.run/v1alpha2; write aicr.run/v1beta2")
}

func TestProfile_Composition(t *testing.T) {
	s := open(t, july(t, map[string]string{
		"overlays/gke":     driverProfile,
		"overlays/more":    strings.NewReplacer("{name: gke}", "{name: more}", "{service: gke}", "{service: gke, intent: training}").Replace(driverProfile),
		"overlays/taken":   `{metadata: {name: taken}, spec: {base: gke, criteria: {service: gke, os: cos}, constraints: [{name: pool, value: x}]}}`,
		"overlays/without": `{metadata: {name: without}, spec: {base: gke, criteria: {service: gke, os: rhel}, componentRefs: [{name: app, overrides: {enabled: false}}]}}`,
	}))
	for name, want := range map[string]string{
		"more":    `overlay "more" has the profile "driver", and so has overlay "gke"`,
		"taken":   `value "own" of profile "driver" sets the constraint "pool", which is also set at recipes/overlays/taken.yaml`,
		"without": `profile "driver" sets values of component "app", which is not in the recipe or is left out of it`,
	} {
		_, err := s.ResolveName(name)
		refused(t, err, want)
	}
}

// A document of a data directory that has nothing but a profile adds its values to the profile of the overlay at its path,
// and leaves the rest of that overlay. What has more replaces it.
func TestProfile_OfData(t *testing.T) {
	const head = "apiVersion: aicr.run/v1alpha3\nkind: RecipeMetadata\nmetadata: {name: %s}\nspec:\n"
	const more = "  profile:\n    name: %s\n    values:\n      mine: {componentRefs: [{name: app, overrides: {driver: {mode: %s}}}]}\n"
	open := func(name, spec string) (*Store, error) {
		data := dataOf("overlays/gke.yaml", strings.Replace(head, "%s", name, 1)+spec)
		data[registryFile].Data = []byte("apiVersion: aicr.run/v1alpha2\nkind: ComponentRegistry\ncomponents: []\n")
		return withData(july(t, map[string]string{"overlays/gke": driverProfile}), data)
	}
	spec := func(profile, mode string) string {
		return strings.Replace(strings.Replace(more, "%s", profile, 1), "%s", mode, 1)
	}
	s, err := open("gke", spec("driver", "extra"))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"gke": "operator", "gke--provider": "cloud", "gke--mine": "extra"} {
		r, refs := resolve(t, s, name)
		if got := refs["app"].Overrides["driver"].(map[string]any)["mode"]; got != want || r.Criteria.Service != "gke" {
			t.Errorf("%s: mode %v, service %s", name, got, r.Criteria.Service)
		}
	}
	_, err = open("gke", spec("other", "extra"))
	refused(t, err, `mine/overlays/gke.yaml:6: profile "other" cannot extend the profile "driver" at recipes/overlays/gke.yaml`)
	_, err = open("aks", spec("driver", "extra"))
	refused(t, err, `mine/overlays/gke.yaml:3: the overlay "aks" has nothing but a profile`)
	_, err = open("gke", strings.Replace(spec("driver", "extra"), "driver: {mode", "driver: {kind", 1))
	refused(t, err, `mine/overlays/gke.yaml:`, `value "mine" of profile "driver" does not set app:driver.mode`)
	if s, err = open("gke", "  criteria: {service: gke}\n  componentRefs: [{name: app}]\n"); err != nil {
		t.Fatal(err)
	}
	if _, ok := s.Profile("gke"); ok {
		t.Error("an overlay that replaces the one at its path has that one's profile")
	}
}
