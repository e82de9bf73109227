package intact

import (
	"regexp"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"

	"github.com/nvidia/aicr-action/internal/bundle"
)

// templateLine returns the first line of an object's template that has a key, or else its kind; 0 if
// there is none.
func templateLine(installs []bundle.Install, o *bundle.Object, key string) int {
	i := slices.IndexFunc(installs, func(in bundle.Install) bool { return in.Release.Name == o.Release })
	if i < 0 || installs[i].Chart == nil || key == "" {
		return 0
	}
	text := textOf(installs[i].Chart, o.Template)
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

// textOf returns a template's source by the name that Helm gives it; empty if the chart has none.
func textOf(ch *chart.Chart, name string) string {
	found := ""
	var visit func(ch *chart.Chart, path string)
	visit = func(ch *chart.Chart, path string) {
		for _, t := range ch.Templates {
			if path+"/"+t.Name == name {
				found = string(t.Data)
			}
		}
		for _, d := range ch.Dependencies() {
			visit(d, path+"/charts/"+d.Name())
		}
	}
	visit(ch, ch.Name())
	return found
}
