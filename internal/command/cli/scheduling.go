package cli

import (
	"errors"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/adjust"
)

// SchedulingFlags say where a bundle's components may run.
type SchedulingFlags struct {
	systemSelector, systemToleration           []string
	acceleratedSelector, acceleratedToleration []string
}

// SchedulingFlagNames are their names.
func SchedulingFlagNames() []string {
	return []string{"system-node-selector", "system-node-toleration", "accelerated-node-selector", "accelerated-node-toleration"}
}

// Register adds the flags.
func (f *SchedulingFlags) Register(flags *pflag.FlagSet) {
	flags.StringArrayVar(&f.systemSelector, "system-node-selector", nil, "`KEY=VALUE` of a node label that system components need (repeatable)")
	flags.StringArrayVar(&f.systemToleration, "system-node-toleration", nil, "`KEY=VALUE:EFFECT` of a taint that system components tolerate (repeatable)")
	flags.StringArrayVar(&f.acceleratedSelector, "accelerated-node-selector", nil, "`KEY=VALUE` of a node label that GPU components need (repeatable)")
	flags.StringArrayVar(&f.acceleratedToleration, "accelerated-node-toleration", nil, "`KEY=VALUE:EFFECT` of a taint that GPU components tolerate (repeatable)")
}

// Scheduling is the scheduling that the flags inject, which is empty without flags. Errors name the
// flag; their reason is USAGE.
func (f *SchedulingFlags) Scheduling() (s bundle.Scheduling, err error) {
	var errs [4]error
	s.SystemNodeSelector, errs[0] = adjust.ParseSelector(f.systemSelector...)
	s.SystemTolerations, errs[1] = adjust.ParseTolerations(f.systemToleration...)
	s.AcceleratedNodeSelector, errs[2] = adjust.ParseSelector(f.acceleratedSelector...)
	s.AcceleratedTolerations, errs[3] = adjust.ParseTolerations(f.acceleratedToleration...)
	for i, flag := range SchedulingFlagNames() {
		if errs[i] != nil {
			errs[i] = Usagef("--%s: %w", flag, errs[i])
		}
	}
	return s, WrapUsage(errors.Join(errs[:]...))
}

// Tolerating is the scheduling with AICR's own default in place of tolerations that no flag has set:
// every taint.
func (f *SchedulingFlags) Tolerating(s bundle.Scheduling) bundle.Scheduling {
	if len(f.systemToleration) == 0 {
		s.SystemTolerations = []corev1.Toleration{adjust.EveryTaint()}
	}
	if len(f.acceleratedToleration) == 0 {
		s.AcceleratedTolerations = []corev1.Toleration{adjust.EveryTaint()}
	}
	return s
}
