package change

import (
	"fmt"
	"slices"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/charts/archive"
	"github.com/nvidia/aicr-action/internal/result"
)

// ChartsOf are the charts that a bundle was rendered from, in the order of deployment. One without
// files has no digest.
func ChartsOf(b *bundle.Bundle) []result.Chart {
	var all []result.Chart
	for _, i := range b.Installs {
		made := result.Chart{Component: i.Release.Component, Release: i.Release.Name, Name: i.Chart.Name(), Version: i.Release.ChartVersion, From: i.Release.ChartFrom}
		if digest, err := archive.Digest(i.Chart); err == nil {
			made.Digest = archive.DigestPrefix + digest
		}
		all = append(all, made)
	}
	return all
}

// ChartSources lists the source of each component's chart. It is empty if all are from source.
func ChartSources(releases []bundle.Release, source string) []string {
	if !slices.ContainsFunc(releases, func(r bundle.Release) bool { return !r.Local && r.ChartFrom != source }) {
		return nil
	}
	var lines []string
	for _, r := range releases {
		if !r.Local {
			lines = append(lines, fmt.Sprintf("%s: chart %s %s from %s", r.Component, r.Chart, r.ChartVersion, r.ChartFrom))
		}
	}
	return lines
}
