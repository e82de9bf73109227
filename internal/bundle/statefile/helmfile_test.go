package statefile

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
		got := repository(alias(source), HelmfileRelease{Source: source})
		if got["name"] != want || (got["oci"] == true) != strings.HasPrefix(source, ociScheme) || got["plainHttp"] != nil {
			t.Errorf("%s: got %v, want name %s", source, got, want)
		}
	}
}

// What helmfile would replace in a file of values is found wherever it stands.
func TestReference(t *testing.T) {
	for text, want := range map[string]int{
		"a: 1\n": 0,
		"a: prefix+file://x\nb: href+https://x\nb: y": 2, // helmfile looks for no beginning of a word either
		"a: ref+ b\n": 0,
		"a: 1\nb: {c: [ref+file:///etc/passwd]}\n": 2,
		"a: secretref+envsubst://$HOME":            1,
		"a: \"x ref+awsssm://y\"\n":                1,
	} {
		if got := HelmfileReference([]byte(text)); got != want {
			t.Errorf("%q: got %d, want %d", text, got, want)
		}
	}
}
