package compare

import (
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// Checks are those of two ends of a recipe that must be equal.
func Checks() []judge.Check {
	return []judge.Check{endsDiffer, definitionsStay, lanesDiffer, ownedTwice}
}

var (
	endsDiffer = judge.Check{
		ID: "MX730", Name: "upgrade-ends-differently", Needs: judge.Second, Observed: true, Gives: reason.UpgradeDiverged,
		Title: "An upgrade ends as a first installation does, and a rollback as what was there before",
		Why:   "What a deployer does not remove, take over or run again stays in every cluster that is upgraded, and in no new one. The finding names both values, and the cause where it is known.",
		Fix:   "Remove or change it in the notes of the release, or accept it in upgrade-steps.yaml with a reason.",
	}
	definitionsStay = judge.Check{
		ID: "MX731", Name: "definitions-of-before", Needs: judge.Second, Observed: true, Gives: reason.UpgradeDiverged,
		Title: "An upgrade brings the definitions of its charts",
		Why:   "Helm does not update what is in a chart's crds/ (https://helm.sh/docs/chart_best_practices/custom_resource_definitions/), so that the API server drops the fields that only the new chart knows.",
		Fix:   "Apply the new definitions before the upgrade, or deliver them as templates.",
	}
	lanesDiffer = judge.Check{
		ID: "MX960", Name: "lanes-differ", Needs: judge.Compared, Observed: true, Gives: reason.LaneDivergence,
		Title: "Each deployer delivers the same objects",
		Why:   "A recipe is tested through one deployer and used through another. Where what they leave in the cluster differs, so does what users have.",
		Fix:   "Let one component own the object, and do not use what one deployer alone knows.",
	}
	ownedTwice = judge.Check{
		ID: "MX961", Name: "owned-by-two-in-argocd", Needs: judge.Settled, Observed: true, Gives: reason.LaneDivergence,
		Title: "In Argo CD an object is of one component",
		Why:   "Argo CD applies each component's object in turn, without end. Helm keeps the first one's and Flux the last one's.",
		Fix:   "Let only one component own it.",
	}
)

// fail makes a cell fail by what a comparison found, without what the user ignores. It reports whether it failed.
func (l Lane) fail(err error) bool {
	r, left := l.Bench.Rule(l.Recipe, err)
	r.Into(l.Result)
	if left == nil {
		return false
	}
	l.Verdict = result.VerdictOf(left)
	return true
}
