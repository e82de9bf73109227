package argoapi

// apptemplate.go edits Applications of Argo CD in the templates of a Helm chart, which are no YAML
// before they are rendered. It must not know charts or bundles.

import (
	"fmt"
	"regexp"
	"strings"
)

var (
	repoLine     = regexp.MustCompile(`(?m)^(\s+(?:- )?)repoURL:[ \t]+[^\s{].*$`)
	chartLine    = regexp.MustCompile(`(?m)^(\s+(?:- )?)chart:[ \t]+[^\s{].*$`)
	pathLine     = regexp.MustCompile(`(?m)^(\s+(?:- )?)path:[ \t]+[^\s{].*$`)
	revisionLine = regexp.MustCompile(`(?m)^(\s+(?:- )?)targetRevision:[ \t]+[^\s{].*$`)
)

// RedirectTemplate changes the literal source of the one Application in a template.
func RedirectTemplate(template []byte, url, version string) []byte {
	put := func(line *regexp.Regexp, key, value string) {
		done := false
		template = line.ReplaceAllFunc(template, func(m []byte) []byte {
			if done {
				return m
			}
			done = true
			return fmt.Appendf(nil, "%s%s: %q", line.FindSubmatch(m)[1], key, value)
		})
	}
	put(repoLine, "repoURL", url)
	put(revisionLine, "targetRevision", version)
	if chartLine.Match(template) {
		put(chartLine, "path", ".")
	} else {
		put(pathLine, "path", ".")
	}
	return template
}

// RetargetTemplate changes the project and the cluster of the Applications in a template to those of the cell
// (Retarget), whether they are literals or actions: one a line, in the spec of an Application. What is
// written otherwise stays.
func RetargetTemplate(template []byte) []byte {
	lines := strings.Split(string(template), "\n")
	fields, in := -1, "" // how far the fields of a spec are indented, and the field that a line is in
	for i, line := range lines {
		text := strings.TrimLeft(line, " ")
		indent := len(line) - len(text)
		switch {
		case strings.TrimSpace(text) == "" || strings.HasPrefix(text, "{{") || strings.HasPrefix(text, "#"):
			continue // it says nothing about where in the object the lines after it are
		case indent == 0:
			fields, in = -1, ""
			if strings.TrimSpace(text) == "spec:" {
				fields = 0
			}
			continue
		case fields == 0:
			fields = indent
		}
		key, _, _ := strings.Cut(text, ":")
		if indent == fields {
			in = key
		}
		switch {
		case indent == fields && key == "project":
			lines[i] = fmt.Sprintf("%sproject: %q", line[:indent], retargetProject)
		case indent > fields && fields > 0 && in == "destination" && (key == "server" || key == "name"):
			lines[i] = fmt.Sprintf("%sserver: %q", line[:indent], retargetServer)
		}
	}
	return []byte(strings.Join(lines, "\n"))
}
