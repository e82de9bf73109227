package rendering

import "strings"

// blanks are what Helm's separator takes around its dashes.
const blanks = "\t\n\f\r "

// split gives the documents of a manifest, in order. They are those of Helm's own SplitManifests,
// whose regular expression tries at each blank, and took as long for megabytes of definitions as
// reading them does.
func split(text string) []string {
	text = strings.TrimSpace(text)
	var out []string
	add := func(doc string) {
		if doc != "" {
			out = append(out, strings.TrimSpace(doc))
		}
	}
	from, at := 0, 0 // the end of the last separator, and where to look for the next one
	for {
		i := strings.Index(text[at:], "---")
		if i < 0 {
			add(text[from:])
			return out
		}
		i += at
		// A separator begins the text, or a line whose line break is not the last separator's.
		if i > 0 && (i == from || text[i-1] != '\n') {
			at = i + 1
			continue
		}
		add(strings.TrimRight(text[from:i], blanks))
		from = len(text) - len(strings.TrimLeft(text[i+3:], blanks))
		at = from
	}
}
