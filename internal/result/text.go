package result

import (
	"maps"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/lists"
)

func FirstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}

func SortedKeys[K ~string, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

func AtMost(list []string, n int) []string { return lists.AtMost(list, n) }
