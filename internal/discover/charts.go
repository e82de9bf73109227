package discover

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/bounded"
	"github.com/nvidia/aicr-action/internal/yamlx"
)

// maxChartFile is the largest Chart.yaml that is read, in bytes.
const maxChartFile = 1 << 20

// chartNames reads the names of the unpacked charts in dir, by directory. One that cannot be read keeps its directory's name: whether it
// is a chart is for whoever loads it to say.
func chartNames(dir string) map[string]string {
	names := map[string]string{}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return names // there are no charts
	}
	defer func() { _ = root.Close() }() // opened for reading
	files, err := fs.Glob(root.FS(), "*/Chart.yaml")
	if err != nil {
		return names // only a malformed pattern
	}
	for _, file := range files {
		raw, err := bounded.FS(root.FS(), file, maxChartFile)
		var chart struct {
			Name string `json:"name"`
		}
		if err == nil && yamlx.Check(raw) == nil && yaml.Unmarshal(raw, &chart) == nil && chart.Name != "" {
			names[path.Dir(file)] = chart.Name
		}
	}
	return names
}

// archive is the name of a packaged chart's file: the chart's name, a hyphen and its version.
var archive = regexp.MustCompile(`^(.+?)-v?\d+\..*\.tgz$`)

// chartOf gives the name of the chart that a changed file belongs to; empty if it is in no chart.
func (d *Diff) chartOf(file string) string {
	rest, ok := strings.CutPrefix(file, d.charts)
	if d.charts == "" || !ok {
		return ""
	}
	first, _, inside := strings.Cut(rest, "/")
	if name, ok := d.chartNames[first]; ok && inside {
		return name
	}
	if m := archive.FindStringSubmatch(first); m != nil && !inside {
		return m[1]
	}
	if inside {
		return first // a chart that was removed
	}
	return ""
}
