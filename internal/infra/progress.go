package infra

// Progress receives what a long task is doing. Step may be called from any goroutine.
type Progress interface {
	// Begin starts a task. The caller updates and ends the returned Task.
	Begin(what string) Task
}

// Task is one line of progress.
type Task interface {
	// Update tells what is going on now; it may be called often.
	Update(detail string)
	// End closes the line: err is nil for success.
	End(detail string, err error)
}
