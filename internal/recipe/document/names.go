package document

import (
	"regexp"
	"strings"
)

var (
	namePattern      = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`)
	namespacePattern = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
	chartPattern     = regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9._:/-]*/)?[A-Za-z0-9][A-Za-z0-9._-]*$`)
)

// maxName is how long the name of an overlay, mixin or component may be: that of a label's value,
// which some become.
const maxName = 63

// CheckName keeps names usable where they end up: in file names, image tags and Kubernetes objects.
func CheckName(p *Problems, at Origin, what, name string) bool {
	if namePattern.MatchString(name) {
		if len(name) > maxName {
			p.Add(at, "the name of the %s has %d characters: %.20s…; use at most %d", what, len(name), name, maxName)
			return false
		}
		return true
	}
	if name == "" {
		p.Add(at, "the %s has no name; give it one", what)
		return false
	}
	p.Add(at, "%q is not a name for %s; use lower case letters, digits, hyphens and dots", name, article(what))
	return false
}

// CheckPlace refuses a namespace that no cluster takes, and a chart that is a path. Empty ones are
// set elsewhere.
func CheckPlace(p *Problems, component, namespace string, namespaceAt Origin, chart string, chartAt Origin) {
	if namespace != "" && !namespacePattern.MatchString(namespace) {
		p.Add(namespaceAt, "%.100q of component %q is not a namespace; use at most 63 lower case letters, digits and hyphens", namespace, component)
	}
	// A repository's alias or address may stand before the name.
	if chart != "" && (!chartPattern.MatchString(chart) || strings.Contains(chart, "..")) {
		p.Add(chartAt, "%.100q of component %q is not a chart's name; use letters, digits, hyphens, dots and underscores, behind the alias of a repository or alone", chart, component)
	}
}
