package stack

// versions.go gives a stack programs of another version than its parts list has. They come out of their
// makers' images only, since there is no list to compile them from.

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/filesys"
)

// leastArgoCD is the first version whose Applications have charts and bundles of OCI registries as sources.
const leastArgoCD = "v3.1.0"

// WithArgoCD returns the stack with another version of Argo CD, e.g. v3.5.2 or 3.6.0-rc1. It pulls nothing. Reason:
// USAGE.
func (s *Stack) WithArgoCD(version string) (*Stack, error) {
	version = "v" + strings.TrimPrefix(version, "v")
	if !semver.IsValid(version) || strings.Count(version, ".") < 2 {
		return nil, reason.New(reason.Usage, "%.100q is no version of Argo CD; want a form such as v3.5.2", version)
	}
	if semver.Major(version) != "v3" || semver.Compare(version, leastArgoCD) < 0 {
		return nil, reason.New(reason.Usage, "Argo CD %s cannot be run here: the lanes need sources in OCI registries, which it has from %s, and know versions before v4", version, leastArgoCD)
	}
	other := *s
	return &other, other.use(partNamed("argocd").Module, version, GroupArgoCD)
}

// leastFlux is the first version with source-watcher, which makes the ArtifactGenerators of AICR's bundles; strictFlux the first
// whose kustomize-controller fails on variables that nothing sets.
const (
	leastFlux  = "v2.7.0"
	strictFlux = "v2.9.0"
)

// fluxModule has, for each version of Flux, the versions of its controllers.
const fluxModule = "github.com/fluxcd/flux2/v2"

// WithFlux returns the stack with the controllers of another version of Flux, e.g. v2.8.2. Which these are is read from Flux's
// own module, which the go command downloads; no program is pulled. Reasons: USAGE, TOOLCHAIN_MISSING.
func (s *Stack) WithFlux(ctx context.Context, version string) (*Stack, error) {
	version = "v" + strings.TrimPrefix(version, "v")
	if !semver.IsValid(version) || strings.Count(version, ".") < 2 {
		return nil, reason.New(reason.Usage, "%.100q is no version of Flux; want a form such as v2.9.5", version)
	}
	if semver.Major(version) != "v2" || semver.Compare(version, leastFlux) < 0 {
		return nil, reason.New(reason.Usage, "Flux %s cannot be run here: the lanes need ArtifactGenerators, which it has from %s, and know versions before v3", version, leastFlux)
	}
	goTool, err := goToolchain()
	if err != nil {
		return nil, err
	}
	dir, err := s.moduleDir(ctx, goTool, fluxModule, version)
	if err != nil {
		return nil, reason.New(reason.Usage, "find the controllers of Flux %s in the module %s: %w; its versions are those of Flux's releases (go list -m -versions %[2]s), and a network or a module proxy is needed", version, fluxModule, err)
	}
	other := *s
	for _, p := range GroupFlux.Parts() {
		of, err := controllerVersion(dir, p.Name)
		if err != nil {
			return nil, reason.New(reason.Usage, "Flux %s: %w", version, err)
		}
		if err := other.use(p.Module, of, GroupFlux); err != nil {
			return nil, err
		}
	}
	return &other, nil
}

// IsStrictFlux reports whether a version of Flux fails on variables of a Kustomization that nothing sets: kustomize-controller has
// the gate StrictPostBuildSubstitutions on since 1.9, which is Flux 2.9.
func IsStrictFlux(version string) bool {
	return semver.Compare("v"+strings.TrimPrefix(version, "v"), strictFlux) >= 0
}

// controllerVersion is the version of a controller that Flux's manifests name.
func controllerVersion(dir, name string) (string, error) {
	file := filepath.Join(dir, "manifests", "bases", name, "kustomization.yaml")
	text, err := filesys.File(file, 1<<20)
	if err != nil {
		return "", fmt.Errorf("its manifests have no %s: %w", name, err)
	}
	found := regexp.MustCompile(`/` + regexp.QuoteMeta(name) + `/releases/download/(v[^/\s]+)/`).FindSubmatch(text)
	if found == nil || !semver.IsValid(string(found[1])) {
		return "", fmt.Errorf("its manifests name no version of %s", name)
	}
	return string(found[1]), nil
}

// use takes programs of a group from images of another version of their module.
func (s *Stack) use(module, version string, g Group) error {
	if s.versions[module] == version {
		return nil
	}
	switch {
	case s.origin == nil || s.origin.Source == sourceModules || s.origin.Source == sourceArchive:
		return reason.New(reason.Usage, "%s %s comes out of images, and --stack excludes them", module, version)
	case runtime.GOOS != "linux":
		return reason.New(reason.Usage, "%s %s comes out of images, which have programs for Linux", module, version)
	}
	s.versions = maps.Clone(s.versions)
	s.versions[module] = version
	s.named = append(slices.Clone(s.named), module)
	lock := &ImagesLock{slices.Clone(s.origin.Lock.Programs)}
	for _, p := range g.Parts() {
		if found, _ := lock.find(p, s.versions, platform()); found == nil && p.Module == module {
			lock.Programs = append(lock.Programs, lock.renew(p, version)...)
		}
	}
	s.origin = s.origin.With(s.origin.Source)
	s.origin.Lock = lock
	return nil
}

// chosen reports whether a program is of a version that the user named.
func (s *Stack) chosen(p *published) bool {
	module := p.part.Module
	if p.shared != "" {
		module = partNamed(p.shared).Module
	}
	return slices.Contains(s.named, module)
}

// crdDir is the directory of the module of CRDs. go is asked for another version in a place of its own, and
// verifies what it downloads.
func (s *Stack) crdDir(ctx context.Context, goTool, src, module string) (string, error) {
	if !slices.Contains(s.named, module) {
		out, err := host.RunCommand(ctx, src, buildEnv(), goTool, "list", "-m", "-f", "{{.Dir}}", module)
		return strings.TrimSpace(out), err
	}
	return s.moduleDir(ctx, goTool, module, s.versions[module])
}

// moduleDir is the directory of a version of a module that is not of the parts list, downloaded and verified.
func (*Stack) moduleDir(ctx context.Context, goTool, module, version string) (string, error) {
	tmp, err := os.MkdirTemp("", "module-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(tmp) }() // the module is in Go's cache
	if err := os.WriteFile(filepath.Join(tmp, "go.mod"), []byte("module other\n"), 0o600); err != nil {
		return "", err
	}
	out, err := host.RunCommand(ctx, tmp, append(buildEnv(), "GOFLAGS=-mod=mod"), goTool, "mod", "download", "-json", module+"@"+version)
	var found struct{ Dir, Error string }
	if decoded := json.Unmarshal([]byte(out), &found); decoded == nil && found.Error != "" {
		return "", fmt.Errorf("%s", found.Error)
	}
	return found.Dir, err
}
