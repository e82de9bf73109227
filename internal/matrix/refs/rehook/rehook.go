// Package rehook finds hooks that Helm 3 cannot create a second time: the first one is still there.
package rehook

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/rendering"
	"github.com/nvidia/aicr-action/internal/matrix/refs/problem"
)

// policies are those that Helm knows. It takes any other word, and deletes nothing for it.
var policies = []string{"before-hook-creation", "hook-succeeded", "hook-failed"}

// another is what gives an object another name with each delivery.
var another = regexp.MustCompile(`\.Release\.Revision|\brand[A-Z]|\bnow\b|\buuidv4\b|\bunixEpoch\b|\bgen[A-Z]`)

// Find returns objects that Helm is told to keep by a word, or in a spelling, that it does not know, and hooks with a deletion policy that leaves them in the cluster once they have succeeded,
// and that the next upgrade creates again. Without a policy Helm deletes the old one first.
func Find(e *bundle.Expectation) []problem.Problem {
	var found []problem.Problem
	for i := range e.Objects {
		o := &e.Objects[i]
		annotations := o.Object.GetAnnotations()
		if rendering.KeptAtUninstall(annotations) && !rendering.KeptAtUpgrade(annotations) {
			p := problem.Of(o)
			p.Name, p.Text = rendering.HelmKeeps, fmt.Sprintf("has %s: %q, and Helm knows only keep", rendering.HelmKeeps, annotations[rendering.HelmKeeps])
			p.Then = "an upgrade that has it no more deletes it, and helm uninstall leaves it"
			found = append(found, p)
		}
		given := rendering.HelmHookPolicies(annotations)
		if !o.Hook || len(given) == 0 || slices.Contains(given, policies[0]) || o.Object.GetKind() == "CustomResourceDefinition" || renamed(o) {
			continue
		}
		unknown := slices.IndexFunc(given, func(w string) bool { return !slices.Contains(policies, w) })
		stays := !slices.Contains(given, policies[1])
		upgraded := rendering.RunsInHelm(annotations, "pre-upgrade", "post-upgrade")
		if unknown < 0 && !(stays && upgraded) {
			continue
		}
		p := problem.Of(o)
		p.Name = rendering.HelmHookPolicy
		p.Text = fmt.Sprintf("is a hook with %s: %s, which leaves it in the cluster once it has succeeded", rendering.HelmHookPolicy, annotations[rendering.HelmHookPolicy])
		p.Then = "Helm 3 cannot create it again with the next upgrade (already exists): add before-hook-creation"
		if unknown >= 0 {
			p.Text = fmt.Sprintf("is a hook with %s: %s, and %q is no policy of Helm (%s)", rendering.HelmHookPolicy, annotations[rendering.HelmHookPolicy], given[unknown], strings.Join(policies, ", "))
			p.Then = "Helm deletes nothing for that word"
			if stays && upgraded {
				p.Then += ", and Helm 3 cannot create the hook again with the next upgrade (already exists)"
			}
		}
		found = append(found, p)
	}
	return found
}

// renamed reports whether a template may give its object another name each time.
func renamed(o *bundle.Object) bool {
	if o.Chart == nil {
		return false
	}
	for _, t := range o.Chart.Templates {
		if strings.HasSuffix(o.Template, "/"+t.Name) && another.Match(t.Data) {
			return true
		}
	}
	return false
}
