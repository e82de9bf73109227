package app

// idle.go collects the patches and images of kustomizations that select no object. It must not know clusters.

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/checkout"
	"github.com/nvidia/aicr-action/internal/charts/render"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/recipe/kustomization"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// idle counts the builds that a file is part of: an entry of a component that several kustomizations have is idle if it
// selects nothing in any of them.
type idle struct {
	builds map[string]int
	of     map[string]*idleEntry
}

// idleEntry is an entry that selected nothing in some builds of a file.
type idleEntry struct {
	bundle.Idle
	file   string
	builds int
}

// add notes a build of the files of a directory.
func (i *idle) add(repo *repository, dir string, files []kustomization.File, over overlay, unmatched []render.Unmatched) {
	for _, f := range files {
		i.builds[f.Path]++
	}
	for _, u := range unmatched {
		e := idleEntry{file: u.File, Idle: bundle.Idle{Field: u.Field, Selects: u.Selects, Near: u.Near, Named: u.Named}}
		switch {
		case u.Patch >= 0 && u.Patch < len(over.patches):
			e.file = ""
			p := over.patches[u.Patch]
			e.Of, e.At = refOf(over.owner), repo.Origin(checkout.New(p.File, p.Node), p.Node.Line)
		case u.File == "" && over.by != "":
			e.Of, e.At = refOf(over.owner), over.place(u.Field)
		default:
			e.Of = result.Ref{Group: groupPlain, Kind: kindKustomization, Name: repo.Shown(dir)}
			e.At = recipe.Origin{File: repo.Shown(u.File), Line: entryLine(repo, u)}
		}
		key := fmt.Sprintf("%s %s %s", e.At, e.Field, e.Selects)
		if i.of[key] == nil {
			i.of[key] = &e
		}
		i.of[key].builds++
	}
}

// merge adds what was built before.
func (i *idle) merge(before idle) {
	maps.Copy(i.builds, before.builds)
	for key, e := range before.of {
		copied := *e
		i.of[key] = &copied
	}
}

// entryLine is the line of an entry of a kustomization; 0 if the file has none.
func entryLine(repo *repository, u render.Unmatched) int {
	content, err := repo.Read(u.File)
	if err != nil {
		return 0
	}
	docs, err := yamlx.Documents(content)
	if err != nil || len(docs) == 0 {
		return 0
	}
	list := yamlx.Find(docs[0].Content[0], u.Field)
	if list == nil || list.Kind != yamlv3.SequenceNode || u.Index >= len(list.Content) {
		return 0
	}
	return list.Content[u.Index].Line
}

// all are the entries that select nothing in any build, in the order of their places.
func (i *idle) all() (all []bundle.Idle) {
	for _, key := range slices.Sorted(maps.Keys(i.of)) {
		if e := i.of[key]; e.file == "" || e.builds >= i.builds[e.file] {
			all = append(all, e.Idle)
		}
	}
	slices.SortStableFunc(all, func(a, b bundle.Idle) int {
		return cmp.Or(cmp.Compare(a.At.File, b.At.File), cmp.Compare(a.At.Line, b.At.Line))
	})
	return all
}
