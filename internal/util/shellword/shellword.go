// Package shellword writes text as one word of a POSIX shell's command line. It knows nothing of
// what the word means, and runs nothing.
package shellword

import "strings"

// Quote makes one word of a string for a POSIX shell. What needs no quotes gets none.
func Quote(s string) string {
	plain := s != "" && strings.IndexFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:@%+=,", r))
	}) < 0
	if plain {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
