package daytwo

import (
	"cmp"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/rendering"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// What a chart's own hook Job would bring up to date is written in its place, if the release was
// there before; a chart without such a Job leaves its crds/ as they are.
func TestDefinitions(t *testing.T) {
	const crd = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: widgets.x.y}\nspec: {scope: Namespaced}\n"
	for name, tc := range map[string]struct {
		job    string
		script string
		before string
		want   string
		added  bool // the definition that is new
	}{
		"a hook Job":              {"upgrade-crd", "", "b", "Namespaced", false},
		"one that may create":     {"upgrade-crd creates", "", "b", "Namespaced", true},
		"one that names a file":   {"upgrade-crd creates widgets.yaml", "", "b", "Namespaced", false},
		"one that names the new":  {"upgrade-crd creates gadgets.yaml", "", "b", "Cluster", true},
		"one that names another":  {"upgrade-crd creates values.yaml", "", "b", "Namespaced", true},
		"a script":                {"", "001-b/apply-crds.sh", "b", "Namespaced", true},
		"none":                    {"", "", "b", "Cluster", false},
		"a new release":           {"upgrade-crd", "", "a", "Cluster", false},
		"a new release, a script": {"", "001-b/apply-crds.sh", "a", "Cluster", false},
	} {
		t.Run(name, func(t *testing.T) {
			env := envWith(t, `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.x.y, resourceVersion: "7"}, spec: {scope: Cluster}}`)
			fake := env.Clients.Dynamic.(*dynamicfake.FakeDynamicClient)
			definitions := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
			fake.PrependReactor("patch", "*", func(action clienttesting.Action) (bool, runtime.Object, error) { // which the fake cannot apply
				patch := action.(clienttesting.PatchAction)
				made := testkit.Parsed(t, string(patch.GetPatch()))
				if err := fake.Tracker().Update(definitions, made, ""); !apierrors.IsNotFound(err) {
					return true, made, err
				}
				return true, made, fake.Tracker().Create(definitions, made, "")
			})
			of := func(release, job string) *bundle.Bundle {
				r := bundle.Release{Name: release, Component: release, Namespace: "ns", DefinitionJobs: jobOf(job), Given: bundle.Given{CRDScript: tc.script}}
				ch := &chart.Chart{Metadata: &chart.Metadata{APIVersion: "v2", Name: release, Version: "1.0.0"}, Files: []*chart.File{{Name: "crds/widgets.yaml", Data: []byte(crd)}, {Name: "crds/gadgets.yaml", Data: []byte(strings.ReplaceAll(crd, "widgets", "gadgets"))}}}
				return &bundle.Bundle{Expectation: bundle.Expectation{Releases: []bundle.Release{r}}, Installs: []bundle.Install{{Release: r, Chart: ch}}}
			}
			notes, err := Bundles{Before: of(tc.before, tc.job), Now: of("b", tc.job)}.Definitions(t.Context(), env)
			if err != nil {
				t.Fatal(err)
			}
			live, err := fake.Resource(definitions).Get(t.Context(), "widgets.x.y", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if got, _, _ := unstructured.NestedString(live.Object, "spec", "scope"); got != tc.want {
				t.Errorf("got scope %s, want %s; notes %q", got, tc.want, notes)
			}
			if _, err := fake.Resource(definitions).Get(t.Context(), "gadgets.x.y", metav1.GetOptions{}); (err == nil) != tc.added {
				t.Errorf("the new one: got %v, want %v", err, tc.added)
			}
			if said := strings.Join(notes, "\n"); strings.Contains(said, cmp.Or(tc.script, "Job upgrade-crd of release b")) != (tc.want == "Namespaced" || tc.added) {
				t.Errorf("got the notes %q", notes)
			}
		})
	}
}

// jobOf is NAME, NAME creates, or NAME creates FILE.
func jobOf(text string) []rendering.DefinitionJob {
	words := strings.Fields(text)
	if len(words) == 0 {
		return nil
	}
	job := rendering.DefinitionJob{Name: words[0], Creates: len(words) > 1}
	if len(words) > 2 {
		job.Files = words[2:]
	}
	return []rendering.DefinitionJob{job}
}
