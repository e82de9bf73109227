package bundle

import (
	"bytes"
	"fmt"
	"sort"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
)

// loadChart makes a chart of a bundle's files under a directory ("" for all of them).
func loadChart(files []File, dir string) (*chart.Chart, error) {
	var in []*loader.BufferedFile
	for _, f := range files {
		name := f.Path
		if dir != "" {
			var ok bool
			if name, ok = strings.CutPrefix(f.Path, dir+"/"); !ok {
				continue
			}
		}
		// Helm leaves a byte order mark out of what it reads from a directory or an archive.
		in = append(in, &loader.BufferedFile{Name: name, Data: bytes.TrimPrefix(f.Content, []byte("\ufeff"))})
	}
	sort.Slice(in, func(i, j int) bool { return in[i].Name < in[j].Name })
	return loader.LoadFiles(in)
}

// Chart loads a chart from the bundle's own files: dir is where it is in the bundle, "" for a
// bundle that is itself a chart (argocd-helm-oci).
func (b *Bundle) Chart(dir string) (*chart.Chart, error) {
	ch, err := loadChart(b.Files, dir)
	if err != nil {
		return nil, fmt.Errorf("%s bundle: chart in %q: %w", b.Deployer, dir, err)
	}
	return ch, nil
}
