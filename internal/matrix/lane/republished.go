package lane

// republished.go finds charts with other content under the version that they had.

import (
	"slices"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/charts/archive"
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
