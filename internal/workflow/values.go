package workflow

// values.go knows virtual nodes: the values of the chart charts/virtual-nodes, the nodes that
// these describe, and how a cluster gets them without Helm. It must not know workflows or recipes.

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/nvidia/aicr-action"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/util/filesys"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// mostNodes is the most nodes in one file: more than any test has had, and few enough to fit in
// memory.
const mostNodes = 20000

// VirtualNodeGroup is nodes of one type: an entry of the chart's value nodes.
type VirtualNodeGroup struct {
	// Type is a predefined type, or a custom name with Resources.
	Type string `yaml:"type"`
	// Count is the number of nodes; nil if it is not set, which Check rejects.
	Count       *int              `yaml:"count"`
	Annotations map[string]string `yaml:"annotations"`
	Labels      map[string]string `yaml:"labels"`
	// Resources are Kubernetes quantities by resource name, capacity and allocatable alike.
	Resources  map[string]string       `yaml:"resources"`
	Conditions []VirtualNodesCondition `yaml:"conditions"`
	// Line is where the entry starts in its file.
	Line int `yaml:"-"`
}

// VirtualNodesCondition is a condition of a node, e.g. KernelDeadlock.
type VirtualNodesCondition struct {
	Type    string `yaml:"type"`
	Status  string `yaml:"status"`
	Reason  string `yaml:"reason"`
	Message string `yaml:"message"`
}

// UnmarshalYAML records the line.
func (g *VirtualNodeGroup) UnmarshalYAML(n *yaml.Node) error {
	type plain VirtualNodeGroup
	g.Line = n.Line
	return n.Decode((*plain)(g))
}

// predefined are the predefined types, with what their nodes have, from
// charts/virtual-nodes/types.yaml.
var predefined = sync.OnceValue(func() map[string]map[string]string {
	raw, err := aicraction.VirtualNodes.ReadFile("charts/virtual-nodes/types.yaml")
	types := map[string]map[string]string{}
	if err == nil {
		err = yaml.Unmarshal(raw, &types)
	}
	if err != nil {
		panic(err) // the file is in this program; any test finds it
	}
	return types
})

// typeNames returns the names of the predefined types, sorted.
func typeNames() []string { return slices.Sorted(maps.Keys(predefined())) }

// checkVirtualNodes returns what is wrong with groups, with lines.
func checkVirtualNodes(groups []VirtualNodeGroup) []yamlx.Problem {
	var all []yamlx.Problem
	total := 0
	for _, g := range groups {
		say := func(format string, args ...any) {
			all = append(all, yamlx.Problem{Line: g.Line, Text: fmt.Sprintf(format, args...)})
		}
		g.check(say)
		if g.Count != nil {
			total += max(0, min(*g.Count, mostNodes+1))
		}
	}
	if total > mostNodes {
		all = append(all, yamlx.Problem{Line: groups[0].Line, Text: fmt.Sprintf("nodes: %d nodes or more; at most %d are made", total, mostNodes)})
	}
	return all
}

func (g VirtualNodeGroup) check(say func(format string, args ...any)) {
	switch {
	case g.Type == "":
		say("nodes: type is required: one of %s, or a name of yours with resources", strings.Join(typeNames(), ", "))
	case len(validation.IsDNS1123Subdomain(name(g.Type, 0))) > 0:
		say("nodes: type %q becomes part of the nodes' names: want lower-case letters, digits, dots and dashes", g.Type)
	case predefined()[g.Type] == nil && len(g.Resources) == 0:
		say("nodes: type %q is none of %s, so that it needs resources", g.Type, strings.Join(typeNames(), ", "))
	case predefined()[g.Type] != nil && len(g.Resources) > 0:
		say("nodes: the resources of type %s are fixed; for other ones use a type name of your own", g.Type)
	}
	switch {
	case g.Count == nil:
		say("nodes: count is required")
	case *g.Count < 0:
		say("nodes: count %d: want 0 or more", *g.Count)
	}
	for _, key := range slices.Sorted(maps.Keys(g.Resources)) {
		if q, err := resource.ParseQuantity(g.Resources[key]); err != nil || q.Sign() < 0 {
			say("nodes: resource %s: %q is no quantity of 0 or more, e.g. 8, 500m or 2Ti", key, g.Resources[key])
		}
	}
	for _, key := range slices.Sorted(maps.Keys(g.Labels)) {
		if problems := append(validation.IsQualifiedName(key), validation.IsValidLabelValue(g.Labels[key])...); len(problems) > 0 {
			say("nodes: label %s=%q: %s", key, g.Labels[key], strings.Join(problems, "; "))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(g.Annotations)) {
		if problems := validation.IsQualifiedName(strings.ToLower(key)); len(problems) > 0 {
			say("nodes: annotation %s: %s", key, strings.Join(problems, "; "))
		}
	}
	for _, c := range g.Conditions {
		switch {
		case c.Type == "" || !slices.Contains([]string{"True", "False", "Unknown"}, c.Status):
			say("nodes: condition %q with status %q: want a type, and True, False or Unknown", c.Type, c.Status)
		case c.Type == string(corev1.NodeReady):
			say("nodes: condition Ready is KWOK's to write; a workflow changes it later, with UpdateNodes")
		}
	}
}

// virtualNodesValues is the chart's values file.
type virtualNodesValues struct {
	Nodes []VirtualNodeGroup `yaml:"nodes"`
}

// maxValues is the largest file of values that is read, in bytes.
const maxValues = 4 << 20

// ReadFile reads a values file. Its error has a line for every problem, with the file's name and
// the line.
func ReadFile(file string) ([]VirtualNodeGroup, error) {
	raw, err := filesys.File(file, maxValues)
	if err != nil {
		return nil, fmt.Errorf("read the nodes: %w", err)
	}
	docs, err := yamlx.Documents(raw)
	var problems []yamlx.Problem
	var v virtualNodesValues
	switch {
	case err != nil:
		problems = yamlx.Problems(err)
	case len(docs) != 1 || len(docs[0].Content) == 0 || docs[0].Content[0].Kind != yaml.MappingNode:
		problems = []yamlx.Problem{{Line: 1, Text: "want one document with the field nodes"}}
	default:
		if problems = yamlx.DecodeNode(docs[0].Content[0], &v); len(problems) == 0 {
			problems = checkVirtualNodes(v.Nodes)
		}
		if len(problems) == 0 && len(v.Nodes) == 0 {
			problems = []yamlx.Problem{{Line: 1, Text: "nodes: there are none"}}
		}
	}
	var errs []error
	for _, p := range problems {
		errs = append(errs, fmt.Errorf("%s:%d: %s", file, p.Line, p.Text))
	}
	return v.Nodes, errors.Join(errs...)
}

func name(kind string, i int) string { return fmt.Sprintf("virtual-%s-%d", kind, i) }

// VirtualNodes returns the nodes of groups that Check has accepted. They are named virtual-TYPE-0 and on,
// and groups of one type count on. They have no taint, as Knavigator's have none: any pod may be
// placed on them.
func VirtualNodes(groups []VirtualNodeGroup) []*corev1.Node {
	var nodes []*corev1.Node
	next := map[string]int{}
	for _, g := range groups {
		given := g.Resources
		if known := predefined()[g.Type]; known != nil {
			given = known
		}
		capacity := corev1.ResourceList{}
		for key, q := range given {
			capacity[corev1.ResourceName(key)] = resource.MustParse(q) // checked by Check, or by the tests of this program
		}
		var conditions []corev1.NodeCondition
		for _, c := range g.Conditions {
			conditions = append(conditions, corev1.NodeCondition{Type: corev1.NodeConditionType(c.Type), Status: corev1.ConditionStatus(c.Status), Reason: c.Reason, Message: c.Message})
		}
		for range *g.Count {
			called := name(g.Type, next[g.Type])
			next[g.Type]++
			labels := map[string]string{
				"type": "kwok", corev1.LabelHostname: called, corev1.LabelArchStable: "amd64", corev1.LabelOSStable: "linux", corev1.LabelInstanceTypeStable: g.Type,
			}
			maps.Copy(labels, g.Labels)
			annotations := map[string]string{fakeNode: "fake"}
			maps.Copy(annotations, g.Annotations)
			nodes = append(nodes, &corev1.Node{
				TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
				ObjectMeta: metav1.ObjectMeta{Name: called, Labels: labels, Annotations: annotations},
				Status: corev1.NodeStatus{
					Capacity: capacity, Allocatable: capacity, Conditions: conditions,
					NodeInfo: corev1.NodeSystemInfo{Architecture: "amd64", OperatingSystem: "linux", KubeletVersion: "kwok"},
				},
			})
		}
	}
	return nodes
}

// fakeNode is the annotation by which KWOK recognises its nodes.
const fakeNode = infra.SimulatedNodeAnnotation
