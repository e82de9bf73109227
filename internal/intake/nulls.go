package intake

// nulls.go finds the nulls in values of Argo CD's Applications that never reach Helm. It must
// not know how bundles are read or delivered.

import (
	"fmt"
	"slices"
	"strings"
	"text/template"

	yamlv3 "go.yaml.in/yaml/v3"
	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/rendering"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

const serverSide = "ServerSideApply=true"

// nullsApplication is one that a root applies, and the source of it that has the chart and its values.
type nullsApplication struct {
	Release      string
	Node, Source *yamlv3.Node
	At           func(line int) recipe.Origin
}

// nullsWarn names the nulls of Applications that never reach Helm. Argo CD applies an Application as
// kubectl does, unless it or its root has ServerSideApply: by a JSON merge patch, in which a null
// removes its key (RFC 7386, section 2). The Application in the cluster then lacks the key, and the
// chart's default stays. A null that should have taken an affinity away is its workloads' value too.
func nullsWarn(b *bundle.Bundle, root *yamlv3.Node, rootAt recipe.Origin, all []nullsApplication) {
	if options := yamlx.Find(root, "spec", "syncPolicy", "syncOptions"); options != nil && slices.ContainsFunc(options.Content, func(n *yamlv3.Node) bool { return n.Value == serverSide }) {
		return
	}
	edit := fmt.Sprintf("add %s to spec.syncPolicy.syncOptions in %s", serverSide, rootAt)
	for _, a := range all {
		install := slices.IndexFunc(b.Installs, func(in bundle.Install) bool { return in.Release.Name == a.Release })
		own := map[string]string{rendering.ArgoSyncOptions: yamlx.Text(a.Node, "metadata", "annotations", rendering.ArgoSyncOptions)}
		if install < 0 || rendering.HasSyncOption(own, serverSide) {
			continue
		}
		defaults, err := chartutil.CoalesceValues(b.Installs[install].Chart, map[string]any{})
		if err != nil {
			continue // Helm says so when it renders the chart
		}
		for _, n := range of(yamlx.Find(a.Source, "helm", "valuesObject"), defaults, "", a.At) {
			b.Expectation.Warnings = append(b.Expectation.Warnings, fmt.Sprintf("%s: %s is null in valuesObject, and Argo CD drops it, so that the chart's default stays (%s); %s, by which Argo CD sends nulls", a.Release, n.path, n.at, edit))
			for i := range b.Expectation.Workloads {
				if w := &b.Expectation.Workloads[i]; w.Release == a.Release && strings.Contains(strings.ToLower(n.path), "affinity") {
					w.Values = append(w.Values, bundle.SteeringSource{Field: bundle.FieldAffinity, Path: n.path, Origin: n.at, Lost: edit})
				}
			}
		}
	}
}

// null is a null among values.
type null struct {
	path string
	at   recipe.Origin
}

// of lists the nulls of a mapping that take a default away. To a template a null is like what is
// empty, 0 or false.
func of(n *yamlv3.Node, defaults map[string]any, above string, at func(line int) recipe.Origin) []null {
	var found []null
	for i := 0; n != nil && n.Kind == yamlv3.MappingNode && i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		had := defaults[key.Value]
		if below, ok := had.(map[string]any); ok && value.Kind == yamlv3.MappingNode {
			found = append(found, of(value, below, above+key.Value+".", at)...)
		} else if truth, _ := template.IsTrue(had); truth && value.Tag == "!!null" {
			found = append(found, null{above + key.Value, at(key.Line)})
		}
	}
	return found
}
