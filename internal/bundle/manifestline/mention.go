package manifestline

import "strings"

// Mention returns the line, from 1, in which an object of a manifest has a name: below its spec, or
// else anywhere in it. For the empty object it is the first line with the name. It is 0 if there is
// none.
func Mention(text string, o Object, name string) int {
	lines := strings.Split(text, "\n")
	if o == (Object{}) {
		return mention(lines, name)
	}
	for start, doc := range documents(lines) {
		spec, _ := Find(strings.Join(doc, "\n"), o, "spec") // its own name comes before
		if spec == 0 {
			continue // another object
		}
		for _, skip := range []int{spec - 1, 0} {
			if line := mention(doc[skip:], name); line > 0 {
				return start + skip + line
			}
		}
	}
	return 0
}

func mention(lines []string, name string) int {
	for i, line := range lines {
		if Mentions(line, name) {
			return i + 1
		}
	}
	return 0
}

// Mentions reports whether a text contains the name as a whole word, not as a part of a longer
// name.
func Mentions(text, name string) bool {
	for from := 0; name != ""; {
		i := strings.Index(text[from:], name)
		if i < 0 {
			return false
		}
		i += from
		end := i + len(name)
		if (i == 0 || !nameByte(text[i-1])) && (end == len(text) || !nameByte(text[end])) {
			return true
		}
		from = end
	}
	return false
}

func nameByte(b byte) bool {
	return b == '-' || b == '_' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9'
}
