package recipe

import (
	"fmt"
	"slices"
	"strings"
)

// APIVersion is the apiVersion of this project's own documents, and of AICR's until March 2026.
const APIVersion = "aicr.nvidia.com/v1alpha1"

// group is the API group of AICR's documents since April 2026.
const group = "aicr.run/"

// Generation is a set of rules by which recipes add up. AICR changed them together with the
// apiVersion of its documents, so the documents say which rules hold.
type Generation int

const (
	// March is AICR to v0.11: apiVersion aicr.nvidia.com/v1alpha1.
	March Generation = iota
	// July is AICR since v0.13: every apiVersion of the group aicr.run.
	July
)

// The kinds of AICR's documents that this package reads.
const (
	overlayKind  = "RecipeMetadata"
	mixinKind    = "RecipeMixin"
	registryKind = "ComponentRegistry"
	// ResultKind is the kind of a resolved recipe's document.
	ResultKind = "RecipeResult"
	// UpgradesKind is the kind of the records of how one version of a component becomes another.
	UpgradesKind = "ComponentUpgrades"
	// ConfigKind is the kind of a configuration file of AICR's CLI.
	ConfigKind = "AICRConfig"
	// SnapshotKind is the kind of a recorded system.
	SnapshotKind = "Snapshot"
)

// apiVersions gives, for each kind, the apiVersions that a release of AICR has written, the oldest
// first (AICR's ADR-022). A version of the group that is newer than these is read by the newest
// rules, with a note.
func apiVersions(kind string) []string {
	switch kind {
	case overlayKind:
		return []string{APIVersion, group + "v1alpha2", group + "v1alpha3", group + "v1beta1", group + "v1beta2"}
	case ResultKind:
		return []string{APIVersion, group + "v1alpha2", group + "v1alpha3", group + "v1beta2", group + "v1"}
	case criteriaKinds[0], criteriaKinds[1], SnapshotKind:
		return []string{APIVersion, group + "v1alpha2", group + "v1"}
	default:
		return []string{APIVersion, group + "v1alpha2", group + "v1beta1"}
	}
}

// withProfile reports whether documents of the apiVersion may have a profile.
func withProfile(apiVersion string) bool {
	return apiVersion == group+"v1alpha3" || apiVersion == group+"v1beta2" || newerThanKnown(overlayKind, apiVersion)
}

// generationOf gives the rules that go with an apiVersion.
func generationOf(apiVersion string) Generation {
	if strings.HasPrefix(apiVersion, group) {
		return July
	}
	return March
}

// newerThanKnown reports whether an apiVersion is of AICR's group, and of none of its releases that are
// known here.
func newerThanKnown(kind, apiVersion string) bool {
	return strings.HasPrefix(apiVersion, group) && !slices.Contains(apiVersions(kind), apiVersion)
}

// ReadableVersion reports whether a document of that kind and apiVersion can be read. The note is
// not empty if it is read by the rules of an older apiVersion.
func ReadableVersion(kind, apiVersion string) (note string, ok bool) {
	if slices.Contains(apiVersions(kind), apiVersion) {
		return "", true
	}
	if newerThanKnown(kind, apiVersion) {
		known := apiVersions(kind)
		return fmt.Sprintf("apiVersion %s of %s is newer than this tool, which knows them to %s: it was read by the rules of that one. Use a newer release of this tool", apiVersion, kind, known[len(known)-1]), true
	}
	return "", false
}

// resultVersion is the apiVersion of a result that is made of documents of the newest apiVersion
// given.
func resultVersion(newest string, profile bool) string {
	switch newest {
	case APIVersion:
		return APIVersion
	case group + "v1alpha2", group + "v1alpha3":
		if profile {
			return group + "v1alpha3"
		}
		return group + "v1alpha2"
	}
	if profile {
		return group + "v1beta2"
	}
	return group + "v1"
}

// newestOf gives the newer of two apiVersions of overlays, registries or mixins.
func newestOf(a, b string) string {
	rank := func(v string) int {
		if i := slices.Index(apiVersions(overlayKind), v); i >= 0 {
			return i
		}
		if v == "" {
			return -1
		}
		return len(apiVersions(overlayKind))
	}
	if rank(b) > rank(a) {
		return b
	}
	return a
}
