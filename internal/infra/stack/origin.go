package stack

// origin.go decides for each missing program whether it comes out of its maker's image or is compiled,
// and says why. It must not know how either is done.

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

// Source says where programs come from that are not in the cache.
type Source string

// The sources. sourceAuto takes for each program its image if it is pinned and its registry answers,
// else its module. sourceArchive is what `matrix stack install` has unpacked, and nothing else.
const (
	sourceAuto    Source = "auto"
	sourceImages  Source = "images"
	sourceModules Source = "modules"
	sourceArchive Source = "archive"
)

// ParseSource reads a source; the empty text is sourceAuto.
func ParseSource(text string) (Source, error) {
	all := []Source{sourceAuto, sourceImages, sourceModules, sourceArchive}
	if s := Source(text); slices.Contains(all, s) {
		return s, nil
	}
	if text == "" {
		return sourceAuto, nil
	}
	return "", fmt.Errorf("%.100q: want %s, %s, %s or %s", text, all[0], all[1], all[2], all[3])
}

// Origin is where the missing programs of stacks come from. It may be used by several goroutines.
type Origin struct {
	Source Source
	Lock   *ImagesLock
	// Mirror, if set, is a registry, HOST[:PORT][/PATH], that has all images by their whole names, e.g.
	// HOST/PATH/registry.k8s.io/etcd.
	Mirror string
	// AllowUnpinned lets images be used that have no digest in the lock.
	AllowUnpinned bool
	// VerifySignatures has cosign verify the image of each maker that signs his, before anything of it is unpacked.
	VerifySignatures bool
	// Dir keeps programs of images, a directory per image.
	Dir string
	// Manifests, if set, has manifests/GROUP.yaml, with the CRDs of groups.
	Manifests fs.FS

	mu      sync.Mutex
	found   map[string]string // the file of a program, once it was there: cells of one run have the same one
	failed  map[string]string // why an image cannot be had, by its name
	answers map[string]string // why a registry does not answer, by its host; empty if it does
}

// With is the same with another source.
func (o *Origin) With(source Source) *Origin {
	return &Origin{Source: source, Lock: o.Lock, Mirror: o.Mirror, AllowUnpinned: o.AllowUnpinned, VerifySignatures: o.VerifySignatures, Dir: o.Dir, Manifests: o.Manifests}
}

// From has missing programs come from there. Without, all are compiled.
func (s *Stack) From(o *Origin) {
	s.origin = o
	if s.kubernetes != nil {
		s.kubernetes.origin = o
	}
}

func platform() string { return runtime.GOOS + "/" + runtime.GOARCH }

// plan is the image that a program would come from, or why it is compiled instead. It asks nobody.
func (s *Stack) plan(p Part) (*published, string) {
	o := s.origin
	switch {
	case o == nil, o.Source == sourceModules, o.Source == sourceArchive:
		return nil, "--stack " + string(sourceModules)
	case runtime.GOOS != "linux":
		return nil, "images have programs for Linux, and this is " + runtime.GOOS
	}
	found, why := o.Lock.find(p, s.versions, platform())
	if found == nil {
		return nil, why
	}
	if !found.pinned() && !o.AllowUnpinned && !s.chosen(found) {
		return nil, fmt.Sprintf("%s has no digest for %s", lockName, platform())
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if why := o.failed[found.ref]; why != "" {
		return nil, why
	}
	return found, ""
}

// compiled is the file of a program that was compiled or installed.
func (s *Stack) compiled(name string) string { return filepath.Join(s.Dir, "bin", name) }

// pulled is the file of a program that came out of an image. One whose signature was verified has a place of its own, so
// that none is taken for it which was pulled without.
func (o *Origin) pulled(p *published) string {
	from := p.ref + " " + platform()
	if o.VerifySignatures {
		from += " verified"
	}
	key := sha256.Sum256([]byte(from))
	return filepath.Join(o.Dir, hex.EncodeToString(key[:])[:16], p.part.Name)
}

// program is the file of a program, of this list.
func (s *Stack) program(name string) string {
	own, o := s.compiled(name), s.origin
	if o == nil || o.Source == sourceModules || o.Source == sourceArchive {
		return own
	}
	o.mu.Lock()
	file := o.found[own]
	o.mu.Unlock()
	if file != "" {
		return file
	}
	image, _ := s.plan(s.partOf(name))
	files := []string{own}
	switch {
	case image == nil && o.Source == sourceImages: // what was compiled does not count
		files = []string{filepath.Join(o.Dir, "none", name)}
	case image != nil && (o.Source == sourceImages || s.chosen(image)):
		files = []string{o.pulled(image)}
	case image != nil:
		files = []string{own, o.pulled(image)}
	}
	for _, file := range files {
		if _, err := os.Stat(file); err == nil {
			o.mu.Lock()
			defer o.mu.Unlock()
			if o.found == nil {
				o.found = map[string]string{}
			}
			o.found[own] = file
			return file
		}
	}
	return files[len(files)-1]
}

func (s *Stack) partOf(name string) Part {
	for _, g := range s.groups {
		for _, p := range g.Parts() {
			if p.Name == name {
				return p
			}
		}
	}
	return Part{Name: name}
}

// from is where a program that is not here would come from.
func (s *Stack) from(p Part) string {
	if s.elsewhere(p.Name) {
		return s.kubernetes.from(p)
	}
	image, why := s.plan(p)
	if image == nil {
		return "will be compiled: " + why
	}
	return "will come from " + image.ref
}

// Identity is what a verdict depends on: the parts list, and the programs that came, or would come, out
// of images instead of being compiled from it.
func (s *Stack) Identity() string {
	text := s.Name()
	if s.kubernetes != nil {
		text += " with " + s.kubernetes.Identity()
	}
	for _, g := range s.groups {
		for _, p := range g.Parts() {
			image, _ := s.plan(p)
			if image == nil || s.elsewhere(p.Name) || s.program(p.Name) != s.origin.pulled(image) {
				continue
			}
			if r := s.recordOf(p.Name); r != nil { // with the digest that a tag had
				image.ref = r.Image
			}
			text += " " + p.Name + "=" + image.ref
		}
	}
	return text
}

// NeedsGo reports whether something of the groups is missing that is compiled, as far as that can be
// said without asking a registry.
func (s *Stack) NeedsGo(groups ...Group) bool {
	return slices.ContainsFunc(s.Missing(groups...), func(p Part) bool {
		if s.elsewhere(p.Name) {
			return s.kubernetes.NeedsGo(GroupKubernetes)
		}
		image, _ := s.plan(p)
		return image == nil
	})
}

// BinDirs are the directories of programs, for a PATH.
func (s *Stack) BinDirs(names ...string) []string {
	var dirs []string
	for _, n := range names {
		dirs = append(dirs, filepath.Dir(s.Bin(n)))
	}
	return lists.Unique(dirs)
}

// Pulled is a program that came out of an image: which one, and how it got here.
type Pulled struct {
	Image   string  `json:"image"` // with its digest
	Path    string  `json:"path"`
	Pinned  bool    `json:"pinned"`
	Seconds float64 `json:"seconds"` // what the image took
	// Shared is the program in whose image it lies, whose maker chose its version; empty for its own.
	Shared string `json:"shared,omitempty"`
	// SignedBy is the identity whose signature cosign has verified; empty if it was not asked, or its maker signs none.
	SignedBy string `json:"signedBy,omitempty"`
}

// recordOf says how a program got here, of one that came out of an image.
func (s *Stack) recordOf(name string) *Pulled {
	if s.elsewhere(name) {
		return s.kubernetes.recordOf(name)
	}
	file := s.program(name)
	if s.origin == nil || !strings.HasPrefix(file, s.origin.Dir+string(filepath.Separator)) {
		return nil
	}
	raw, err := os.ReadFile(file + recordSuffix)
	var p Pulled
	if err != nil || json.Unmarshal(raw, &p) != nil {
		return nil // it is not here yet
	}
	return &p
}

// recordSuffix is that of the file beside a program, which says where it is from.
const recordSuffix = ".json"

// Foreign lists the programs of the groups that differ from those of the parts list: of images that
// nothing pins, of another version, or without what compiled ones have of their own.
func (s *Stack) Foreign(groups ...Group) []infra.ForeignProgram {
	var all []infra.ForeignProgram
	for _, g := range groups {
		for _, p := range g.Parts() {
			r := s.recordOf(p.Name)
			if r != nil && (!r.Pinned || r.Shared != "" || p.own() != "") {
				all = append(all, infra.ForeignProgram{Name: p.Name, Image: r.Image, Pinned: r.Pinned, Shared: r.Shared, Lacks: p.own()})
			}
		}
	}
	return all
}

// choose takes of missing parts those of images whose registries answer. A line of progress says where all
// come from, and why.
func (s *Stack) choose(ctx context.Context, progress infra.Progress, missing []Part) (images []*published, err error) {
	task := progress.Begin("Choosing where programs come from")
	why := map[string][]string{}
	var wanted []*published
	var rest []Part
	for _, p := range missing {
		image, reason := s.plan(p)
		if image != nil {
			wanted = append(wanted, image)
			continue
		}
		rest = append(rest, p)
		why[reason] = append(why[reason], p.Name)
	}
	s.origin.ask(ctx, wanted)
	if ctx.Err() != nil {
		task.End("", ctx.Err())
		return nil, fmt.Errorf("choose where programs come from: %w", context.Cause(ctx))
	}
	for _, image := range wanted {
		if silent := s.origin.answer(image); silent != "" {
			rest = append(rest, image.part)
			why[silent] = append(why[silent], image.part.Name)
			continue
		}
		images = append(images, image)
	}
	text, lack := told(images, why, "from modules"), told(nil, why, "cannot come from an image")
	for _, p := range rest {
		if slices.Contains(s.named, p.Module) {
			err = reason.New(reason.StackBuildFailed, "%s %s comes out of its image only, which cannot be had: %s", p.Name, s.versions[p.Module], lack)
		}
	}
	if s.origin.Source == sourceImages && len(rest) > 0 {
		err = reason.New(reason.StackBuildFailed, "--stack %s: %s; use --stack %s, which compiles what no image can give", sourceImages, lack, sourceAuto)
	}
	if err != nil {
		text = lack
	}
	task.End(text, err)
	return images, err
}

// told says how many programs come from images, and what else is so of the others, by why.
func told(images []*published, why map[string][]string, others string) string {
	var parts []string
	if len(images) > 0 {
		parts = append(parts, lists.Count(len(images), "program")+" from images")
	}
	reasons := make([]string, 0, len(why))
	for r := range why {
		reasons = append(reasons, r)
	}
	slices.Sort(reasons)
	for _, r := range reasons {
		which := lists.Count(len(why[r]), "program")
		if len(images) > 0 || len(reasons) > 1 || len(why[r]) <= 3 {
			which = strings.Join(why[r], ", ")
		}
		parts = append(parts, fmt.Sprintf("%s %s: %s", which, others, r))
	}
	return strings.Join(parts, "; ")
}

// fail remembers that an image cannot be had.
func (o *Origin) fail(p *published, why string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.failed == nil {
		o.failed = map[string]string{}
	}
	o.failed[p.ref] = why
}
