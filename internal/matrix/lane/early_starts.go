package lane

import (
	"fmt"
	"slices"
	"time"

	"github.com/nvidia/aicr-action/internal/result"
)

// Timing is when a deployer delivered one object by its own record, in whole seconds as in
// Kubernetes. Zero times mean that it has no record.
type Timing struct {
	// Began and Ended are those of the first delivery: a later one repairs what exists already.
	Began, Ended time.Time
	// Wave is Argo CD's sync wave. After are the objects that the deployer must wait for, in Flux
	// dependsOn.
	Wave  int
	After []result.Ref
}

// EarlyStarts returns the deliveries that started before an earlier one had ended: one in an
// earlier wave, or one named in dependsOn. The order is observed and never assumed (faults F30:
// Argo CD's waves order the creation of Applications and do not wait for them).
func EarlyStarts(items []Item) []string {
	var lines []string
	for _, it := range items {
		if it.Timing == nil || it.Timing.Began.IsZero() {
			continue
		}
		var first *Item // of those that it did not wait for, the longest one
		count := 0
		for i, other := range items {
			if other.Timing == nil {
				continue
			}
			earlier := slices.Contains(it.Timing.After, other.Ref) || len(it.Timing.After) == 0 && other.Timing.Wave < it.Timing.Wave
			if !earlier || !it.Timing.Began.Before(other.Timing.Ended) {
				continue
			}
			count++
			if first == nil || other.Timing.Ended.After(first.Timing.Ended) {
				first = &items[i]
			}
		}
		if first == nil {
			continue
		}
		line := fmt.Sprintf("%s started %s before %s finished", it.ID, first.Timing.Ended.Sub(it.Timing.Began), first.ID)
		if count > 1 {
			line += fmt.Sprintf(" (and before %s)", otherItems(count-1))
		}
		lines = append(lines, line)
	}
	return lines
}

func otherItems(n int) string {
	if n == 1 {
		return "1 other earlier item"
	}
	return fmt.Sprintf("%d other earlier items", n)
}

// TimeOf parses a time as Kubernetes writes it (RFC 3339); zero for anything else.
func TimeOf(v any) time.Time {
	text, _ := v.(string)
	t, _ := time.Parse(time.RFC3339, text)
	return t
}
