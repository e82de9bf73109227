package stack

// imageslock.go reads and checks the list of images that have the programs, kwok/stack/images.lock. It
// asks no registry.

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"golang.org/x/mod/semver"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/result/reason"
)

// ImagesLock is where programs of the stack are published by their makers.
type ImagesLock struct {
	Programs []LockedProgram `json:"programs"`
}

// LockedProgram is a program in an image. One that lies in another program's image names that one
// instead of an image: it has the version that the image's maker chose.
type LockedProgram struct {
	Program string `json:"program"`
	Version string `json:"version,omitempty"`
	Image   string `json:"image,omitempty"`
	In      string `json:"in,omitempty"`
	// Path in the image.
	Path string `json:"path"`
	// Digests of the image by platform, e.g. linux/amd64. Without the one of this machine the
	// program is not pinned.
	Digests map[string]string `json:"digests,omitempty"`
}

// lockName is how errors call the list.
const lockName = "images.lock"

var (
	digestPattern   = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
	platformPattern = regexp.MustCompile(`^linux/(amd64|arm64)$`)
)

// lockedPlatforms are those for which `matrix stack lock` pins images.
func lockedPlatforms() []string { return []string{"linux/amd64", "linux/arm64"} }

// ParseImagesLock reads the list; file is what errors call it. Reason: SETTINGS_INVALID.
func ParseImagesLock(raw []byte, file string) (*ImagesLock, error) {
	var l ImagesLock
	err := yaml.UnmarshalStrict(raw, &l)
	if err == nil {
		err = l.check()
	}
	if err != nil {
		return nil, reason.New(reason.SettingsInvalid, "read %s: %w; `matrix stack lock` writes it", file, err)
	}
	return &l, nil
}

func (l *ImagesLock) check() error {
	seen := map[string]bool{}
	for i := range l.Programs {
		p := &l.Programs[i]
		key := p.Program + " " + p.Version
		switch {
		case p.Program == "" || p.Program != path.Base(p.Program) || strings.HasPrefix(p.Program, "."):
			return fmt.Errorf("program %d has the name %.100q, which is no name of a program", i+1, p.Program)
		case seen[key]:
			return fmt.Errorf("it has %s twice", strings.TrimSpace(key))
		case !path.IsAbs(p.Path) || path.Clean(p.Path) != p.Path || p.Path == "/":
			return fmt.Errorf("%s has the path %.200q; want the whole path of a file in the image", p.Program, p.Path)
		}
		seen[key] = true
		if err := l.checkImage(p); err != nil {
			return fmt.Errorf("%s: %w", p.Program, err)
		}
	}
	return nil
}

func (l *ImagesLock) checkImage(p *LockedProgram) error {
	if p.In != "" {
		if p.Image != "" || p.Version != "" || len(p.Digests) > 0 {
			return fmt.Errorf("it lies in the image of %s, and has an image, a version or digests of its own", p.In)
		}
		if !slices.ContainsFunc(l.Programs, func(o LockedProgram) bool { return o.Program == p.In && o.Image != "" }) {
			return fmt.Errorf("it lies in the image of %.100q, which is not in the list", p.In)
		}
		return nil
	}
	tag, err := name.NewTag(p.Image, name.StrictValidation)
	switch {
	case err != nil:
		return fmt.Errorf("the image %.200q: %w", p.Image, err)
	case !semver.IsValid(p.Version):
		return fmt.Errorf("the version %.100q is none; want a form such as v1.2.3", p.Version)
	case !tagged(tag.TagStr(), p.Version):
		return fmt.Errorf("the image %s is not one of the version %s", p.Image, p.Version)
	}
	for platform, digest := range p.Digests {
		if !platformPattern.MatchString(platform) || !digestPattern.MatchString(digest) {
			return fmt.Errorf("the digest %.100q of %.100q: want sha256: with 64 hexadecimal digits, of one of %s", digest, platform, strings.Join(lockedPlatforms(), ", "))
		}
	}
	return nil
}

// tagged reports whether a tag is one of a version: the version with or without its v, and perhaps
// the number of a rebuild, as in 3.6.8-0.
func tagged(tag, version string) bool {
	rest, ok := strings.CutPrefix(strings.TrimPrefix(tag, "v"), strings.TrimPrefix(version, "v"))
	return ok && (rest == "" || regexp.MustCompile(`^-[0-9]{1,3}$`).MatchString(rest))
}

// published is a program in its image.
type published struct {
	part   Part
	ref    string // with the digest, if it is pinned
	path   string
	digest string
	shared string // the program whose image it is, if that is another one
}

// pinned reports whether the image has a digest.
func (p *published) pinned() bool { return p.digest != "" }

// find looks up a part of a version for a platform; otherwise it says why there is none. versions are
// those of modules.
func (l *ImagesLock) find(part Part, versions map[string]string, platform string) (*published, string) {
	var others []string
	for _, p := range l.Programs {
		if p.Program != part.Name {
			continue
		}
		if p.In != "" {
			of := partNamed(p.In)
			got, why := l.find(of, versions, platform)
			if got == nil {
				return nil, why
			}
			return &published{part, got.ref, p.Path, got.digest, p.In}, ""
		}
		if p.Version != versions[part.Module] {
			others = append(others, p.Version)
			continue
		}
		found := &published{part: part, ref: p.Image, path: p.Path, digest: p.Digests[platform]}
		if found.pinned() {
			found.ref += "@" + found.digest
		}
		return found, ""
	}
	if len(others) > 0 {
		return nil, fmt.Sprintf("%s has %s %s, and the stack needs %s", lockName, part.Name, strings.Join(others, ", "), versions[part.Module])
	}
	return nil, fmt.Sprintf("%s has no image of %s", lockName, part.Name)
}

// partNamed is a part of any list.
func partNamed(program string) Part {
	for _, g := range slices.Concat(Groups(), SchedulerGroups(), HelmfileGroups()) {
		for _, p := range g.Parts() {
			if p.Name == program {
				return p
			}
		}
	}
	return Part{Name: program}
}

// Text is the content of the file.
func (l *ImagesLock) Text() ([]byte, error) {
	sorted := ImagesLock{slices.Clone(l.Programs)}
	slices.SortStableFunc(sorted.Programs, func(a, b LockedProgram) int {
		return cmp.Or(cmp.Compare(a.Program, b.Program), semver.Compare(a.Version, b.Version))
	})
	raw, err := yaml.Marshal(sorted)
	return append([]byte(lockHead), raw...), err
}

const lockHead = `# Where the makers of the stack's programs publish them: for each the image, its path there, and the image's digest by
# platform. ` + "`matrix stack lock`" + ` writes and checks this file; versions are those of the parts lists (go.mod). An entry without
# the digest of a platform is used there with --allow-unpinned only.
`
