package host

import (
	"errors"
	"time"
)

const (
	// stoppedFor is how long a process may be stopped by a signal, as by a debugger or a person who
	// looks at it, before it counts as one that will not go on.
	stoppedFor   = 8 * time.Second
	stoppedEvery = time.Second
)

var errStopped = errors.New("it is stopped by a signal (SIGSTOP or SIGTSTP) and does not go on")

// watchStopped reports each process that stays stopped. Nothing that it was to do gets done, and
// whoever waits for it only sees a timeout. It also looks at their memory. It returns when the
// supervisor ends.
func (s *Supervisor) watchStopped() {
	ticker := time.NewTicker(stoppedEvery)
	defer ticker.Stop()
	since := map[*Process]time.Time{}
	for {
		select {
		case <-s.quit:
			return
		case now := <-ticker.C:
			for _, p := range s.Processes() {
				select {
				case <-p.done:
					delete(since, p)
					continue
				case <-p.stopping:
					continue
				default:
				}
				p.measure()
				first, seen := since[p]
				switch {
				case p.Spec.Ends || !isStopped(p.PID):
					delete(since, p)
				case !seen:
					since[p] = now
				case now.Sub(first) >= stoppedFor && !p.reported:
					p.reported = true
					s.Report(deathOf(p.Spec, 0, errStopped))
				}
			}
		}
	}
}
