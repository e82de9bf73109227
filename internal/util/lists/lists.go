// Package lists has functions for lists of names, and for counts in messages, that many packages
// need. It must not know recipes, clusters or results.
package lists

import (
	"fmt"
	"slices"
)

// AtMost is the list if it has no more than n entries. Otherwise it is the first n and a last entry
// that counts the rest, e.g. "and 997 more". The list itself is not changed.
func AtMost(list []string, n int) []string {
	if len(list) <= n {
		return list
	}
	return append(append([]string(nil), list[:n]...), fmt.Sprintf("and %d more", len(list)-n))
}

// Count is a number with a noun whose plural ends in s, e.g. "1 cell" or "2 cells".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Without gives what of the list is not in the other one, in order.
func Without[T comparable](list, other []T) []T {
	var left []T
	for _, v := range list {
		if !slices.Contains(other, v) {
			left = append(left, v)
		}
	}
	return left
}

// Unique is each entry once, in the order in which they first appear; nil if there are none. Where
// the order does not matter, sort and use slices.Compact.
func Unique[T comparable](list []T) []T {
	seen := make(map[T]bool, len(list))
	var once []T
	for _, v := range list {
		if !seen[v] {
			seen[v] = true
			once = append(once, v)
		}
	}
	return once
}
