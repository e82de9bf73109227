package recipe

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/nvidia/aicr-action/internal/recipe/document"
)

func opened(t *testing.T, files map[string]string) *Store {
	t.Helper()
	s, err := Open(july(t, files), "recipes")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// An overlay without criteria is a base for others, and no query selects it; empty criteria are those of
// every query. Numbers of nodes select nothing.
func TestMatch_WithoutCriteria(t *testing.T) {
	s := opened(t, map[string]string{
		"overlays/none":  `{metadata: {name: none}, spec: {}}`,
		"overlays/null":  "metadata: {name: 'null'}\nspec:\n  criteria:\n",
		"overlays/every": `{metadata: {name: every}, spec: {criteria: {}}}`,
		"overlays/eks":   `{metadata: {name: eks}, spec: {base: none, criteria: {service: eks, nodes: 8}}}`,
	})
	for _, c := range []struct {
		query Criteria
		want  []string
	}{
		{Criteria{}, []string{"base", "every"}},
		{Criteria{Service: "eks"}, []string{"base", "every", "none", "eks"}},
		{Criteria{Service: "eks", Nodes: 2}, []string{"base", "every", "none", "eks"}},
	} {
		r, err := s.Resolve(c.query)
		if err != nil || !slices.Equal(r.Metadata.AppliedOverlays, c.want) {
			t.Errorf("%+v: got %v, %v; want %v", c.query, r, err, c.want)
		}
	}
	data := fstest.MapFS{
		"registry.yaml":      {Data: []byte("apiVersion: aicr.run/v1alpha2\nkind: ComponentRegistry\ncomponents: []\n")},
		"overlays/mine.yaml": {Data: []byte("apiVersion: aicr.run/v1alpha2\nkind: RecipeMetadata\nmetadata: {name: mine}\nspec:\n  criteria: {service: eks, nodes: 8}\n")},
	}
	_, err := OpenWithData(Layer{FS: july(t, nil), Root: "recipes"}, Layer{FS: data, Root: "data"})
	refused(t, err, "data/overlays/mine.yaml:5: spec.criteria.nodes is 8: AICR does not select overlays by the number of nodes")
}

// AICR takes overlays from anywhere in its directory.
func TestOpen_Strays(t *testing.T) {
	files := july(t, nil)
	overlay := func(version, name string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte("apiVersion: " + version + "\nkind: RecipeMetadata\nmetadata: {name: " + name + "}\nspec: {criteria: {service: eks}}\n")}
	}
	maps.Copy(files, fstest.MapFS{
		"a.yaml": overlay("aicr.run/v1alpha2", "a"), "more/b.yaml": overlay("aicr.run/v1beta1", "b"),
		"checks/c.yaml": overlay("aicr.run/v1beta1", "c"), "components/x/d.yaml": overlay("aicr.run/v1beta1", "d"), ".hidden/e.yaml": overlay("aicr.run/v1beta1", "e"),
		"f.yaml": overlay("aicr.nvidia.com/v1alpha1", "f"), "g.txt": overlay("aicr.run/v1beta1", "g"),
		"broken.yaml": {Data: []byte("{ RecipeMetadata")}, "other.yaml": {Data: []byte("kind: Other # RecipeMetadata\n")},
	})
	for _, open := range []func() (*Store, error){
		func() (*Store, error) { return Open(files, "recipes") }, func() (*Store, error) { return OpenHeaders(files, "recipes") },
	} {
		s, err := open()
		if err != nil || !slices.Equal(s.Names(), []string{"a", "b", "base"}) {
			t.Errorf("got %v, %v", s, err)
		}
	}
}

// Dependencies of what is left out are checked too, and the root must do without the other overlays.
func TestDependencies_LikeAICR(t *testing.T) {
	s := opened(t, map[string]string{"overlays/eks": `{metadata: {name: eks}, spec: {criteria: {service: eks}, componentRefs: [{name: app, dependencyRefs: [db]}, {name: db, dependencyRefs: [app], overrides: {enabled: false}}]}}`})
	_, err := s.ResolveName("eks")
	refused(t, err, "the dependencies form a cycle: app -> db -> app")
	_, err = Open(july(t, map[string]string{
		"overlays/base": `{metadata: {name: base}, spec: {componentRefs: [{name: app, dependencyRefs: [db]}]}}`,
		"overlays/eks":  `{metadata: {name: eks}, spec: {criteria: {service: eks}, componentRefs: [{name: db}]}}`,
	}), "recipes")
	refused(t, err, `component "app" of the overlay "base" depends on "db", which that overlay does not have`)
}

// What the deployers of AICR would not deploy is refused where it is said, unless it is left out.
func TestCoherence(t *testing.T) {
	registry := `
components:
- {name: app, helm: {defaultRepository: "https://charts.example", defaultChart: x/app, defaultNamespace: apps}}
- {name: bare, helm: {defaultNamespace: apps}}
- {name: kust, kustomize: {}}`
	for text, want := range map[string]string{
		`{name: app}`: `recipes/overlays/eks.yaml:10: component "app" has a chart and no version`,
		`{name: bare, chart: thing, version: "1"}`:            `component "bare" has a chart and no source`,
		`{name: bare, preManifestFiles: [components/a.yaml]}`: `component "bare" has neither a chart nor manifestFiles`,
		`{name: kust, source: s}`:                             `component "kust" is a kustomization and has no path`,
		`{name: app, version: v}`:                             `component "app" has the version v`,
		`{name: app, version: "1.0 "}`:                        `has space around its version`,
	} {
		base := map[string]string{"registry": registry, "overlays/base": `{metadata: {name: base}, spec: {}}`, "components/a": "a: b\n"}
		base["overlays/eks"] = `{metadata: {name: eks}, spec: {criteria: {service: eks}, componentRefs: [` + text + `]}}`
		_, err := opened(t, base).ResolveName("eks")
		if err == nil || !strings.Contains(err.Error(), strings.TrimPrefix(want, "recipes/overlays/eks.yaml:10: ")) {
			t.Errorf("%s: got %v", text, err)
		}
		base["overlays/eks"] = strings.Replace(base["overlays/eks"], "}]}}", ", overrides: {enabled: false}}]}}", 1)
		if _, err := opened(t, base).ResolveName("eks"); err != nil {
			t.Errorf("%s, left out: %v", text, err)
		}
	}
	s := opened(t, map[string]string{
		"registry":      registry,
		"overlays/base": `{metadata: {name: base}, spec: {}}`,
		"overlays/eks":  `{metadata: {name: eks}, spec: {criteria: {service: eks}, componentRefs: [{name: bare, type: helm, source: "oci://x", version: "1"}]}}`,
	})
	r, refs := resolve(t, s, "eks")
	components, err := s.Components(r)
	if err != nil || refs["bare"].Type != TypeHelm || refs["bare"].Chart != "" || components[0].Chart != "bare" {
		t.Errorf("a chart that is called as the component: got %+v, %v, %v", refs, components, err)
	}
	_, err = Open(july(t, map[string]string{"registry": "\ncomponents: [{name: deployer, helm: {}}]", "overlays/base": `{metadata: {name: base}, spec: {}}`}), "recipes")
	refused(t, err, `component "deployer" has the name by which AICR's flag --set means its deployers`)
}

// A mixin says by paths what it sets.
func TestMixin_Paths(t *testing.T) {
	for text, want := range map[string]string{
		`{name: guarded, overrides: {"trace.enabled": true}}`:                `has the key "trace.enabled" in the overrides of component "guarded", which has a dot`,
		`{name: guarded, overrides: {trace: {enabled: {}}}}`:                 `sets overrides.trace.enabled of component "guarded" to an empty map`,
		`{name: app, dependencyRefs: [db]}`:                                  `sets dependencyRefs of component "app", which the overlays have, and AICR allows that only since its apiVersion v1beta1`,
		`{name: app, manifestFiles: [components/a.yaml]}`:                    "",
		"apiVersion v1beta1 {name: app, dependencyRefs: [db]}":               "",
		"apiVersion v1beta1 {name: guarded, overrides: {trace: {level: 1}}}": "",
	} {
		files := map[string]string{"overlays/eks": `{metadata: {name: eks}, spec: {criteria: {service: eks}, mixins: [m], componentRefs: [{name: guarded}]}}`, "components/a": "a: b\n"}
		ref, newer := strings.CutPrefix(text, "apiVersion v1beta1 ")
		files["mixins/m"] = `{metadata: {name: m}, spec: {componentRefs: [` + ref + `]}}`
		if newer {
			files["mixins/m"] = `{apiVersion: aicr.run/v1beta1, metadata: {name: m}, spec: {componentRefs: [` + ref + `]}}`
		}
		_, err := opened(t, files).ResolveName("eks")
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}

// The name of a constraint that no snapshot can have is refused, where AICR refuses it.
func TestConstraint_Names(t *testing.T) {
	overlay := func(version, name string) map[string]string {
		return map[string]string{"overlays/eks": `{apiVersion: aicr.run/` + version + `, metadata: {name: eks}, spec: {criteria: {service: eks}, constraints: [{name: "` + name + `", value: "1"}], validation: {readiness: {constraints: [{name: "` + name + `", value: "1"}]}}}}`}
	}
	for name, want := range map[string]string{
		"K8s.server.versionn": `no snapshot has the reading "K8s.server.versionn": did you mean "version"?`, "K8s.servre.version": `did you mean "server"?`, "K8.server.version": `did you mean "K8s"?`,
		"K8s.server": "is not TYPE.SUBTYPE.KEY",
	} {
		_, err := Open(july(t, overlay("v1beta1", name)), "recipes")
		refused(t, err, want)
		if strings.Count(err.Error(), "overlays/eks.yaml:") != 2 {
			t.Errorf("%s: got %v; want it where it is and in the phase readiness", name, err)
		}
		opened(t, overlay("v1alpha2", name))
	}
	for _, name := range []string{"K8s.server.version", "OS.release.ID", "OS.sysctl./proc/sys/kernel/osrelease", "SystemD.containerd.service.ActiveState", "NodeTopology.gpu-nodes.label", "NodeTopology.label.nvidia.com/gpu.present", "NetworkTopology.pfs[0].rail", "Storage.class.default", "K8s.something-else.key"} {
		opened(t, overlay("v1beta1", name))
	}
}

// The bundler of AICR has the labeler only if it is told the label.
func TestComponents_NodeLabeler(t *testing.T) {
	s := opened(t, map[string]string{
		"registry": `
components:
- {name: app, helm: {defaultRepository: "https://charts.example", defaultChart: app, defaultVersion: "1.0"}}
- {name: dra-node-labeler, helm: {defaultNamespace: apps}}`,
		"overlays/base": `{metadata: {name: base}, spec: {componentRefs: [{name: app, dependencyRefs: [dra-node-labeler]}, {name: dra-node-labeler, manifestFiles: [components/a.yaml]}]}}`,
		"overlays/eks":  `{metadata: {name: eks}, spec: {criteria: {service: eks}}}`,
		"components/a":  "a: b\n",
	})
	r, _ := resolve(t, s, "eks")
	components, err := s.Components(r)
	if err != nil || len(components) != 1 || components[0].Name != "app" || len(components[0].DependencyRefs) != 0 || len(r.DeploymentOrder) != 2 {
		t.Fatalf("got %+v, %v", components, err)
	}
	if text := strings.Join(components[0].Undone, "\n"); !strings.Contains(text, "dra-node-labeler is in the recipe and not in the bundle") {
		t.Errorf("got %q", text)
	}
	if components, err = s.WithNodeLabeler().Components(r); err != nil || len(components) != 2 || len(components[0].DependencyRefs)+len(components[1].DependencyRefs) != 1 {
		t.Errorf("got %+v, %v", components, err)
	}
}

// A measured system leaves out leaves, by their own constraints and by those of their mixins; what was
// asked for must still be there.
func TestResolveMeasured_Leaves(t *testing.T) {
	s := opened(t, map[string]string{
		"overlays/base":  `{metadata: {name: base}, spec: {constraints: [{name: K8s.server.version, value: ">= 9"}], componentRefs: [{name: app}]}}`,
		"overlays/eks":   `{metadata: {name: eks}, spec: {criteria: {service: eks}, constraints: [{name: OS.release.NAME, value: never}]}}`,
		"overlays/leaf":  `{metadata: {name: leaf}, spec: {base: eks, criteria: {service: eks, intent: training}, constraints: [{name: OS.release.ID, value: ubuntu}]}}`,
		"overlays/mixed": `{metadata: {name: mixed}, spec: {base: eks, criteria: {service: eks, os: ubuntu}, mixins: [m]}}`,
		"overlays/h100":  `{metadata: {name: h100}, spec: {criteria: {accelerator: h100}, constraints: [{name: GPU.hardware.model, value: h100}]}}`,
		"mixins/m":       `{metadata: {name: m}, spec: {constraints: [{name: OS.sysctl.kernel, value: ">= 6.8"}]}}`,
	})
	system := func(readings map[string]string) Measure {
		return func(c document.Constraint) (Reading, error) {
			have, ok := readings[c.Name]
			if !ok {
				return Reading{}, nil
			}
			holds, err := c.Holds(have)
			return Reading{Have: have, Found: true, Holds: holds}, err
		}
	}
	training := Criteria{Service: "eks", Intent: "training"}
	r, left, unmeasured, err := s.ResolveMeasured(training, Choices{}, system(map[string]string{"OS.release.ID": "ubuntu", "OS.release.NAME": "x"}))
	if err != nil || !slices.Equal(r.Metadata.AppliedOverlays, []string{"base", "eks", "leaf"}) || len(left) != 0 || r.Metadata.ExcludedOverlays != nil || !slices.Equal(unmeasured, []string{"K8s.server.version"}) {
		t.Errorf("the constraints of bases are not asked: got %+v, %v, %v, %v", r, left, unmeasured, err)
	}
	_, left, _, err = s.ResolveMeasured(training, Choices{}, system(map[string]string{"OS.release.ID": "rhel"}))
	refused(t, err, "without overlay leaf, which the system leaves out: a recipe for service eks needs more")
	if len(left) != 1 || !strings.HasPrefix(left[0].String(), "overlay leaf is left out: its constraint OS.release.ID ubuntu (recipes/overlays/leaf.yaml:") || !strings.HasSuffix(left[0].String(), "does not hold; the system has rhel") {
		t.Errorf("got %v", left)
	}
	_, left, _, _ = s.ResolveMeasured(training, Choices{}, system(nil))
	if len(left) != 1 || !strings.HasSuffix(left[0].String(), "cannot be checked; the snapshot has no such reading") {
		t.Errorf("got %v", left)
	}
	r, left, _, err = s.ResolveMeasured(Criteria{Service: "eks", Intent: "training"}, Choices{}, system(map[string]string{"OS.release.ID": "ubuntu"}))
	if err != nil || len(left) != 0 || r == nil {
		t.Errorf("got %v, %v", left, err)
	}
	both := Criteria{Service: "eks", Intent: "training", OS: "ubuntu"}
	readings := map[string]string{"OS.release.ID": "ubuntu", "OS.sysctl.kernel": "5.15.0-1"}
	if _, left, _, err = s.ResolveMeasured(both, Choices{}, system(readings)); len(left) != 1 || !left[0].Mixin {
		t.Errorf("a mixin: got %v, %v", left, err)
	}
	refused(t, err, "no recipe is for os ubuntu")
	readings["OS.sysctl.kernel"] = "6.8.0-1028-aws"
	r, _, _, err = s.ResolveMeasured(both, Choices{}, system(readings))
	if err != nil || !slices.Equal(r.Metadata.AppliedOverlays, []string{"base", "eks", "leaf", "mixed"}) {
		t.Errorf("got %+v, %v", r, err)
	}
	r, _, _, err = s.ResolveMeasured(Criteria{}, Choices{}, system(nil))
	if err != nil || !slices.Equal(r.Metadata.AppliedOverlays, []string{"base"}) {
		t.Errorf("the root is there whatever the system is: got %+v, %v", r, err)
	}
	_, _, _, err = s.ResolveMeasured(Criteria{Service: "eks", Intent: "training", Accelerator: "h100"}, Choices{}, system(map[string]string{"OS.release.ID": "ubuntu", "GPU.hardware.model": "b200"}))
	refused(t, err, "accelerator h100")
	_, _, _, err = s.ResolveMeasured(both, Choices{}, system(map[string]string{"OS.release.ID": "ubuntu", "OS.sysctl.kernel": "unknown"}))
	refused(t, err, "recipes/mixins/m.yaml:", "which is no version")
}

// A profile is chosen by whoever asks, so that its constraints must hold.
func TestResolveMeasured_Profile(t *testing.T) {
	s := opened(t, map[string]string{
		"overlays/eks":  `{metadata: {name: eks}, spec: {criteria: {service: eks}, profile: {name: driver, default: provider, values: {provider: {constraints: [{name: K8s.aks-gpu-pools.gpu-driver, value: Install}], componentRefs: [{name: app, overrides: {own: false}}]}, recipe: {componentRefs: [{name: app, overrides: {own: true}}]}}}}}`,
		"overlays/gone": `{metadata: {name: gone}, spec: {criteria: {service: gke}, constraints: [{name: OS.release.ID, value: cos}], profile: {name: driver, default: a, values: {a: {componentRefs: [{name: app, overrides: {own: true}}]}}}}}`,
	})
	with := func(have string) Measure {
		return func(c document.Constraint) (Reading, error) {
			return Reading{Have: have, Found: have != "", Holds: have == c.Value}, nil
		}
	}
	eks := Criteria{Service: "eks"}
	if r, _, _, err := s.ResolveMeasured(eks, Choices{}, with("Install")); err != nil || r.Metadata.SelectedProfile.Value != "provider" {
		t.Errorf("got %+v, %v", r, err)
	}
	_, _, _, err := s.ResolveMeasured(eks, Choices{}, with("None"))
	refused(t, err, `value "provider" of profile "driver" is not for this system`, "the system has None")
	_, _, _, err = s.ResolveMeasured(eks, Choices{}, with(""))
	refused(t, err, "the snapshot has no such reading: take it again")
	_, _, _, err = s.ResolveMeasured(Criteria{Service: "gke"}, Choices{}, with("ubuntu"))
	refused(t, err, `the recipe has the profile "driver", and the overlay with it is left out`)
}
