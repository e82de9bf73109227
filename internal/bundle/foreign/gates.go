package foreign

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/bundle"
)

// gates are the ends of the names of folders that AICR's CLI adds by itself: a Job that waits for a
// component, and Jobs that move its objects before an upgrade.
func gates() []string { return []string{"-readiness", "-premigrate"} }

// admitGates lets the Jobs of these folders run on simulated nodes, whose taint no node of a real
// cluster has: no value of the bundle gives them a toleration. It returns what it added, for people.
func (t *tree) admitGates() (overrides []string) {
	taint := bundle.FormatToleration(bundle.KwokScheduling().SystemTolerations[0])
	for _, name := range t.names() {
		dir, file, ok := strings.Cut(name, "/")
		isGate := slices.ContainsFunc(gates(), func(suffix string) bool { return strings.HasSuffix(dir, suffix) })
		if !ok || !isGate || !strings.HasSuffix(file, ".yaml") || !strings.HasPrefix(file, "templates/") && !strings.HasPrefix(file, "chart/templates/") {
			continue
		}
		f := t.files[name]
		parts := strings.Split(string(f.Content), "\n---")
		changed := false
		for i, part := range parts {
			if job, ok := tolerated(part); ok {
				parts[i], changed = job, true
			}
		}
		if !changed {
			continue
		}
		f.Content = []byte(strings.Join(parts, "\n---"))
		t.files[name] = f
		overrides = append(overrides, fmt.Sprintf("bundle: the Job in %s tolerates %s, the taint of simulated nodes: the program that made the bundle cannot be told to add it", t.at(name, 0), taint))
	}
	return overrides
}

var (
	jobKind      = regexp.MustCompile(`(?m)^kind: *["']?Job["']? *\r?$`)
	templateLine = regexp.MustCompile(`^( +)template: *\r?$`)
	specLine     = regexp.MustCompile(`^( +)spec: *\r?$`)
	emptyLine    = regexp.MustCompile(`^\s*($|#|\{\{)`) // also a line that only steers the template
)

// tolerated adds the toleration of simulated nodes to the text of a Job, which may be a template. It is
// false for another object, and for one that has its tolerations from a template, or has this one.
func tolerated(text string) (string, bool) {
	toleration := bundle.KwokScheduling().SystemTolerations[0]
	if !jobKind.MatchString(text) {
		return text, false
	}
	lines := strings.Split(text, "\n")
	at, inner := podSpec(lines)
	if at < 0 {
		return text, false
	}
	item := fmt.Sprintf("%s- {key: %s, operator: %s, value: %s, effect: %s}", inner, toleration.Key, toleration.Operator, toleration.Value, toleration.Effect)
	for i := at + 1; i < len(lines) && (emptyLine.MatchString(lines[i]) || strings.HasPrefix(lines[i], inner)); i++ {
		rest, ok := strings.CutPrefix(lines[i], inner+"tolerations:")
		if !ok {
			continue
		}
		switch strings.TrimSpace(rest) {
		case "[]":
			lines[i] = inner + "tolerations:"
		case "":
			if i+1 == len(lines) || strings.Contains(text, toleration.Key) {
				return text, false
			}
			indent := lines[i+1][:len(lines[i+1])-len(strings.TrimLeft(lines[i+1], " "))]
			item = indent + strings.TrimLeft(item, " ")
		default:
			return text, false
		}
		return strings.Join(slices.Insert(lines, i+1, item), "\n"), true
	}
	return strings.Join(slices.Insert(lines, at+1, inner+"tolerations:", item), "\n"), true
}

// podSpec finds the line spec: of a Job's pods, and the indentation of what is below it; -1 if there is
// none.
func podSpec(lines []string) (at int, inner string) {
	outer := ""
	for i, line := range lines {
		if m := templateLine.FindStringSubmatch(line); m != nil && outer == "" {
			outer = m[1]
		}
		if m := specLine.FindStringSubmatch(line); m == nil || outer == "" || len(m[1]) <= len(outer) {
			continue
		}
		for _, next := range lines[i+1:] {
			if !emptyLine.MatchString(next) {
				return i, next[:len(next)-len(strings.TrimLeft(next, " "))]
			}
		}
	}
	return -1, ""
}
