package simulate

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/kwok"
)

func shippedProfiles(t testing.TB) []Profile {
	t.Helper()
	all, err := LoadProfiles(kwok.Files, "profiles")
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestChooseProfiles(t *testing.T) {
	all := shippedProfiles(t)
	for _, p := range shippedProfiles(t) { // a service with one accelerator, which is nobody's default, and one with two
		if name := p.Metadata.Name; slices.Contains([]string{"lke-system", "lke-rtx-pro-6000", "oke-system", "oke-h100", "oke-h200"}, name) {
			p.Spec.Criteria.Service, p.Spec.Default = strings.NewReplacer("lke", "one", "oke", "two").Replace(p.Spec.Criteria.Service), false
			all = append(all, p)
		}
	}
	for _, test := range []struct{ service, accelerator, system, accelerated, says string }{
		{"one", "", "lke-system", "lke-rtx-pro-6000", ""},
		{"one", "h100", "", "", "service one has profiles for: rtx-pro-6000."},
		{"two", "", "", "", "service two has profiles for: h100, h200."},
		{"eks", "any", "eks-system", "eks-h100", ""},
		{"eks", "", "eks-system", "eks-h100", ""},
		{"eks", "h100", "eks-system", "eks-h100", ""},
		{"eks", "gb200", "eks-system", "eks-gb200", ""},
		{"gke", "rtx-pro-6000", "gke-system", "gke-rtx-pro-6000", ""},
		// No fallback: neither to another cloud's nodes nor to another accelerator's.
		{"eks", "vr200", "", "", "accelerated nodes of service eks, accelerator vr200; service eks has profiles for: a100, b200, gb200, gb300, h100, h200, l40, rtx-pro-6000."},
		{"kind", "gb200", "", "", "service kind has profiles for: h100."},
		{"nimbus", "any", "", "", "there are profiles for the services aks, bcm, cks, eks, generic, gke, k0s, kind, lke, metal3, nvke, ocp, oke, one, rke2, togetherai, two."},
		{"nimbus", "h100", "", "", "there are profiles for the services aks, bcm, cks, eks, generic, gke, k0s, kind, lke, metal3, nvke, ocp, oke, one, rke2, togetherai, two."},
		{"ocp", "any", "ocp-system", "ocp-h100", ""},
		{"any", "any", "", "", "no service says whose nodes to simulate: take a recipe that sets spec.criteria.service"},
		{"", "", "", "", "no service says whose nodes to simulate: take a recipe that sets spec.criteria.service"},
	} {
		t.Run(test.service+"/"+test.accelerator, func(t *testing.T) {
			groups, err := ChooseProfiles(all, test.service, test.accelerator, DefaultNodeGroups(2, 4))
			if test.system == "" {
				if reason.Of(err) != reason.NoProfile || !strings.Contains(err.Error(), test.says) {
					t.Fatalf("got %v, want %q", err, test.says)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			system, accelerated := groups[0].Profile.Metadata.Name, groups[1].Profile.Metadata.Name
			if len(groups) != 2 || system != test.system || accelerated != test.accelerated {
				t.Errorf("got %s and %s, want %s and %s", system, accelerated, test.system, test.accelerated)
			}
		})
	}
}

func TestLoadProfiles_Invalid(t *testing.T) {
	dirs, err := filepath.Glob("testdata/profiles/invalid-*")
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no test data: %v", err)
	}
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			want, err := os.ReadFile(filepath.Join(dir, "want.txt"))
			if err != nil {
				t.Fatal(err)
			}
			_, err = LoadProfiles(os.DirFS(dir), ".")
			if err == nil || !strings.Contains(err.Error(), strings.TrimSpace(string(want))) {
				t.Errorf("got %v\nwant the file and %q", err, strings.TrimSpace(string(want)))
			}
		})
	}
	if all, err := LoadProfiles(os.DirFS("testdata/profiles/valid"), "."); err != nil || len(all) != 1 {
		t.Errorf("the model of the invalid ones: %d profiles, %v", len(all), err)
	}
}

// Nodes with GPUs have the taint that AICR's bundles tolerate there, and system nodes do not. Kind's
// nodes have none at all.
func TestTaintsOfProviders(t *testing.T) {
	gpu := corev1.Taint{Key: "nvidia.com/gpu", Value: "present", Effect: corev1.TaintEffectNoSchedule}
	for pool, tainted := range map[string]bool{"gke h100": true, "gke b200": true, "lke rtx-pro-6000": true, "bcm h100": true, "oke l40s": true, "oke h100": true, "eks h100": true, "aks h100": true} {
		service, accelerator, _ := strings.Cut(pool, " ")
		groups, err := ChooseProfiles(shippedProfiles(t), service, accelerator, DefaultNodeGroups(1, 1))
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range Nodes(groups) {
			tolerated := slices.Equal(infra.AdmissionPlugins([]*corev1.Node{n}), []string{infra.ExtendedResourceToleration})
			if tolerated != (service == "gke" && n.Labels[bundle.NodeTypeLabel] == nodeTypeAccelerated) {
				t.Errorf("%s, node %s: GPU pods tolerate its taint by themselves: %t", pool, n.Name, tolerated)
			}
			want := tainted && n.Labels[bundle.NodeTypeLabel] == nodeTypeAccelerated
			if got := slices.Contains(n.Spec.Taints, gpu); got != want || !slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == KwokTaint }) {
				t.Errorf("%s, node %s has the taints %v", pool, n.Name, n.Spec.Taints)
			}
		}
	}
}

func TestNodesOfAProfile(t *testing.T) {
	groups, err := ChooseProfiles(shippedProfiles(t), "eks", "gb200", DefaultNodeGroups(2, 4))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, n := range Nodes(groups) {
		names[n.Name] = true
		if n.Labels[corev1.LabelHostname] != n.Name || n.Labels[corev1.LabelOSStable] != "linux" || n.Annotations["kwok.x-k8s.io/node"] != "fake" {
			t.Errorf("node %s: %v %v", n.Name, n.Labels, n.Annotations)
		}
		gpus := n.Status.Allocatable[infra.GPUResource]
		if isSystem := n.Labels[bundle.NodeTypeLabel] == "system"; isSystem != gpus.IsZero() {
			t.Errorf("node %s: %s GPUs", n.Name, gpus.String())
		}
	}
	// Nothing can be placed on the control plane of a managed service.
	for _, service := range []string{"aks", "bcm", "eks", "gke", "kind", "oke"} {
		groups, err := ChooseProfiles(shippedProfiles(t), service, "", DefaultNodeGroups(2, 4))
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range Nodes(groups) {
			_, has := n.Labels["node-role.kubernetes.io/control-plane"]
			if want := (service == "bcm" || service == "kind") && n.Labels[bundle.NodeTypeLabel] == "system"; has != want {
				t.Errorf("%s, node %s: has the label of the control plane: %t", service, n.Name, has)
			}
		}
	}
	for _, want := range []string{"system-0", "system-1", "accelerated-0", "accelerated-3"} {
		if !names[want] {
			t.Errorf("no node %s in %v", want, names)
		}
	}
	gpu := Nodes(groups[1:])[1]
	for label, want := range map[string]string{
		"nvidia.com/gpu.present": "true", "nvidia.com/gpu.product": "NVIDIA-GB200", "nvidia.com/gpu.count": "4",
		"nvidia.com/cuda.driver.major": "580", "nvidia.com/cuda.driver.minor": "105", "nvidia.com/cuda.driver.rev": "08", corev1.LabelArchStable: "arm64",
		corev1.LabelTopologyZone: "us-east-1b", "topology.k8s.aws/capacity-block-id": "cbg-2", // zones and racks take turns
	} {
		if gpu.Labels[label] != want {
			t.Errorf("%s=%q, want %q", label, gpu.Labels[label], want)
		}
	}
}

// A cluster's nodes are a list of groups: more than one of a type, with labels, and of a profile
// that no criteria choose.
func TestNodeGroups(t *testing.T) {
	all := shippedProfiles(t)
	i := slices.IndexFunc(all, func(p Profile) bool { return p.Metadata.Name == "eks-gb200" })
	asked := []NodeGroup{
		{NodeType: "system", Count: 1},
		{NodeType: "accelerated", Count: 2, Labels: map[string]string{"rack": "a", bundle.NodeTypeLabel: "spare"}},
		{Profile: &all[i], Count: 1},
		{NodeType: "accelerated"},
	}
	groups, err := ChooseProfiles(all, "eks", "h100", asked)
	if err != nil {
		t.Fatal(err)
	}
	if asked[0].Profile != nil {
		t.Error("the list that was asked for has been changed")
	}
	var got []string
	for _, n := range Nodes(groups) {
		got = append(got, strings.Join([]string{n.Name, n.Labels[bundle.NodeTypeLabel], n.Labels["rack"], n.Labels["nvidia.com/gpu.product"], n.Labels[corev1.LabelTopologyZone]}, " "))
	}
	want := []string{
		"system-0 system   us-east-1a", "accelerated-0 spare a NVIDIA-H100-80GB-HBM3 us-east-1a", "accelerated-1 spare a NVIDIA-H100-80GB-HBM3 us-east-1b",
		"accelerated-2 accelerated  NVIDIA-GB200 us-east-1a",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if _, err := ChooseProfiles(all, "eks", "h100", []NodeGroup{{NodeType: "storage", Count: 1}}); reason.Of(err) != reason.NoProfile {
		t.Errorf("a type of node that no profile has: %v", err)
	}
}

// AICR's recipes for OpenShift need the Operator Lifecycle Manager, and no cell has it; those of this repository install charts.
func TestForRecipe(t *testing.T) {
	all, err := LoadProfiles(kwok.Files, "profiles")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		service string
		order   []string
		says    string
	}{
		{"ocp", []string{"nfd-ocp-olm", "nfd-ocp"}, "component nfd-ocp-olm is left out"},
		{"ocp", []string{"nfd", "gpu-operator"}, ""},
		{"eks", []string{"nfd-ocp-olm"}, ""},
	} {
		_, err := ForRecipe(all, test.service, "", test.order, DefaultNodeGroups(2, 4))
		if test.says == "" && err != nil || test.says != "" && (reason.Of(err) != reason.NoProfile || !strings.Contains(err.Error(), test.says)) {
			t.Errorf("%s %q: got %v, want %q", test.service, test.order, err, test.says)
		}
	}
}
