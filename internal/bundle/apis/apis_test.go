package apis

import (
	"os"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for _, bad := range []string{"v1\n", "[else]\nv1\n"} {
		if _, err := parse(bad); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
	got, err := parse("# Kubernetes v1\n[server]\nv1\nmetrics/v1 -\n[argocd]\n[flux]\nhelm/v2\n")
	if err != nil || len(got.Server) != 2 || !got.Server[0].Watched || got.Server[1].Watched || got.Server[1].Name != "metrics/v1" || len(got.ArgoCD) != 0 || len(got.Flux) != 1 {
		t.Errorf("got %+v, %v", got, err)
	}
}

// An older version lacks what came later, and a newer one has more.
func TestOf(t *testing.T) {
	const policy, bundle = "admissionregistration.k8s.io/v1/MutatingAdmissionPolicy", "certificates.k8s.io/v1/ClusterTrustBundle"
	for version, want := range map[string]bool{"v1.34.4": false, "v1.35.4": false, "v1.36.4": true, "v1.37.2": true} {
		has := map[string]bool{}
		for _, a := range Of(version).Server {
			has[a.Name] = true
		}
		if has[bundle] != (version == "v1.37.2") {
			t.Errorf("%s: %s: %v", version, bundle, has[bundle])
		}
		if has[policy] != want || !has["apps/v1/Deployment"] || len(Of(version).Flux) == 0 {
			t.Errorf("%s: got %d APIs; %s: %v, want %v", version, len(has), policy, has[policy], want)
		}
	}
}

// The list is that of the Kubernetes in the stack's parts list.
func TestStackAPIs_KubernetesVersion(t *testing.T) {
	mod, err := os.ReadFile("../../../kwok/stack/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	version, _, _ := strings.Cut(strings.TrimPrefix(stackList, "# Kubernetes "), "\n")
	if !strings.Contains(string(mod), "k8s.io/kubernetes "+version) {
		t.Errorf("api-versions.txt is of %s, and kwok/stack/go.mod has another: go test ./internal/infra/embedded -run TestAPIVersions -update", version)
	}
}
