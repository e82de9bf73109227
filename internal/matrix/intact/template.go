package intact

import (
	"regexp"
	"strings"

	"github.com/nvidia/aicr-action/internal/bundle"
)

// templateLine returns the first line of an object's template that has a key, or else its kind; 0 if
// there is none.
func templateLine(installs []bundle.Install, o *bundle.Object, key string) int {
	if key == "" {
		return 0
	}
	return lineOf(bundle.TemplateOf(installs, o), o, key)
}

// lineOf looks into the object's own document of a template first.
func lineOf(text string, o *bundle.Object, key string) int {
	lines := strings.Split(text, "\n")
	for _, in := range [][]int{documentOf(lines, o), all(lines)} {
		for _, expr := range []string{`(?:^|[\s{,\[("'-])` + regexp.QuoteMeta(key) + `["']?\s*:`, kindPattern(o)} {
			pattern, err := regexp.Compile(expr)
			if err != nil {
				return 0
			}
			for _, n := range in {
				if pattern.MatchString(lines[n]) {
					return n + 1
				}
			}
		}
	}
	return 0
}

func kindPattern(o *bundle.Object) string {
	return `(?:^|[\s{,"'])kind["']?\s*:\s*["']?` + regexp.QuoteMeta(o.Object.GetKind()) + `\b`
}

func all(lines []string) (numbers []int) {
	for n := range lines {
		numbers = append(numbers, n)
	}
	return numbers
}

// documentOf returns the lines of the document that names the object as it is, among several of its kind;
// none where the name is a template's.
func documentOf(lines []string, o *bundle.Object) []int {
	kind, err := regexp.Compile(kindPattern(o))
	if err != nil {
		return nil
	}
	name, err := regexp.Compile(`(?:^|[\s{,"'])name["']?\s*:\s*["']?` + regexp.QuoteMeta(o.Object.GetName()) + `(?:$|[\s,}"'])`)
	if err != nil {
		return nil
	}
	var document []int
	isKind, isName := false, false
	for n, line := range lines {
		if strings.HasPrefix(line, "---") {
			if isKind && isName {
				return document
			}
			document, isKind, isName = nil, false, false
			continue
		}
		document = append(document, n)
		isKind, isName = isKind || kind.MatchString(line), isName || name.MatchString(line)
	}
	if isKind && isName {
		return document
	}
	return nil
}
