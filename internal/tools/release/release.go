// Package release makes the files of a release and writes their digests into setup/pins. The
// workflow release.yaml runs it through internal/tools/release/tool; docs/contributing/releasing.md says how a
// release is made.
package release

import (
	"fmt"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/infra/stack"
	"github.com/nvidia/aicr-action/kwok"
)

// Platform is an operating system and architecture, by Go's names.
type Platform struct{ OS, Arch string }

func (p Platform) String() string { return p.OS + "/" + p.Arch }

// platforms are those that a release has files for.
func platforms() []Platform {
	return []Platform{{"darwin", "amd64"}, {"darwin", "arm64"}, {"linux", "amd64"}, {"linux", "arm64"}}
}

// CheckVersion: a release's version is vX.Y.Z. There are no pre-releases, because a tag vX would
// have to leave them out.
func CheckVersion(version string) error {
	if len(version) > 20 || semver.Canonical(version) != version || semver.Prerelease(version) != "" || version == "" {
		return fmt.Errorf("version %.40q: want vX.Y.Z, e.g. v1.2.3", version)
	}
	return nil
}

// Binary is the name of a release's file with the program matrix.
func Binary(version string, p Platform) string {
	return "matrix_" + version + "_" + p.OS + "_" + p.Arch
}

// aicrBinary is the name of a release's file with the program aicr. The action does not need it.
func aicrBinary(version string, p Platform) string {
	return "aicr_" + version + "_" + p.OS + "_" + p.Arch
}

// StackArchive is the name of a release's file with the compiled stack. It has the key of the
// stack's content instead of the version, since many releases have the same stack.
func StackArchive(key string, p Platform) string {
	return "stack_" + key + "_" + p.OS + "_" + p.Arch + stack.ArchiveSuffix
}

// StackKey is the key of the stack that the programs of this source need.
func StackKey() (string, error) {
	s, err := stack.NewStack(host.Paths{}, kwok.StackMod, kwok.StackSum, kwok.StackSources)
	if err != nil {
		return "", err
	}
	key, _, _ := strings.Cut(s.Name(), "-")
	return key, nil
}

// Assets names the files that a release has to have for the action: two for each platform.
func Assets(version, stackKey string) []string {
	var names []string
	for _, p := range platforms() {
		names = append(names, Binary(version, p), StackArchive(stackKey, p))
	}
	return names
}

// MajorTag is the tag that moves to a new release, e.g. v1 for v1.2.3: people write uses: …@v1. It
// is empty when a newer release of the same major version is among the tags: a fix for an old one
// must not take the others back.
func MajorTag(version string, tags []string) string {
	for _, tag := range tags {
		if CheckVersion(tag) == nil && semver.Major(tag) == semver.Major(version) && semver.Compare(tag, version) > 0 {
			return ""
		}
	}
	return semver.Major(version)
}

// Latest reports whether the version is the newest of all tags that are versions: only that one is
// shown as the latest release.
func Latest(version string, tags []string) bool {
	for _, tag := range tags {
		if CheckVersion(tag) == nil && semver.Compare(tag, version) > 0 {
			return false
		}
	}
	return true
}
