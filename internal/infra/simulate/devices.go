package simulate

// devices.go publishes the devices of simulated nodes for dynamic resource allocation, as the
// kubelet plugins of NVIDIA's DRA driver do where they run. It must not know recipes, or decide
// what is allocated: that is the scheduler's.

import (
	"crypto/sha1"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/nvidia/aicr-action/internal/infra"
)

// The drivers that NVIDIA's kubelet plugins are.
const (
	devicesGPUDriver    = "gpu.nvidia.com"
	computeDomainDriver = "compute-domain.nvidia.com"
)

// plugins are the programs of NVIDIA's kubelet plugins, with the driver that each is
// (https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu).
func plugins() map[string]string {
	return map[string]string{"gpu-kubelet-plugin": devicesGPUDriver, "compute-domain-kubelet-plugin": computeDomainDriver}
}

// word is a program's name in a command or in a script.
var word = regexp.MustCompile(`[A-Za-z0-9._-]+`)

// DevicesDrivers are the drivers whose plugins a pod's containers start, sorted, whether they run or are simulated.
func DevicesDrivers(spec *corev1.PodSpec) []string { return driversOf(spec, nil) }

// driversOf are the drivers whose plugins a pod's containers start, sorted. A container starts a
// plugin if its command names it, itself or in the script of a shell. A container whose image runs
// as a process of its own publishes by itself.
func driversOf(spec *corev1.PodSpec, runs func(*corev1.Container) bool) []string {
	var all []string
	for i := range spec.Containers {
		c := &spec.Containers[i]
		if runs != nil && runs(c) {
			continue
		}
		for _, text := range slices.Concat(c.Command, c.Args) {
			for _, w := range word.FindAllString(text, -1) {
				if d := plugins()[w]; d != "" && !slices.Contains(all, d) {
					all = append(all, d)
				}
			}
		}
	}
	slices.Sort(all)
	return all
}

// of returns the devices that a driver publishes from a node, by what the node's labels and capacity
// say of its GPUs. A node without GPUs has none: the plugin does not start there.
func of(n *corev1.Node, driver string) []resourcev1.Device {
	gpus := gpusOf(n)
	if len(gpus) == 0 {
		return nil
	}
	switch driver {
	case devicesGPUDriver:
		return gpus
	case computeDomainDriver: // of the 2,048 channels, the driver publishes the default one only
		return []resourcev1.Device{numbered("channel"), numbered("daemon")}
	}
	return nil
}

func numbered(kind string) resourcev1.Device {
	zero := int64(0)
	return resourcev1.Device{Name: kind + "-0", Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"type": {StringValue: &kind}, "id": {IntValue: &zero}}}
}

// gpusOf returns the node's GPUs, and the MIG devices that its capacity has beside them
// (nvidia.com/mig-1g.10gb: seven of them are on one GPU, which is not published itself).
func gpusOf(n *corev1.Node) []resourcev1.Device {
	count := n.Status.Capacity[infra.GPUResource]
	var all []resourcev1.Device
	for i := range int(count.Value()) {
		all = append(all, gpu(n, i))
	}
	next, used := int(count.Value()), int64(0) // the GPU of the next MIG device, and its slices that are taken
	for _, name := range migResources(n) {
		profile := strings.TrimPrefix(string(name), migPrefix)
		slice, _, _ := strings.Cut(profile, "g.")
		size, err := strconv.ParseInt(slice, 10, 64)
		if err != nil || size < 1 || size > sliceCount {
			continue // no profile of MIG
		}
		q := n.Status.Capacity[name]
		for range q.Value() {
			if used+size > sliceCount {
				next, used = next+1, 0
			}
			all = append(all, mig(n, next, used, size, profile))
			used += size
		}
	}
	return all
}

const (
	migPrefix  = "nvidia.com/mig-"
	sliceCount = 7
)

func migResources(n *corev1.Node) []corev1.ResourceName {
	var all []corev1.ResourceName
	for name := range n.Status.Capacity {
		if strings.HasPrefix(string(name), migPrefix) {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

// gpu is the node's GPU i. What a label does not say is left out, as is what no profile can know:
// the PCI address and root.
func gpu(n *corev1.Node, i int) resourcev1.Device {
	d := resourcev1.Device{Name: fmt.Sprintf("gpu-%d", i), Attributes: common(n), Capacity: map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{}}
	put(d.Attributes, "type", "gpu")
	put(d.Attributes, "uuid", "GPU-"+identity(n.Name, d.Name))
	if mib, err := strconv.ParseInt(n.Labels["nvidia.com/gpu.memory"], 10, 64); err == nil {
		d.Capacity["memory"] = resourcev1.DeviceCapacity{Value: *resource.NewQuantity(mib<<20, resource.BinarySI)}
	}
	return d
}

// mig is a MIG device of GPU i, which begins at a slice. Of its capacity only what its profile's name
// says is known.
func mig(n *corev1.Node, i int, first, size int64, profile string) resourcev1.Device {
	d := resourcev1.Device{Name: fmt.Sprintf("gpu-%d-mig-%dg-%d-%d", i, size, first, size), Attributes: common(n), Capacity: map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{}}
	put(d.Attributes, "type", "mig")
	put(d.Attributes, "uuid", "MIG-"+identity(n.Name, d.Name))
	put(d.Attributes, "parentUUID", "GPU-"+identity(n.Name, fmt.Sprintf("gpu-%d", i)))
	put(d.Attributes, "profile", profile)
	if _, memory, ok := strings.Cut(profile, "g."); ok {
		if gb, err := strconv.ParseInt(strings.TrimSuffix(memory, "gb"), 10, 64); err == nil {
			d.Capacity["memory"] = resourcev1.DeviceCapacity{Value: *resource.NewQuantity(gb<<30, resource.BinarySI)}
		}
	}
	return d
}

// common are the attributes of GPUs and MIG devices alike, by GPU Feature Discovery's labels.
func common(n *corev1.Node) map[resourcev1.QualifiedName]resourcev1.DeviceAttribute {
	l := n.Labels
	all := map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{}
	name := productName(l["nvidia.com/gpu.product"])
	put(all, "productName", name)
	put(all, "brand", brand(name))
	put(all, "architecture", architecture(l["nvidia.com/gpu.family"]))
	if l["nvidia.com/gpu.compute.major"] != "" {
		version(all, "cudaComputeCapability", l["nvidia.com/gpu.compute.major"], l["nvidia.com/gpu.compute.minor"], "0")
	}
	if major := l["nvidia.com/cuda.driver.major"]; major != "" {
		version(all, "driverVersion", major, l["nvidia.com/cuda.driver.minor"], l["nvidia.com/cuda.driver.rev"])
		if cuda := cudaOf(major); cuda != "" {
			whole, minor, _ := strings.Cut(cuda, ".")
			version(all, "cudaDriverVersion", whole, minor, "0")
		}
	}
	if name != "" { // on Grace, the CPU's page tables are the GPU's, too
		mode := "HMM"
		if l[corev1.LabelArchStable] == "arm64" {
			mode = "ATS"
		}
		put(all, "addressingMode", mode)
	}
	return all
}

func put(all map[resourcev1.QualifiedName]resourcev1.DeviceAttribute, name resourcev1.QualifiedName, value string) {
	if value != "" {
		all[name] = resourcev1.DeviceAttribute{StringValue: &value}
	}
}

// version puts a semantic version, which has no leading zeros: the driver 580.105.08 is 580.105.8.
func version(all map[resourcev1.QualifiedName]resourcev1.DeviceAttribute, name resourcev1.QualifiedName, parts ...string) {
	var numbers []string
	for _, p := range parts {
		number, err := strconv.ParseUint(p, 10, 32)
		if err != nil {
			number = 0
		}
		numbers = append(numbers, fmt.Sprint(number))
	}
	text := strings.Join(numbers, ".")
	all[name] = resourcev1.DeviceAttribute{VersionValue: &text}
}

// dashed are the products whose own names have dashes, which a label has for spaces.
var dashed = regexp.MustCompile(`[AVP]100-(SXM\d|PCIE)-\d+GB`)

// productName is NVML's name of a product, by its label: NVIDIA-H100-80GB-HBM3 is NVIDIA H100 80GB
// HBM3, and NVIDIA-A100-SXM4-80GB is NVIDIA A100-SXM4-80GB.
func productName(label string) string {
	at := dashed.FindStringIndex(label)
	if at == nil {
		return strings.ReplaceAll(label, "-", " ")
	}
	return strings.ReplaceAll(label[:at[0]], "-", " ") + label[at[0]:at[1]] + strings.ReplaceAll(label[at[1]:], "-", " ")
}

func brand(product string) string {
	switch {
	case product == "":
		return ""
	case strings.HasPrefix(product, "Tesla"):
		return "Tesla"
	}
	return "Nvidia"
}

// architecture is NVML's name of a family: ada-lovelace is Ada Lovelace.
func architecture(family string) string {
	var words []string
	for w := range strings.SplitSeq(family, "-") {
		if w != "" {
			words = append(words, strings.ToUpper(w[:1])+w[1:])
		}
	}
	return strings.Join(words, " ")
}

// cudaOf is the CUDA version that a branch of the driver supports; of a branch that is not listed,
// that of the last one before it (https://docs.nvidia.com/cuda/cuda-toolkit-release-notes/).
func cudaOf(branch string) string {
	number, err := strconv.Atoi(branch)
	if err != nil {
		return ""
	}
	cuda := ""
	for _, row := range []struct {
		branch int
		cuda   string
	}{{450, "11.0"}, {470, "11.4"}, {510, "11.6"}, {515, "11.7"}, {520, "11.8"}, {525, "12.0"}, {530, "12.1"}, {535, "12.2"}, {545, "12.3"}, {550, "12.4"}, {555, "12.5"}, {560, "12.6"}, {565, "12.7"}, {570, "12.8"}, {575, "12.9"}, {580, "13.0"}, {590, "13.1"}} {
		if row.branch <= number {
			cuda = row.cuda
		}
	}
	return cuda
}

// identity is a UUID that is the same in every cell.
func identity(node, device string) string {
	return uuid.NewHash(sha1.New(), uuid.NameSpaceDNS, []byte(node+"/"+device), 5).String()
}
