package simulate

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/infra"
)

// partition is how NVIDIA's MIG manager cuts GPUs into MIG devices, as the GPU operator's values say it.
type partition struct {
	// Strategy of the device plugin: mixed gives each profile a resource of its own, single counts the devices as GPUs.
	Strategy string
	// Config is the name of a configuration, e.g. all-1g.10gb; Files are those that have them, none for MIG
	// manager's own.
	Config string
	Files  []string
}

// partitionOf reads the values of the GPU operator's chart; nil if they turn MIG off, or leave it as the nodes have it.
func partitionOf(values map[string]any) *partition {
	text := func(v any, path ...string) string {
		for _, key := range path {
			m, _ := v.(map[string]any)
			v = m[key]
		}
		s, _ := v.(string)
		return s
	}
	p := &partition{Strategy: text(values, "mig", "strategy"), Config: text(values, "migManager", "config", "default")}
	if enabled, ok := under(values, "migManager", "enabled").(bool); ok && !enabled || p.Config == "" || p.Config == "all-disabled" || p.Strategy == "none" {
		return nil
	}
	data, _ := under(values, "migManager", "config", "data").(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(data)) {
		p.Files = append(p.Files, text(data, key))
	}
	return p
}

func under(v any, path ...string) any {
	for _, key := range path {
		m, _ := v.(map[string]any)
		v = m[key]
	}
	return v
}

// Partitioned gives groups whose GPUs are cut as the values of the GPU operator's chart say it, and a line for people; empty
// if they do not say so.
func Partitioned(groups []NodeGroup, values map[string]any) ([]NodeGroup, string) {
	p := partitionOf(values)
	if p == nil {
		return groups, ""
	}
	groups = slices.Clone(groups)
	line := fmt.Sprintf("nodes: the GPUs are whole, though migManager.config.default %s cuts them: what that configuration makes is not known, or no GPU of these nodes can be cut", p.Config)
	for i := range groups {
		gpu := groups[i].Profile.Spec.GPU
		if gpu == nil || gpu.Count == 0 || !cuttable.MatchString(gpu.Product) {
			continue
		}
		devices := p.devices(gpu)
		if len(devices) == 0 {
			continue
		}
		groups[i].mig, groups[i].strategy, groups[i].config = devices, p.Strategy, p.Config
		var texts []string
		for _, name := range slices.Sorted(maps.Keys(devices)) {
			texts = append(texts, fmt.Sprintf("%d %s", devices[name]*gpu.Count, name))
		}
		line = fmt.Sprintf("nodes: the GPUs of %s are MIG devices (%s on a node), since the values have migManager.config.default %s and mig.strategy %s", groups[i].Profile.Metadata.Name, strings.Join(texts, ", "), p.Config, p.Strategy)
	}
	return groups, line
}

// cuttable are the GPUs that MIG can cut (https://docs.nvidia.com/datacenter/tesla/mig-user-guide/supported-gpus.html).
var cuttable = regexp.MustCompile(`A100|A30|H100|H200|H800|H20|GH200|B200|B300|GB[23]00|VR200|RTX-PRO-[56]000`)

// migProfile is the name of a MIG device: its slices, and its memory in GB.
var migProfile = regexp.MustCompile(`^([1-7])g\.(\d+)gb(?:\+me(?:\.all)?|-me)?$`)

// devices are the MIG devices of one GPU.
func (p *partition) devices(gpu *GPU) map[string]int {
	for _, file := range p.Files {
		if found := namedConfig(file, p.Config); found != nil {
			return found
		}
	}
	if len(p.Files) > 0 {
		return nil
	}
	name, ok := strings.CutPrefix(p.Config, "all-")
	if n := perGPU(name, gpu); ok && n > 0 {
		return map[string]int{name: n}
	}
	return nil
}

// perGPU is how many devices of one profile a GPU holds: it has seven slices, and its memory. What a driver says
// of the memory is a little less than its name does. 0: no profile.
func perGPU(profile string, gpu *GPU) int {
	m := migProfile.FindStringSubmatch(profile)
	if m == nil {
		return 0
	}
	slices, _ := strconv.Atoi(m[1]) // digits
	gb, err := strconv.Atoi(m[2])
	if err != nil || gb == 0 {
		return 0
	}
	n := min(sliceCount/slices, (gpu.MemoryMiB*103/100>>10)/gb)
	if strings.Contains(profile, "+me") && !strings.HasSuffix(profile, ".all") || strings.HasSuffix(profile, "-me") { // the media engines are one device's
		n = min(n, 1)
	}
	return n
}

// namedConfig is a configuration of MIG manager (mig-parted) that a file has; nil if it has none of that name, or one that
// is not alike for all GPUs.
func namedConfig(file, name string) map[string]int {
	var text struct {
		Configs map[string][]struct {
			Devices any            `json:"devices"`
			Enabled bool           `json:"mig-enabled"`
			MIG     map[string]int `json:"mig-devices"`
		} `json:"mig-configs"`
	}
	if yaml.Unmarshal([]byte(file), &text) != nil {
		return nil
	}
	for _, c := range text.Configs[name] {
		if c.Devices == "all" && c.Enabled && len(c.MIG) > 0 {
			return c.MIG
		}
	}
	return nil
}

// cut makes a node one whose GPUs are cut, as the device plugin and GPU Feature Discovery then report it.
func (g *NodeGroup) cut(n *corev1.Node) {
	if len(g.mig) == 0 {
		return
	}
	gpus := g.Profile.Spec.GPU.Count
	n.Labels["nvidia.com/mig.config"], n.Labels["nvidia.com/mig.config.state"], n.Labels["nvidia.com/mig.strategy"] = g.config, "success", g.strategy
	total := 0
	for name, count := range g.mig {
		total += count * gpus
		if g.strategy == "mixed" {
			n.Status.Capacity[corev1.ResourceName(migPrefix+strings.ReplaceAll(name, "+", "."))] = *resource.NewQuantity(int64(count*gpus), resource.DecimalSI)
			total = 0
		} else {
			n.Labels["nvidia.com/gpu.product"] = g.Profile.Spec.GPU.Product + "-MIG-" + strings.ReplaceAll(name, "+", ".")
		}
	}
	n.Status.Capacity[infra.GPUResource] = *resource.NewQuantity(int64(total), resource.DecimalSI)
	n.Labels["nvidia.com/gpu.count"] = fmt.Sprint(total)
	n.Status.Allocatable = n.Status.Capacity.DeepCopy()
}
