package fluxapi

import (
	"strings"
	"testing"
)

func TestRepository(t *testing.T) {
	for url, want := range map[string]string{
		"oci://127.0.0.1:5500/charts":               "127-0-0-1-5500-charts",
		"https://helm.ngc.nvidia.com/nvidia/":       "helm-ngc-nvidia-com-nvidia",
		"https://" + strings.Repeat("a", 59) + "/b": strings.Repeat("a", 59),
		"://": "charts",
	} {
		if got := RepositoryName(url); got != want {
			t.Errorf("%s: got %s, want %s", url, got, want)
		}
	}
}
