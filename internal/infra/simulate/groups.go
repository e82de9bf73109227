package simulate

// groups.go reads the groups of a node profile, whose number of nodes follows the pods.

import (
	"fmt"
	"maps"
	"slices"

	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// ProfileGroup is nodes of a profile that there are as many of as pods need. What it does not say is as in the profile.
type ProfileGroup struct {
	// Name is unique in its profile, a DNS label.
	Name string `yaml:"name"`
	// Min is how many nodes there are from the start, Max how many there may be: 1 or more.
	Min int `yaml:"min,omitempty"`
	Max int `yaml:"max"`
	// InstanceType, Zones and GPU take the place of the profile's.
	InstanceType string   `yaml:"instanceType,omitempty"`
	Zones        []string `yaml:"zones,omitempty"`
	GPU          *GPU     `yaml:"gpu,omitempty"`
	// Capacity and Labels go over the profile's, by name. Taints are further ones.
	Capacity map[string]string `yaml:"capacity,omitempty"`
	Labels   map[string]string `yaml:"labels,omitempty"`
	Taints   []Taint           `yaml:"taints,omitempty"`
	// origin is file:line of Max.
	origin string
}

const (
	// mostGroupName is the longest name of a group: NODETYPE-NAME and what Karpenter appends are a label of
	// the node.
	mostGroupName = 40
	// mostGroupNodes is the most nodes of a group. More would be a test of this machine.
	mostGroupNodes = 1000
)

// of is the profile that the nodes of one of its groups are made of.
func (p *Profile) of(g *ProfileGroup) *Profile {
	made := *p
	s := &made.Spec
	s.Groups, s.Default = nil, false
	if g.InstanceType != "" {
		s.InstanceType = g.InstanceType
	}
	if len(g.Zones) > 0 {
		s.Zones = g.Zones
	}
	if g.GPU != nil {
		s.GPU = g.GPU
	}
	s.Capacity, s.Labels = maps.Clone(s.Capacity), maps.Clone(s.Labels)
	if s.Labels == nil {
		s.Labels = map[string]string{}
	}
	maps.Copy(s.Capacity, g.Capacity)
	maps.Copy(s.Labels, g.Labels)
	s.Taints = slices.Concat(s.Taints, g.Taints)
	return &made
}

// ofGroups puts the groups of profiles that have some in the place of a number of nodes.
func ofGroups(chosen []NodeGroup) []NodeGroup {
	var all []NodeGroup
	for _, c := range chosen {
		if len(c.Profile.Spec.Groups) == 0 {
			all = append(all, c)
			continue
		}
		for i := range c.Profile.Spec.Groups {
			g := &c.Profile.Spec.Groups[i]
			of := c
			of.Profile, of.Group, of.Count, of.Max, of.origin = c.Profile.of(g), g.Name, g.Min, g.Max, g.origin
			all = append(all, of)
		}
	}
	return all
}

// Pool is the name of a group's NodePool in a cluster; empty for nodes whose number is given.
func (g *NodeGroup) Pool() string {
	if g.Group == "" {
		return ""
	}
	return g.Profile.Spec.NodeType + "-" + g.Group
}

// Growing are the groups of which nodes may be made, those that come first in their profile first.
func Growing(groups []NodeGroup) []infra.NodeGroup {
	var all []infra.NodeGroup
	for i := range groups {
		if g := &groups[i]; g.Max > g.Count {
			all = append(all, infra.NodeGroup{Name: g.Pool(), Most: g.Max - g.Count, Min: g.Count, Max: g.Max, Origin: g.origin, Node: g.node(0), Zones: g.Profile.Spec.Zones})
		}
	}
	return all
}

// MostNodes are the nodes once each group has as many as it may.
func MostNodes(groups []NodeGroup) []*corev1.Node {
	return nodesOf(groups, func(g *NodeGroup) int { return max(g.Count, g.Max) })
}

func (p *Profile) checkGroups(d document) []error {
	var problems []error
	list := yamlx.Find(d.root, "spec", "groups")
	if list != nil && len(p.Spec.Groups) == 0 {
		return []error{fmt.Errorf("%s: spec.groups is empty; add a group, or remove the field to give the number of nodes with flags", d.at("spec", "groups"))}
	}
	for i := range p.Spec.Groups {
		g := &p.Spec.Groups[i]
		at := document{d.file, &yaml.Node{Kind: yaml.MappingNode}} // the group as if it were the spec of a document
		if list != nil && i < len(list.Content) {
			at.root.Content = []*yaml.Node{{Kind: yaml.ScalarNode, Value: "spec", Line: list.Content[i].Line}, list.Content[i]}
		}
		g.origin = at.at("spec", "max")
		what := fmt.Sprintf("spec.groups[%d]", i)
		add := func(key, format string, args ...any) {
			problems = append(problems, fmt.Errorf("%s: %s"+format, append([]any{at.at("spec", key), what}, args...)...))
		}
		switch wrong := validation.IsDNS1123Label(g.Name); {
		case g.Name == "":
			add("name", ".name is missing; name the group, as reports will")
		case len(wrong) > 0:
			add("name", ".name %q cannot be the name of a group: %s", g.Name, wrong[0])
		case len(g.Name) > mostGroupName:
			add("name", ".name has %d characters, want at most %d", len(g.Name), mostGroupName)
		case slices.ContainsFunc(p.Spec.Groups[:i], func(o ProfileGroup) bool { return o.Name == g.Name }):
			add("name", ".name %q is that of a group above; give each its own", g.Name)
		}
		switch {
		case g.Min < 0:
			add("min", ".min is %d; want 0 or more", g.Min)
		case g.Max < 1 || g.Max > mostGroupNodes:
			add("max", ".max is %d; want 1 to %d", g.Max, mostGroupNodes)
		case g.Min > g.Max:
			add("min", ".min is %d, more than its max of %d; correct one of them", g.Min, g.Max)
		}
		if wrong := validation.IsValidLabelValue(g.InstanceType); len(wrong) > 0 {
			add("instanceType", ".instanceType %q cannot be a label of a node: %s", g.InstanceType, wrong[0])
		}
		for _, zone := range g.Zones {
			if wrong := validation.IsValidLabelValue(zone); len(wrong) > 0 || zone == "" {
				add("zones", ".zones has %q, which cannot be a label of a node", zone)
			}
		}
		// What a group changes is read as that of a profile; what is wrong in the profile itself was said once.
		of := p.of(g)
		for _, set := range []struct {
			changed bool
			check   func(document) []error
		}{
			{len(g.Labels) > 0, of.checkLabels}, {len(g.Taints) > 0, of.checkTaints},
			{len(g.Capacity) > 0 || g.GPU != nil, of.checkCapacity}, {g.GPU != nil, of.checkGPU},
		} {
			if set.changed {
				problems = append(problems, set.check(at)...)
			}
		}
	}
	return problems
}
