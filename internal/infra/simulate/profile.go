package simulate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/operators"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// KwokTaint is the taint of AICR's KWOK nodes.
const KwokTaint = "kwok.x-k8s.io/node"

// The kinds of nodes.
const (
	nodeTypeSystem      = "system"
	nodeTypeAccelerated = "accelerated"
)

// Profile is a node profile in AICR's KWOKNodeProfile format: one kind of node of one cloud.
type Profile struct {
	APIVersion string          `yaml:"apiVersion"`
	Kind       string          `yaml:"kind"`
	Metadata   ProfileMetadata `yaml:"metadata"`
	Spec       ProfileSpec     `yaml:"spec"`
	// Origin is file:line of its name.
	Origin string `yaml:"-"`
	// upstream: it was read from the form of AICR's own KWOK tests.
	upstream bool
}

// ProfileMetadata is the metadata of a Profile. Labels and annotations are the reader's own: no
// node gets them.
type ProfileMetadata struct {
	Name        string            `yaml:"name"`
	Labels      map[string]string `yaml:"labels,omitempty"`
	Annotations map[string]string `yaml:"annotations,omitempty"`
}

// ProfileSpec is the spec of a Profile.
type ProfileSpec struct {
	Criteria struct {
		Service     string `yaml:"service"`
		Accelerator string `yaml:"accelerator,omitempty"`
	} `yaml:"criteria"`
	// Default: the accelerated profile of its service for recipes that name no accelerator.
	Default         bool              `yaml:"default,omitempty"`
	NodeType        string            `yaml:"nodeType"` // system or accelerated
	InstanceType    string            `yaml:"instanceType"`
	Architecture    string            `yaml:"architecture"`
	OperatingSystem string            `yaml:"operatingSystem"`
	Region          string            `yaml:"region"`
	Zones           []string          `yaml:"zones"`    // the nodes take turns
	Capacity        map[string]string `yaml:"capacity"` // Kubernetes quantities by resource name
	Labels          map[string]string `yaml:"labels,omitempty"`
	// Racks are further labels, which the nodes have by turns: what differs from rack to rack, e.g.
	// nvidia.com/gpu.clique.
	Racks []map[string]string `yaml:"racks,omitempty"`
	GPU   *GPU                `yaml:"gpu,omitempty"`
	// Untainted: the nodes do not have KwokTaint. Recipes for such nodes say that none has a taint.
	Untainted bool `yaml:"untainted,omitempty"`
	// Taints are those that the provider puts on such nodes, besides KwokTaint.
	Taints []Taint `yaml:"taints,omitempty"`
	// AdmissionPlugins are those that the provider's API server runs besides Kubernetes' defaults.
	AdmissionPlugins []string `yaml:"admissionPlugins,omitempty"`
	// StorageClasses are those that the provider's clusters have, besides the default one.
	StorageClasses []string `yaml:"storageClasses,omitempty"`
	// DefaultStorageClass is the class for claims that name none, or noDefaultClass; empty for DefaultClassName.
	DefaultStorageClass string `yaml:"defaultStorageClass,omitempty"`
	// AssumedClass: the provider's clusters have no default class, and the cells have one nevertheless (Assume).
	AssumedClass bool `yaml:"-"`
	// LoadBalancer is noLoadBalancer where nothing gives a Service of type LoadBalancer an address; empty where a cloud does.
	LoadBalancer string `yaml:"loadBalancer,omitempty"`
	// Groups, if there are any, are the nodes of the profile: their number follows the pods, and no
	// number that is given for the profile's kind of nodes counts.
	Groups []ProfileGroup `yaml:"groups,omitempty"`
}

// Taint is a taint of a node.
type Taint struct {
	Key    string `yaml:"key"`
	Value  string `yaml:"value,omitempty"`
	Effect string `yaml:"effect"` // NoSchedule, PreferNoSchedule or NoExecute
}

// GPU describes the GPUs of a node.
type GPU struct {
	Product   string `yaml:"product"`
	Count     int    `yaml:"count"`
	MemoryMiB int    `yaml:"memoryMiB"` // of one GPU
	Driver    string `yaml:"driver"`    // major.minor.patch
}

// NodeGroup is simulated nodes of one profile.
type NodeGroup struct {
	// NodeType, system or accelerated, says which of the profiles for a recipe's criteria is meant;
	// without effect once Profile is set.
	NodeType string
	// Profile is what the nodes are made of. Nil: ChooseProfiles finds it.
	Profile *Profile
	// Count is the number of nodes, at first if Max is more.
	Count int
	// Group is the name of the profile's group that Profile was made of; empty for nodes whose number
	// is given. Max is the most nodes that it may have.
	Group string
	Max   int
	// origin is file:line of Max.
	origin string
	// Labels are put on the nodes besides the profile's own, and win over them.
	Labels map[string]string

	// mig are the MIG devices of each GPU, by profile; none if the GPUs are whole (Partitioned).
	mig              map[string]int
	strategy, config string
}

// DefaultNodeGroups are a group of system nodes and one of accelerated nodes, with these counts.
func DefaultNodeGroups(system, accelerated int) []NodeGroup {
	return []NodeGroup{{NodeType: nodeTypeSystem, Count: system}, {NodeType: nodeTypeAccelerated, Count: accelerated}}
}

// ChooseProfiles gives the groups with the profiles for a recipe's criteria. There is no fallback
// to another provider's or accelerator's profile (faults F24); a recipe without an accelerator gets
// its service's default one. Reason: NO_PROFILE.
func ChooseProfiles(all []Profile, service, accelerator string, groups []NodeGroup) ([]NodeGroup, error) {
	if !set(service) {
		service = ""
	}
	if !set(accelerator) {
		accelerator = ""
	}
	found := map[string]*Profile{}
	var accelerated []*Profile
	for i := range all {
		p := &all[i]
		if p.Spec.Criteria.Service != service {
			continue
		}
		if p.Spec.NodeType == nodeTypeAccelerated {
			accelerated = append(accelerated, p)
		}
		if p.Spec.NodeType == nodeTypeSystem || p.Spec.Criteria.Accelerator == accelerator || accelerator == "" && p.Spec.Default {
			found[p.Spec.NodeType] = p
		}
	}
	if accelerator == "" && found[nodeTypeAccelerated] == nil && len(accelerated) == 1 { // no other one could be the default
		found[nodeTypeAccelerated] = accelerated[0]
	}
	chosen := slices.Clone(groups)
	for i := range chosen {
		g := &chosen[i]
		if g.Profile == nil {
			g.Profile = found[g.NodeType]
		}
		if g.Profile == nil {
			if !set(service) {
				return nil, reason.New(reason.NoProfile, "no KWOK node profile for the %s nodes, since no service says whose nodes to simulate: take a recipe that sets spec.criteria.service, or one that builds on this one and does; %s", g.NodeType, known(all, service))
			}
			what := "service " + service + ", accelerator " + orAny(accelerator)
			return nil, reason.New(reason.NoProfile, "no KWOK node profile for the %s nodes of %s; %s. Add one to a directory of yours (--profiles DIR), or to kwok/profiles/",
				g.NodeType, what, known(all, service))
		}
	}
	return ofGroups(chosen), nil
}

// ForRecipe is ChooseProfiles for a recipe that deploys these components. AICR's recipes for OpenShift are left out on purpose,
// here and in its own KWOK tests: their components whose names end in -olm leave their operators to the Operator Lifecycle
// Manager, which no cell has. Reason: NO_PROFILE.
func ForRecipe(all []Profile, service, accelerator string, components []string, groups []NodeGroup) ([]NodeGroup, error) {
	for _, name := range components {
		if service == "ocp" && strings.HasSuffix(name, "-olm") {
			return nil, reason.New(reason.NoProfile, "service %s: component %s is left out, here and in AICR's own KWOK tests, since the Operator Lifecycle Manager that it uses to install its operator is not in a simulated cluster; take a recipe that installs it by its chart", service, name)
		}
	}
	return ChooseProfiles(all, service, accelerator, groups)
}

// Nodes makes the nodes of groups that have their profiles. They are named NODETYPE-0 and on, and
// groups of one type count on.
func Nodes(groups []NodeGroup) []*corev1.Node {
	return nodesOf(groups, func(g *NodeGroup) int { return g.Count })
}

func nodesOf(groups []NodeGroup, count func(g *NodeGroup) int) []*corev1.Node {
	var nodes []*corev1.Node
	next := map[string]int{}
	for i := range groups {
		g := &groups[i]
		kind := g.Profile.Spec.NodeType
		for range count(g) {
			nodes = append(nodes, g.node(next[kind]))
			next[kind]++
		}
	}
	return nodes
}

// node is the group's node NODETYPE-i.
func (g *NodeGroup) node(i int) *corev1.Node {
	n := g.Profile.node(i)
	g.cut(n)
	maps.Copy(n.Labels, g.Labels)
	return n
}

func orAny(s string) string {
	if s == "" {
		return "any"
	}
	return s
}

// managed reports whether a service keeps the nodes of its control plane to itself: nothing can be
// placed there, and no node of the user's has their label. LKE is one too, but AICR's recipes for it
// still want that label.
func managed(service string) bool {
	return slices.Contains([]string{"aks", "eks", "gke", "oke"}, service)
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
		bundle.TodaysNodeTypeLabel:     s.NodeType,
	}
	if s.NodeType == nodeTypeSystem && !managed(s.Criteria.Service) {
		labels["node-role.kubernetes.io/control-plane"] = ""
	}
	capacity := corev1.ResourceList{}
	for name, q := range s.Capacity {
		capacity[corev1.ResourceName(name)] = resource.MustParse(q) // checked by LoadProfiles
	}
	if g := s.GPU; g != nil {
		major, rest, _ := strings.Cut(g.Driver, ".")
		minor, revision, _ := strings.Cut(rest, ".")
		labels["nvidia.com/gpu.present"] = "true"
		labels["nvidia.com/gpu.product"] = g.Product
		labels["nvidia.com/gpu.count"] = fmt.Sprint(g.Count)
		// Given with the node pool: a bundle that lets the GPU Operator evict the DRA driver's plugin selects it.
		labels["nvidia.com/dra-kubelet-plugin"] = "true"
		labels["nvidia.com/gpu.memory"] = fmt.Sprint(g.MemoryMiB)
		maps.Copy(labels, operators.GPUDeployLabels())
		labels["nvidia.com/cuda.driver.major"] = major
		labels["nvidia.com/cuda.driver.minor"] = minor
		labels["nvidia.com/cuda.driver.rev"] = revision
		capacity[infra.GPUResource] = *resource.NewQuantity(int64(g.Count), resource.DecimalSI)
	}
	maps.Copy(labels, s.Labels)
	if len(s.Racks) > 0 {
		maps.Copy(labels, s.Racks[i%len(s.Racks)])
	}
	annotations := map[string]string{infra.SimulatedNodeAnnotation: "fake"}
	if len(s.StorageClasses) > 0 {
		annotations[storageAnnotation] = strings.Join(s.StorageClasses, ",")
	}
	if s.DefaultStorageClass != "" {
		annotations[defaultClassAnnotation] = s.DefaultStorageClass
	}
	if s.AssumedClass {
		annotations[assumedClassAnnotation] = "true"
	}
	if s.LoadBalancer != "" {
		annotations[loadBalancerAnnotation] = s.LoadBalancer
	}
	if len(s.AdmissionPlugins) > 0 {
		annotations[infra.AdmissionAnnotation] = strings.Join(s.AdmissionPlugins, ",")
	}
	taints := []corev1.Taint{{Key: KwokTaint, Value: "fake", Effect: corev1.TaintEffectNoSchedule}}
	if s.Untainted {
		taints = nil
	}
	for _, t := range s.Taints {
		taints = append(taints, corev1.Taint{Key: t.Key, Value: t.Value, Effect: corev1.TaintEffect(t.Effect)})
	}
	return &corev1.Node{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels, Annotations: annotations},
		Spec:       corev1.NodeSpec{Taints: taints},
		Status: corev1.NodeStatus{
			Capacity: capacity, Allocatable: capacity.DeepCopy(),
			NodeInfo: corev1.NodeSystemInfo{Architecture: s.Architecture, OperatingSystem: s.OperatingSystem, KubeletVersion: "kwok"},
		},
	}
}
