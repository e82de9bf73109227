package compare

import (
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/bundle"
)

// benignRule is a declared difference: one between lanes that is known and not the
// recipe's. The list is reviewed. Each entry has a reason and a place that shows it, and each use is
// counted and printed in the result.
type benignRule struct {
	// object and path are patterns in which * stands for any text: "DaemonSet gpu-operator/*",
	// "spec.template.*".
	object, path string
	// lanes are those of which at least one must be among the two compared; nil for any.
	lanes []string
	// renamed: the rule covers only what the name decides that Flux gives a release (renamed.go).
	renamed bool
	// only, if set, reports whether the rule covers a difference of these values.
	only         func(a, b any) bool
	reason, link string
	used         func() // called for each difference that the rule covers; nil for none
}

// Accepted is a difference between an upgrade and a first installation that the user accepts.
type Accepted struct {
	// Object and Path are patterns in which * stands for any text: "DaemonSet ns/*", "spec.template.*".
	Object, Path string
	// Reason is the user's, and Place where it says so.
	Reason, Place string
	// Used is called for each difference that it covers.
	Used func()
}

func rulesOf(accepted []Accepted) (rules []benignRule) {
	for _, a := range accepted {
		rules = append(rules, benignRule{object: a.Object, path: a.Path, reason: "accepted: " + a.Reason, link: a.Place, used: a.Used})
	}
	return rules
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
			object: "ConfigMap *", path: "data*", lanes: []string{bundle.FluxOCI, bundle.FluxGit}, only: LastNewline,
			reason: "helm-controller labels objects with a post-renderer, for which Helm 4 reads each document by itself: a text at the end of one keeps its line breaks, of which Helm otherwise cuts all but one or adds one",
			link:   "https://github.com/helm/helm/blob/v4.2.4/pkg/action/action.go",
		},
		{
			object: "*", path: "*", lanes: []string{bundle.FluxOCI, bundle.FluxGit}, renamed: true,
			reason: "the HelmRelease has no releaseName, so that helm-controller makes the release's name of the target namespace and its own, and the chart names what it renders after the release",
			link:   "https://fluxcd.io/flux/components/helm/helmreleases/#release-name",
		},
		{
			object: "*", path: "metadata.annotations", lanes: []string{bundle.FluxOCI, bundle.FluxGit}, only: hookOfOne,
			reason: fluxHooks, link: hooksLink,
		},
		{
			object: "*", path: `metadata.annotations["` + hookPrefix + `*"]`, lanes: []string{bundle.FluxOCI, bundle.FluxGit}, only: ofOne,
			reason: fluxHooks, link: hooksLink,
		},
		{
			object: "*", path: `*labels["helm.sh/chart"]`, only: sameVersion,
			reason: chartVersion, link: semverLink,
		},
		{
			object: "*", path: `*labels["app.kubernetes.io/version"]`, only: sameVersion,
			reason: chartVersion, link: semverLink,
		},
	}
}

// What is said of a version with a v and one without.
const (
	chartVersion = "one lane's bundle spells the version with a v, the other without: Helm takes both for one version"
	semverLink   = "https://semver.org/#is-v123-a-semantic-version"
)

// What is said of an object that is a hook of Helm in one lane only.
const (
	hookPrefix = "helm.sh/hook"
	fluxHooks  = "AICR's bundler keeps Helm's hooks in the manifests of its Flux bundles, and takes them out for other deployers: helm-controller applies the object after the rest of the release"
	hooksLink  = "https://helm.sh/docs/topics/charts_hooks/"
)

// ofOne reports whether one of two values is missing.
func ofOne(a, b any) bool { return (a == nil) != (b == nil) }

// hookOfOne reports whether one of two values is missing, and the other has only what makes an object
// a hook.
func hookOfOne(a, b any) bool {
	if b != nil {
		a, b = b, a
	}
	annotations, ok := a.(map[string]any)
	if !ok || b != nil || len(annotations) == 0 {
		return false
	}
	for key := range annotations {
		if !strings.HasPrefix(key, hookPrefix) {
			return false
		}
	}
	return true
}

// sameVersion reports whether two texts are one version, or one chart's name with it, of which one
// is spelled with a v.
func sameVersion(a, b any) bool {
	x, ok := a.(string)
	y, also := b.(string)
	return ok && also && x != y && (oneIsSpelledWithV(x, y) || oneIsSpelledWithV(y, x))
}

// oneIsSpelledWithV reports whether b is a with a v before its version.
func oneIsSpelledWithV(a, b string) bool {
	at := strings.LastIndex(b, "-v") + 1 // of a chart's name and version, as in chart-v1.2.3
	if strings.HasPrefix(b, "v") && isDigit(b[1:]) {
		at = 0
	}
	return strings.HasPrefix(b[at:], "v") && isDigit(b[at+1:]) && a == b[:at]+b[at+1:]
}

// isDigit reports whether a text starts with a digit.
func isDigit(s string) bool { return s != "" && s[0] >= '0' && s[0] <= '9' }

// LastNewline reports whether two texts differ only in line breaks at their ends.
func LastNewline(a, b any) bool {
	x, ok := a.(string)
	y, also := b.(string)
	return ok && also && x != y && strings.TrimRight(x, "\n") == strings.TrimRight(y, "\n")
}

// matches reports whether the rule covers a difference of an object; decided says that it is one
// that a release's name decides.
func (r benignRule) matches(object string, d difference, decided bool, lanes ...string) bool {
	if r.renamed && !decided {
		return false
	}
	if r.only != nil && !r.only(d.a, d.b) {
		return false
	}
	return (r.lanes == nil || slices.ContainsFunc(lanes, func(l string) bool { return slices.Contains(r.lanes, l) })) && MatchWildcard(r.object, object) && MatchWildcard(r.path, d.path)
}
