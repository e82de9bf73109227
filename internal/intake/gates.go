package intake

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/bundle"
)

// gates are the ends of the names of folders with Jobs that wait for a component, or move its objects before an upgrade.
func gates() []string { return []string{bundle.ReadinessSuffix, preMigrate} }

// admitGates lets the Jobs of these folders run on simulated nodes, whose taint no node of a real
// cluster has: no value of the bundle gives them a toleration. It returns what it added, for people.
func (t *tree) admitGates() (overrides []string) {
	taint := bundle.FormatToleration(bundle.KwokScheduling().SystemTolerations[0])
	for _, name := range t.names() {
		dir, file, ok := strings.Cut(strings.TrimPrefix(name, "local/"), "/") // where this program's chart of Applications has them
		isGate := slices.ContainsFunc(gates(), func(suffix string) bool { return strings.HasSuffix(dir, suffix) })
		if !ok || !isGate || !strings.HasSuffix(file, ".yaml") || !strings.HasPrefix(file, "templates/") && !strings.HasPrefix(file, "chart/templates/") {
			continue
		}
		f, changed := t.files[name], false
		parts := strings.Split(string(f.Content), "\n---")
		for i, part := range parts {
			if job, ok := gateTolerated(part, bundle.KwokScheduling().SystemTolerations[0]); ok {
				parts[i], changed = job, true
			}
		}
		if changed {
			f.Content = []byte(strings.Join(parts, "\n---"))
			t.files[name] = f
			overrides = append(overrides, fmt.Sprintf("bundle: the Job in %s tolerates %s, the taint of simulated nodes: the program that made the bundle cannot be told to add it", t.at(name, 0), taint))
		}
	}
	return overrides
}
