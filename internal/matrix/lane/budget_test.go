package lane

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit"
)

func TestBudgetsFromEnv(t *testing.T) {
	text := func(b Budgets) string { return fmt.Sprintf("%v %v", b.GitOps, b.Scheduling) } // maps are printed in the order of their keys
	read := func(name, value string) (Budgets, error) {
		return BudgetsFromEnv(func(key string) string {
			if key == name {
				return value
			}
			return ""
		})
	}
	const defaults = "map[argocd:{30s 5m0s} flux:{30s 5m0s}] 2m0s"
	if got, err := read("", ""); err != nil || text(got) != defaults {
		t.Errorf("nothing set: got %s, %v; want upstream's defaults %s", text(got), err, defaults)
	}
	for name, want := range map[string]string{
		"KWOK_ARGOCD_SYNC_TIMEOUT": "map[argocd:{30s 45s} flux:{30s 5m0s}] 2m0s",
		"KWOK_ARGOCD_ROOT_GRACE":   "map[argocd:{45s 5m0s} flux:{30s 5m0s}] 2m0s",
		"KWOK_FLUX_SYNC_TIMEOUT":   "map[argocd:{30s 5m0s} flux:{30s 45s}] 2m0s",
		"KWOK_FLUX_ROOT_GRACE":     "map[argocd:{30s 5m0s} flux:{45s 5m0s}] 2m0s",
		"KWOK_SCHEDULING_TIMEOUT":  "map[argocd:{30s 5m0s} flux:{30s 5m0s}] 45s",
	} {
		if got, err := read(name, "45"); err != nil || text(got) != want {
			t.Errorf("%s=45: got %s, %v; want %s", name, text(got), err, want)
		}
		for _, value := range []string{"1", "86400"} {
			if _, err := read(name, value); err != nil {
				t.Errorf("%s=%s: %v", name, value, err)
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

// A cell with many pods or definitions has more time, unless the environment sets it.
func TestBudgetsFor(t *testing.T) {
	text := func(b Budgets) string { return fmt.Sprintf("%v %v", b.GitOps, b.Scheduling) }
	none := func(string) string { return "" }
	set := func(key string) string {
		if key == "KWOK_SCHEDULING_TIMEOUT" || key == "KWOK_FLUX_SYNC_TIMEOUT" {
			return "7"
		}
		return ""
	}
	for _, c := range []struct {
		getenv func(string) string
		size   CellSize
		want   string
	}{
		{none, CellSize{Pods: 112, DefinitionBytes: 1 << 20}, "map[argocd:{30s 5m0s} flux:{30s 5m0s}] 2m0s"},
		{none, CellSize{Pods: 15_000}, "map[argocd:{30s 16m40s} flux:{30s 16m40s}] 13m40s"},
		{none, CellSize{DefinitionBytes: 5 << 20}, "map[argocd:{30s 9m16s} flux:{30s 9m16s}] 2m0s"},
		{none, CellSize{Pods: 15_000, DefinitionBytes: 5 << 20}, "map[argocd:{30s 20m56s} flux:{30s 20m56s}] 13m40s"},
		{none, CellSize{MinReady: 5 * time.Minute}, "map[argocd:{30s 10m0s} flux:{30s 10m0s}] 2m0s"},
		{none, CellSize{Pods: 1 << 31, DefinitionBytes: 5 << 20, MinReady: 1 << 62}, "map[argocd:{30s 1h5m0s} flux:{30s 1h5m0s}] 1h2m0s"},
		{set, CellSize{Pods: 15_000, DefinitionBytes: 5 << 20}, "map[argocd:{30s 20m56s} flux:{30s 7s}] 7s"},
	} {
		b, err := BudgetsFromEnv(c.getenv)
		if err != nil {
			t.Fatal(err)
		}
		if got := text(b.For(c.size)); got != c.want {
			t.Errorf("%+v: got %s, want %s", c.size, got, c.want)
		}
	}
}

func TestBudgets_OfToday(t *testing.T) {
	text := func(env map[string]string) string {
		b, err := BudgetsFromEnv(func(key string) string { return env[key] })
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(b.OfToday().GitOps)
	}
	if got, want := text(nil), "map[argocd:{30s 8m0s} flux:{30s 8m20s}]"; got != want {
		t.Errorf("nothing set: got %s, want %s", got, want)
	}
	if got, want := text(map[string]string{"KWOK_FLUX_SYNC_TIMEOUT": "45"}), "map[argocd:{30s 8m0s} flux:{30s 45s}]"; got != want {
		t.Errorf("Flux's set: got %s, want %s", got, want)
	}
}
