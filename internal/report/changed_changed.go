package report

import (
	"fmt"
	"strings"

	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/util/lists"
	"github.com/nvidia/aicr-action/internal/util/mdtext"
)

// mostComponents is how many components the terminal names without --explain.
const mostComponents = 3

// upgradeTerminal has a few lines for each change: what it amounts to, and the components with the largest
// effect. With explain it has everything.
func upgradeTerminal(results []result.Result, explain bool) []string {
	var all []string
	for _, g := range upgradeGroups(results) {
		all = append(all, "change: "+upgradeOneLine(g.Title)+": "+g.Summary)
		if explain {
			for _, about := range g.About {
				all = append(all, "  "+upgradeOneLine(about))
			}
		}
		for i, s := range g.Sections {
			if i == mostComponents && !explain {
				all = append(all, fmt.Sprintf("  and %s (--explain shows all)", lists.Count(len(g.Sections)-i, "more component")))
				break
			}
			all = append(all, "  "+upgradeOneLine(s.Title))
			for _, line := range s.Lines {
				if explain {
					all = append(all, "    "+upgradeOneLine(line))
				}
			}
		}
	}
	return all
}

// upgradeMany is one line about the changes of many cells.
func upgradeMany(results []result.Result) []string {
	cells, differ := 0, 0
	for i := range results {
		if c := results[i].Change; c != nil {
			cells++
			if !c.Empty() {
				differ++
			}
		}
	}
	if cells == 0 {
		return nil
	}
	return []string{fmt.Sprintf("change: %s upgraded; in %d of them the cluster differs afterwards (each difference: -o json, --html)", lists.Count(cells, "cell"), differ)}
}

// upgradeMarkdown has a folded part for each group of lanes, in which each component is a list.
func upgradeMarkdown(results []result.Result) []string {
	var parts []string
	for _, g := range upgradeGroups(results) {
		var b strings.Builder
		for _, about := range g.About {
			b.WriteString(mdtext.Code(about) + "\n\n")
		}
		for _, s := range g.Sections {
			b.WriteString("**" + mdtext.Code(upgradeOneLine(s.Title)) + "**\n\n")
			for _, line := range s.Lines {
				b.WriteString("- " + mdtext.Code(upgradeOneLine(line)) + "\n")
			}
			b.WriteString("\n")
		}
		parts = append(parts, mdtext.Folded("What changes in the cluster: "+g.Summary+",", g.Title, b.String()))
	}
	return parts
}

// upgradeOneLine is a text without line breaks.
func upgradeOneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
