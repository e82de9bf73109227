package host

import (
	"os"
	"syscall"

	"github.com/nvidia/aicr-action/internal/result"
)

// Uses are what the processes that have ended took, by name.
func (s *Supervisor) Uses() []result.ProcessUse {
	byName := map[string]result.ProcessUse{}
	for _, p := range s.Processes() {
		select {
		case <-p.done:
			sum := byName[p.use.Name]
			byName[p.use.Name] = result.ProcessUse{Name: p.use.Name, CPU: sum.CPU + p.use.CPU, Peak: max(sum.Peak, p.use.Peak)}
		default:
		}
	}
	var all []result.ProcessUse
	for _, name := range result.SortedKeys(byName) {
		all = append(all, byName[name])
	}
	return all
}

// useOf is what a process took that has ended, with its children as far as it waited for them
// (getrusage(2)). The peak in there counts, on Linux, the memory of whoever started the process, of
// which it was a copy until it became its program. Up to that size it says nothing, and what was
// seen of the program while it ran counts: 0 for one that ended before that.
func (p *Process) useOf(ended *os.ProcessState) result.ProcessUse {
	u := result.ProcessUse{Name: p.Spec.Name}
	if ended == nil {
		return u
	}
	u.CPU = ended.UserTime() + ended.SystemTime()
	if usage, ok := ended.SysUsage().(*syscall.Rusage); ok {
		u.Peak = int64(usage.Maxrss) * rssUnit
	}
	if u.Peak <= p.inherited {
		u.Peak = p.resident.Load()
	}
	return u
}

// measure looks at the memory of a process that runs: its peak so far, as the program that it is
// now.
func (p *Process) measure() {
	if peak := largestResident(p.PID); peak > 0 {
		p.resident.Store(peak)
	}
}
