package delivery

import (
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

var releaseTwice = judge.Check{
	ID: "MX519", Name: "release-twice", Needs: judge.Rendered, First: true, Gives: reason.DeployFailed,
	Lanes: func(o judge.Order) bool { return !o.ArgoCD && !o.AtOnce },
	Title: "A Helm release is installed once",
	Why: "A release is its name and its namespace to Helm (https://helm.sh/docs/intro/using_helm/#three-big-concepts): each installation or upgrade of one replaces the other's objects, " +
		"and Flux does that in turns for ever. To Argo CD a release's name is a word for the templates.",
	Fix:  "Give one of them another name (releaseName) or namespace.",
	Says: "installs Helm release %s in namespace %s, and so does %s",
	Then: "each installation of one replaces the objects of the other, with Flux for ever: give one of them another name (releaseName) or namespace",
	Run: func(s *judge.Scope) {
		seen := map[string]string{}
		for _, r := range s.Expectation.Releases {
			key := infra.NamespacedName(r.Namespace, r.InHelm())
			first, twice := seen[key]
			if !twice {
				seen[key] = r.Name
				continue
			}
			from := result.Ref{Kind: "Release", Name: r.Name}
			if s.Order.Flux {
				from = result.Ref{Group: infra.HelmReleaseGVR.Group, Kind: "HelmRelease", Name: r.Name}
			}
			o := s.Named(from)
			o.Component = r.Component
			s.Report(o, "", r.InHelm(), r.Namespace, first).SetBy(r.InHelm()).OneCause(key)
		}
	},
}
