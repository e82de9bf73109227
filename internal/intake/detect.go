package intake

// detect.go says for which deployers the files of a directory look like a bundle, for a person who gave the
// wrong directory or the wrong deployer. It knows the names of files. It must not read them.

import (
	"regexp"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/bundle"
)

// guessForms are the files by which a bundle is known, with its lanes. The first one that is there decides: a helmfile
// has the directories of a bundle for Helm besides.
var guessForms = []struct {
	file  *regexp.Regexp
	lanes []string
}{
	{regexp.MustCompile(`^helmfile\.yaml$`), []string{bundle.Helmfile}},
	{regexp.MustCompile(`^((core|ops)/)?app-of-apps\.yaml$`), []string{bundle.ArgoCDOCI, bundle.ArgoCDGit}},
	{regexp.MustCompile(`^Chart\.yaml$`), []string{bundle.ArgoCDHelmOCI}},
	{regexp.MustCompile(`^kustomization\.yaml$`), []string{bundle.FluxOCI, bundle.FluxGit}},
	{regexp.MustCompile(`^(deploy\.sh|[0-9]{3}-[^/]+/install\.sh)$`), []string{bundle.Helm}},
}

// lanesOf are the lanes that files look like a bundle for; nil if they look like none.
func lanesOf(files []string) []string {
	for _, form := range guessForms {
		if slices.ContainsFunc(files, form.file.MatchString) {
			return form.lanes
		}
	}
	return nil
}

// guessNote is a clause on what files, which are no bundle for a lane, look like: one for another lane, or one in a
// directory of theirs. Empty if they look like none.
func guessNote(files []string) string {
	if lanes := lanesOf(files); lanes != nil {
		return "; it looks like a bundle for " + strings.Join(lanes, " or ")
	}
	below := map[string][]string{}
	var dirs []string
	for _, file := range files {
		dir, rest, ok := strings.Cut(file, "/")
		if !ok {
			continue
		}
		if below[dir] == nil {
			dirs = append(dirs, dir)
		}
		below[dir] = append(below[dir], rest)
	}
	var notes []string
	for _, dir := range dirs {
		if lanes := lanesOf(below[dir]); lanes != nil {
			notes = append(notes, "its directory "+dir+" looks like one for "+strings.Join(lanes, " or "))
		}
	}
	const most = 3 // a bundle of charts has many directories with a Chart.yaml
	if len(notes) == 0 || len(notes) > most {
		return ""
	}
	return "; " + strings.Join(notes, ", ")
}
