package bundle

import (
	"fmt"
	"strings"

	"github.com/nvidia/aicr-action/internal/util/egress"
)

// ociScheme is in front of what controllers find in an OCI registry.
const ociScheme = "oci://"

// LayerMediaType is the type of the one layer that a published bundle has: Argo CD allows it, and
// flux-root.yaml selects it.
const LayerMediaType = "application/vnd.oci.image.layer.v1.tar+gzip"

// InRegistry gives the Input of a bundle that will be found in a registry, HOST:PORT from the
// controllers' side: the charts at oci://HOST:PORT/charts/NAME:VERSION, and the bundle at
// oci://HOST:PORT/aicr/RECIPE with the deployer's tag, or, for a Git deployer, in the Git repository
// http://HOST:PORT/aicr/RECIPE.git.
func (in Input) InRegistry(host, deployer string) Input {
	in.ChartRepository = ociScheme + host + "/charts"
	in.RepoURL = ociScheme + host + "/aicr/" + RecipeName(in.Recipe)
	if ByGit(deployer) {
		in.RepoURL = "http://" + host + "/aicr/" + RecipeName(in.Recipe) + ".git"
	}
	in.TargetRevision = Tag(deployer, Revision(in))
	return in
}

// plainCharts reports whether the OCI registry of a chart speaks http.
func (in Input) plainCharts(source string) bool {
	return in.PlainHTTP && (!in.Direct || egress.Loopback(strings.Split(strings.TrimPrefix(source, ociScheme), "/")[0]))
}

// needOCI checks the place that a bundle will be published at, for the deployers whose controllers
// pull it from a registry.
func needOCI(in Input) error {
	if in.RepoURL == "" {
		return fmt.Errorf("%w: its root object says where the controllers find the rest; give oci://HOST/PATH, the place it will be pushed to", ErrNoRepoURL)
	}
	if !strings.HasPrefix(in.RepoURL, ociScheme) {
		return fmt.Errorf("repository URL %q does not begin with oci://", in.RepoURL)
	}
	return nil
}

// needGit checks the address of the Git repository that a bundle will be pushed to.
func needGit(in Input) error {
	if in.RepoURL == "" {
		return fmt.Errorf("%w: its root object says where the controllers find the rest; give https://HOST/PATH.git, the Git repository it will be pushed to", ErrNoRepoURL)
	}
	if !strings.HasPrefix(in.RepoURL, "https://") && !strings.HasPrefix(in.RepoURL, "http://") {
		return fmt.Errorf("repository URL %q begins with neither https:// nor http://, as that of a Git repository does", in.RepoURL)
	}
	return nil
}

// inGit reports whether the controllers find the bundle in a Git repository.
func (in Input) inGit() bool { return in.RepoURL != "" && !strings.HasPrefix(in.RepoURL, ociScheme) }
