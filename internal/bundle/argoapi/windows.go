package argoapi

import (
	"fmt"
	"slices"
	"time"

	"github.com/robfig/cron/v3"
)

// Window is a sync window of an AppProject: when Argo CD may sync its Applications by itself (allow), or may not (deny).
type Window struct {
	Kind           string   `yaml:"kind"`
	Schedule       string   `yaml:"schedule"`
	Duration       string   `yaml:"duration"`
	Applications   []string `yaml:"applications"`
	Namespaces     []string `yaml:"namespaces"`
	Clusters       []string `yaml:"clusters"`
	UseAndOperator bool     `yaml:"andOperator"`
}

// String is the window for people, e.g. allow 0 22 * * * for 1h.
func (w Window) String() string { return fmt.Sprintf("%s %s for %s", w.Kind, w.Schedule, w.Duration) }

// Err is what Argo CD does not read of a window; it syncs no Application that the window is for then (SyncWindows.CanSync).
func (w Window) Err() error {
	if _, err := cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow).Parse(w.Schedule); err != nil {
		return fmt.Errorf("schedule %q: %w", w.Schedule, err)
	}
	if _, err := time.ParseDuration(w.Duration); err != nil {
		return fmt.Errorf("duration: %w", err)
	}
	return nil
}

// IsFor reports whether a window is for an Application, as SyncWindows.Matches decides: by its name, its cluster or its
// namespace, of which one is enough without andOperator.
func (w Window) IsFor(name, server, cluster, namespace string) bool {
	in := func(patterns []string, texts ...string) bool {
		return slices.ContainsFunc(patterns, func(pattern string) bool {
			return slices.ContainsFunc(texts, func(text string) bool { return text != "" && matches(pattern, text) })
		})
	}
	list := [][2]bool{
		{len(w.Applications) > 0, in(w.Applications, name)}, {len(w.Clusters) > 0, in(w.Clusters, server, cluster)}, {len(w.Namespaces) > 0, in(w.Namespaces, namespace)},
	}
	some := false
	for _, x := range list {
		if w.UseAndOperator && x[0] && !x[1] {
			return false
		}
		some = some || x[1]
	}
	return some
}
