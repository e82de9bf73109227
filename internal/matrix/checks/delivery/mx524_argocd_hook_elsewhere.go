package delivery

import (
	"strings"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/rendering"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

var argoHookElsewhere = judge.Check{
	ID: "MX524", Name: "argocd-hook-elsewhere", Needs: judge.Rendered,
	Lanes: func(o judge.Order) bool { return !o.ArgoCD },
	Title: "Hooks are hooks to every deployer",
	Why:   "Only Argo CD reads argocd.argoproj.io/hook (https://argo-cd.readthedocs.io/en/stable/user-guide/sync-waves/). It is a note, once for all such objects.",
	Fix:   "Add Helm's annotation (helm.sh/hook), which Argo CD reads, too.",
	Says:  "has the annotation argocd.argoproj.io/hook, which only Argo CD reads (%s of this kind: %s)", Then: "in this lane they are ordinary objects, which come with all others and stay",
	Run: func(s *judge.Scope) {
		var first *bundle.Object
		var all []string
		for _, o := range s.Rendered() {
			if own, _ := rendering.ArgoHooks(o.Object.GetAnnotations()); !own || o.Hook {
				continue
			}
			if all = append(all, o.Ref().String()); first == nil {
				first = o
			}
		}
		if first != nil {
			s.Report(first, `metadata.annotations["`+rendering.ArgoHook+`"]`, lists.Count(len(all), "hook"), strings.Join(lists.AtMost(all, 5), ", ")).Note()
		}
	},
}
