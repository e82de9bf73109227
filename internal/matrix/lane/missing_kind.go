package lane

import (
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/observe"
)

// unknownKind is what Argo CD and client-go say of an object whose kind the API server does not have.
var unknownKind = []struct {
	pattern     *regexp.Regexp
	group, kind int
}{
	{regexp.MustCompile(`could not find ([a-z0-9.-]+\.[a-z0-9.-]+)/(\w+) for requested resource`), 1, 2},
	{regexp.MustCompile(`no matches for kind "(\w+)" in version "([a-z0-9.-]+)/`), 2, 1},
}

// MissingKind gives the kind that a message says is unknown, if no CRD of the bundle defines it: a custom resource may come before its
// CRD, since waves do not wait for health (faults F30), but this one's will never come (faults F11).
func MissingKind(message string, e bundle.Expectation) (kind string, ok bool) {
	for _, u := range unknownKind {
		m := u.pattern.FindStringSubmatch(message)
		if m == nil {
			continue
		}
		if group, kind := m[u.group], m[u.kind]; !DefinesKind(e, group, kind) {
			return kind + "." + group, true
		}
	}
	return "", false
}

// DefinesKind reports whether a CRD of the bundle defines the kind.
func DefinesKind(e bundle.Expectation, group, kind string) bool {
	for _, o := range e.Objects {
		if o.Object.GetKind() != "CustomResourceDefinition" {
			continue
		}
		g, _, _ := unstructured.NestedString(o.Object.Object, "spec", "group")
		k, _, _ := unstructured.NestedString(o.Object.Object, "spec", "names", "kind")
		if g == group && k == kind {
			return true
		}
	}
	return false
}

// noNamespace is what the API server says of an object in a namespace that does not exist.
var noNamespace = regexp.MustCompile(`namespaces "([^"]+)" not found`)

// NeverComes says what an error waits for in vain: a kind or a namespace that nothing in the bundle brings, so that Argo CD would try again until
// its deadline. Empty if something does, or if the error is another.
func NeverComes(message string, e bundle.Expectation) string {
	if kind, ok := MissingKind(message, e); ok {
		return "no component in the recipe installs the CRD for " + kind
	}
	if namespace, ok := missingNamespace(message, e); ok {
		return "no component in the recipe creates the namespace " + namespace
	}
	return ""
}

// missingNamespace gives the namespace that a message says does not exist, if neither a release nor an object of the bundle makes it.
func missingNamespace(message string, e bundle.Expectation) (namespace string, ok bool) {
	m := noNamespace.FindStringSubmatch(message)
	if m == nil {
		return "", false
	}
	made := slices.ContainsFunc(e.Releases, func(r bundle.Release) bool { return r.Namespace == m[1] }) || observe.Makes(&e, "Namespace", "", m[1])
	return m[1], !made
}
