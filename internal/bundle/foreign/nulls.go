package foreign

import (
	"fmt"
	"slices"
	"strings"
	"text/template"

	yamlv3 "go.yaml.in/yaml/v3"
	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/steering"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

const serverSide = "ServerSideApply=true"

// null is a null among an Application's values.
type null struct {
	path string
	at   recipe.Origin
}

// nullsOf lists the nulls of a mapping that take a default away. To a template a null is like what is
// empty, 0 or false.
func nullsOf(n *yamlv3.Node, defaults map[string]any, above string, at func(line int) recipe.Origin) []null {
	var found []null
	for i := 0; n != nil && n.Kind == yamlv3.MappingNode && i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		had := defaults[key.Value]
		if below, ok := had.(map[string]any); ok && value.Kind == yamlv3.MappingNode {
			found = append(found, nullsOf(value, below, above+key.Value+".", at)...)
		} else if truth, _ := template.IsTrue(had); truth && value.Tag == "!!null" {
			found = append(found, null{above + key.Value, at(key.Line)})
		}
	}
	return found
}

// warnOfNulls names the nulls of Applications that never reach Helm. Argo CD applies an Application
// as kubectl does, unless it or the root has ServerSideApply: by a JSON merge patch, in which a null
// removes its key (RFC 7386, section 2). The Application in the cluster then lacks the key, and the
// chart's default stays. Of a workload's affinity, the null is named as what should have set it.
func (f *applicationsForm) warnOfNulls(b *bundle.Bundle) {
	if hasWord(yamlx.Find(f.root, "spec", "syncPolicy", "syncOptions"), serverSide) {
		return
	}
	for i := range f.children {
		a := &f.children[i]
		if slices.Contains(strings.FieldsFunc(yamlx.Text(a.node, "metadata", "annotations", "argocd.argoproj.io/sync-options"), func(r rune) bool { return r == ',' || r == ' ' }), serverSide) {
			continue
		}
		source := yamlx.Find(a.node, "spec", "source")
		if chart, _ := a.sources(); chart != nil {
			source = chart
		}
		install := slices.IndexFunc(b.Installs, func(in bundle.Install) bool { return in.Release.Name == a.unit.name })
		if install < 0 {
			continue
		}
		defaults, err := chartutil.CoalesceValues(b.Installs[install].Chart, map[string]any{})
		if err != nil {
			continue // Helm says so when it renders the chart
		}
		at := func(line int) recipe.Origin { return f.tree.at(a.file, line) }
		edit := fmt.Sprintf("add %s to spec.syncPolicy.syncOptions in %s", serverSide, f.tree.at(rootFile, 0))
		for _, n := range nullsOf(yamlx.Find(source, "helm", "valuesObject"), defaults, "", at) {
			b.Expectation.Warnings = append(b.Expectation.Warnings, fmt.Sprintf("%s: %s is null in valuesObject, and Argo CD drops it, so that the chart's default stays (%s); %s, by which Argo CD sends nulls", a.unit.name, n.path, n.at, edit))
			for j := range b.Expectation.Workloads {
				if w := &b.Expectation.Workloads[j]; w.Release == a.unit.name && strings.Contains(strings.ToLower(n.path), "affinity") {
					w.Values = append(w.Values, steering.Source{Field: steering.FieldAffinity, Path: n.path, Origin: n.at, Lost: edit})
				}
			}
		}
	}
}

// hasWord reports whether a list of texts has this one.
func hasWord(list *yamlv3.Node, word string) bool {
	return list != nil && slices.ContainsFunc(list.Content, func(n *yamlv3.Node) bool { return n.Value == word })
}
