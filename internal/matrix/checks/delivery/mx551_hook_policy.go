package delivery

import (
	"regexp"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/rendering"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
)

// hookPolicies are those that Helm knows. It takes any other word, and deletes nothing for it.
var hookPolicies = []string{"before-hook-creation", "hook-succeeded", "hook-failed"}

var hookPolicy = judge.Check{
	ID: "MX551", Name: "hook-stays-behind", Needs: judge.Rendered,
	Title: "A hook with a deletion policy is gone, or is deleted, before the next upgrade creates it again",
	Why: "Without a policy Helm deletes the old hook first. With one it does only what the policy says, and Helm 3 cannot create an object that is there " +
		"(https://helm.sh/docs/topics/charts_hooks/#hook-deletion-policies).",
	Fix:  "Add before-hook-creation, or remove the annotation.",
	Says: "is a hook with " + rendering.HelmHookPolicy + ": %s, which leaves it in the cluster once it has succeeded", Then: "Helm 3 cannot create it again with the next upgrade (already exists): add before-hook-creation",
	Others: map[string]judge.Message{
		"unknown":           {Says: unknownPolicy, Then: "Helm deletes nothing for that word"},
		"unknown and stays": {Says: unknownPolicy, Then: "Helm deletes nothing for that word, and Helm 3 cannot create the hook again with the next upgrade (already exists)"},
	},
	Run: func(s *judge.Scope) {
		for i := range s.Expectation.Objects {
			o := &s.Expectation.Objects[i]
			a := o.Object.GetAnnotations()
			given := rendering.HelmHookPolicies(a)
			if !o.Hook || len(given) == 0 || slices.Contains(given, hookPolicies[0]) || o.Object.GetKind() == "CustomResourceDefinition" || renamed(o) {
				continue
			}
			unknown := slices.IndexFunc(given, func(w string) bool { return !slices.Contains(hookPolicies, w) })
			stays := !slices.Contains(given, hookPolicies[1]) && rendering.RunsInHelm(a, "pre-upgrade", "post-upgrade")
			const path = `metadata.annotations["` + rendering.HelmHookPolicy + `"]`
			switch {
			case unknown >= 0:
				message := "unknown"
				if stays {
					message = "unknown and stays"
				}
				s.ReportAs(message, o, path, a[rendering.HelmHookPolicy], given[unknown], strings.Join(hookPolicies, ", ")).SetBy(rendering.HelmHookPolicy)
			case stays:
				s.Report(o, path, a[rendering.HelmHookPolicy]).SetBy(rendering.HelmHookPolicy)
			}
		}
	},
}

const unknownPolicy = "is a hook with " + rendering.HelmHookPolicy + ": %s, and %q is no policy of Helm (%s)"

// another is what gives an object another name with each delivery.
var another = regexp.MustCompile(`\.Release\.Revision|\brand[A-Z]|\bnow\b|\buuidv4\b|\bunixEpoch\b|\bgen[A-Z]`)

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
