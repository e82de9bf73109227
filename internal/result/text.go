package result

import (
	"maps"
	"slices"
	"strings"
)

// FirstLine is the first line of s, without blanks around it.
func FirstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}

// SortedKeys are the keys of m in order.
func SortedKeys[K ~string, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
