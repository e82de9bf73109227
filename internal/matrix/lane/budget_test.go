package lane

import (
	"strconv"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/reason"
	"github.com/nvidia/aicr-action/internal/testkit"
)

func TestBudgetsFromEnv(t *testing.T) {
	defaults := Budgets{ArgoCDSync: 300 * time.Second, ArgoCDRootGrace: 30 * time.Second, FluxSync: 300 * time.Second, FluxRootGrace: 30 * time.Second, Scheduling: 120 * time.Second}
	set := map[string]func(*Budgets) *time.Duration{
		"KWOK_ARGOCD_SYNC_TIMEOUT": func(b *Budgets) *time.Duration { return &b.ArgoCDSync },
		"KWOK_ARGOCD_ROOT_GRACE":   func(b *Budgets) *time.Duration { return &b.ArgoCDRootGrace },
		"KWOK_FLUX_SYNC_TIMEOUT":   func(b *Budgets) *time.Duration { return &b.FluxSync },
		"KWOK_FLUX_ROOT_GRACE":     func(b *Budgets) *time.Duration { return &b.FluxRootGrace },
		"KWOK_SCHEDULING_TIMEOUT":  func(b *Budgets) *time.Duration { return &b.Scheduling },
	}
	read := func(name, value string) (Budgets, error) {
		return BudgetsFromEnv(func(key string) string {
			if key == name {
				return value
			}
			return ""
		})
	}
	if got, err := read("", ""); err != nil || got != defaults {
		t.Errorf("nothing set: got %+v, %v; want upstream's defaults %+v", got, err, defaults)
	}
	for name, field := range set {
		for _, value := range []string{"1", "45", "86400"} {
			want := defaults
			n, _ := strconv.Atoi(value)
			*field(&want) = time.Duration(n) * time.Second
			if got, err := read(name, value); err != nil || got != want {
				t.Errorf("%s=%s: got %+v, %v; want %+v", name, value, got, err, want)
			}
		}
		for _, value := range []string{"0", "-1", "86401", "1.5", "30s", "abc", " 30", "99999999999999999999"} {
			_, err := read(name, value)
			if reason.Of(err) != reason.Usage {
				t.Errorf("%s=%q: got %v, want a usage error", name, value, err)
				continue
			}
			testkit.WantText(t, "error", err.Error(), name, strconv.Quote(value))
		}
	}
}
