package delivery

import (
	"github.com/nvidia/aicr-action/internal/bundle/apis"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

var versionNotServed = judge.Check{
	ID: "MX529", Name: "api-version-not-served", Needs: judge.Rendered, Gives: reason.DeployFailed,
	Title: "Objects have an apiVersion that the API server serves",
	Why: "Kubernetes removes old versions of its APIs (https://kubernetes.io/docs/reference/using-api/deprecation-guide/), and a definition of the recipe says which versions of its kind are served. " +
		"No deployer creates an object of another version.",
	Fix:  "Write the version that is served, and its fields, which may differ.",
	Says: "is of apiVersion %s, which the API server does not serve", Then: "%[2]s",
	Run: func(s *judge.Scope) {
		all, served := s.Expectation.Served(), map[string]bool{}
		for _, a := range all {
			served[a.Name] = true
		}
		for i := range s.Expectation.Objects {
			o := &s.Expectation.Objects[i]
			gvk := o.Object.GroupVersionKind()
			version := gvk.GroupVersion().String()
			if served[version+"/"+gvk.Kind] || s.More() && apis.ServedAs(apis.Stack().Server, gvk.GroupKind()) == "" { // the cluster's own definition may have it
				continue
			}
			edit := apis.ServedNow(all, gvk)
			if edit == "" {
				continue
			}
			s.Report(o, "apiVersion", version, edit)
		}
	},
}
