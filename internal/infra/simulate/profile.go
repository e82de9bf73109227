package simulate

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"sort"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/operators"
	"github.com/nvidia/aicr-action/internal/reason"
)

// The taint and the resource of AICR's KWOK nodes.
const (
	KwokTaint   = "kwok.x-k8s.io/node"
	GPUResource = "nvidia.com/gpu"
)

// Profile is a node profile in AICR's KWOKNodeProfile format: one kind of node of one cloud.
type Profile struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Metadata   metav1.ObjectMeta `json:"metadata"`
	Spec       ProfileSpec       `json:"spec"`
}

// ProfileSpec is the spec of a Profile.
type ProfileSpec struct {
	Criteria struct {
		Service     string `json:"service"`
		Accelerator string `json:"accelerator,omitempty"`
	} `json:"criteria"`
	// Default: the accelerated profile of its service for recipes that name no accelerator.
	Default         bool              `json:"default,omitempty"`
	NodeType        string            `json:"nodeType"` // system or accelerated
	InstanceType    string            `json:"instanceType"`
	Architecture    string            `json:"architecture"`
	OperatingSystem string            `json:"operatingSystem"`
	Region          string            `json:"region"`
	Zones           []string          `json:"zones"`
	Capacity        map[string]string `json:"capacity"` // Kubernetes quantities by resource name
	Labels          map[string]string `json:"labels,omitempty"`
	GPU             *GPU              `json:"gpu,omitempty"`
}

// GPU describes the GPUs of a node.
type GPU struct {
	Product   string `json:"product"`
	Count     int    `json:"count"`
	MemoryMiB int    `json:"memoryMiB"`
	Driver    string `json:"driver"` // major.minor.patch
}

// LoadProfiles reads every *.yaml in dir of fsys, strictly.
func LoadProfiles(fsys fs.FS, dir string) ([]Profile, error) {
	files, err := fs.Glob(fsys, path.Join(dir, "*.yaml"))
	if err != nil {
		return nil, err
	}
	sort.Strings(files)
	var all []Profile
	for _, f := range files {
		raw, err := fs.ReadFile(fsys, f)
		if err != nil {
			return nil, err
		}
		var p Profile
		if err := yaml.UnmarshalStrict(raw, &p); err != nil {
			return nil, fmt.Errorf("read node profile %s: %w", f, err)
		}
		if err := p.check(); err != nil {
			return nil, fmt.Errorf("read node profile %s: %w", f, err)
		}
		all = append(all, p)
	}
	return all, nil
}

func (p *Profile) check() error {
	switch {
	case p.Kind != "KWOKNodeProfile":
		return fmt.Errorf("kind is %q, want KWOKNodeProfile", p.Kind)
	case p.Spec.NodeType != "system" && p.Spec.NodeType != "accelerated":
		return fmt.Errorf("spec.nodeType is %q, want system or accelerated", p.Spec.NodeType)
	case p.Spec.Criteria.Service == "":
		return fmt.Errorf("spec.criteria.service is empty")
	case len(p.Spec.Zones) == 0:
		return fmt.Errorf("spec.zones is empty")
	case p.Spec.NodeType == "accelerated" && p.Spec.GPU == nil:
		return fmt.Errorf("spec.gpu is missing on an accelerated profile")
	}
	for _, need := range []string{"cpu", "memory", "pods"} {
		if p.Spec.Capacity[need] == "" {
			return fmt.Errorf("spec.capacity.%s is missing", need)
		}
	}
	for name, q := range p.Spec.Capacity {
		if _, err := resource.ParseQuantity(q); err != nil {
			return fmt.Errorf("spec.capacity.%s: %w", name, err)
		}
	}
	return nil
}

// NodeGroup is simulated nodes of one profile.
type NodeGroup struct {
	// NodeType, system or accelerated, says which of the profiles for a recipe's criteria is meant; without effect once Profile is set.
	NodeType string
	// Profile is what the nodes are made of. Nil: ChooseProfiles finds it.
	Profile *Profile
	// Count is the number of nodes.
	Count int
	// Labels are put on the nodes besides the profile's own, and win over them.
	Labels map[string]string
}

// DefaultNodeGroups are a group of system nodes and one of accelerated nodes, with these counts.
func DefaultNodeGroups(system, accelerated int) []NodeGroup {
	return []NodeGroup{{NodeType: "system", Count: system}, {NodeType: "accelerated", Count: accelerated}}
}

// ChooseProfiles gives the groups with the profiles for a recipe's criteria. There is no fallback to another provider's or accelerator's
// profile (faults F24); a recipe without an accelerator gets its service's default one. Reason: NO_PROFILE.
func ChooseProfiles(all []Profile, service, accelerator string, groups []NodeGroup) ([]NodeGroup, error) {
	set := func(s string) string {
		if s == "any" {
			return ""
		}
		return s
	}
	service, accelerator = set(service), set(accelerator)
	found := map[string]*Profile{}
	var have []string
	for i := range all {
		p := &all[i]
		have = append(have, p.Metadata.Name)
		if p.Spec.Criteria.Service != service {
			continue
		}
		if p.Spec.NodeType == "system" || p.Spec.Criteria.Accelerator == accelerator || accelerator == "" && p.Spec.Default {
			found[p.Spec.NodeType] = p
		}
	}
	chosen := slices.Clone(groups)
	for i := range chosen {
		g := &chosen[i]
		if g.Profile == nil {
			g.Profile = found[g.NodeType]
		}
		if g.Profile == nil {
			what := "service " + orAny(service) + ", accelerator " + orAny(accelerator)
			return nil, reason.New(reason.NoProfile, "no KWOK node profile for %s; there are: %s. Add one to kwok/profiles/", what, strings.Join(have, ", "))
		}
	}
	return chosen, nil
}

// Nodes makes the nodes of groups that have their profiles. They are named NODETYPE-0 and on, and groups of one type count on.
func Nodes(groups []NodeGroup) []*corev1.Node {
	var nodes []*corev1.Node
	next := map[string]int{}
	for _, g := range groups {
		kind := g.Profile.Spec.NodeType
		for range g.Count {
			n := g.Profile.node(next[kind])
			maps.Copy(n.Labels, g.Labels)
			nodes = append(nodes, n)
			next[kind]++
		}
	}
	return nodes
}

func orAny(s string) string {
	if s == "" {
		return "any"
	}
	return s
}

// node is the profile's node NODETYPE-i.
func (p *Profile) node(i int) *corev1.Node {
	s := p.Spec
	name := fmt.Sprintf("%s-%d", s.NodeType, i)
	labels := map[string]string{
		"type":                         "kwok",
		corev1.LabelHostname:           name,
		corev1.LabelOSStable:           s.OperatingSystem,
		corev1.LabelArchStable:         s.Architecture,
		corev1.LabelInstanceTypeStable: s.InstanceType,
		corev1.LabelTopologyRegion:     s.Region,
		corev1.LabelTopologyZone:       s.Zones[i%len(s.Zones)],
		bundle.NodeTypeLabel:           s.NodeType,
	}
	if s.NodeType == "system" {
		labels["node-role.kubernetes.io/control-plane"] = ""
	}
	capacity := corev1.ResourceList{}
	for name, q := range s.Capacity {
		capacity[corev1.ResourceName(name)] = resource.MustParse(q) // checked by LoadProfiles
	}
	if g := s.GPU; g != nil {
		major, rest, _ := strings.Cut(g.Driver, ".")
		minor, _, _ := strings.Cut(rest, ".")
		labels["nvidia.com/gpu.present"] = "true"
		labels["nvidia.com/gpu.product"] = g.Product
		labels["nvidia.com/gpu.count"] = fmt.Sprint(g.Count)
		labels["nvidia.com/gpu.memory"] = fmt.Sprint(g.MemoryMiB)
		maps.Copy(labels, operators.GPUDeployLabels())
		labels["nvidia.com/cuda.driver.major"] = major
		labels["nvidia.com/cuda.driver.minor"] = minor
		capacity[GPUResource] = *resource.NewQuantity(int64(g.Count), resource.DecimalSI)
	}
	for k, v := range s.Labels {
		labels[k] = v
	}
	return &corev1.Node{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels, Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"}},
		Spec:       corev1.NodeSpec{Taints: []corev1.Taint{{Key: KwokTaint, Value: "fake", Effect: corev1.TaintEffectNoSchedule}}},
		Status: corev1.NodeStatus{
			Capacity: capacity, Allocatable: capacity.DeepCopy(),
			NodeInfo: corev1.NodeSystemInfo{Architecture: s.Architecture, OperatingSystem: s.OperatingSystem, KubeletVersion: "kwok"},
		},
	}
}
