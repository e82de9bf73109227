package delivery

import (
	"time"

	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// soonReady is the time that pods need to become ready, with which minReadySeconds begins. Close to a deployer's limit,
// chance would decide.
const soonReady = 15 * time.Second

var readyTooLate = judge.Check{
	ID: "MX522", Name: "ready-after-deployer-gave-up", Needs: judge.Rendered, First: true, Gives: reason.DeployFailed,
	Lanes: func(o judge.Order) bool { return !o.AtOnce },
	Title: "A workload is available before its deployer gives up",
	Why:   "minReadySeconds delays when a workload counts as available (https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#min-ready-seconds), and Flux waits for spec.timeout of the HelmRelease, five minutes by default.",
	Fix:   "Lower minReadySeconds, or raise the timeout.",
	Says:  "has minReadySeconds: %d, so that it is available %s after its pods are ready at the earliest, and its release fails after %s",
	Then:  "Flux waits for its release no longer (spec.timeout of the HelmRelease)",
	Run: func(s *judge.Scope) {
		q := lane.Sequence{Order: s.Order, Expectation: s.Expectation}
		for _, o := range s.Rendered() {
			least, within := facts.ReadyFor(o.Object), q.Within(o.Release)
			if within > 0 && least+soonReady > within {
				s.Report(o, "spec.minReadySeconds", int(least.Seconds()), least, within)
			}
		}
	},
}
