package fluxapi

// fluxnames.go makes the names of Flux's objects and of their releases.

import (
	"crypto/sha256"
	"fmt"
	"regexp"
	"strings"
)

var notInName = regexp.MustCompile(`[^a-z0-9]+`)

// RepositoryName makes an object's name of a URL: oci://ghcr.io/nvidia becomes ghcr-io-nvidia.
func RepositoryName(url string) string {
	_, rest, ok := strings.Cut(url, "://")
	if !ok {
		rest = url
	}
	name := strings.Trim(notInName.ReplaceAllString(strings.ToLower(rest), "-"), "-")
	if len(name) > 60 {
		name = strings.Trim(name[:60], "-")
	}
	if name == "" {
		return "charts"
	}
	return name
}

// longestRelease is how long helm-controller lets a name of a release be.
const longestRelease = 53

// ReleaseName is the name that helm-controller gives the release of a HelmRelease that has none of its
// own: the target namespace and the object's name, cut off with a digest if that is too long.
// https://fluxcd.io/flux/components/helm/helmreleases/#release-name
func ReleaseName(namespace, name string) string {
	if namespace != "" {
		name = namespace + "-" + name
	}
	if len(name) > longestRelease {
		name = fmt.Sprintf("%s-%.6x", name[:40], sha256.Sum256([]byte(name)))
	}
	return name
}
