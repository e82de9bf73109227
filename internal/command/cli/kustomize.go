package cli

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/nvidia/aicr-action/internal/charts/archive"
	"github.com/nvidia/aicr-action/internal/recipe"
)

// kustomizeSources are the sources of the values of --kustomize-source, SOURCE=DIRECTORY each.
func kustomizeSources(values []string) (map[string]recipe.Source, error) {
	sources := map[string]recipe.Source{}
	for _, value := range ChartValues(values) {
		at := strings.LastIndex(value, "=") // an address may have one in its query
		if at < 1 || at == len(value)-1 {
			return nil, Usagef("--kustomize-source %s: want SOURCE=DIRECTORY, the source as the component names it and where it is checked out", value)
		}
		source, dir := value[:at], value[at+1:]
		if sources[source] != nil {
			return nil, Usagef("--kustomize-source %s is given twice", source)
		}
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return nil, Usagef("--kustomize-source %s: %s is not a directory that can be read", source, dir)
		}
		fsys, err := archive.Open(dir)
		if err != nil {
			return nil, Usagef("--kustomize-source %s: %w", source, err)
		}
		layer := recipe.Layer{FS: fsys, Root: filepath.ToSlash(filepath.Clean(dir))}
		sources[source] = func(string) (recipe.Layer, error) { return layer, nil }
	}
	return sources, nil
}
