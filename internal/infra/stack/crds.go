package stack

// crds.go gets CRDs of Argo CD and Flux from the manifests that this program carries, so that none of
// their modules has to be downloaded for programs that came out of images.

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// ownCRDs writes the CRDs of those groups that lack them, where the origin has manifests of the same
// versions.
func (s *Stack) ownCRDs(groups []Group) error {
	if s.origin == nil || s.origin.Manifests == nil {
		return nil
	}
	for _, g := range groups {
		if _, err := os.Stat(s.CRDs(g)); err == nil || !g.HasCRDs() {
			continue
		}
		raw, err := fs.ReadFile(s.origin.Manifests, "manifests/"+string(g)+".yaml")
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil && s.madeOf(raw, g) {
			err = s.writeCRDs(raw, g)
		}
		if err != nil {
			return reason.Wrap(infra.DiskReason(err, reason.StackBuildFailed), fmt.Errorf("write the CRDs of %s: %w", g, err))
		}
	}
	return nil
}

// madeOf reports whether manifests are those of the versions of a group's modules, as their head says.
func (s *Stack) madeOf(manifests []byte, g Group) bool {
	for _, set := range crdSets(g) {
		if !bytes.Contains(manifests, []byte("\n# "+set.module+" "+s.versions[set.module]+"\n")) {
			return false
		}
	}
	return true
}

// crdName is what a name of a CRD may be, which becomes a file's.
var crdName = regexp.MustCompile(`^[a-z0-9.-]+$`)

func (s *Stack) writeCRDs(manifests []byte, g Group) error {
	tmp := s.CRDs(g) + ".partial"
	if err := errors.Join(os.RemoveAll(tmp), os.MkdirAll(tmp, 0o755)); err != nil {
		return err
	}
	for document := range strings.SplitSeq(string(manifests), "\n---\n") {
		var o struct {
			Kind     string
			Metadata struct{ Name string }
		}
		if err := yaml.Unmarshal([]byte(document), &o); err != nil {
			return err
		}
		if o.Kind != "CustomResourceDefinition" {
			continue
		}
		if !crdName.MatchString(o.Metadata.Name) {
			return fmt.Errorf("a CRD has the name %.100q", o.Metadata.Name)
		}
		if err := os.WriteFile(filepath.Join(tmp, o.Metadata.Name+".yaml"), []byte(document+"\n"), 0o644); err != nil {
			return err
		}
	}
	return os.Rename(tmp, s.CRDs(g))
}
