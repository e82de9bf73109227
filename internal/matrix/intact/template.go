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
	first, end := manifestline.Document(text, manifestline.Object{Kind: o.Object.GetKind(), Name: o.Object.GetName()})
	for _, in := range [][2]int{{first, end}, {0, len(lines)}} {
		for _, expr := range []string{`(?:^|[\s{,\[("'-])` + regexp.QuoteMeta(key) + `["']?\s*:`, kindPattern(o)} {
			pattern, err := regexp.Compile(expr)
			if err != nil {
				return 0
			}
			for n := in[0]; n < in[1]; n++ {
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
