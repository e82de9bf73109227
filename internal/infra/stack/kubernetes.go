package stack

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

const kubernetesModule = "k8s.io/kubernetes"

// Minors lists the minor versions of Kubernetes that a control plane can have, e.g. 1.34, the
// lowest first: the stack's own, and those of the lists, which kwok.Kubernetes has.
func (s *Stack) Minors(lists fs.FS) ([]string, error) {
	files, err := fs.Glob(lists, "embedded/kubernetes-*.mod")
	if err != nil {
		return nil, err
	}
	all := []string{minorOf(s.versions[kubernetesModule])}
	for _, f := range files {
		all = append(all, strings.TrimSuffix(strings.TrimPrefix(path.Base(f), "kubernetes-"), ".mod"))
	}
	slices.SortFunc(all, func(a, b string) int { return semver.Compare("v"+a, "v"+b) })
	return all, nil
}

func minorOf(version string) string { return strings.TrimPrefix(semver.MajorMinor(version), "v") }

// WithKubernetes returns the stack with the control plane of a minor version, e.g. 1.34, or of another
// release of one, e.g. 1.34.2, which comes out of images only. It builds nothing. Reason: USAGE for one that is not among Minors.
func (s *Stack) WithKubernetes(paths host.Paths, lists fs.FS, minor string) (*Stack, error) {
	minor = strings.TrimPrefix(minor, "v")
	patch := ""
	if strings.Count(minor, ".") == 2 && semver.IsValid("v"+minor) {
		patch, minor = "v"+minor, minorOf("v"+minor)
	}
	all, err := s.Minors(lists)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(all, minor) {
		return nil, reason.New(reason.Usage, "there is no control plane of Kubernetes %s; choose one of %s", minor, strings.Join(all, ", "))
	}
	own := s.versions[kubernetesModule]
	if minor == minorOf(own) && (patch == "" || patch == own) {
		return s, nil
	}
	mod, sum := s.mod, s.sum
	if minor != minorOf(own) {
		name := "embedded/kubernetes-" + minor
		if mod, err = fs.ReadFile(lists, name+".mod"); err != nil {
			return nil, err
		}
		if sum, err = fs.ReadFile(lists, name+".sum"); err != nil {
			return nil, err
		}
	}
	other := *s
	if other.kubernetes, err = newFrom(paths, "kwok/kubernetes/"+minor+"/go.mod", []Group{GroupKubernetes}, mod, sum, s.sources); err != nil {
		return nil, err
	}
	other.kubernetes.origin = s.origin
	if patch != "" {
		err = other.kubernetes.use(kubernetesModule, patch, GroupKubernetes)
	}
	return &other, err
}

// elsewhere reports whether a part is that of another minor version's list.
func (s *Stack) elsewhere(part string) bool {
	return s.kubernetes != nil && slices.ContainsFunc(GroupKubernetes.Parts(), func(p Part) bool { return p.Name == part })
}
