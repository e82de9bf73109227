package adjust

import (
	"fmt"
	"strings"

	"github.com/nvidia/aicr-action/internal/bundle"
)

// argoHelmDynamic makes the values those of the wrapper chart, where whoever installs it sets them:
// the root Application passes them on to its own rendering of the chart, and the release's Application
// has them over the values that the bundle has.
func argoHelmDynamic(f *files, r bundle.Release, dynamic []Dynamic) error {
	const (
		root     = "templates/root-application.yaml"
		rootLine = "        render: children"
	)
	child, values := "templates/children/"+r.Name+".yaml", "values/"+r.Name+".yaml"
	ours := fmt.Sprintf("(index .Values %q)", r.Component)
	var own map[string]any
	if r.Local {
		own = stubs(dynamic, r.Component, f.valuesBelow("local/"+r.Name+"/values.yaml", r.ValuesKey()))
		line := "      releaseName: " + r.Name
		f.swap(child, line+"\n", line+"\n      valuesObject:{{ dict "+fmt.Sprintf("%q", r.ValuesKey())+" "+ours+" | toYaml | nindent 8 }}\n")
	} else {
		f.edit(values, func(all map[string]any) { own = stubs(dynamic, r.Component, all) })
		old := fmt.Sprintf("{{ .Files.Get %q | nindent 8 }}", values)
		f.swap(child, old, fmt.Sprintf("{{ mustMergeOverwrite (.Files.Get %q | fromYaml) (deepCopy %s) | toYaml | nindent 8 }}", values, ours))
	}
	passed := fmt.Sprintf("        %q: {{ index .Values %q | toJson }}", r.Component, r.Component)
	if strings.Contains(string(f.content(root)), passed) { // by another release of the component
		return nil
	}
	f.swap(root, rootLine+"\n", rootLine+"\n"+passed+"\n")
	text, err := marshal(map[string]any{r.Component: own})
	if err != nil {
		return err
	}
	f.replace("values.yaml", append(append(f.content("values.yaml"), "# To be filled in for each cluster.\n"...), text...))
	return nil
}
