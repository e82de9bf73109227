package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

// manyRecipes is from how many recipes on a report is arranged to be read at a glance: sorted and
// grouped by service, a summary where the lanes of a recipe agree, failures by their cause. Fewer
// are in the order in which they were asked for, with everything about each cell.
const manyRecipes = 5

// grid is the table of recipes and deployers at the top of every report.
type grid struct {
	// What names the first column: recipe, app or bundle, as all cells ran one kind, else recipe.
	What      string
	Deployers []string
	Groups    []gridGroup
	// Many: the report is of many recipes.
	Many bool
}

// gridGroup is the recipes of one service; those of all, if there are not many or no result says
// its service.
type gridGroup struct {
	Title string // empty if it is the only group
	Lines []gridLine
}

// gridLine is one recipe.
type gridLine struct {
	Recipe string
	Cells  []*result.Result // by deployer; nil for a deployer without a cell
	// Same: the report is of many recipes and several lanes, and those of this one agree.
	Same bool
}

// what is the kind of input that all cells ran, in the singular; recipe if they differ.
func (r *Report) what() string {
	kinds := map[string]bool{}
	for i := range r.Results {
		kind, _ := r.Results[i].Input()
		kinds[strings.TrimSuffix(kind, "s")] = true
	}
	if len(kinds) == 1 {
		return slices.Collect(maps.Keys(kinds))[0]
	}
	return "recipe"
}

// grid arranges the results.
func (r *Report) grid() grid {
	recipes, deployers, cells := r.axes()
	g := grid{What: r.what(), Deployers: deployers, Many: len(recipes) >= manyRecipes}
	service := map[string]string{}
	known := 0
	for i := range r.Results {
		if s, row := r.Results[i].Service, r.Results[i].Row(); s != "" && service[row] == "" {
			service[row] = s
			known++
		}
	}
	sorted := g.Many && known > 0
	if sorted {
		slices.SortStableFunc(recipes, func(a, b string) int {
			if (service[a] == "") != (service[b] == "") {
				return -cmp.Compare(service[a], service[b]) // without one: last
			}
			return cmp.Or(cmp.Compare(service[a], service[b]), cmp.Compare(a, b))
		})
	}
	for i, recipe := range recipes {
		if i == 0 || sorted && service[recipe] != service[recipes[i-1]] {
			g.Groups = append(g.Groups, gridGroup{})
		}
		line := gridLine{Recipe: recipe}
		for _, d := range deployers {
			line.Cells = append(line.Cells, cells[result.Cell{Recipe: recipe, Deployer: d}])
		}
		line.Same = g.Many && len(deployers) > 1 && agree(line.Cells)
		group := &g.Groups[len(g.Groups)-1]
		group.Lines = append(group.Lines, line)
	}
	if len(g.Groups) > 1 {
		for i := range g.Groups {
			g.Groups[i].title(service[g.Groups[i].Lines[0].Recipe])
		}
	}
	return g
}

func (g *gridGroup) title(service string) {
	if service == "" {
		service = "no service"
	}
	g.Title = fmt.Sprintf("%s: %s, %d passed in every lane", service, lists.Count(len(g.Lines), "recipe"), passedLines(g.Lines))
}

// lines are those of all groups.
func (g *grid) lines() []gridLine {
	var all []gridLine
	for _, group := range g.Groups {
		all = append(all, group.Lines...)
	}
	return all
}

// passedLines counts the recipes that passed in every lane that they were planned for.
func passedLines(lines []gridLine) int {
	n := 0
	for _, l := range lines {
		if !slices.ContainsFunc(l.Cells, func(c *result.Result) bool { return c != nil && !c.Status.Good() }) {
			n++
		}
	}
	return n
}

// agree reports whether all lanes ended in the same way, or only one of several has a cell. If some
// but not all of several lanes have cells, they do not agree: the report must show which lanes ran.
func agree(cells []*result.Result) bool {
	var first *result.Result
	n := 0
	for _, c := range cells {
		if c == nil {
			continue
		}
		if n++; first == nil {
			first = c
		}
		if c.Status != first.Status || c.Reason != first.Reason {
			return false
		}
	}
	return n == 1 || n == len(cells)
}

// summary says how the lanes of a recipe ended: of those that agree in full, from the longest text
// to the shortest; of others, how many passed.
func (r *Report) summary(line *gridLine) (*result.Result, []string) {
	var first *result.Result
	var times []time.Duration
	var pods, checks, unsteered []int
	passed, noted := 0, ""
	for _, c := range line.Cells {
		if c == nil {
			continue
		}
		if first == nil {
			first = c
		}
		times, pods, checks = append(times, c.Duration), append(pods, c.Pods), append(checks, c.Checks)
		unsteered = append(unsteered, c.AnyNode)
		if c.Status.Good() {
			passed++
			if len(c.Notes) > 0 {
				noted = " *"
			}
		}
	}
	lanes := lists.Count(len(times), "lane")
	if len(times) == 1 && len(line.Cells) > 1 {
		lanes = first.Deployer + " only"
	}
	switch {
	case !line.Same:
		return first, []string{fmt.Sprintf("%d of %d passed", passed, len(times))}
	case first.Status == result.Reused:
		return first, []string{"reused, " + lanes + ", " + span(pods, "pod") + noted, "reused, " + lanes, "reused"}
	case first.Status == result.Passed && first.SameAs != nil:
		as := "same as " + first.SameAs.Recipe
		return first, []string{as + ", " + lanes + ", " + span(pods, "pod") + noted, as + ", " + lanes, as}
	case first.Status != result.Passed:
		return first, []string{r.cellText(first) + ", " + lanes, r.cellText(first)}
	}
	took := seconds(slices.Min(times))
	if low, high := fmt.Sprintf("%.1f", slices.Min(times).Seconds()), seconds(slices.Max(times)); high != took {
		took = low + " to " + high
	}
	full := lanes + ", " + took + ", " + span(pods, "pod") + anywhere(unsteered)
	if slices.Max(checks) > 0 {
		full += ", " + span(checks, "check")
	}
	return first, []string{full + noted, lanes + ", " + took + noted, lanes + noted}
}

// span is e.g. "112 pods", or "110 to 112 pods".
func span(counts []int, noun string) string {
	low, high := slices.Min(counts), slices.Max(counts)
	if low == high {
		return lists.Count(high, noun)
	}
	return fmt.Sprintf("%d to %s", low, lists.Count(high, noun))
}
