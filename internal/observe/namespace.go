package observe

import "regexp"

var noNamespace = regexp.MustCompile(`namespaces "([^"]+)" not found`)

// MissingNamespace returns the namespace that an error of the API server calls missing, of an object that
// was to be created in it; empty for other errors.
func MissingNamespace(message string) string {
	if m := noNamespace.FindStringSubmatch(message); m != nil {
		return m[1]
	}
	return ""
}

// NobodyMakes says of a namespace that no component creates it.
func NobodyMakes(namespace string) string {
	return "no component in the recipe creates the namespace " + namespace
}
