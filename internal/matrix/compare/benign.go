package compare

import (
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/bundle"
)

// benignRule is a difference between lanes that is known and not the recipe's. The list is
// reviewed. Each entry has a reason and a place that shows it, and each use is printed in the
// result.
type benignRule struct {
	// object and path are patterns in which * stands for any text: "DaemonSet gpu-operator/*",
	// "spec.template.*".
	object, path string
	// lanes are those of which at least one must be among the two compared.
	lanes []string
	// only, if set, reports whether the rule covers a difference of these values.
	only         func(a, b any) bool
	reason, link string
}

// BenignRules returns the list.
func BenignRules() []benignRule {
	return []benignRule{
		{
			object: "*", path: `*labels["helm.sh/chart"]`, lanes: []string{bundle.FluxOCI},
			reason: "helm-controller appends the digest of a chart inside the bundle to its version, which charts write into this label",
			link:   "https://fluxcd.io/flux/components/helm/helmreleases/#chart-reference",
		},
		{
			object: "ConfigMap *", path: "data*", lanes: []string{bundle.FluxOCI, bundle.FluxGit}, only: lastNewline,
			reason: "helm-controller labels objects with a post-renderer, for which Helm 4 reads each document by itself: a text at the end of one that ends without a line break has none, where Helm otherwise adds it",
			link:   "https://github.com/helm/helm/blob/v4.2.4/pkg/action/action.go",
		},
	}
}

// lastNewline reports whether two texts differ only in a line break at the end of one of them.
func lastNewline(a, b any) bool {
	x, ok := a.(string)
	y, also := b.(string)
	return ok && also && (x == y+"\n" || x+"\n" == y)
}

func (r benignRule) matches(object string, d difference, lanes ...string) bool {
	if r.only != nil && !r.only(d.a, d.b) {
		return false
	}
	return slices.ContainsFunc(lanes, func(l string) bool { return slices.Contains(r.lanes, l) }) && wildcard(r.object, object) && wildcard(r.path, d.path)
}

// wildcard matches a text with a pattern in which * stands for any text, including none.
func wildcard(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == text
	}
	last := len(parts) - 1
	if !strings.HasPrefix(text, parts[0]) {
		return false
	}
	text = text[len(parts[0]):]
	for _, part := range parts[1:last] {
		i := strings.Index(text, part)
		if i < 0 {
			return false
		}
		text = text[i+len(part):]
	}
	return strings.HasSuffix(text, parts[last])
}
