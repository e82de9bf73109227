package delivery

import (
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

var refusedByDeployer = judge.Check{
	ID: "MX517", Name: "refused-by-its-deployer", Needs: judge.Rendered, First: true, Gives: reason.DeployFailed,
	Title: "The deployer delivers what an app's own files tell it to",
	Why: "Argo CD refuses an Application that its AppProject does not permit (https://argo-cd.readthedocs.io/en/stable/user-guide/projects/), or whose namespace nothing makes. " +
		"What they ask for is in the files, so that no cluster is needed.",
	Fix:  "The finding says what to change.",
	Says: "%s", Then: "%[2]s",
	Run: func(s *judge.Scope) {
		for _, d := range s.Expectation.Doomed {
			s.Report(s.Named(d.Of), "", d.Text, d.Then).At(result.Place{File: d.At.File, Line: d.At.Line})
		}
	},
}
