package bundle

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
)

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
	if err := json.NewEncoder(h).Encode([]any{bundleFormat, in.Recipe, components, in.Scheduling, in.ChartRepository, in.PlainHTTP}); err != nil {
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
