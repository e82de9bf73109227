package lane

// republished.go finds charts with other content under the version that they had.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/charts/archive"
	"github.com/nvidia/aicr-action/internal/recipe"
)

// RepublishedReleases lists those whose chart is not the bundle's own, has the version that it had before, and other
// files. A chart without a digest is none of them.
func RepublishedReleases(before, now *bundle.Bundle) (all []bundle.Release) {
	if before == nil || now == nil {
		return nil
	}
	for _, is := range now.Installs {
		i := slices.IndexFunc(before.Installs, func(in bundle.Install) bool {
			return in.Release.Name == is.Release.Name && in.Release.Chart == is.Release.Chart && in.Release.ChartVersion == is.Release.ChartVersion
		})
		if i < 0 || is.Release.Local || is.Chart == nil || before.Installs[i].Chart == nil {
			continue
		}
		old, err := archive.Digest(before.Installs[i].Chart)
		if err != nil {
			continue
		}
		if digest, err := archive.Digest(is.Chart); err == nil && digest != old {
			all = append(all, is.Release)
		}
	}
	return all
}

// InArgoCD says of each of them what Argo CD does by itself: a warning where it keeps the old chart, a note
// where it takes its time. In a cell every chart is an OCI source, whatever the recipe has, and is asked for.
func InArgoCD(before, now *bundle.Bundle, r *recipe.Result) (warnings, notes []string) {
	for _, release := range RepublishedReleases(before, now) {
		text := fmt.Sprintf("chart %s %s (component %s) has other content than before under the same version: here Argo CD was asked to look again, as the webhook of a registry does", release.Chart, release.ChartVersion, release.Component)
		source := sourceOf(r, release.Component)
		if source == "" || strings.HasPrefix(source, "oci://") {
			notes = append(notes, text+"; by itself it looks up the tag within timeout.reconciliation (2 to 3 minutes)")
			continue
		}
		warnings = append(warnings, fmt.Sprintf("%s, and the chart is an OCI source; of a Helm repository such as the recipe's, %s, it takes a chart for what its version is, and keeps the old one until a hard refresh (argocd app get %s --hard-refresh): give the new content a new version", text, source, release.Name))
	}
	return warnings, notes
}

func sourceOf(r *recipe.Result, component string) string {
	if r == nil {
		return ""
	}
	for _, ref := range r.ComponentRefs {
		if ref.Name == component {
			return ref.Source
		}
	}
	return ""
}
