package simulate

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// upstream is a profile in the form of AICR's own KWOK tests: kwok/profiles/PROVIDER/NAME.yaml, chosen
// by labels, with what their node template makes of it.
type upstream struct {
	APIVersion string          `yaml:"apiVersion"`
	Kind       string          `yaml:"kind"`
	Metadata   ProfileMetadata `yaml:"metadata"`
	Spec       struct {
		InstanceType string `yaml:"instanceType"`
		Arch         string `yaml:"arch"`
		OSImage      string `yaml:"osImage"`
		Resources    struct {
			CPU     string `yaml:"cpu"`
			Memory  string `yaml:"memory"`
			Storage string `yaml:"storage"`
		} `yaml:"resources"`
		GPU *struct {
			Product     string `yaml:"product"`
			Count       int    `yaml:"count"`
			Memory      int    `yaml:"memory"` // MiB of one GPU
			Driver      string `yaml:"driver"`
			DriverMajor string `yaml:"driverMajor"`
			DriverMinor string `yaml:"driverMinor"`
		} `yaml:"gpu"`
	} `yaml:"spec"`
}

// The region and zones of AICR's KWOK tests, and the most pods of a node.
const (
	upstreamRegion = "us-east-1"
	upstreamPods   = "110"
	upstreamGPUs   = "250" // pods of a node with GPUs
)

// isUpstream reports whether a profile is in AICR's form.
func isUpstream(d document) bool {
	return d.root.Kind == yaml.MappingNode && yamlx.Find(d.root, "spec", "criteria") == nil && yamlx.Find(d.root, "metadata", "labels", "provider") != nil
}

// parseUpstream reads a profile in AICR's form. Fields that are not known are AICR's, and say nothing
// that decides here.
func parseUpstream(d document) (*Profile, []error) {
	var u upstream
	if err := d.root.Decode(&u); err != nil {
		return nil, placed(d.file, err)
	}
	provider := u.Metadata.Labels["provider"]
	p := &Profile{APIVersion: profileAPIVersion, Kind: u.Kind, Origin: d.at("metadata", "name"), upstream: true}
	if u.Kind != ProfileKind || u.APIVersion == "" { // AICR's releases have no one apiVersion for it
		return nil, []error{fmt.Errorf("%s: want a document of the kind %s, with an apiVersion", d.at("kind"), ProfileKind)}
	}
	if kind := u.Metadata.Labels["nodeType"]; kind != nodeTypeSystem && kind != nodeTypeAccelerated {
		return nil, []error{fmt.Errorf("%s: the label nodeType is %q, want %s or %s", d.at("metadata", "labels", "nodeType"), kind, nodeTypeSystem, nodeTypeAccelerated)}
	}
	if u.Spec.Arch == "" {
		return nil, []error{fmt.Errorf("%s: spec.arch is empty; the node has a label of it", d.at("spec", "arch"))}
	}
	if u.Metadata.Name != "" {
		p.Metadata.Name = provider + "-" + u.Metadata.Name // one name for several providers
	}
	s := &p.Spec
	s.Criteria.Service, s.Criteria.Accelerator, s.NodeType = provider, u.Metadata.Labels["accelerator"], u.Metadata.Labels["nodeType"]
	s.InstanceType, s.Architecture, s.OperatingSystem = u.Spec.InstanceType, u.Spec.Arch, "linux"
	s.Region, s.Zones = upstreamRegion, []string{upstreamRegion + "a", upstreamRegion + "b"}
	s.Capacity = map[string]string{"cpu": u.Spec.Resources.CPU, "memory": u.Spec.Resources.Memory, "ephemeral-storage": u.Spec.Resources.Storage, "pods": upstreamPods}
	if g := u.Spec.GPU; g != nil {
		s.Capacity["pods"] = upstreamGPUs
		s.GPU = &GPU{Product: g.Product, Count: g.Count, MemoryMiB: g.Memory, Driver: cmp.Or(g.Driver, g.DriverMajor+"."+g.DriverMinor)}
		// The taint that AICR's recipes keep other pods off nodes with GPUs with.
		s.Taints = []Taint{{Key: "nvidia.com/gpu", Value: "present", Effect: "NoSchedule"}}
	}
	return p, p.check(d)
}

// over fills in what AICR's form cannot say of a provider, from the profile that it takes the place of.
func (p *Profile) over(old Profile) {
	s, o := &p.Spec, old.Spec
	s.Default, s.Untainted, s.AdmissionPlugins, s.StorageClasses, s.DefaultStorageClass, s.LoadBalancer = o.Default, o.Untainted, o.AdmissionPlugins, o.StorageClasses, o.DefaultStorageClass, o.LoadBalancer
	s.Region, s.Zones, s.Labels, s.Racks, s.Taints = o.Region, o.Zones, o.Labels, o.Racks, o.Taints
	for name, quantity := range o.Capacity {
		if _, ok := s.Capacity[name]; !ok {
			s.Capacity[name] = quantity
		}
	}
}

// AddProfiles adds the profiles of an AICR checkout, in its kwok/profiles, for services and
// accelerators that the others have none of. A checkout without profiles adds none.
func AddProfiles(all []Profile, fsys fs.FS, root string) ([]Profile, error) {
	more, err := readBelow(fsys, root)
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err != nil {
		return nil, err
	}
	known := slices.Clone(all)
	for _, p := range more {
		if !slices.ContainsFunc(known, func(k Profile) bool { return k.key() == p.key() || k.Metadata.Name == p.Metadata.Name }) {
			all = append(all, p)
		}
	}
	return all, nil
}

// readBelow reads the profiles at the top of a directory, or those of each directory in it, as AICR's
// own lie.
func readBelow(fsys fs.FS, root string) ([]Profile, error) {
	all, err := loadProfiles(fsys, ".", root)
	if err != nil || len(all) > 0 {
		return all, err
	}
	entries, err := fs.ReadDir(fsys, ".")
	if err != nil {
		return nil, err
	}
	var problems []error
	for _, e := range entries {
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		more, err := loadProfiles(fsys, e.Name(), path.Join(root, e.Name()))
		problems, all = append(problems, err), append(all, more...)
	}
	return all, errors.Join(append(problems, together(all)...)...)
}
