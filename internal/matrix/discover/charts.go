package discover

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/util/filesys"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// maxChartFile is the largest Chart.yaml that is read, in bytes.
const maxChartFile = 1 << 20

// maxLockFile is the largest lock file of charts that is read, in bytes.
const maxLockFile = 10 << 20

// chartNames returns the names of the unpacked charts in dir, by directory. An unreadable one keeps
// its directory's name: whether it is a chart is decided where it is loaded.
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
		raw, err := filesys.FS(root.FS(), file, maxChartFile)
		var chart struct {
			Name string `json:"name"`
		}
		if err == nil && yamlx.Check(raw) == nil && yaml.Unmarshal(raw, &chart) == nil && chart.Name != "" {
			names[path.Dir(file)] = chart.Name
		}
	}
	return names
}

// archive matches the file name of a packaged chart: the chart's name, a hyphen and its version.
var archive = regexp.MustCompile(`^(.+?)-v?\d+\..*\.tgz$`)

// chartOf returns the name of the chart that a changed file belongs to; empty if it is in no chart.
func (d *Diff) chartOf(file string) string {
	for _, dir := range d.charts {
		if name := dir.chartOf(file); name != "" {
			return name
		}
	}
	return ""
}

func (dir chartDir) chartOf(file string) string {
	rest, ok := strings.CutPrefix(file, dir.path)
	if !ok {
		return ""
	}
	first, _, inside := strings.Cut(rest, "/")
	if name, ok := dir.names[first]; ok && inside {
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

// lockDiff is what changed in a lock file of charts.
type lockDiff struct {
	file       string
	components map[string]bool // those whose entries changed
	unknown    bool            // one of the two files cannot be read
}

// has reports whether a component's charts have changed.
func (l lockDiff) has(component string) bool { return l.unknown || l.components[component] }

// compareLocks compares a lock file in two recipes directories; file is its path in the repository,
// and before may be nil. Errors in it are reported where it is used.
func compareLocks(file, name string, before, now fs.FS) lockDiff {
	l := lockDiff{file: file, components: map[string]bool{}}
	old, err := lockedCharts(before, name)
	fresh, err2 := lockedCharts(now, name)
	l.unknown = err != nil || err2 != nil
	for component := range maps.Keys(old) {
		l.components[component] = old[component] != fresh[component]
	}
	for component := range maps.Keys(fresh) {
		l.components[component] = old[component] != fresh[component]
	}
	return l
}

// lockedCharts returns the charts of each component, as text in a stable order.
func lockedCharts(fsys fs.FS, file string) (map[string]string, error) {
	if fsys == nil {
		return nil, nil
	}
	raw, err := filesys.FS(fsys, file, maxLockFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = yamlx.Check(raw)
	}
	if err != nil {
		return nil, err
	}
	var lock struct {
		Charts []struct{ Component, Repository, Chart, Version, Digest string } `json:"charts"`
	}
	if err := yaml.Unmarshal(raw, &lock); err != nil {
		return nil, err
	}
	lines := map[string][]string{}
	for _, c := range lock.Charts {
		lines[c.Component] = append(lines[c.Component], fmt.Sprintf("%q", c))
	}
	all := map[string]string{}
	for component, of := range lines {
		slices.Sort(of)
		all[component] = strings.Join(of, "\n")
	}
	return all, nil
}
