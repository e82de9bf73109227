package simulate

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	corev1 "k8s.io/api/core/v1"
)

// own is a directory of a user's profiles: name to the first lines of its spec.
func own(specs map[string]string) fstest.MapFS {
	files := fstest.MapFS{"README.md": {Data: []byte("not a profile")}, "sub/p.yaml": {Data: []byte("not: read")}}
	for name, spec := range specs {
		text := "apiVersion: aicr.nvidia.com/v1alpha1\nkind: KWOKNodeProfile\nmetadata: {name: " + name + "}\nspec:\n  " + spec + `
  instanceType: mine
  architecture: amd64
  operatingSystem: linux
  region: r
  zones: [a]
  capacity: {cpu: "4", memory: 16Gi, pods: "58"}
`
		if strings.Contains(spec, "accelerated") {
			text += "  gpu: {product: X, count: 1, memoryMiB: 1, driver: \"580.1\"}\n"
		}
		files[name+".yaml"] = &fstest.MapFile{Data: []byte(text)}
	}
	return files
}

// A user's profiles come on top of the shipped ones: another cloud, another accelerator, another
// instance type for the same.
func TestLayerProfiles(t *testing.T) {
	shipped := shippedProfiles(t)
	all, err := LayerProfiles(shipped, own(map[string]string{
		"bcm-system": "criteria: {service: bcm}\n  nodeType: system",
		"bcm-l40":    "criteria: {service: bcm, accelerator: l40}\n  default: true\n  nodeType: accelerated",
		"my-h200":    "criteria: {service: eks, accelerator: h200}\n  nodeType: accelerated\n  default: true",
		"aks-h100":   "criteria: {service: aks, accelerator: vr200}\n  nodeType: accelerated",
	}), "mine")
	if err != nil {
		t.Fatal(err)
	}
	for query, want := range map[[2]string]string{
		{"bcm", ""}:      "bcm-system bcm-l40",
		{"eks", "h200"}:  "eks-system my-h200",
		{"eks", ""}:      "eks-system my-h200", // the default moves
		{"eks", "h100"}:  "eks-system eks-h100",
		{"aks", "h100"}:  "", // replaced by its name
		{"aks", "vr200"}: "aks-system aks-h100",
		{"gke", ""}:      "gke-system gke-h100",
	} {
		groups, err := ChooseProfiles(all, query[0], query[1], DefaultNodeGroups(2, 4))
		got := ""
		if err == nil {
			got = groups[0].Profile.Metadata.Name + " " + groups[1].Profile.Metadata.Name
		}
		if got != want {
			t.Errorf("%v: got %q (%v), want %q", query, got, err, want)
		}
	}
	defaults := 0
	for _, p := range all {
		if p.Spec.Default && p.Spec.Criteria.Service == "eks" {
			defaults++
		}
	}
	if defaults != 1 {
		t.Errorf("%d defaults of eks; the user's takes the place of the shipped one", defaults)
	}
	if !slices.ContainsFunc(shipped, func(p Profile) bool { return p.Metadata.Name == "eks-h100" && p.Spec.Default }) {
		t.Error("the shipped profiles have been changed")
	}
}

func TestLayerProfiles_Invalid(t *testing.T) {
	for name, test := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"nothing": {nil, []string{"mine/sub/p.yaml:1: unknown field"}},
		"two for the same": {map[string]string{"a": "criteria: {service: bcm, accelerator: l40}\n  nodeType: accelerated", "b": "criteria: {service: bcm, accelerator: l40}\n  nodeType: accelerated"},
			[]string{"mine/b.yaml:3: a profile for service bcm, accelerator l40 is already at mine/a.yaml:3"}},
		"two system": {map[string]string{"a": "criteria: {service: bcm}\n  nodeType: system", "b": "criteria: {service: bcm}\n  nodeType: system"},
			[]string{"mine/b.yaml:3: a profile for service bcm, system nodes is already at mine/a.yaml:3"}},
		"two defaults": {map[string]string{"a": "criteria: {service: bcm, accelerator: l40}\n  default: true\n  nodeType: accelerated", "b": "criteria: {service: bcm, accelerator: h100}\n  default: true\n  nodeType: accelerated"},
			[]string{"mine/b.yaml:3: a profile the default of service bcm is already at mine/a.yaml:3"}},
		"two mistakes": {map[string]string{"a": "criteria: {}\n  nodeType: system", "b": "criteria: {service: bcm}\n  nodeType: storage"},
			[]string{"mine/a.yaml:5: spec.criteria.service is empty", `mine/b.yaml:6: spec.nodeType is "storage"`}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := LayerProfiles(shippedProfiles(t), own(test.files), "mine")
			for _, want := range test.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got %v\nwant %q", err, want)
				}
			}
		})
	}
}

// A profile is a plain file of a profile's size: what a pull request lays there must not show files
// of the machine.
func TestProfileFiles(t *testing.T) {
	elsewhere := filepath.Join(t.TempDir(), "secret.yaml")
	if err := os.WriteFile(elsewhere, []byte("hunter2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	link, large, folder := t.TempDir(), t.TempDir(), t.TempDir()
	if err := os.Symlink(elsewhere, filepath.Join(link, "p.yaml")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(large, "p.yaml"), make([]byte, maxProfile+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(folder, "p.yaml"), 0o700); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{link: "mine/p.yaml: it is not a plain file", folder: "mine/p.yaml: it is not a plain file", large: "mine/p.yaml: it has 1048577 bytes"} {
		_, err := LayerProfiles(nil, os.DirFS(dir), "mine")
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// The shipped profiles are complete: each service has system nodes and one default, each file is
// named after its profile and names the source of its figures, and nodes have the labels by which
// their platform distinguishes them.
func TestShippedProfiles(t *testing.T) {
	all := shippedProfiles(t)
	defaults, systems := map[string]int{}, map[string]int{}
	for i := range all {
		p := &all[i]
		s := p.Spec
		name := s.Criteria.Service + "-" + s.Criteria.Accelerator
		if s.NodeType == nodeTypeSystem {
			name = s.Criteria.Service + "-system"
			systems[s.Criteria.Service]++
		}
		if p.Metadata.Name != name || !strings.HasPrefix(p.Origin, "profiles/"+name+".yaml:") {
			t.Errorf("%s: profile %s; want both to be called %s", p.Origin, p.Metadata.Name, name)
		}
		if s.Default {
			defaults[s.Criteria.Service]++
		}
		if s.Capacity["ephemeral-storage"] == "" {
			t.Errorf("%s: no ephemeral storage", p.Origin)
		}
		if strings.HasPrefix(s.Criteria.Accelerator, "gb") {
			checkNVLink(t, p)
		}
	}
	for service := range systems {
		if systems[service] != 1 || defaults[service] != 1 {
			t.Errorf("service %s has %d system profiles and %d defaults; want one of each", service, systems[service], defaults[service])
		}
	}
}

// checkNVLink: the nodes of GB200 and GB300 have an NVLink domain, and it is not one for all of
// them.
func checkNVLink(t *testing.T, p *Profile) {
	t.Helper()
	cliques := map[string]bool{}
	for _, n := range Nodes([]NodeGroup{{Profile: p, Count: 4}}) {
		cliques[n.Labels["nvidia.com/gpu.clique"]] = true
		if n.Labels[corev1.LabelArchStable] != "arm64" {
			t.Errorf("%s: Grace is an Arm CPU, and the profile says %s", p.Origin, n.Labels[corev1.LabelArchStable])
		}
	}
	if len(cliques) != 2 || cliques[""] {
		t.Errorf("%s: cliques %s; want two", p.Origin, fmt.Sprint(cliques))
	}
}
