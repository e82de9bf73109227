package oracle

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/testkit/infratest"
	"github.com/nvidia/aicr-action/internal/testkit/testskip"
)

// plugins are the kinds of refusals by the plugin of the scheduler that says them. Of a cordon two do.
var plugins = map[string]string{
	"unschedulable": "TaintToleration", "nodeName": "NodeName", "taint": "TaintToleration", "nodeSelector": "NodeAffinity", "nodeAffinity": "NodeAffinity",
	"hostPort": "NodePorts", "resource": "NodeResourcesFit", "volume": "Volume", "resourceClaim": "DynamicResources", "topologySpread": "PodTopologySpread",
	"podAffinity": "InterPodAffinity", "podAntiAffinity": "InterPodAffinity", "podAntiAffinityOfOthers": "InterPodAffinity",
}

// The scheduler's filters and package why rule out the same nodes, each by the same plugins.
func TestOracleScheduler(t *testing.T) {
	testskip.Short(t, "it compiles a scheduler")
	if runtime.GOOS != "linux" {
		testskip.Missing(t, "it is one program with the kubelet, which is one of Linux")
	}
	dir, version, _ := theStack(t)
	d := theProgram(t, "decides", version)
	o := &oracle{name: "scheduler", version: version, bases: readInputs(t, "testdata/placed/*.yaml"), prepare: func(in *input) {
		unstructured.RemoveNestedField(in.Subject, "spec", "nodeName") // the scheduler looks at no such pod
	}}
	o.program = func(ctx context.Context, all []input) (map[string]verdict, error) {
		a, err := d.ask(ctx, "scheduler", infratest.ShortTempDir(t), all, 120)
		if err != nil {
			return nil, err
		}
		return a.Verdicts, nil
	}
	o.compare = func(ctx context.Context, in *input, v *verdict) (*difference, error) {
		if v.Word == "invalid" || v.Word == "unread" {
			return nil, nil
		}
		own, err := refusals(ctx, in)
		if err != nil {
			return nil, err
		}
		theirs, by := byNode(v.Nodes, pluginOf), byNode(own, func(kind string) string { return plugins[kind] })
		if v.Reason != "" { // PreFilter: the others were not asked
			for node := range by {
				if strings.Contains(by[node], pluginOf(v.Reason)) {
					by[node] = pluginOf(v.Reason)
				}
			}
		}
		if node := pinned(in); node != "" {
			other := func(name, _ string) bool { return name != node }
			maps.DeleteFunc(theirs, other)
			maps.DeleteFunc(by, other)
		}
		if maps.Equal(theirs, by) {
			return nil, nil
		}
		return &difference{*in, differing(theirs, by, v.Nodes), differing(by, theirs, own)}, nil
	}
	o.run(t, theSchemas(t, dir))
}

// pluginOf counts all plugins for volumes as one, and those for taints.
func pluginOf(name string) string {
	switch {
	case strings.Contains(name, "Volume"):
		return "Volume"
	case name == "NodeUnschedulable":
		return "TaintToleration"
	}
	return name
}

// byNode are the plugins that rule out each node, as a text.
func byNode(nodes map[string]map[string]string, plugin func(string) string) map[string]string {
	all := map[string]string{}
	for node, said := range nodes {
		var names []string
		for _, kind := range slices.Sorted(maps.Keys(said)) {
			if name := plugin(kind); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		all[node] = strings.Join(names, "+")
	}
	return all
}

// differing says by which plugins the first node that differs is ruled out, and their words.
func differing(these, others map[string]string, words map[string]map[string]string) string {
	for _, node := range slices.Sorted(maps.Keys(words)) {
		if these[node] != others[node] {
			var texts []string
			for _, k := range slices.Sorted(maps.Keys(words[node])) {
				texts = append(texts, k+": "+words[node][k])
			}
			return fmt.Sprintf("%s (%s; on %s)", these[node], strings.Join(texts, "; "), node)
		}
	}
	return "fits"
}
