package result

import "testing"

func TestRefString(t *testing.T) {
	for want, ref := range map[string]Ref{
		"Deployment a/b":                       {Group: "apps", Kind: "Deployment", Namespace: "a", Name: "b"},
		"ClusterRole view":                     {Group: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: "view"},
		"Certificate.cert-manager.io a/tls":    {Group: "cert-manager.io", Kind: "Certificate", Namespace: "a", Name: "tls"},
		"ClusterPolicy.nvidia.com one":         {Group: "nvidia.com", Kind: "ClusterPolicy", Name: "one"},
		"ResourceClaim.resource.example a/two": {Group: "resource.example", Kind: "ResourceClaim", Namespace: "a", Name: "two"},
	} {
		if got := ref.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestPlaceString(t *testing.T) {
	for want, p := range map[string]Place{"": {}, "a/b.yaml": {File: "a/b.yaml"}, "a/b.yaml:3": {File: "a/b.yaml", Line: 3, Path: "x.y"}} {
		if got := p.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
