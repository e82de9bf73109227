package upgrade

import (
	"fmt"
	"strings"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/result"
)

// TornDown warns of hooks that the second delivery deleted and made again although they stand for
// something that runs: custom resources and workloads, but no Jobs and pods, which do their work and
// end. untracked means that the deployer does not count a hook as its own.
func TornDown(b *bundle.Bundle, replaced []result.Ref, untracked bool) []string {
	var lines []string
	for _, ref := range replaced {
		o := objectOf(b, ref)
		if o == nil || !o.Hook {
			continue
		}
		policy := o.Object.GetAnnotations()["helm.sh/hook-delete-policy"]
		if policy == "" {
			policy = "before-hook-creation, the default"
		}
		line := fmt.Sprintf("each delivery tears down %s and builds it again: it is a hook (%s; %s) in %s, so that it is deleted first, and what its operator made of it, too; make it an ordinary object, in a component that comes later",
			ref, strings.TrimSpace(o.Object.GetAnnotations()["helm.sh/hook"]), policy, Place(b, o, ""))
		if untracked {
			line += "; Argo CD does not count a hook as part of its Application either: if it is deleted that is no drift, and nothing makes it again before the next sync"
		}
		lines = append(lines, line)
	}
	return lines
}

// notRun says why a missing object is a hook that Helm did not run: its release was there before.
func (b Bundles) notRun(ref *result.Ref) string {
	if ref == nil || b.Before == nil {
		return ""
	}
	o := objectOf(b.Now, *ref)
	if o == nil || !o.Hook || strings.Contains(o.Object.GetAnnotations()["helm.sh/hook"], "upgrade") || namespaceOf(b.Before, o.Release) == "" {
		return ""
	}
	return fmt.Sprintf("%s is a hook that runs at installation only (%s), and release %s was installed before it had it; add post-upgrade in %s, or make it an ordinary object",
		ref, o.Object.GetAnnotations()["helm.sh/hook"], o.Release, Place(b.Now, o, ""))
}

// objectOf is the object that a bundle renders; nil if there is none.
func objectOf(b *bundle.Bundle, ref result.Ref) *bundle.Object {
	for i := range b.Expectation.Objects {
		if b.Expectation.Objects[i].Ref() == ref {
			return &b.Expectation.Objects[i]
		}
	}
	return nil
}
