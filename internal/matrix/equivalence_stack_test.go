package matrix

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/charts/catalog"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit"
	"github.com/nvidia/aicr-action/internal/testkit/infratest"
)

// storeOf opens a recipes directory of these files.
func storeOf(t *testing.T, texts map[string]string) *recipe.Store {
	t.Helper()
	files := fstest.MapFS{}
	for name, text := range texts {
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	store, err := recipe.Open(files, "recipes")
	if err != nil {
		t.Fatalf("open the recipes: %v", err)
	}
	return store
}

// smallRecipes are two: "plain" has a chart and manifests with what deployers and API servers
// choose for themselves; "nulls" has the same chart with a null, which takes a default away.
func smallRecipes(t *testing.T, r *Runner) {
	t.Helper()
	r.Store = storeOf(t, map[string]string{
		"registry.yaml": `
apiVersion: aicr.nvidia.com/v1alpha1
kind: ComponentRegistry
components:
  - name: web
    helm: {defaultRepository: "https://charts.example.com", defaultChart: example/web, defaultVersion: 1.0.0, defaultNamespace: web}
  - name: extras
    manifest: {defaultNamespace: extras}
`,
		"overlays/base.yaml": `
apiVersion: aicr.nvidia.com/v1alpha1
kind: RecipeMetadata
metadata: {name: base}
spec:
  componentRefs:
    - {name: web, valuesFile: components/web/values.yaml}
`,
		"overlays/plain.yaml": `
apiVersion: aicr.nvidia.com/v1alpha1
kind: RecipeMetadata
metadata: {name: plain}
spec:
  criteria: {service: eks, intent: training}
  componentRefs:
    - name: extras
      manifestFiles: [components/extras/manifests/extras.yaml]
`,
		"overlays/nulls.yaml": `
apiVersion: aicr.nvidia.com/v1alpha1
kind: RecipeMetadata
metadata: {name: nulls}
spec:
  criteria: {service: eks, intent: inference}
  componentRefs:
    - {name: web, valuesFile: components/web/values-nulls.yaml}
`,
		"components/web/values.yaml":       "limit: 7\n",
		"components/web/values-nulls.yaml": "limit: 7\nremoved: null\nnested: {gone: null, kept: 1}\n",
		"components/extras/manifests/extras.yaml": `
apiVersion: v1
kind: Secret
metadata:
  name: generated
  labels: {helm.sh/chart: '{{ .Chart.Name }}-{{ .Chart.Version | replace "+" "_" }}'}
stringData: {password: '{{ randAlphaNum 16 }}'}
---
apiVersion: v1
kind: Service
metadata: {name: ports}
spec: {type: NodePort, ports: [{port: 80}], selector: {app: none}}
`,
	})
	r.Charts = catalog.FromFS(fstest.MapFS{
		"web/Chart.yaml":  {Data: []byte("apiVersion: v2\nname: web\nversion: 1.0.0\n")},
		"web/values.yaml": {Data: []byte("limit: 1\nremoved: default\nnested: {}\n")},
		"web/templates/web.yaml": {Data: []byte(`
apiVersion: v1
kind: ConfigMap
metadata: {name: web}
data:
  limit: {{ .Values.limit | quote }}
  removed: {{ .Values.removed | default "nothing" | quote }}
  nested: {{ .Values.nested | toJson | quote }}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      tolerations: [{operator: Exists}]
      containers: [{name: web, image: "example.com/web:1"}]
`)},
	}, "small")
}

// edited is a deployer with a defect: it replaces a text in its bundle's files.
type edited struct {
	bundle.Deployer
	old, new string
}

func (d edited) Bundle(ctx context.Context, in bundle.Input) (*bundle.Bundle, error) {
	b, err := d.Deployer.Bundle(ctx, in)
	if err != nil {
		return nil, err
	}
	for i := range b.Files {
		b.Files[i].Content = bytes.ReplaceAll(b.Files[i].Content, []byte(d.old), []byte(d.new))
	}
	return b, nil
}

func deployers(t *testing.T, names ...string) []bundle.Deployer {
	t.Helper()
	list, err := bundle.ByName(names)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// smallRun plans and runs cells of the small recipes, and gives the results by name.
func smallRun(t *testing.T, plan func(r *Runner) []Plan) map[string]result.Result {
	t.Helper()
	r := stackRunner(t)
	smallRecipes(t, r)
	plans := plan(r)
	infratest.Slots(t, min(2, len(plans)))
	results, err := r.RunAll(t.Context(), plans, 2)
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]result.Result{}
	for _, res := range results {
		byName[res.Cell.String()] = res
		t.Logf("%s: %s %s %s\n%s\nnotes: %s", res.Cell, res.Status, res.Reason, res.Cause, strings.Join(res.Details, "\n"), strings.Join(res.Notes, "\n"))
	}
	return byName
}

func plansOf(t *testing.T, r *Runner, name string, d ...bundle.Deployer) []Plan {
	t.Helper()
	plans, err := r.Plan(name, d)
	if err != nil {
		t.Fatalf("plan %s: %v", name, err)
	}
	return plans
}

// A values key that one deployer drops: both cells pass by themselves, and the comparison has the
// object, the path and both values. What differs for reasons that are known is noted and no more.
func TestDroppedValue(t *testing.T) {
	t.Parallel()
	got := smallRun(t, func(r *Runner) []Plan {
		return plansOf(t, r, "plain", deployers(t, bundle.Helm)[0], edited{deployers(t, bundle.FluxOCI)[0], "limit: 7\n", ""})
	})
	if res := got["plain/helm"]; res.Status != result.Passed {
		t.Errorf("helm: got %s: %s", res.Status, res.Cause)
	}
	res := got["plain/flux-oci"]
	if res.Status != result.Failed || res.Reason != reason.LaneDivergence || len(res.Details) != 1 {
		t.Fatalf("flux-oci: got %s, %s: %s, %q; want one difference", res.Status, res.Reason, res.Cause, res.Details)
	}
	testkit.WantText(t, "cause", res.Cause, `ConfigMap web/web  data.limit  helm: "7"; flux-oci: "1"`)
	testkit.WantText(t, "rerun", res.Rerun, "plain/helm,flux-oci")
	testkit.WantText(t, "notes", strings.Join(res.Notes, "\n"), "Secret extras/generated data.password: the chart generates", `Secret extras/generated metadata.labels["helm.sh/chart"]: helm-controller`)
}

// F34: a null takes a chart's default away in every lane, or the lanes differ and that is said.
func TestNullValue(t *testing.T) {
	t.Parallel()
	all := slices.DeleteFunc(bundle.Deployers(), func(d bundle.Deployer) bool { return d.Name() == bundle.Helmfile }) // which TestNightlyHelmfile compiles
	got := smallRun(t, func(r *Runner) []Plan { return plansOf(t, r, "nulls", all...) })
	for _, d := range all {
		if got["nulls/"+d.Name()].Status != result.Passed {
			t.Errorf("%s: got %s", d.Name(), got["nulls/"+d.Name()].Status)
		}
	}
}
