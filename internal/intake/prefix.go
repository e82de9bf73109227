package intake

// prefix.go finds what a bundle has in front of the names of its releases (AICR's --set
// deployer:namePrefix). It must not know files.

import (
	"slices"
	"strings"
)

// prefixOf is what each release has in front of its name, where most of a recipe's components have a release of
// such a name and none has one of its own; empty if there is nothing in front.
func prefixOf(components, releases []string) string {
	if len(releases) == 0 || slices.ContainsFunc(components, func(c string) bool { return slices.Contains(releases, c) }) {
		return ""
	}
	for _, c := range components {
		for _, r := range releases {
			found, ok := strings.CutSuffix(r, c)
			if !ok || slices.ContainsFunc(releases, func(r string) bool { return !strings.HasPrefix(r, found) }) {
				continue
			}
			deployed := 0
			for _, c := range components {
				if slices.Contains(releases, found+c) {
					deployed++
				}
			}
			if 2*deployed > len(components) {
				return found
			}
		}
	}
	return ""
}
