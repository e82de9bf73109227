package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/recipe"
)

// inherit lets the components of a recipe stay what and where they are in the one that is deployed, so that an
// upgrade finds them: a release in another namespace, or of another chart, would be installed beside the old one. It
// returns a line for everything that it keeps.
func inherit(r, deployed *recipe.Result) (lines []string, err error) {
	for i := range r.ComponentRefs {
		to := &r.ComponentRefs[i]
		at := slices.IndexFunc(deployed.ComponentRefs, func(ref recipe.ComponentRef) bool { return ref.Name == to.Name })
		if at < 0 || deployed.ComponentRefs[at].LeftOut() || to.LeftOut() {
			continue
		}
		from := deployed.ComponentRefs[at]
		if from.Type != to.Type {
			return nil, cli.Usagef("--inherit-from: component %s is deployed as %s, and is %s in this recipe: neither can become the other; remove the old one first, and leave the flag out", to.Name, from.Type, to.Type)
		}
		for _, f := range []struct {
			field    string
			from, to *string
		}{
			{"namespace", &from.Namespace, &to.Namespace}, {"chart", &from.Chart, &to.Chart}, {"source", &from.Source, &to.Source}, {"path", &from.Path, &to.Path},
		} {
			if *f.from != *f.to {
				lines = append(lines, fmt.Sprintf("%s: %s %s, as it is deployed, in place of %s", to.Name, f.field, dash(*f.from), dash(*f.to)))
				*f.to = *f.from
			}
		}
		for _, f := range []struct {
			field    string
			from, to *[]string
		}{
			{"manifestFiles", &from.ManifestFiles, &to.ManifestFiles}, {"preManifestFiles", &from.PreManifestFiles, &to.PreManifestFiles},
		} {
			if !slices.Equal(*f.from, *f.to) {
				lines = append(lines, fmt.Sprintf("%s: %s %s, as they are deployed, in place of %s", to.Name, f.field, dash(strings.Join(*f.from, ", ")), dash(strings.Join(*f.to, ", "))))
				*f.to = *f.from
			}
		}
	}
	return lines, nil
}
