package lane

import (
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/apis"
	"github.com/nvidia/aicr-action/internal/observe"
)

// unknownKind matches the errors of Argo CD and client-go about an object whose kind the API server
// does not have.
var unknownKind = []struct {
	pattern     *regexp.Regexp
	group, kind int
}{
	{regexp.MustCompile(`could not find ([a-z0-9.-]+)/(\w+) for requested resource`), 1, 2},
	{regexp.MustCompile(`no matches for kind "(\w+)" in version "([a-z0-9.-]+)/`), 2, 1},
}

// missingKind returns the kind that a message calls unknown, if no CRD of the bundle defines it. A
// custom resource may come before its CRD, since waves do not wait for health (faults F30), but
// this CRD never comes (faults F11).
func missingKind(message string, e bundle.Expectation) (kind string, ok bool) {
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

// ComesFromEarlier reports whether a message calls a kind unknown whose CRD a release before the named
// one has.
func ComesFromEarlier(message string, e bundle.Expectation, release string) bool {
	at := slices.IndexFunc(e.Releases, func(r bundle.Release) bool { return r.Name == release })
	for _, u := range unknownKind {
		m := u.pattern.FindStringSubmatch(message)
		if m == nil || at < 0 {
			continue
		}
		return slices.ContainsFunc(e.Releases[:at], func(r bundle.Release) bool {
			return definesKind(e, m[u.group], m[u.kind], func(o bundle.Object) bool { return o.Release == r.Name })
		})
	}
	return false
}

// DefinesKind reports whether a CRD of the bundle defines the kind.
func DefinesKind(e bundle.Expectation, group, kind string) bool {
	return definesKind(e, group, kind, func(bundle.Object) bool { return true })
}

func definesKind(e bundle.Expectation, group, kind string, counts func(bundle.Object) bool) bool {
	for _, o := range e.Objects {
		if counts(o) && apis.Defines(o.Object, schema.GroupKind{Group: group, Kind: kind}) {
			return true
		}
	}
	return false
}

// unservedVersion returns the first kind of those that a message calls unserved of which the API server
// itself, or a CRD of the bundle, has other versions only.
func unservedVersion(message string, e bundle.Expectation) string {
	unserved := apis.Unserved(message)
	if len(unserved) == 0 {
		return ""
	}
	all := e.Served()
	for _, asked := range unserved {
		version := asked.GroupVersion().String()
		if asked.Version != "" && apis.ServedAs(all, asked.GroupKind()) != "" && !slices.ContainsFunc(all, func(a apis.API) bool { return a.Name == version+"/"+asked.Kind }) {
			return asked.Kind + " as " + version
		}
	}
	return ""
}

// NeverComes returns what an error waits for in vain: a kind or a namespace that nothing in the
// bundle creates, so that Argo CD would retry until its deadline. It is empty if something creates
// it, or for other errors.
func NeverComes(message string, e bundle.Expectation) string {
	if kind := unservedVersion(message, e); kind != "" {
		return "neither the API server nor a CRD of the recipe serves " + kind
	}
	if kind, ok := missingKind(message, e); ok {
		return "no component in the recipe installs the CRD for " + kind
	}
	if namespace, ok := missingNamespace(message, e); ok {
		return observe.NobodyMakes(namespace)
	}
	return ""
}

// missingNamespace returns the namespace that a message calls missing, if neither a release nor an
// object of the bundle creates it.
func missingNamespace(message string, e bundle.Expectation) (namespace string, ok bool) {
	namespace = observe.MissingNamespace(message)
	if namespace == "" {
		return "", false
	}
	made := slices.ContainsFunc(e.Releases, func(r bundle.Release) bool { return r.Namespace == namespace }) || observe.Makes(&e, "Namespace", "", namespace)
	return namespace, !made
}
