package manifestline

import (
	"fmt"
	"slices"

	"helm.sh/helm/v3/pkg/chart"
)

// In is a template of a chart with the line of a field of an object, or of what is above it; the
// template alone if the chart has no such line. A nil chart has none.
func In(ch *chart.Chart, template string, o Object, path ...string) string {
	if line, _ := Find(Template(ch, template), o, path...); line > 0 {
		return fmt.Sprintf("%s:%d", template, line)
	}
	return template
}

// Template is the text of a template of a chart or its dependencies.
func Template(ch *chart.Chart, template string) string {
	var find func(ch *chart.Chart, at string) string
	find = func(ch *chart.Chart, at string) string {
		for _, f := range slices.Concat(ch.Templates, ch.Files) {
			if at+"/"+f.Name == template {
				return string(f.Data)
			}
		}
		for _, d := range ch.Dependencies() {
			if text := find(d, at+"/charts/"+d.Name()); text != "" {
				return text
			}
		}
		return ""
	}
	if ch == nil {
		return ""
	}
	return find(ch, ch.Name())
}
