package bundle

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/util/egress"
)

// ociScheme is in front of what controllers find in an OCI registry.
const ociScheme = "oci://"

// LayerMediaType is the type of the one layer that a published bundle has: Argo CD allows it, and
// flux-root.yaml selects it.
const LayerMediaType = "application/vnd.oci.image.layer.v1.tar+gzip"

// InRegistry gives the Input of a bundle that will be found in a registry, HOST:PORT for the controllers: its charts, unless
// they pull them directly, at oci://HOST:PORT/charts/NAME:VERSION, and the bundle at oci://HOST:PORT/aicr/RECIPE with the
// deployer's tag, or, for a Git deployer, in http://GIT/aicr/RECIPE.git of a Git server.
func (in Input) InRegistry(host, git, deployer string) Input {
	if in.ChartRepository = ociScheme + host + "/charts"; in.Direct {
		in.ChartRepository = ""
	}
	in.RepoURL = ociScheme + host + "/aicr/" + RecipeName(in.Recipe)
	if ByGit(deployer) {
		in.RepoURL = "http://" + git + "/aicr/" + RecipeName(in.Recipe) + ".git"
	}
	in.TargetRevision = Tag(deployer, Revision(in))
	return in
}

// plainCharts reports whether the OCI registry of a chart speaks http.
func (in Input) plainCharts(source string) bool {
	return in.PlainHTTP && (!in.Direct || egress.Loopback(strings.Split(strings.TrimPrefix(source, ociScheme), "/")[0]))
}

// needOCI checks the place that a bundle will be published at, if the deployer's controllers pull it from a registry.
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

// bundleFormat changes when the same input gives other bundles than before.
const bundleFormat = 1

// Revision is the short name of what a bundle is made from: seven hexadecimal digits of a SHA-256
// over the resolved recipe, the values, the manifests and kustomizations, the scheduling and the
// chart repository. It does not depend on the deployer, nor on where the bundle is published.
func Revision(in Input) string {
	type component struct {
		Name      string
		Values    map[string]any
		Manifests map[string][]byte
	}
	var components []component
	for _, c := range in.Components {
		m := map[string][]byte{}
		files := slices.Concat(c.PreManifests, c.Manifests)
		if c.Kustomization != nil { // the same before and after it is built
			files, c.Values = c.Kustomization.Inputs(), nil
		}
		for _, f := range files {
			m[f.Path] = f.Content
		}
		components = append(components, component{c.Name, c.Values, m})
	}
	h := sha256.New()
	// encoding/json sorts the keys of maps.
	all := []any{bundleFormat, in.Recipe, components, in.Scheduling, in.ChartRepository, in.PlainHTTP}
	if in.Split != nil {
		all = append(all, in.Split)
	}
	if err := json.NewEncoder(h).Encode(all); err != nil {
		// Values that JSON cannot hold (NaN, say) are refused when the bundle is made; until then
		// any stable name will do.
		_, _ = fmt.Fprintf(h, "%v", err) // a hash never fails
	}
	return hex.EncodeToString(h.Sum(nil))[:7]
}

// Tag is the tag under which a deployer's bundle is published. Helm finds only tags that are
// semantic versions and passes over others without a word, so a bundle that is a chart gets 0.0.0
// in front. A bundle in a Git repository is on the one branch.
func Tag(deployer, rev string) string {
	if ByGit(deployer) {
		return GitBranch
	}
	tag := rev + "-" + deployer
	if IsChart(deployer) {
		return "0.0.0-" + tag
	}
	return tag
}
