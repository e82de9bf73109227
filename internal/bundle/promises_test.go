package bundle

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/nvidia/aicr-action/internal/charts/catalog"
	"github.com/nvidia/aicr-action/internal/recipe"
)

// everywhere are the workloads that belong on nodes of both kinds: no path selects nodes for them.
func everywhere() []string {
	return []string{
		"DaemonSet nfd-node-feature-discovery-worker", "DaemonSet node-problem-detector", "DaemonSet ebs-csi-node",
		"DaemonSet platform-connectors", "DaemonSet gpu-health-monitor", "DaemonSet syslog-health-monitor", "DaemonSet metadata-collector",
	}
}

// strays are the workloads whose pods do not have what the nodes ask of them: a selector by node
// type, and tolerations of their taints.
func strays(e Expectation) []string {
	s := KwokScheduling()
	var all []string
	for _, w := range e.Workloads {
		name := w.Kind + " " + w.Name
		both := slices.Contains(everywhere(), name)
		if w.Node == NodeAny && !both {
			all = append(all, name+" is not steered to a kind of nodes")
		}
		needed := s.SystemTolerations
		if w.Node == NodeAccelerated || both {
			needed = s.AcceleratedTolerations
		}
		for _, toleration := range needed {
			taint := corev1.Taint{Key: toleration.Key, Value: toleration.Value, Effect: toleration.Effect}
			if !slices.ContainsFunc(w.PodSpec.Tolerations, func(t corev1.Toleration) bool { return t.ToleratesTaint(klog.Background(), &taint, false) }) {
				all = append(all, name+" does not tolerate "+taint.Key)
			}
		}
	}
	return all
}

// byComponent is every component that a recipe has, as one of them has it. What none has is in TestRecipes.
func byComponent(t *testing.T, store *recipe.Store) map[string]recipe.Component {
	t.Helper()
	found := map[string]recipe.Component{}
	for _, name := range store.Names() {
		result, err := store.ResolveName(name)
		if err != nil {
			t.Fatal(err)
		}
		components, err := store.Components(result)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range components {
			if _, ok := found[c.Name]; !ok {
				found[c.Name] = c
			}
		}
	}
	return found
}

// alone renders a component without its neighbours.
func alone(t *testing.T, charts catalog.Source, c recipe.Component) Expectation {
	t.Helper()
	c.DependencyRefs = nil
	in, err := Prepare(context.Background(), Input{
		Recipe: &recipe.Result{Metadata: recipe.Metadata{Name: c.Name}}, Components: []recipe.Component{c}, Scheduling: KwokScheduling(), Charts: charts, KubeVersion: "v1.36.1",
	})
	if err != nil {
		t.Fatal(err)
	}
	return in.prepared.expectation
}

// without gives the component with a path of the registry forgotten.
func without(c recipe.Component, path string) recipe.Component {
	drop := func(paths []string) []string {
		return slices.DeleteFunc(slices.Clone(paths), func(p string) bool { return p == path })
	}
	for _, s := range []*recipe.SchedulingPaths{&c.NodeScheduling.System, &c.NodeScheduling.Accelerated} {
		s.NodeSelectorPaths, s.TolerationPaths = drop(s.NodeSelectorPaths), drop(s.TolerationPaths)
	}
	return c
}

// Every workload of every component has the scheduling that the registry's paths set, and each path
// is needed: without it some workload is a stray. So the test finds a path that is missing in the
// registry, because the chart added it or a change of the registry removed it.
func TestRegistryPaths(t *testing.T) {
	// The chart tolerates everything without the path.
	idle := map[string]bool{
		"kube-prometheus-stack prometheus-node-exporter.tolerations": true, "node-problem-detector tolerations": true,
		// Off in the recipes.
		"kube-prometheus-stack thanosRuler.thanosRulerSpec.nodeSelector": true, "kube-prometheus-stack thanosRuler.thanosRulerSpec.tolerations": true,
		"nfd topologyUpdater.tolerations":              true,
		"slinky-slurm accounting.podSpec.nodeSelector": true, "slinky-slurm accounting.podSpec.tolerations": true,
		"slinky-slurm loginsets.slinky.podSpec.nodeSelector": true, "slinky-slurm loginsets.slinky.podSpec.tolerations": true,
	}
	store, charts := shipped(t)
	paths := 0
	for name, c := range byComponent(t, store) {
		var own []string
		for _, s := range []recipe.SchedulingPaths{c.NodeScheduling.System, c.NodeScheduling.Accelerated} {
			own = append(own, append(slices.Clone(s.NodeSelectorPaths), s.TolerationPaths...)...)
		}
		if len(own) == 0 || name == "nodewright-customizations" {
			continue // CRDs only, or an object for an operator: Prepare refuses what renders no workload
		}
		if found := strays(alone(t, charts, c)); len(found) > 0 {
			t.Errorf("%s:\n  %s\nadd the paths to recipes/registry.yaml, or the workload to everywhere", name, strings.Join(found, "\n  "))
		}
		for _, path := range sortedUnique(own) {
			paths++
			if found := strays(alone(t, charts, without(c, path))); (len(found) == 0) != idle[name+" "+path] {
				t.Errorf("%s: without %s these are strays: %v", name, path, found)
			}
		}
	}
	if paths < 60 {
		t.Errorf("%d paths, want at least 60", paths)
	}
}

// The message about a workload that a path no longer reaches names the workload, and the selector
// or toleration that is missing.
func TestStrays(t *testing.T) {
	pod := corev1.PodSpec{Tolerations: KwokScheduling().SystemTolerations}
	got := strays(Expectation{Workloads: []Workload{
		{Kind: "Deployment", Name: "a", Node: NodeSystem, PodSpec: pod}, {Kind: "Deployment", Name: "b", PodSpec: pod},
		{Kind: "DaemonSet", Name: "c", Node: NodeAccelerated, PodSpec: pod}, {Kind: "Job", Name: "d", Node: NodeSystem},
	}})
	want := []string{"Deployment b is not steered to a kind of nodes", "DaemonSet c does not tolerate nvidia.com/gpu", "Job d does not tolerate kwok.x-k8s.io/node"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
