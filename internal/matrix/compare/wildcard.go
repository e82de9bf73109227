package compare

// wildcard.go matches texts with the patterns of the lists of what may differ. It must not know
// what the texts are.

import "strings"

// MatchWildcard matches a text with a pattern in which * stands for any text, including none.
func MatchWildcard(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == text
	}
	last := len(parts) - 1
	if !strings.HasPrefix(text, parts[0]) {
		return false
	}
	text = text[len(parts[0]):]
	for _, part := range parts[1:last] {
		i := strings.Index(text, part)
		if i < 0 {
			return false
		}
		text = text[i+len(part):]
	}
	return strings.HasSuffix(text, parts[last])
}
