package intact

import (
	"regexp"
	"strings"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/manifestline"
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

// documentOf returns the lines of the object's document; none if the template has it in no document.
func documentOf(lines []string, o *bundle.Object) (numbers []int) {
	at, _ := manifestline.Find(strings.Join(lines, "\n"), manifestline.Object{Kind: o.Object.GetKind(), Name: o.Object.GetName()})
	if at == 0 {
		return nil
	}
	start := at - 1
	for start > 0 && !strings.HasPrefix(lines[start], "---") {
		start--
	}
	for n := start; n < len(lines) && (n < at || !strings.HasPrefix(lines[n], "---")); n++ {
		numbers = append(numbers, n)
	}
	return numbers
}
