package lists

import "strings"

// And is "a", "a and b" or "a, b and c".
func And(list []string) string {
	last := len(list) - 1
	if last < 1 {
		return strings.Join(list, "")
	}
	return strings.Join(list[:last], ", ") + " and " + list[last]
}
