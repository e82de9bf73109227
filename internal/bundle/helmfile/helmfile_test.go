package helmfile

import (
	"strings"
	"testing"
)

// The repository of a chart is the recipe's own where no other is given.
func TestHelmfile_Repositories(t *testing.T) {
	for source, want := range map[string]string{
		"https://charts.jetstack.io":                 "charts-jetstack-io",
		"oci://ghcr.io/nvidia/nodewright/charts":     "ghcr-io-nvidia-nodewright-charts",
		"https://helm.ngc.nvidia.com/nvidia/":        "helm-ngc-nvidia-com-nvidia",
		"oci://registry.k8s.io/dra-driver-nvidia/x/": "registry-k8s-io-dra-driver-nvidia-x",
	} {
		got := repository(alias(source), Release{Source: source})
		if got["name"] != want || (got["oci"] == true) != strings.HasPrefix(source, ociScheme) || got["plainHttp"] != nil {
			t.Errorf("%s: got %v, want name %s", source, got, want)
		}
	}
}
