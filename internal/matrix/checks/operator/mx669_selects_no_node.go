package operator

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
)

var selectsNoNode = judge.Check{
	ID: "MX669", Name: "resource-selects-no-node", Needs: judge.Rendered,
	Title: "A custom resource for some nodes selects one",
	Why: "Kueue gives a flavor's pods the labels of its nodes, and the operators of drivers, networks and node packages work on the nodes that a resource selects. With labels that no node has they do nothing, and say nothing of it " +
		"(https://kueue.sigs.k8s.io/docs/concepts/resource_flavor/). Labels that Node Feature Discovery and NVIDIA's operators set are not looked at, nor those that a rule of the recipe sets.",
	Fix:  "Use labels that the nodes of the profile have.",
	Says: "selects nodes with %s (%s), and no node has that", Then: "%[3]s",
	Run: func(s *judge.Scope) {
		for _, c := range nodeSelections {
			for _, o := range s.Rendered(c.of) {
				selects, _, _ := unstructured.NestedStringMap(o.Object.Object, strings.Split(c.path, ".")...)
				for key := range selects {
					if setAtRunTime(s.Index, key) {
						delete(selects, key)
					}
				}
				selector := labels.SelectorFromSet(selects)
				if len(selects) == 0 || len(s.Nodes) == 0 || slices.ContainsFunc(s.Nodes, func(n corev1.Node) bool { return selector.Matches(labels.Set(n.Labels)) }) {
					continue
				}
				s.Report(o, c.path, selector.String(), c.path, c.then)
			}
		}
	},
}

// nodeSelections are the fields of custom resources that select nodes by their labels.
var nodeSelections = []struct {
	of         schema.GroupKind
	path, then string
}{
	{schema.GroupKind{Group: kueue, Kind: "ResourceFlavor"}, "spec.nodeLabels", "pods of this flavor stay Pending"},
	{schema.GroupKind{Group: "skyhook.nvidia.com", Kind: "Skyhook"}, "spec.nodeSelectors.matchLabels", "its packages are installed nowhere"},
	{schema.GroupKind{Group: "sriovnetwork.openshift.io", Kind: "SriovNetworkNodePolicy"}, "spec.nodeSelector", "no node gets its virtual functions"},
	{schema.GroupKind{Group: "nvidia.com", Kind: "NVIDIADriver"}, "spec.nodeSelector", "no node gets this driver"},
}

// setAtRunTime reports whether a program may give nodes a label: one of the domains of NVIDIA's operators and of Node Feature
// Discovery, or one that a rule of the bundle names.
func setAtRunTime(x *facts.Index, key string) bool {
	domain, _, _ := strings.Cut(key, "/")
	if strings.HasSuffix(domain, "nvidia.com") || strings.HasSuffix(domain, "feature.node.kubernetes.io") || strings.HasSuffix(domain, "nfd.k8s-sigs.io") || strings.HasSuffix(domain, "openshift.io") {
		return true
	}
	for _, o := range x.Rendered(judge.KindsOf("nfd.k8s-sigs.io", "NodeFeatureRule", "NodeFeatureGroup")...) {
		if raw, err := o.Object.MarshalJSON(); err != nil || strings.Contains(string(raw), key) {
			return true
		}
	}
	return false
}
