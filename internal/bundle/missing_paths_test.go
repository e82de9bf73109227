package bundle

import (
	"context"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"

	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/testkit/shippedtest"
)

// registryWithout is this project's recipes, in which one entry of the registry lacks a line.
func registryWithout(t *testing.T, component, line string) fs.FS {
	t.Helper()
	fsys := shippedtest.Copy(t)
	if line == "" {
		return fsys
	}
	text := string(fsys["registry.yaml"].Data)
	at := strings.Index(text, "- name: "+component+"\n")
	cut := strings.Index(text[max(at, 0):], line)
	if at < 0 || cut < 0 {
		t.Fatalf("the registry's entry of %s has no line %q any more: correct this test", component, line)
	}
	fsys["registry.yaml"].Data = []byte(text[:at+cut] + strings.Replace(text[at+cut:], line, "", 1))
	return fsys
}

// three of the recipes: two clouds' own, and one with a platform.
var three = []string{"aks", "eks", "h100-eks-ubuntu-training-kueue"}

// refused are the workloads of each of the three recipes whose pods no simulated node admits, with
// the forgotten paths, in alphabetical order; recipes that have none are left out.
func refused(t *testing.T, fsys fs.FS) map[string][]string {
	t.Helper()
	store, err := recipe.Open(fsys, "recipes")
	if err != nil {
		t.Fatal(err)
	}
	charts := shippedtest.Charts(t)
	found := map[string][]string{}
	for _, name := range three {
		resolved, err := store.ResolveName(name)
		if err != nil {
			t.Fatal(err)
		}
		components, err := store.Components(resolved)
		if err != nil {
			t.Fatal(err)
		}
		in := Input{Recipe: resolved, Components: components, Scheduling: KwokScheduling(), Charts: charts, KubeVersion: "v1.36.1", APIs: StackAPIs()}
		b := marked(t, in)
		for i := range b.Expectation.Workloads {
			w := &b.Expectation.Workloads[i]
			if !lacks(w, in.Scheduling.SystemTolerations) {
				if len(w.ForgottenPaths) > 0 {
					t.Errorf("%s: %s %s lacks nothing, and %v are said to be forgotten", name, w.Kind, w.Name, w.ForgottenPaths)
				}
				continue
			}
			text := w.Kind + " " + w.Namespace + "/" + w.Name + ":"
			for _, vp := range w.ForgottenPaths {
				text += " " + vp.Path
				if !strings.HasPrefix(vp.Origin.String(), "recipes/registry.yaml:") {
					t.Errorf("%s: the path is said to be missing in %s", text, vp.Origin)
				}
			}
			found[name] = append(found[name], text)
		}
		slices.Sort(found[name])
	}
	return found
}

func marked(t *testing.T, in Input) *Bundle {
	t.Helper()
	helm, err := ByName([]string{"helm"})
	if err != nil {
		t.Fatal(err)
	}
	in, err = Prepare(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	b, err := helm[0].Bundle(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	if err := MarkMissingPaths(t.Context(), helm[0], in, b); err != nil {
		t.Fatal(err)
	}
	return b
}

// Without one toleration path in the registry, exactly the workloads that need it are on no node,
// in exactly the recipes that have them, and the path is named with the entry that lacks it.
func TestMark_MissingRegistryPath(t *testing.T) {
	if whole := refused(t, registryWithout(t, "", "")); len(whole) > 0 {
		t.Errorf("with the whole registry, no node admits %v", whole)
	}
	for component, test := range map[string]struct {
		line string
		want map[string][]string // by recipe
	}{
		"cert-manager": {"          - webhook.tolerations\n", map[string][]string{
			"aks": {"Deployment cert-manager/cert-manager-webhook: webhook.tolerations"}, "eks": {"Deployment cert-manager/cert-manager-webhook: webhook.tolerations"}, "h100-eks-ubuntu-training-kueue": {"Deployment cert-manager/cert-manager-webhook: webhook.tolerations"},
		}},
		"kueue": {"          - controllerManager.tolerations\n", map[string][]string{"h100-eks-ubuntu-training-kueue": {"Deployment kueue-system/kueue-controller-manager: controllerManager.tolerations"}}},
	} {
		t.Run(component, func(t *testing.T) {
			got := refused(t, registryWithout(t, component, test.line))
			for name, workloads := range test.want {
				if !slices.Equal(got[name], workloads) {
					t.Errorf("%s: got %q, want %q", name, got[name], workloads)
				}
			}
			for name, workloads := range got {
				if _, ok := test.want[name]; !ok {
					t.Errorf("%s does not need the path, and no node admits %q", name, workloads)
				}
			}
		})
	}
}

// Mark returns the error of a cancelled context. Without a workload that lacks tolerations it
// renders nothing.
func TestMark_Cancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	helm, err := ByName([]string{"helm"})
	if err != nil {
		t.Fatal(err)
	}
	in := Input{Scheduling: KwokScheduling(), Components: []recipe.Component{{
		ComponentRef: recipe.ComponentRef{Name: "a"}, Values: map[string]any{"b": map[string]any{"tolerations": []any{}, "c.tolerations": nil, "podTolerations": nil, "tolerations2": nil, "text": map[string]any{"tolerations": "none"}}},
	}}}
	none := &Bundle{}
	if err := MarkMissingPaths(ctx, helm[0], in, none); err != nil {
		t.Errorf("nothing lacks anything: %v", err)
	}
	one := &Bundle{Expectation: Expectation{Workloads: []Workload{{Component: "a"}}}}
	if err := MarkMissingPaths(ctx, helm[0], in, one); err == nil {
		t.Error("the context's end is not told")
	}
	if err := MarkMissingPaths(t.Context(), helm[0], in, one); err != nil || len(one.Expectation.Workloads[0].ForgottenPaths) > 0 {
		t.Errorf("an input that makes no bundle: %v, %v", err, one.Expectation.Workloads[0].ForgottenPaths)
	}
	one.Installs = []Install{{Release: Release{Component: "a"}, Chart: &chart.Chart{Metadata: &chart.Metadata{Name: "a"}, Templates: []*chart.File{
		{Data: []byte("{{ .Values.web.tolerations }}{{ with $own.nodeTolerations }}{{ .Values.b.tolerations.x }}{{ .Values.toleration }}")},
	}}}}
	if got, want := candidates(&in.Components[0], one), []string{"b.podTolerations", "b.tolerations", "nodeTolerations", "web.tolerations"}; !slices.Equal(got, want) {
		t.Errorf("candidates: got %q, want %q", got, want)
	}
}

// The lanes of a recipe share what was rendered, and a lane's marks are its own: each path is named
// once.
func TestMark_TwoLanes(t *testing.T) {
	store, err := recipe.Open(registryWithout(t, "cert-manager", "          - webhook.tolerations\n"), "recipes")
	if err != nil {
		t.Fatal(err)
	}
	resolved, err := store.ResolveName("eks")
	if err != nil {
		t.Fatal(err)
	}
	components, err := store.Components(resolved)
	if err != nil {
		t.Fatal(err)
	}
	in, err := Prepare(t.Context(), Input{
		Recipe: resolved, Components: components, Scheduling: KwokScheduling(), Charts: shippedtest.Charts(t), KubeVersion: "v1.36.1", APIs: StackAPIs(),
	})
	if err != nil {
		t.Fatal(err)
	}
	helm, err := ByName([]string{"helm"})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		b, err := helm[0].Bundle(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		if err := MarkMissingPaths(t.Context(), helm[0], in, b); err != nil {
			t.Fatal(err)
		}
		for i := range b.Expectation.Workloads {
			if w := &b.Expectation.Workloads[i]; w.Name == "cert-manager-webhook" && len(w.ForgottenPaths) != 1 {
				t.Errorf("%v: got %v, want one path", key(w), w.ForgottenPaths)
			}
		}
	}
}

// The same for every toleration path of the registry, component by component: without the path, no
// node admits the workloads that only this path steers, other workloads are unaffected, and the
// path is named.
func TestMark_EveryRegistryPath(t *testing.T) {
	store := shippedtest.Recipes(t)
	charts := shippedtest.Charts(t)
	tried := map[string]bool{}
	refused := 0
	for _, name := range store.Names() {
		resolved, err := store.ResolveName(name)
		if err != nil {
			t.Fatal(err)
		}
		components, err := store.Components(resolved)
		if err != nil {
			t.Fatal(err)
		}
		for i := range components {
			c := components[i]
			if tried[c.Name] {
				continue
			}
			tried[c.Name] = true
			c.DependencyRefs = nil
			in := Input{Recipe: resolved, Components: []recipe.Component{c}, Scheduling: KwokScheduling(), Charts: charts, KubeVersion: "v1.36.1", APIs: StackAPIs()}
			if _, err := Prepare(t.Context(), in); err != nil {
				continue // only CRDs, or a chart that needs another one's: no workload to be on no node
			}
			whole := marked(t, in)
			for _, path := range slices.Compact(slices.Sorted(slices.Values(slices.Concat(c.NodeScheduling.System.TolerationPaths, c.NodeScheduling.Accelerated.TolerationPaths)))) {
				less := in
				less.Components = []recipe.Component{withoutMissingPath(c, path)}
				refused += comparePath(t, path, in.Scheduling, whole, marked(t, less))
			}
		}
	}
	if refused < 10 {
		t.Errorf("only %d workloads were refused for want of a path: correct this test", refused)
	}
}

// withoutMissingPath is the component with a registry entry that lacks a toleration path.
func withoutMissingPath(c recipe.Component, path string) recipe.Component {
	is := func(p string) bool { return p == path }
	for _, paths := range []*[]string{&c.NodeScheduling.System.TolerationPaths, &c.NodeScheduling.Accelerated.TolerationPaths} {
		*paths = slices.DeleteFunc(slices.Clone(*paths), is)
	}
	return c
}

// merged are paths that no chart names: NATS's chart merges everything under podTemplate.merge
// into its pod template. No node admits the workload, and only its template is named.
var merged = map[string]bool{"nats.podTemplate.merge.spec.tolerations": true}

// comparePath gives the number of workloads that no node admits.
func comparePath(t *testing.T, path string, s Scheduling, whole, less *Bundle) int {
	t.Helper()
	refused := 0
	for i := range less.Expectation.Workloads {
		w := &less.Expectation.Workloads[i]
		at := slices.IndexFunc(whole.Expectation.Workloads, func(o Workload) bool { return key(&o) == key(w) })
		if at < 0 {
			t.Errorf("%s: %v is new", path, key(w))
			continue
		}
		before := whole.Expectation.Workloads[at].TolerationPaths
		needs := len(before) > 0 && !slices.ContainsFunc(before, func(vp ValuePath) bool { return vp.Path != path })
		switch {
		case lacks(w, s.SystemTolerations) != (needs && lacks(&Workload{PodSpec: w.PodSpec}, s.SystemTolerations)):
			t.Errorf("without %s: %v, which was steered by %v, is refused: %v", path, key(w), before, !needs)
		case lacks(w, s.SystemTolerations):
			refused++
			if merged[path] {
				continue
			}
			if !slices.ContainsFunc(w.ForgottenPaths, func(vp ValuePath) bool {
				return vp.Path == path && strings.HasPrefix(vp.Origin.File, "recipes/registry.yaml")
			}) {
				t.Errorf("without %s: %v is refused, and the path is not named: %v", path, key(w), w.ForgottenPaths)
			}
		}
	}
	return refused
}
