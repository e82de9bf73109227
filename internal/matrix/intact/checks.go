package intact

import (
	"fmt"

	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// Checks lists those of what was rendered and is live.
func Checks() []judge.Check {
	return []judge.Check{warnedOf, refusedByServer, fieldDropped, overwritten, notServed, namespaceLeaves, podDenied, podStrays, updateDenied, reportDenied, createdEarly, takenAway}
}

const policies = "An API server enforces a policy, a quota or a limit some time after it has stored it, so that a fast deployer creates objects before it is in force "

var (
	warnedOf = judge.Check{
		ID: "MX948", Name: "api-server-warns", Needs: judge.Settled, Observed: true,
		Title: "The API server takes every object without a warning",
		Why: "The API server warns of what it takes and what will not work, or not for long: versions that go, fields that it ignores, settings that contradict each other (https://kubernetes.io/blog/2020/09/03/warnings/). " +
			"Argo CD and Flux show no one.",
		Fix: "Do what the warning says, or ignore it for the object.",
	}
	refusedByServer = judge.Check{
		ID: "MX949", Name: "refused-by-the-api-server", Needs: judge.Served, Gives: reason.DeployFailed,
		Title: "The API server takes every object",
		Why: "The API server refuses an object whose fields have values that it does not allow, or that its definition does not. Helm stops there, Argo CD and Flux try again until their budget is over, and each says " +
			"only the first one. A dry run has all of them: in a cell before anything is delivered, of kinds that the API server has by itself; with `matrix check --served` of those of the recipe's definitions, too.",
		Fix:  "Correct the field that the API server names.",
		Says: "the API server refuses it: %s", Then: "its deployer stops there, or tries again until its budget is over",
		Run: func(s *judge.Scope) {
			for i, a := range s.Answers {
				if a.Refused != "" {
					s.Report(&s.Expectation.Objects[i], a.Field, a.Refused)
				}
			}
		},
	}
	fieldDropped = judge.Check{
		ID: "MX950", Name: "field-dropped", Needs: judge.Served, Gives: reason.DeployFailed,
		Title: "The API server serves every field that is rendered",
		Why: "The API server drops a field that its version does not serve, or only with a feature gate (https://kubernetes.io/docs/reference/using-api/api-concepts/#field-validation). " +
			"Deployers say nothing, and what the field asks for does not happen.",
		Fix:  "Correct the field's name or its place, or leave it out.",
		Says: "the API server dropped field %q%s",
		Then: "This version of Kubernetes does not serve the field, or only with a feature gate that is off by default: what it asks for does not happen",
		Run: func(s *judge.Scope) {
			for i, a := range s.Answers {
				if len(a.Dropped) == 0 {
					continue
				}
				more := ""
				if n := len(a.Dropped) - 1; n > 0 {
					more = fmt.Sprintf(" (and %d more)", n)
				}
				s.Report(&s.Expectation.Objects[i], a.Dropped[0], a.Dropped[0], more)
			}
		},
	}
	overwritten = judge.Check{
		ID: "MX951", Name: "not-live-as-rendered", Needs: judge.Settled, Observed: true,
		Title: "What is rendered is what is live",
		Why:   "Somebody has changed a field since the deployer wrote it: a controller, a webhook, another release. A deployer that heals writes it back, again and again.",
		Fix:   "Leave the field out of the template, or have its other owner leave it alone.",
	}
	notServed = judge.Check{
		ID: "MX952", Name: "definition-not-served", Needs: judge.Settled, Observed: true, Gives: reason.DeployFailed,
		Title: "The API server serves every definition",
		Why:   "A definition whose names another one has, or whose schema is not structural, is stored and not served. No object of its kind can be created, and only its conditions say so.",
		Fix:   "Give it names of its own, or a structural schema.",
	}
	namespaceLeaves = judge.Check{
		ID: "MX953", Name: "namespace-leaves", Needs: judge.Settled, Observed: true, Gives: reason.DeployFailed,
		Title: "No namespace of the recipe is being deleted at its end",
		Why:   "Something that the recipe runs, e.g. the program of a hook Job, has deleted a namespace. All that was delivered to it is still there then, and goes.",
		Fix:   "Remove what deletes it, or deliver to another namespace.",
	}
	podDenied = judge.Check{
		ID: "MX954", Name: "next-pod-denied", Needs: judge.Settled, Observed: true, Gives: reason.WorkloadFailed,
		Title: "The recipe's policies, quotas and limits admit the next pod of each workload",
		Why:   policies + "(https://kubernetes.io/docs/concepts/policy/resource-quotas/). Once a pod is deleted, e.g. with its node, nothing takes its place.",
		Fix:   "Change the policy, or the workload, so that it is admitted.",
	}
	podStrays = judge.Check{
		ID: "MX955", Name: "next-pod-fits-no-node", Needs: judge.Settled, Observed: true, Gives: reason.WorkloadFailed,
		Title: "What the recipe's policies change of a pod leaves it a node",
		Why:   policies + "(https://kubernetes.io/docs/reference/access-authn-authz/mutating-admission-policy/). The next pod gets what no node has.",
		Fix:   "Correct the policy.",
	}
	updateDenied = judge.Check{
		ID: "MX956", Name: "next-update-denied", Needs: judge.Settled, Observed: true, Gives: reason.DeployFailed,
		Title: "The recipe's policies let the next delivery change its objects",
		Why:   policies + "(https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/). No later delivery can change such an object, and without the record of a release Helm delivers nothing.",
		Fix:   "Allow the deployer's requests in the policy.",
	}
	reportDenied = judge.Check{
		ID: "MX957", Name: "next-report-denied", Needs: judge.Settled, Observed: true, Gives: reason.DeployFailed,
		Title: "The recipe's policies let controllers and kubelets report",
		Why:   policies + "(https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/). What becomes of a workload, a pod or a node, nobody learns any more.",
		Fix:   "Leave the status and leases out of the policy's resourceRules.",
	}
	createdEarly = judge.Check{
		ID: "MX958", Name: "created-before-a-policy", Needs: judge.Settled, Observed: true, Gives: reason.DeployFailed,
		Title: "What the recipe denies is not what it delivers",
		Why:   policies + "(https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/). The next installation may take longer, and is denied.",
		Fix:   "Correct the policy, or deliver it after what it denies.",
	}
	takenAway = judge.Check{
		ID: "MX959", Name: "policy-takes-away", Needs: judge.Settled, Observed: true,
		Title: "The recipe's policies take nothing away from its objects",
		Why:   policies + "(https://kubernetes.io/docs/reference/access-authn-authz/mutating-admission-policy/). What such a policy takes away is gone with the next delivery, or with the next pod.",
		Fix:   "Correct the policy, or leave the field out of the template.",
	}
)
