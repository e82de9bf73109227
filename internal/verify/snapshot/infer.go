package snapshot

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/recipe"
)

// Inferred is a criterion of a recipe that a snapshot tells.
type Inferred struct {
	Criterion string // service, accelerator or os
	Value     string // empty if the snapshot does not tell
	// From is the reading that shows the value, as PATH VALUE; without a value it says why none was
	// found.
	From string
}

// sign is what tells a value.
type sign struct {
	pattern *regexp.Regexp
	value   string
}

// Signs of a service: in the version of its API server, in the images of its own pods, and in the
// labels that it sets on nodes.
var (
	serverSigns = []sign{{regexp.MustCompile(`-eks-`), "eks"}, {regexp.MustCompile(`-gke\.`), "gke"}, {regexp.MustCompile(`\+rke2r`), "rke2"}, {regexp.MustCompile(`\+k0s`), "k0s"}}
	imageSigns  = []sign{
		{regexp.MustCompile(`amazon-k8s-cni|eks-distro|eks/kube-proxy`), "eks"}, {regexp.MustCompile(`gke\.gcr\.io|gke-release`), "gke"},
		{regexp.MustCompile(`mcr\.microsoft\.com/(oss|aks)/`), "aks"}, {regexp.MustCompile(`kindest/`), "kind"}, {regexp.MustCompile(`ocir\.io/|/oke-public`), "oke"},
	}
	labelSigns = []sign{
		{regexp.MustCompile(`^eks\.amazonaws\.com/`), "eks"}, {regexp.MustCompile(`^cloud\.google\.com/gke-`), "gke"},
		{regexp.MustCompile(`^kubernetes\.azure\.com/`), "aks"}, {regexp.MustCompile(`^oci\.oraclecloud\.com/`), "oke"},
	}
	// providerSigns are in what AICR's CLI writes down about a node's provider since July.
	providerSigns = []sign{{regexp.MustCompile(`^(ocid1\..*|oci)$`), "oke"}}
	osSigns       = []sign{
		{regexp.MustCompile(`^ubuntu$`), "ubuntu"}, {regexp.MustCompile(`^(rhel|redhat|redhatenterpriselinux)$`), "rhel"}, {regexp.MustCompile(`^cos$`), "cos"},
		{regexp.MustCompile(`^(amzn|amazon|amazonlinux|al2|al2023)$`), "amazonlinux"}, {regexp.MustCompile(`^ol$`), "ol"}, {regexp.MustCompile(`^talos$`), "talos"},
	}
	gpuSigns = []sign{
		{regexp.MustCompile(`\bgb300\b`), "gb300"}, {regexp.MustCompile(`\bgb200\b`), "gb200"}, {regexp.MustCompile(`\bb200\b`), "b200"}, {regexp.MustCompile(`\bh200\b`), "h200"},
		{regexp.MustCompile(`\bh100\b`), "h100"}, {regexp.MustCompile(`\ba100\b`), "a100"}, {regexp.MustCompile(`\bl40s\b`), "l40s"}, {regexp.MustCompile(`\bl40\b`), "l40"}, {regexp.MustCompile(`\brtx[ -]pro[ -]6000\b`), "rtx-pro-6000"},
		{regexp.MustCompile(`\bvr200\b`), "vr200"},
	}
	productKey = regexp.MustCompile(`(?i)product|model|(^|[._-])(name|type)$`)
)

// gpuProduct is the label of a node with its GPUs' name.
const gpuProduct = "nvidia.com/gpu.product"

// Infer tells, as well as the snapshot can, which kind of cluster it is of: service, accelerator
// and os, in this order. Readings that contradict each other tell nothing.
func (s *Snapshot) Infer() []Inferred {
	known := recipe.KnownCriteria()
	all := providerSigns
	for _, service := range known["service"] {
		all = append(all, sign{regexp.MustCompile("^" + regexp.QuoteMeta(service) + "$"), service})
	}
	service := s.infer("service", all, TypeK8s, "node", func(key, value string) string { return ifKey(key == "provider", strings.ToLower(value)) })
	for _, other := range []struct {
		signs         []sign
		kind, subtype string
		text          func(key, value string) string
	}{
		{serverSigns, TypeK8s, "server", func(key, value string) string { return ifKey(key == "version", value) }},
		{imageSigns, TypeK8s, "image", func(key, value string) string { return key + " " + value }},
		{labelSigns, TypeNodeTopology, "label", func(key, _ string) string { return key }},
	} {
		if service.Value == "" {
			service = s.infer("service", other.signs, other.kind, other.subtype, other.text)
		}
	}
	// The label is that of all nodes, and the rest of one.
	accelerator := s.infer("accelerator", gpuSigns, TypeNodeTopology, "label", func(key, value string) string {
		value, _, _ = strings.Cut(strings.ToLower(value), "|")
		return ifKey(key == gpuProduct || strings.HasPrefix(key, gpuProduct+"."), strings.ReplaceAll(value, "-", " "))
	})
	if accelerator.From == untold {
		accelerator = s.infer("accelerator", gpuSigns, TypeGPU, "", func(key, value string) string {
			return ifKey(productKey.MatchString(key), strings.ReplaceAll(strings.ToLower(value), "-", " "))
		})
	}
	return []Inferred{
		service, accelerator,
		s.infer("os", osSigns, TypeOS, "release", func(key, value string) string { return ifKey(key == "ID", strings.ToLower(value)) }),
	}
}

// untold is why a criterion has no value that no reading is about.
const untold = "no reading tells it"

func ifKey(is bool, value string) string {
	if is {
		return value
	}
	return ""
}

// infer searches for signs in the readings of a subtype, or of all of them. The function text
// returns the searched text of a reading, or "" to skip it.
func (s *Snapshot) infer(criterion string, signs []sign, kind, subtype string, text func(key, value string) string) Inferred {
	found := map[string]string{} // by value: the first reading that shows it
	for _, m := range s.Measurements {
		if !strings.EqualFold(m.Type, kind) {
			continue
		}
		for _, sub := range m.Subtypes {
			if subtype != "" && sub.Name != subtype {
				continue
			}
			for _, key := range slices.Sorted(maps.Keys(sub.Data)) {
				value := sub.Data[key].String()
				for _, sign := range signs {
					if t := text(key, value); t != "" && sign.pattern.MatchString(t) {
						if _, ok := found[sign.value]; !ok {
							found[sign.value] = m.Type + "." + sub.Name + "." + key + " " + value
						}
						break
					}
				}
			}
		}
	}
	values := slices.Sorted(maps.Keys(found))
	switch len(values) {
	case 0:
		return Inferred{Criterion: criterion, From: untold}
	case 1:
		return Inferred{Criterion: criterion, Value: values[0], From: found[values[0]]}
	}
	return Inferred{Criterion: criterion, From: "readings contradict each other: " + found[values[0]] + ", and " + found[values[1]]}
}
