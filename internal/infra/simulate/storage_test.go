package simulate

import (
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/kwok"
)

// The default StorageClass of a cluster is that of its provider, and there is no second one.
func TestEnsureStorage(t *testing.T) {
	profiles, err := LoadProfiles(kwok.Files, "profiles")
	if err != nil {
		t.Fatal(err)
	}
	classes := func(nodes []*corev1.Node) string {
		t.Helper()
		kube := fake.NewClientset()
		if err := EnsureStorage(t.Context(), &infra.Clients{Kube: kube}, nodes); err != nil {
			t.Fatal(err)
		}
		list, err := kube.StorageV1().StorageClasses().List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, c := range list.Items {
			name := c.Name
			if c.Annotations[DefaultClass] == "true" {
				name += "*"
			}
			all = append(all, name)
		}
		slices.Sort(all)
		return strings.Join(all, " ")
	}
	nodes := func(profiles []Profile, service string) []*corev1.Node {
		t.Helper()
		groups, err := ChooseProfiles(profiles, service, "", DefaultNodeGroups(1, 1))
		if err != nil {
			t.Fatal(err)
		}
		return Nodes(groups)
	}
	for service, want := range map[string]string{
		"eks": "gp2", "gke": "premium-rwo standard standard-rwo*", "aks": "azurefile-csi default* managed-csi managed-csi-premium", "oke": "oci oci-bv*", "kind": "standard*", "bcm": "local-path standard*",
	} {
		if got := classes(nodes(profiles, service)); got != want {
			t.Errorf("%s: got %s, want %s", service, got, want)
		}
	}
	if got := classes(nil); got != "standard*" {
		t.Errorf("without nodes: got %s", got)
	}
	assumed := Assume(profiles)
	for service, want := range map[string]bool{"eks": true, "gke": false, "kind": false} {
		n := nodes(assumed, service)
		if got := AssumesClass(n); got != want || DefaultClassOf(n) == "" {
			t.Errorf("recipes on %s: a default class is assumed: %v, %q", service, got, DefaultClassOf(n))
		}
	}
	if got := classes(nodes(assumed, "eks")); got != "gp2 standard*" {
		t.Errorf("recipes on eks: got %s", got)
	}
	if AssumesClass(nodes(profiles, "eks")) {
		t.Error("the profiles were changed")
	}
	for service, made := range map[string]bool{"kind": true, "gke": false, "aks": false, "eks": false} {
		if got := Made(nodes(profiles, service), DefaultClassName); got != made {
			t.Errorf("%s: the harness made %s: %v", service, DefaultClassName, got)
		}
	}
}

// A class that cannot be one is refused with its line.
func TestLoadProfiles_StorageClass(t *testing.T) {
	text, err := fs.ReadFile(kwok.Files, "profiles/eks-system.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{"defaultStorageClass: none": "defaultStorageClass: None at all", "storageClasses: [gp2]": "storageClasses: [GP_2]"} {
		changed := strings.Replace(string(text), from, to, 1)
		_, err := LoadProfiles(fstest.MapFS{"p/a.yaml": {Data: []byte(changed)}}, "p")
		if line := strings.Count(changed[:strings.Index(changed, to)], "\n") + 1; err == nil || !strings.Contains(err.Error(), "a.yaml:"+string(rune('0'+line/10))+string(rune('0'+line%10))+": spec.") {
			t.Errorf("%s: got %v", to, err)
		}
	}
}
