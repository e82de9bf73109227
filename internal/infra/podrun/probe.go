package podrun

import (
	"cmp"
	"context"
	"path/filepath"
	"time"
)

// probe runs the readiness probe until ctx ends, and writes the status when its answer changes. The probe is the container's program with the arguments
// of the probe's command, in the same sandbox. Defaults are those of Kubernetes: every 10 s, 1 s each, ready after 1 success, not ready after 3
// failures.
func (w *worker) probe(ctx context.Context, s state) {
	p := w.pod.Spec.Containers[0].ReadinessProbe
	period := time.Duration(cmp.Or(p.PeriodSeconds, 10)) * time.Second
	if !sleep(ctx, time.Duration(p.InitialDelaySeconds)*time.Second) {
		return
	}
	passed, missed := int32(0), int32(0)
	for {
		if w.probeOnce(ctx, time.Duration(cmp.Or(p.TimeoutSeconds, 1))*time.Second) {
			passed, missed = passed+1, 0
		} else {
			passed, missed = 0, missed+1
		}
		if ctx.Err() != nil {
			return
		}
		is := s.ready
		switch {
		case passed >= cmp.Or(p.SuccessThreshold, 1):
			is = true
		case missed >= cmp.Or(p.FailureThreshold, 3):
			is = false
		}
		if is != s.ready {
			s.ready = is
			w.write(ctx, s)
		}
		if !sleep(ctx, period) {
			return
		}
	}
}

func (w *worker) probeOnce(ctx context.Context, timeout time.Duration) bool {
	spec, m, err := w.spec(ctx)
	if err != nil {
		return false
	}
	command := w.pod.Spec.Containers[0].ReadinessProbe.Exec.Command
	spec.Args = nil
	for _, arg := range command[1:] { // a kubelet does not expand variables here
		spec.Args = append(spec.Args, m.within(arg))
	}
	spec.Name, spec.Log = spec.Name+" (readiness probe)", filepath.Join(w.dir, "probe.log")
	p, err := w.r.Sup.Start(spec)
	if err != nil {
		return false
	}
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-p.Done():
		return p.ExitCode() == 0
	case <-timer.C:
	case <-ctx.Done():
	}
	p.Stop(0)
	return false
}

func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
