package recipe

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/nvidia/aicr-action/internal/recipe/document"
	"sigs.k8s.io/yaml"
)

// july is a recipes directory by the rules of July, in files by name without .yaml. What is empty is
// not written.
func july(t *testing.T, files map[string]string) fstest.MapFS {
	t.Helper()
	fsys := fstest.MapFS{}
	all := map[string]string{
		"registry": `
components:
- {name: app, helm: {defaultRepository: "https://charts.example", defaultChart: x/app, defaultVersion: "1.0", defaultNamespace: apps}}
- {name: db, helm: {defaultRepository: "https://charts.example", defaultChart: db, defaultVersion: "2.0", defaultNamespace: data}}
- name: guarded
  mixinSafeOverridePaths: [trace.enabled, trace.level]
  helm: {defaultRepository: "https://charts.example", defaultChart: guarded, defaultVersion: "3.0", defaultNamespace: apps}`,
		"overlays/base": `{metadata: {name: base}, spec: {componentRefs: [{name: app}, {name: db}]}}`,
	}
	maps.Copy(all, files)
	for name, content := range all {
		kind := ""
		switch dir, _, _ := strings.Cut(name, "/"); dir {
		case "registry":
			kind = document.RegistryKind
		case "overlays":
			kind = document.OverlayKind
		case "mixins":
			kind = document.MixinKind
		}
		var doc map[string]any
		if err := yaml.Unmarshal([]byte(content), &doc); err != nil {
			t.Fatal(name, err)
		}
		header := ""
		if doc["apiVersion"] == nil && kind != "" {
			header = "apiVersion: aicr.run/v1alpha2\n"
			if strings.Contains(content, "profile:") {
				header = "apiVersion: aicr.run/v1alpha3\n"
			}
		}
		if kind != "" {
			header += "kind: " + kind + "\n"
			if strings.HasPrefix(strings.TrimSpace(content), "{") { // one line of the test, many of a document
				made, err := yaml.Marshal(doc)
				if err != nil {
					t.Fatal(err)
				}
				content = string(made)
			}
		}
		fsys[name+".yaml"] = &fstest.MapFile{Data: []byte(header + strings.TrimPrefix(content, "\n"))}
	}
	return fsys
}

func resolve(t *testing.T, s *Store, name string) (*Result, map[string]ComponentRef) {
	t.Helper()
	r, err := s.ResolveName(name)
	if err != nil {
		t.Fatal(err)
	}
	refs := map[string]ComponentRef{}
	for _, ref := range r.ComponentRefs {
		refs[ref.Name] = ref
	}
	return r, refs
}

func refused(t *testing.T, err error, want ...string) {
	t.Helper()
	for _, w := range want {
		if err == nil || !strings.Contains(err.Error(), w) {
			t.Errorf("got  %v\nwant %s", err, w)
		}
	}
}

func TestVersions(t *testing.T) {
	for _, test := range []struct {
		registry, overlay string
		want              string // of the result
		generation        document.Generation
		notes             int
	}{
		{"aicr.nvidia.com/v1alpha1", "aicr.nvidia.com/v1alpha1", "aicr.nvidia.com/v1alpha1", document.March, 0},
		{"aicr.run/v1alpha2", "aicr.run/v1alpha2", "aicr.run/v1alpha2", document.July, 0},
		{"aicr.run/v1alpha2", "aicr.run/v1beta1", "aicr.run/v1", document.July, 0},
		{"aicr.run/v1beta1", "aicr.run/v1beta1", "aicr.run/v1", document.July, 0},
		{"aicr.run/v1beta1", "aicr.run/v3", "aicr.run/v1", document.July, 1},
	} {
		t.Run(test.registry+" "+test.overlay, func(t *testing.T) {
			s := open(t, july(t, map[string]string{
				"registry":      "{apiVersion: " + test.registry + ", components: [{name: app, helm: {defaultRepository: 'https://charts.example', defaultChart: app, defaultVersion: '1'}}]}",
				"overlays/base": "{apiVersion: " + test.overlay + ", metadata: {name: base}, spec: {componentRefs: [{name: app}]}}",
			}))
			r, _ := resolve(t, s, "base")
			if r.APIVersion != test.want || s.Generation() != test.generation || len(s.Notes()) != test.notes {
				t.Errorf("got %s, %v, %q", r.APIVersion, s.Generation(), s.Notes())
			}
			all, err := s.Components(r)
			if err != nil || len(all) != 1 || len(all[0].Undone) != test.notes {
				t.Errorf("components %+v, %v", all, err)
			}
			out, err := r.YAML()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := ReadResult("r.yaml", out); err != nil {
				t.Errorf("its own result: %v", err)
			}
		})
	}
}

func TestVersions_Mixed(t *testing.T) {
	files := map[string]string{"overlays/eks": `{apiVersion: aicr.nvidia.com/v1alpha1, metadata: {name: eks}, spec: {criteria: {service: eks}}}`}
	_, err := Open(july(t, files), "recipes")
	refused(t, err, "recipes/overlays/eks.yaml:2: apiVersion is aicr.nvidia.com/v1alpha1, and 2 other documents have aicr.run/v1alpha2")
}

func TestVersions_FieldsOfLaterOnes(t *testing.T) {
	for field, content := range map[string]string{
		"preManifestFiles": `{componentRefs: [{name: app, preManifestFiles: [a.yaml]}]}`,
		"healthCheckSkip":  `{componentRefs: [{name: app, healthCheckSkip: true}]}`,
		"spec.resolution":  `{resolution: {strictDimensions: [os]}}`,
	} {
		_, err := Open(july(t, map[string]string{
			"registry":      "{apiVersion: aicr.nvidia.com/v1alpha1, components: [{name: app, helm: {defaultChart: app}}]}",
			"overlays/base": "{apiVersion: aicr.nvidia.com/v1alpha1, metadata: {name: base}, spec: " + content + "}",
		}), "recipes")
		refused(t, err, field+" is not a field of apiVersion aicr.nvidia.com/v1alpha1")
		if strings.Contains(err.Error(), "did you mean") {
			t.Errorf("a suggestion across meanings: %v", err)
		}
	}
}

func TestRepeatedProblem(t *testing.T) {
	files := map[string]string{}
	for i := range 20 {
		files[fmt.Sprintf("overlays/o%02d", i)] = fmt.Sprintf(`{metadata: {name: o%02d}, spec: {flavour: x}}`, i)
	}
	_, err := Open(july(t, files), "recipes")
	refused(t, err, "unknown field \"flavour\"", "(20 places: recipes/overlays/o00.yaml:6, recipes/overlays/o01.yaml:6, recipes/overlays/o02.yaml:6 and 17 more)")
	if n := strings.Count(err.Error(), "flavour"); n != 1 {
		t.Errorf("it is told %d times", n)
	}
}

func TestMaximalLeaves(t *testing.T) {
	s := open(t, july(t, map[string]string{
		"overlays/eks":          `{metadata: {name: eks}, spec: {criteria: {service: eks}}}`,
		"overlays/h100-any":     `{metadata: {name: h100-any}, spec: {criteria: {service: any, accelerator: h100}}}`,
		"overlays/eks-training": `{metadata: {name: eks-training}, spec: {base: eks, criteria: {service: eks, intent: training}}}`,
		"overlays/h100-eks":     `{metadata: {name: h100-eks}, spec: {base: eks-training, criteria: {service: eks, intent: training, accelerator: h100}}}`,
	}))
	r, _ := resolve(t, s, "h100-eks")
	if got, want := strings.Join(r.Metadata.AppliedOverlays, " "), "base h100-any eks eks-training h100-eks"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestDependencies_Union(t *testing.T) {
	s := open(t, july(t, map[string]string{
		"overlays/base": `{metadata: {name: base}, spec: {componentRefs: [{name: app, dependencyRefs: [db]}, {name: db}, {name: guarded}]}}`,
		"overlays/eks":  `{metadata: {name: eks}, spec: {criteria: {service: eks}, componentRefs: [{name: app, dependencyRefs: [guarded, db]}]}}`,
	}))
	_, refs := resolve(t, s, "eks")
	if want := []string{"db", "guarded"}; !slices.Equal(refs["app"].DependencyRefs, want) {
		t.Errorf("got %v, want %v", refs["app"].DependencyRefs, want)
	}
}

func TestHydrate_Nulls(t *testing.T) {
	s := open(t, july(t, map[string]string{
		"overlays/base":               `{metadata: {name: base}, spec: {componentRefs: [{name: app, valuesFile: components/app/values-two.yaml, overrides: {gone: null, kept: {inner: null}, fresh: {inner: null}}}]}}`,
		"components/app/values":       "gone: {a: 1}\nkept: {inner: 1, other: 2}\nfirst: null\nsecond: 1\n",
		"components/app/values-two":   "second: null\n",
		"components/app/values-three": "{}\n",
	}))
	r, _ := resolve(t, s, "base")
	all, err := s.Components(r)
	if err != nil {
		t.Fatal(err)
	}
	out, _ := yaml.Marshal(all[0].Values)
	if want := "first: null\nfresh:\n  inner: null\nkept:\n  other: 2\n"; string(out) != want {
		t.Errorf("got\n%swant\n%s", out, want)
	}
}

func TestDisabled_LeftOutOfOrder(t *testing.T) {
	s := open(t, july(t, map[string]string{
		"overlays/base": `{metadata: {name: base}, spec: {componentRefs: [{name: app, dependencyRefs: [db]}, {name: db}]}}`,
		"overlays/eks":  `{metadata: {name: eks}, spec: {criteria: {service: eks}, componentRefs: [{name: db, overrides: {enabled: false}}]}}`,
	}))
	r, _ := resolve(t, s, "eks")
	if want := []string{"app"}; !slices.Equal(r.DeploymentOrder, want) || len(r.ComponentRefs) != 2 {
		t.Errorf("order %v of %d components", r.DeploymentOrder, len(r.ComponentRefs))
	}
	all, err := s.Components(r)
	if err != nil || len(all) != 1 || len(all[0].DependencyRefs) > 0 {
		t.Errorf("got %v, %v", all, err)
	}
	out, _ := r.YAML()
	if _, err := ReadResult("r.yaml", out); err != nil {
		t.Error(err)
	}
}

func TestDisabled_Install(t *testing.T) {
	for version, want := range map[string]int{"aicr.run/v1alpha2": 2, "aicr.run/v1beta1": 1} {
		s := open(t, july(t, map[string]string{
			"overlays/base": `{apiVersion: ` + version + `, metadata: {name: base}, spec: {componentRefs: [{name: app}, {name: db, overrides: {install: false}}]}}`,
		}))
		r, _ := resolve(t, s, "base")
		if len(r.DeploymentOrder) != want {
			t.Errorf("%s: order %v", version, r.DeploymentOrder)
		}
	}
}

func TestPreManifests(t *testing.T) {
	s := open(t, july(t, map[string]string{
		"overlays/base":      `{metadata: {name: base}, spec: {componentRefs: [{name: app, preManifestFiles: [pre.yaml], manifestFiles: [post.yaml]}]}}`,
		"overlays/eks":       `{metadata: {name: eks}, spec: {criteria: {service: eks}, componentRefs: [{name: app, preManifestFiles: [pre.yaml, more.yaml]}]}}`,
		"pre":                "kind: Namespace\n",
		"more":               "kind: Secret\n",
		"post":               "kind: Service\n",
		"overlays/pre-wrong": `{metadata: {name: pre-wrong}, spec: {criteria: {service: aks}, componentRefs: [{name: app}]}}`,
	}))
	r, _ := resolve(t, s, "eks")
	all, err := s.Components(r)
	if err != nil {
		t.Fatal(err)
	}
	if pre, post := all[0].PreManifests, all[0].Manifests; len(pre) != 2 || pre[1].Path != "more.yaml" || len(post) != 1 || post[0].Path != "post.yaml" {
		t.Errorf("before the chart %v, after it %v", pre, post)
	}
}

func TestValidation_Union(t *testing.T) {
	s := open(t, july(t, map[string]string{
		"overlays/base": `{metadata: {name: base}, spec: {componentRefs: [{name: app}], validation: {deployment: {timeout: 5m, checks: [a, b], constraints: [{name: x, value: "1"}]}, performance: {checks: [p]}}}}`,
		"overlays/eks":  `{metadata: {name: eks}, spec: {criteria: {service: eks}, validation: {deployment: {checks: [b, c], constraints: [{name: x, value: "2"}, {name: z, value: "3"}]}, performance: {checks: []}}}}`,
	}))
	r, _ := resolve(t, s, "eks")
	out, _ := yaml.Marshal(r.Validation)
	want := `deployment:
  checks:
  - a
  - b
  - c
  constraints:
  - name: x
    value: "2"
  - name: z
    value: "3"
  timeout: 5m
performance: {}
`
	if string(out) != want {
		t.Errorf("got\n%s", out)
	}
	_, checks, constraints := r.ValidationPlaces("deployment")
	if checks[0].File != "recipes/overlays/base.yaml" || checks[2].File != "recipes/overlays/eks.yaml" || constraints[0].File != "recipes/overlays/eks.yaml" {
		t.Errorf("places %v, %v", checks, constraints)
	}
}

func TestMixins(t *testing.T) {
	const eks = `{metadata: {name: eks}, spec: {criteria: {service: eks}, mixins: [extra], constraints: [{name: k, value: "1"}], componentRefs: [{name: guarded, overrides: {trace: {level: 1}}}]}}`
	for name, test := range map[string]struct{ mixin, want string }{
		"what adds":                  {`{componentRefs: [{name: app, namespace: other, manifestFiles: [components/m.yaml]}]}`, ""},
		"a new component":            {`{constraints: [{name: j, value: "1"}]}`, ""},
		"listed overrides":           {`{componentRefs: [{name: guarded, overrides: {trace: {enabled: true}}}]}`, ""},
		"a constraint that is there": {`{constraints: [{name: k, value: "1"}]}`, `mixin "extra" sets the constraint "k", which is also set at recipes/overlays/eks.yaml`},
		"another version":            {`{componentRefs: [{name: app, version: "2"}]}`, `mixin "extra" sets version of component "app"`},
		"an override":                {`{componentRefs: [{name: app, overrides: {a: 1}}]}`, `sets overrides.a of component "app", which is not in its mixinSafeOverridePaths`},
		"an override that is there":  {`{componentRefs: [{name: guarded, overrides: {trace: {level: 2}}}]}`, `sets overrides.trace.level of component "guarded", which is also set at recipes/overlays/eks.yaml`},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, july(t, map[string]string{"overlays/eks": eks, "mixins/extra": "{metadata: {name: extra}, spec: " + test.mixin + "}", "components/m": "{}"}))
			r, err := s.ResolveName("eks")
			if test.want != "" {
				refused(t, err, test.want)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if name == "what adds" {
				for _, ref := range r.ComponentRefs {
					if ref.Name == "app" && ref.Namespace != "other" {
						t.Errorf("namespace %s", ref.Namespace)
					}
				}
			}
		})
	}
}

func TestMixins_ComeLast(t *testing.T) {
	s := open(t, july(t, map[string]string{
		"overlays/eks":      `{metadata: {name: eks}, spec: {criteria: {service: eks}, mixins: [extra]}}`,
		"overlays/eks-more": `{metadata: {name: eks-more}, spec: {base: eks, criteria: {service: eks, intent: training}, componentRefs: [{name: app, namespace: leaf}]}}`,
		"mixins/extra":      `{metadata: {name: extra}, spec: {componentRefs: [{name: app, namespace: mixin}]}}`,
	}))
	_, refs := resolve(t, s, "eks-more")
	if refs["app"].Namespace != "mixin" {
		t.Errorf("namespace %s, want the mixin's", refs["app"].Namespace)
	}
}

func TestIncoherent(t *testing.T) {
	for ref, want := range map[string]string{
		`{name: app, patches: [p.yaml]}`:              "has patches, which no deployer of AICR applies",
		`{name: app, type: Helm, tag: v1}`:            "has a tag, which is for Kustomize",
		`{name: loose, type: Helm, chart: loose}`:     "has a chart and no version",
		`{name: app, overrides: {enabled: "false"}}`:  "use true or false, without quotes",
		`{name: app, type: Helm, path: overlays/one}`: "has a path, which is for Kustomize",
	} {
		s, err := Open(july(t, map[string]string{
			"registry":      `{components: [{name: app, helm: {defaultChart: app, defaultVersion: "1"}}, {name: loose, helm: {defaultRepository: "https://charts.example"}}]}`,
			"overlays/base": `{metadata: {name: base}, spec: {componentRefs: [` + ref + `]}}`,
			"p":             "{}",
		}), "recipes")
		if err == nil {
			_, err = s.ResolveName("base")
		}
		refused(t, err, want)
	}
}

func TestCoverage(t *testing.T) {
	files := func(version string) map[string]string {
		return map[string]string{
			"registry":        `{apiVersion: ` + version + `, components: [{name: app, helm: {defaultRepository: "https://charts.example", defaultChart: app, defaultVersion: "1.0"}}]}`,
			"overlays/base":   `{apiVersion: ` + version + `, metadata: {name: base}, spec: {componentRefs: [{name: app}]}}`,
			"overlays/oke-ol": `{apiVersion: ` + version + `, metadata: {name: oke-ol}, spec: {criteria: {service: oke, os: ol}}}`,
			"overlays/gb200":  `{apiVersion: ` + version + `, metadata: {name: gb200}, spec: {criteria: {service: oke, accelerator: gb200, os: ubuntu}}}`,
		}
	}
	s := open(t, july(t, files("aicr.run/v1beta1")))
	for query, want := range map[Criteria]string{
		{Service: "oke"}: "a recipe for service oke needs more than the query has: add --accelerator gb200 --os ubuntu, or --os ol",
		{Service: "oke", Accelerator: "gb200", OS: "ubuntu"}:        "",
		{Service: "oke", Accelerator: "h100", OS: "ol"}:             "no recipe is for accelerator h100 together with the rest of the query",
		{Service: "oke", Accelerator: "gb200", OS: "ol"}:            "no recipe is for accelerator gb200 together with the rest of the query",
		{Service: "any", Accelerator: "any", Intent: "any", OS: ""}: "",
	} {
		_, err := s.Resolve(query)
		if want != "" {
			refused(t, err, want)
		} else if err != nil {
			t.Errorf("%v: %v", query, err)
		}
	}
	// AICR's releases of July reject only what has recipes for operating systems alone.
	older := open(t, july(t, files("aicr.run/v1alpha2")))
	for _, query := range []Criteria{{Service: "oke"}, {Service: "oke", Accelerator: "h100", OS: "ol"}, {Service: "oke", Accelerator: "h100"}, {Accelerator: "gb200"}, {Service: "oke", Accelerator: "gb200", OS: "ol"}} {
		if _, err := older.Resolve(query); err != nil {
			t.Errorf("by the rules of July: %v: %v", query, err)
		}
	}
	_, err := older.Resolve(Criteria{Service: "oke", Accelerator: "gb200"})
	refused(t, err, "a recipe for accelerator gb200 needs more than the query has: add --os ubuntu")
}

func TestSource_InResult(t *testing.T) {
	s := open(t, july(t, map[string]string{
		"registry":      `{components: [{name: own, helm: {defaultNamespace: apps}}]}`,
		"overlays/base": `{metadata: {name: base}, spec: {componentRefs: [{name: own, manifestFiles: [m.yaml]}]}}`,
		"m":             "kind: Service\n",
	}))
	r, _ := resolve(t, s, "base")
	for form, print := range map[string]func() ([]byte, error){"YAML": r.YAML, "JSON": r.JSON} {
		out, err := print()
		var doc struct{ ComponentRefs []map[string]any }
		if err == nil {
			err = yaml.Unmarshal(out, &doc)
		}
		if err != nil || len(doc.ComponentRefs) != 1 {
			t.Fatalf("%s: %v\n%s", form, err, out)
		}
		if source, ok := doc.ComponentRefs[0]["source"]; !ok || source != "" {
			t.Errorf("%s: source is %v", form, source)
		}
	}
}
