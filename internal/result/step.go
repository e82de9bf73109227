package result

// StepStatus is how a part of a run ended: a check, a constraint, a probe, a step of chaos, a workflow
// or one of its tasks, a test of the validation agent. A cell has a Status.
type StepStatus string

// The statuses of a part of a run.
const (
	StepPassed StepStatus = "passed"
	StepFailed StepStatus = "failed"
	// StepSkipped: it cannot be answered here, and its message says why. It never counts as passed.
	StepSkipped StepStatus = "skipped"
	// StepNotRun: the run ended before it.
	StepNotRun StepStatus = "not run"
)
