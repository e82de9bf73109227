// Package document reads YAML documents of AICR with the place of everything in them: headers and
// apiVersions, fields, trees of values, and problems with file and line. It must not know what a recipe
// is made of.
package document

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/version"
)

// APIVersion is the apiVersion of this project's own documents, and of AICR's until March 2026.
const APIVersion = "aicr.nvidia.com/v1alpha1"

// Group is the API group of AICR's documents since April 2026.
const Group = "aicr.run/"

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
	OverlayKind  = "RecipeMetadata"
	MixinKind    = "RecipeMixin"
	RegistryKind = "ComponentRegistry"
	// ResultKind is the kind of a resolved recipe's document.
	ResultKind = "RecipeResult"
	// UpgradesKind is the kind of the records of how one version of a component becomes another.
	UpgradesKind = "ComponentUpgrades"
	// ConfigKind is the kind of a configuration file of AICR's CLI.
	ConfigKind = "AICRConfig"
	// snapshotKind is the kind of a recorded system.
	snapshotKind = "Snapshot"
)

// CriteriaKinds are the kinds of a document with criteria. AICR's own documents use both spellings.
var CriteriaKinds = []string{"RecipeCriteria", "recipeCriteria"}

// ApiVersions gives, for each kind, the apiVersions that a release of AICR has written, the oldest
// first (AICR's ADR-022). A version of the group that is newer than these is read by the newest
// rules, with a note.
func ApiVersions(kind string) []string {
	switch kind {
	case OverlayKind:
		return []string{APIVersion, Group + "v1alpha2", Group + "v1alpha3", Group + "v1beta1", Group + "v1beta2"}
	case ResultKind:
		return []string{APIVersion, Group + "v1alpha2", Group + "v1alpha3", Group + "v1beta2", Group + "v1"}
	case CriteriaKinds[0], CriteriaKinds[1], snapshotKind:
		return []string{APIVersion, Group + "v1alpha2", Group + "v1"}
	default:
		return []string{APIVersion, Group + "v1alpha2", Group + "v1beta1"}
	}
}

// WithProfile reports whether documents of the apiVersion may have a profile.
func WithProfile(apiVersion string) bool {
	return apiVersion == Group+"v1alpha3" || apiVersion == Group+"v1beta2" || newerThanKnown(OverlayKind, apiVersion)
}

// WithIndex reports whether the release of AICR that has such results writes an index into each bundle: since 1.0.
func WithIndex(apiVersion string) bool {
	return GenerationOf(apiVersion) != March && apiVersion != Group+"v1alpha2" && apiVersion != Group+"v1alpha3"
}

// Measured reports whether it is known value for value what AICR's bundler makes of such a result. Later releases may
// derive more.
func Measured(apiVersion string) bool {
	return GenerationOf(apiVersion) == March || apiVersion == Group+"v1alpha2" || apiVersion == Group+"v1alpha3"
}

// GenerationOf gives the rules that go with an apiVersion.
func GenerationOf(apiVersion string) Generation {
	if strings.HasPrefix(apiVersion, Group) {
		return July
	}
	return March
}

// newerThanKnown reports whether an apiVersion is of AICR's group, and newer than those of its releases that
// are known here. One that none of them had before, or that is misspelt, is not.
func newerThanKnown(kind, apiVersion string) bool {
	known := ApiVersions(kind)
	name, ours := strings.CutPrefix(apiVersion, Group)
	newest := strings.TrimPrefix(known[len(known)-1], Group)
	return ours && versionName.MatchString(name) && majorOf(name) >= majorOf(newest) && !slices.Contains(known, apiVersion) &&
		(majorOf(name) > majorOf(newest) || version.CompareKubeAwareVersionStrings(name, newest) > 0)
}

// versionName is what Kubernetes takes as the version of an API.
var versionName = regexp.MustCompile(`^v([1-9][0-9]{0,3})((alpha|beta)[1-9][0-9]{0,3})?$`)

func majorOf(name string) int {
	major, _ := strconv.Atoi(versionName.FindStringSubmatch(name)[1]) // digits
	return major
}

// ReadableVersion reports whether a document of that kind and apiVersion can be read. The note is
// not empty if it is read by the rules of an older apiVersion.
func ReadableVersion(kind, apiVersion string) (note string, ok bool) {
	if slices.Contains(ApiVersions(kind), apiVersion) {
		return "", true
	}
	if newerThanKnown(kind, apiVersion) {
		known := ApiVersions(kind)
		return fmt.Sprintf("apiVersion %s of %s is newer than this tool, which knows them to %s: it was read by the rules of that one. Use a newer release of this tool", apiVersion, kind, known[len(known)-1]), true
	}
	return "", false
}

// ResultVersion is the apiVersion of a result that is made of documents of the newest apiVersion
// given.
func ResultVersion(newest string, profile bool) string {
	switch newest {
	case APIVersion:
		return APIVersion
	case Group + "v1alpha2", Group + "v1alpha3":
		if profile {
			return Group + "v1alpha3"
		}
		return Group + "v1alpha2"
	}
	if profile {
		return Group + "v1beta2"
	}
	return Group + "v1"
}

// PartVersion is the apiVersion of a registry, or of an overlay without a profile, that goes with documents of the newest
// apiVersion given.
func PartVersion(newest string) string {
	switch newest {
	case APIVersion:
		return APIVersion
	case Group + "v1alpha2", Group + "v1alpha3":
		return Group + "v1alpha2"
	}
	return Group + "v1beta1"
}

// NewestOf gives the newer of two apiVersions of overlays, registries or mixins.
func NewestOf(a, b string) string {
	rank := func(v string) int {
		if i := slices.Index(ApiVersions(OverlayKind), v); i >= 0 {
			return i
		}
		if v == "" {
			return -1
		}
		return len(ApiVersions(OverlayKind))
	}
	if rank(b) > rank(a) {
		return b
	}
	return a
}
