package embedded

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/stack"
	"github.com/nvidia/aicr-action/internal/testkit"
	"github.com/nvidia/aicr-action/internal/testkit/infratest"
	"github.com/nvidia/aicr-action/internal/util/wait"
)

// A cluster that starts with the CRDs of Argo CD and Flux equals one to which they are applied: in
// its stored objects, in discovery, and in both kinds of OpenAPI documents.
func TestPreloadedCRDs(t *testing.T) {
	s, root := realStack(t), infratest.ShortTempDir(t)
	groups := []stack.Group{stack.GroupArgoCD, stack.GroupFlux}
	if err := s.Build(t.Context(), logProgress{t}, append(groups, stack.GroupHelm)...); err != nil {
		t.Fatal(err)
	}
	preloaded, applied := newCluster(t, s, root, "preloaded"), newCluster(t, s, root, "applied")
	preloaded.preload = groups
	var names []string
	for _, c := range []*testCluster{preloaded, applied} {
		if err := c.up(t.Context()); err != nil {
			t.Fatal(err)
		}
		names = nil
		for _, g := range groups {
			more, err := ensureCRDs(t.Context(), c.clients, s.CRDs(g), c.hasPreloaded(g))
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, more...)
		}
		if err := c.clients.WaitCRDs(t.Context(), names, time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	if len(names) < 10 {
		t.Fatalf("CRDs: %q, want those of Argo CD and of Flux", names)
	}
	for _, name := range names {
		if got, want := stored(t, preloaded, name), stored(t, applied, name); !reflect.DeepEqual(got, want) {
			t.Errorf("CRD %s: got %v, want what the API server and its controllers make of it: %v", name, got, want)
		}
	}
	// What is served of CRDs that come later is built in the background.
	for what, read := range map[string]func(*testing.T, *testCluster) map[string]any{"discovery": apiNames, "OpenAPI v2": openAPIv2, "OpenAPI v3": openAPIv3} {
		testkit.Eventually(t, what+" to be the same", time.Minute, func() wait.Result {
			got, want := read(t, preloaded), read(t, applied)
			for _, key := range slices.Sorted(maps.Keys(want)) {
				if !reflect.DeepEqual(got[key], want[key]) {
					return wait.NotYet("%s differs", key)
				}
			}
			if len(got) != len(want) || len(want) < 20 {
				return wait.NotYet("%d entries, want %d", len(got), len(want))
			}
			return wait.Done()
		})
	}
}

// stored is a CRD without the fields that differ from one creation to the next, and without its
// managed fields.
func stored(t *testing.T, c *testCluster, name string) map[string]any {
	t.Helper()
	o, err := c.clients.Dynamic.Resource(infra.CRDResource).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	o.SetManagedFields(nil)
	o.SetUID("")
	o.SetResourceVersion("")
	o.SetCreationTimestamp(metav1.Time{})
	conditions, _ := o.Object["status"].(map[string]any)["conditions"].([]any)
	for _, condition := range conditions {
		delete(condition.(map[string]any), "lastTransitionTime")
	}
	return o.Object
}

// apiNames are the APIs as Helm finds them.
func apiNames(t *testing.T, c *testCluster) map[string]any {
	t.Helper()
	all := map[string]any{}
	for _, api := range discovered(t, c) {
		all[api.Name] = api.Watched
	}
	return all
}

// openAPIv2 are the definitions and paths of the document.
func openAPIv2(t *testing.T, c *testCluster) map[string]any {
	t.Helper()
	raw, err := c.clients.Discovery.RESTClient().Get().AbsPath("/openapi/v2").SetHeader("Accept", "application/json").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var document struct{ Definitions, Paths map[string]any }
	if err := json.Unmarshal(raw, &document); err != nil {
		t.Fatal(err)
	}
	all := map[string]any{}
	for _, part := range []map[string]any{document.Definitions, document.Paths} {
		maps.Copy(all, part)
	}
	return all
}

// openAPIv3 are the documents of the deployers' groups, and the paths of the others.
func openAPIv3(t *testing.T, c *testCluster) map[string]any {
	t.Helper()
	paths, err := c.clients.Discovery.OpenAPIV3().Paths()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]any{}
	for path, group := range paths {
		all[path] = true
		if !strings.Contains(path, "argoproj.io") && !strings.Contains(path, "fluxcd.io") {
			continue
		}
		raw, err := group.Schema("application/json")
		if err != nil {
			t.Fatal(err)
		}
		var document any
		if err := json.Unmarshal(raw, &document); err != nil {
			t.Fatal(err)
		}
		all[path] = document
	}
	return all
}
