package simulate

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/kwok"
)

// No cloud gives addresses where there is none; recipes leave that to the cluster.
func TestLacksLoadBalancer(t *testing.T) {
	profiles, err := LoadProfiles(kwok.Files, "profiles")
	if err != nil {
		t.Fatal(err)
	}
	ask := func(profiles []Profile, service string) (lacks, assumes bool) {
		t.Helper()
		groups, err := ChooseProfiles(profiles, service, "", DefaultNodeGroups(1, 0))
		if err != nil {
			t.Fatal(err)
		}
		var nodes []corev1.Node
		for _, n := range Nodes(groups) {
			nodes = append(nodes, *n)
		}
		return LacksLoadBalancer(nodes)
	}
	for service, want := range map[string]bool{"kind": true, "bcm": true, "k0s": true, "generic": true, "rke2": true, "metal3": true, "ocp": true, "cks": false, "nvke": false, "togetherai": false, "eks": false, "gke": false, "aks": false, "oke": false, "lke": false} {
		if lacks, assumes := ask(profiles, service); lacks != want || assumes {
			t.Errorf("%s: got %v, %v", service, lacks, assumes)
		}
		if lacks, assumes := ask(Assume(profiles), service); lacks != want || assumes != want {
			t.Errorf("recipes on %s: got %v, %v", service, lacks, assumes)
		}
		if lacks, _ := ask(HaveLoadBalancer(profiles), service); lacks {
			t.Errorf("%s with a load balancer of its own: lacks one", service)
		}
	}
}

func TestServesLoadBalancers(t *testing.T) {
	for text, want := range map[string]bool{
		`{apiVersion: metallb.io/v1beta1, kind: IPAddressPool, metadata: {name: a}}`:                                                                                                    true,
		`{apiVersion: cilium.io/v2, kind: CiliumLoadBalancerIPPool, metadata: {name: a}}`:                                                                                               true,
		`{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: a}, rules: [{apiGroups: [""], resources: [services, services/status], verbs: [patch]}]}`:        true,
		`{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: a}, rules: [{apiGroups: ["*"], resources: ["*"], verbs: ["*"]}]}`:                               true,
		`{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: a}, rules: [{apiGroups: [""], resources: [services/status], verbs: [get]}]}`:                    false,
		`{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: a}, rules: [{apiGroups: [networking.k8s.io], resources: [ingresses/status], verbs: [update]}]}`: false,
		`{apiVersion: v1, kind: Service, metadata: {name: a}}`:                                                                                                                          false,
	} {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
			t.Fatal(err)
		}
		if got := ServesLoadBalancers(o); got != want {
			t.Errorf("%s: got %v", text, got)
		}
	}
}
