package intact

import (
	"regexp"
	"strings"

	"github.com/nvidia/aicr-action/internal/bundle"
)

// templateLine returns the first line of an object's template that has a key, or else its kind; 0 if
// there is none.
func templateLine(installs []bundle.Install, o *bundle.Object, key string) int {
	text := bundle.TemplateOf(installs, o)
	if text == "" || key == "" {
		return 0
	}
	for _, expr := range []string{
		`(?:^|[\s{,\[("'-])` + regexp.QuoteMeta(key) + `["']?\s*:`,
		`(?:^|[\s{,"'])kind["']?\s*:\s*["']?` + regexp.QuoteMeta(o.Object.GetKind()) + `\b`,
	} {
		pattern, err := regexp.Compile(expr)
		if err != nil {
			return 0
		}
		for n, line := range strings.Split(text, "\n") {
			if pattern.MatchString(line) {
				return n + 1
			}
		}
	}
	return 0
}
