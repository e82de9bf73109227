package publish

// vendored.go makes the charts of a recipe part of its bundle, so that what deploys it needs no
// other repository. It must not know the forms of bundles.

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/charts/catalog"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

// provenanceFile says where the charts in a bundle are from.
const provenanceFile = "provenance.yaml"

// VendorRecord is what provenance.yaml says of a chart.
type VendorRecord struct {
	Name       string `json:"name"`
	Chart      string `json:"chart"`
	Version    string `json:"version"`
	Repository string `json:"repository"`
	// SHA256 is of the archive in the bundle. It is packed anew, so that the one in the repository may have another.
	SHA256      string `json:"sha256"`
	TarballName string `json:"tarballName"`
}

// VendorCharts packs the charts of components from a source, each into one around it that is called as the component.
func VendorCharts(ctx context.Context, components []recipe.Component, source catalog.Source) (map[string]bundle.Vendored, []VendorRecord, error) {
	var with []*recipe.Component
	for i := range components {
		if c := &components[i]; !c.ManifestOnly() && c.Chart != "" && !c.Disabled() {
			with = append(with, c)
		}
	}
	made, records := map[string]bundle.Vendored{}, []VendorRecord{}
	type packed struct {
		vendored bundle.Vendored
		record   VendorRecord
	}
	err := lists.InOrder(ctx, len(with), func(ctx context.Context, _, i int) (packed, error) {
		v, r, err := pack(ctx, with[i], source)
		return packed{v, r}, err
	}, func(i int, p packed) error {
		made[with[i].Name] = p.vendored
		records = append(records, p.record)
		return nil
	})
	slices.SortFunc(records, func(a, b VendorRecord) int { return strings.Compare(a.Name, b.Name) })
	return made, records, err
}

func pack(ctx context.Context, c *recipe.Component, source catalog.Source) (v bundle.Vendored, r VendorRecord, err error) {
	ref := catalog.RefOf(c)
	ch, _, err := source.Load(ctx, ref)
	if err != nil {
		return v, r, fmt.Errorf("--vendor-charts: %s: %w", c.Name, err)
	}
	tgz, err := PackChart(ch)
	if err != nil {
		return v, r, fmt.Errorf("--vendor-charts: %s: %w", c.Name, err)
	}
	name, version := ch.Metadata.Name, ch.Metadata.Version
	sum := sha256.Sum256(tgz)
	r = VendorRecord{Name: c.Name, Chart: name, Version: version, Repository: c.Source, SHA256: hex.EncodeToString(sum[:]), TarballName: name + "-" + version + ".tgz"}
	meta, err := yaml.Marshal(map[string]any{
		"apiVersion": "v2", "name": c.Name, "version": "0.1.0", "type": "application",
		"description":  fmt.Sprintf("The chart %s %s, carried along for the recipe component %s.", name, version, c.Name),
		"dependencies": []any{map[string]any{"name": name, "version": version, "repository": ""}},
	})
	if err != nil {
		return v, r, err
	}
	return bundle.Vendored{Chart: name, Files: []bundle.File{
		{Path: "Chart.yaml", Mode: 0o644, Content: meta},
		{Path: "charts/" + r.TarballName, Mode: 0o644, Content: tgz},
	}}, r, nil
}

// VendoredProvenance adds the file to a bundle that says where its charts are from.
func VendoredProvenance(b *bundle.Bundle, records []VendorRecord) error {
	if len(records) == 0 {
		return nil
	}
	text, err := yaml.Marshal(map[string]any{"apiVersion": "aicr.run/v1", "kind": "BundleProvenance", "vendoredCharts": records})
	if err != nil {
		return err
	}
	b.Files = append(slices.Clone(b.Files), bundle.File{Path: provenanceFile, Mode: 0o644, Content: text})
	return b.Sum()
}
