package recipe

import (
	"cmp"
	"maps"
	"slices"

	"github.com/nvidia/aicr-action/internal/recipe/document"
	"go.yaml.in/yaml/v3"
)

// versionPlace is where a document says its apiVersion.
type versionPlace struct {
	apiVersion string
	at         Origin
}

// saw remembers a document whose header was read.
func (l *loader) saw(d *decoder) {
	l.versions = append(l.versions, versionPlace{d.APIVersion, d.APIVersionAt})
}

// checkVersions chooses the rules by the documents' apiVersions. One release of AICR has read
// documents of all versions of its group (v0.21), but none has read those and the ones of March.
func (l *loader) checkVersions() {
	groups := map[document.Generation][]versionPlace{}
	for _, v := range l.versions {
		g := document.GenerationOf(v.apiVersion)
		groups[g] = append(groups[g], v)
		l.newest = document.NewestOf(l.newest, v.apiVersion)
	}
	l.generation = document.GenerationOf(l.newest)
	if len(groups) < 2 {
		return
	}
	// What is rare is probably the mistake.
	all := slices.SortedFunc(maps.Keys(groups), func(a, b document.Generation) int {
		return cmp.Or(cmp.Compare(len(groups[a]), len(groups[b])), cmp.Compare(a, b))
	})
	few, many := groups[all[0]], groups[all[1]]
	for _, v := range few {
		l.Add(v.at, "apiVersion is %s, and %d other documents have %s, as at %s; no release of AICR reads both: give all documents of the directory those of one release", v.apiVersion, len(many), many[0].apiVersion, many[0].at)
	}
}

// tooNew refuses a field that documents of the apiVersion do not have.
func (d *decoder) tooNew(root *yaml.Node, field string, steps ...any) {
	d.Add(Origin{File: d.File, Line: document.LineOf(root, steps...)}, "%s is not a field of apiVersion %s; write the apiVersion of the AICR release that these recipes are for, or remove the field", field, d.APIVersion)
}

// Newest is the newest apiVersion of the documents.
func (s *Store) Newest() string { return s.newest }

// Generation says by which rules the recipes add up.
func (s *Store) Generation() document.Generation { return s.generation }

// Notes are what a reader of the results has to know about how the directory was read. Notes of
// many files are one, with a count and three of them.
func (s *Store) Notes() []string { return document.Lines(s.noted) }
