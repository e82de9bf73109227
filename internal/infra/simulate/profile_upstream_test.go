package simulate

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// upstreams are profiles as AICR's own KWOK tests have them, by PROVIDER/NAME/ACCELERATOR.
func upstreams(names ...string) fstest.MapFS {
	files := fstest.MapFS{"README.md": {Data: []byte("no profile")}}
	for _, n := range names {
		part := strings.Split(n, "/")
		text := "apiVersion: aicr.run/v1alpha2\nkind: KWOKNodeProfile\nmetadata:\n  name: " + part[1] + "\n  labels:\n    provider: " + part[0] + "\n"
		if part[2] == "" {
			text += "    nodeType: system\n"
		} else {
			text += "    nodeType: accelerated\n    accelerator: " + part[2] + "\n"
		}
		text += "spec:\n  instanceType: tray\n  arch: arm64\n  osImage: Ubuntu 26.04\n  future: yes\n  resources: {cpu: \"16\", memory: 64Gi, storage: 100Gi}\n"
		if part[2] != "" {
			text += "  gpu: {product: NVIDIA-X, count: 4, memory: 190464, driver: \"615.0.0\", driverMajor: \"615\", driverMinor: \"0\"}\n"
		}
		files[part[0]+"/"+part[1]+".yaml"] = &fstest.MapFile{Data: []byte(text)}
	}
	return files
}

// The profiles of AICR's own tests are read as they are, and make the nodes that their template makes.
func TestProfiles_Upstream(t *testing.T) {
	shipped := shippedProfiles(t)
	all, err := LayerProfiles(shipped, upstreams("moon/system/", "moon/tray/vr200", "mars/system/", "oke/mine/gb200"), "profiles")
	if err != nil {
		t.Fatal(err)
	}
	groups, err := ChooseProfiles(all, "moon", "vr200", DefaultNodeGroups(2, 4))
	if err != nil {
		t.Fatal(err)
	}
	p := groups[1].Profile
	if s := p.Spec; p.Metadata.Name != "moon-tray" || s.Architecture != "arm64" || s.Capacity["cpu"] != "16" || s.Capacity["pods"] != "250" || s.GPU.Count != 4 || s.GPU.MemoryMiB != 190464 || len(s.Taints) != 1 {
		t.Errorf("got %+v", p)
	}
	if groups, err = ChooseProfiles(all, "mars", "", DefaultNodeGroups(1, 0)); err == nil || !strings.Contains(err.Error(), "accelerated nodes of service mars") {
		t.Errorf("got %v, %v", groups, err)
	}
	// What the form cannot say of a provider stays.
	if groups, err = ChooseProfiles(all, "oke", "gb200", DefaultNodeGroups(1, 1)); err != nil || groups[1].Profile.Metadata.Name != "oke-mine" || len(groups[1].Profile.Spec.Racks) == 0 || groups[1].Profile.Spec.Capacity["cpu"] != "16" {
		t.Errorf("got %v, %+v", err, groups[1].Profile)
	}
}

// Those of a checkout are for what there is nothing for.
func TestAddProfiles(t *testing.T) {
	shipped := shippedProfiles(t)
	all, err := AddProfiles(shipped, upstreams("eks/p5/h100", "moon/system/", "moon/tray/h100"), "kwok/profiles")
	if err != nil || len(all) != len(shipped)+2 {
		t.Fatalf("got %d profiles more, %v", len(all)-len(shipped), err)
	}
	if slices.ContainsFunc(all, func(p Profile) bool { return p.Metadata.Name == "eks-p5" }) {
		t.Error("a profile of the checkout replaces one of this program's")
	}
	for name, files := range map[string]fstest.MapFS{
		"kwok/profiles/moon/system.yaml:10: spec.arch is empty":                         edited("moon/system/", "arch: arm64", "arch: ''"),
		"kwok/profiles/moon/system.yaml:7: the label nodeType is \"other\"":             edited("moon/system/", "nodeType: system", "nodeType: other"),
		"kwok/profiles/moon/system.yaml:2: want a document of the kind KWOKNodeProfile": edited("moon/system/", "kind: KWOKNodeProfile", "kind: Other"),
		"cannot unmarshal": edited("moon/system/", "resources: {cpu: \"16\", memory: 64Gi, storage: 100Gi}", "resources: [cpu]"),
	} {
		if _, err := AddProfiles(shipped, files, "kwok/profiles"); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want %s", err, name)
		}
	}
	if all, err := AddProfiles(shipped, fstest.MapFS{}, "kwok/profiles"); err != nil || len(all) != len(shipped) {
		t.Errorf("without any: %d, %v", len(all)-len(shipped), err)
	}
}

func edited(name, old, now string) fstest.MapFS {
	files := upstreams(name)
	for _, f := range files {
		f.Data = []byte(strings.Replace(string(f.Data), old, now, 1))
	}
	return files
}
