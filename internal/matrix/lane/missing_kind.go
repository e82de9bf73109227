package lane

import (
	"regexp"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
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

// MissingNamespace gives the namespace that a message says does not exist, if neither a release nor an object of the bundle makes it: Argo CD
// tries again until its deadline, and Helm and Flux do not.
func MissingNamespace(message string, e bundle.Expectation) (namespace string, ok bool) {
	m := noNamespace.FindStringSubmatch(message)
	if m == nil {
		return "", false
	}
	for _, r := range e.Releases {
		if r.Namespace == m[1] {
			return "", false
		}
	}
	for _, objects := range [][]bundle.Object{e.Objects, e.Made} {
		for _, o := range objects {
			if o.Object.GetKind() == "Namespace" && o.Object.GetName() == m[1] {
				return "", false
			}
		}
	}
	return m[1], true
}
