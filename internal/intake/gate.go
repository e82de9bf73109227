package intake

// gate.go edits the Jobs that AICR's CLI adds to a bundle by itself. They are templates, so that
// they are edited as text.

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

var (
	jobKind      = regexp.MustCompile(`(?m)^kind: *["']?Job["']? *\r?$`)
	templateLine = regexp.MustCompile(`^( +)template: *\r?$`)
	specLine     = regexp.MustCompile(`^( +)spec: *\r?$`)
	emptyLine    = regexp.MustCompile(`^\s*($|#|\{\{)`) // also a line that only steers the template
)

// gateTolerated adds a toleration to the text of a Job, which may be a template. It is
// false for another object, and for one that has its tolerations from a template, or has this one.
func gateTolerated(text string, toleration corev1.Toleration) (string, bool) {
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
