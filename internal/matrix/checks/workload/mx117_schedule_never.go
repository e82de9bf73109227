package workload

import (
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
	batchv1 "k8s.io/api/batch/v1"

	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
)

var scheduleNever = judge.Check{
	ID: "MX117", Name: "schedule-of-no-day", Needs: judge.Rendered, Kinds: judge.KindsOf(batchv1.GroupName, "CronJob"),
	Title: "The schedule of a CronJob has a day",
	Why: "The controller asks the library robfig/cron for the next time (https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/#schedule-syntax). " +
		"For a day that no month of the schedule has, e.g. 31 February, there is none, and nothing says so. This check asks the same library.",
	Fix:  "Correct the day of the month, or the months.",
	Says: "has the schedule %s, for days that none of its months has", Then: "it never creates a Job",
	Run: func(s *judge.Scope) {
		for _, o := range s.Rendered(judge.KindsOf(batchv1.GroupName, "CronJob")...) {
			if c := facts.As[batchv1.CronJob](s.Index, o); c != nil && never(c.Spec.Schedule) {
				s.Report(o, "spec.schedule", strconv.Quote(c.Spec.Schedule))
			}
		}
	},
}

// never reports whether a schedule has no time in the next five years. One that cannot be read is the API server's to
// refuse.
func never(schedule string) bool {
	if !strings.Contains(schedule, " ") {
		return false // one of the library's own words; it panics at a time zone without a schedule
	}
	times, err := cron.ParseStandard(schedule)
	return err == nil && times.Next(time.Now()).IsZero()
}
