package result

import (
	"maps"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/lists"
)

// FirstLine is the first line of s, without blanks around it.
func FirstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}

// SortedKeys are the keys of m in order.
func SortedKeys[K ~string, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// AtMost is the list, or its first n entries and how many more there are.
func AtMost(list []string, n int) []string { return lists.AtMost(list, n) }
