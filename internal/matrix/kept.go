package matrix

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/util/filesys"
)

// mostRecord is the largest cell.json that is read, in bytes. The largest recipe's has 2 MiB.
const mostRecord = 32 << 20

// keptCell is a cell whose files a run kept.
type keptCell struct {
	Dir string `json:"-"`
	result.Cell
	Status result.Status  `json:"status"`
	Charts []result.Chart `json:"renderedCharts"`
}

// keptCells lists the cells in a directory of --artifacts, or the one cell whose directory it is.
func keptCells(dir string) ([]keptCell, error) {
	files, err := filepath.Glob(filepath.Join(escaped(dir), "*", "cell.json"))
	if err != nil {
		return nil, fmt.Errorf("list kept cells: %w", err)
	}
	if own := filepath.Join(dir, "cell.json"); exists(own) {
		files = []string{own}
	}
	var cells []keptCell
	for _, file := range files {
		raw, err := filesys.Regular(file, mostRecord)
		if err != nil {
			return nil, fmt.Errorf("read the record of a kept cell: %w", err)
		}
		c := keptCell{Dir: filepath.Dir(file)}
		if err := json.Unmarshal(raw, &c); err != nil {
			return nil, fmt.Errorf("read the record of a kept cell, %s: %w", file, err)
		}
		cells = append(cells, c)
	}
	return cells, nil
}

// escaped is a path in which no character is a pattern's.
func escaped(dir string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// BundleOf returns the directory of the bundle that a cell is upgraded from, and the charts that the
// run which kept it recorded; empty for a source of recipes, which are rendered anew. A kept cell
// must be a first installation that passed: an upgrade from a state that no one could install says
// nothing.
func (s *FromSource) BundleOf(cell result.Cell) (string, []result.Chart, error) {
	if s.Kept == "" {
		return s.Bundle, nil, nil
	}
	cells, err := keptCells(s.Kept)
	if err != nil {
		return "", nil, fmt.Errorf("--from %s: %w", s.Name, err)
	}
	var names []string
	for _, c := range cells {
		names = append(names, c.Cell.String())
		if c.Cell != cell.First() {
			continue
		}
		if !c.Status.Good() {
			return "", nil, fmt.Errorf("--from %s: the kept cell %s did not pass (%s), so that nothing can be upgraded from it", s.Name, c.Cell, c.Status)
		}
		// The bundle as AICR's CLI made it, if the one that was deployed has the addresses of that
		// run's registry.
		for _, name := range []string{"bundle-original", "bundle"} {
			if dir := filepath.Join(c.Dir, name); exists(dir) {
				return dir, c.Charts, nil
			}
		}
		return "", nil, fmt.Errorf("--from %s: the kept cell %s has no bundle in %s", s.Name, c.Cell, c.Dir)
	}
	slices.Sort(names)
	return "", nil, fmt.Errorf("--from %s has no kept cell %s; it has: %s", s.Name, cell, strings.Join(names, ", "))
}
