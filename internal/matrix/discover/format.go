package discover

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nvidia/aicr-action/internal/matrix/durations"
)

// MaxJobs is the most jobs that GitHub creates from one matrix (docs.github.com, "Usage limits" of
// workflow syntax).
const MaxJobs = 256

// Job is an entry of a GitHub matrix: the cells of its recipes, each with all of its deployers.
type Job struct {
	Name     string `json:"name"`     // unique among the jobs
	Recipe   string `json:"recipe"`   // one, or a comma separated list
	Deployer string `json:"deployer"` // likewise
	Cells    int    `json:"cells"`    // how many, upgrades included
}

// jobGroup is recipes with the same deployers, which can share a job.
type jobGroup struct {
	deployers []string
	recipes   []string
	each      []time.Duration // what each recipe costs
	cells     []int           // how many each recipe has
	shares    [][]int         // of the recipes, a job each
}

// crowded returns the cost of the longest job with several recipes: one with a single recipe cannot
// be divided.
func (g *jobGroup) crowded() time.Duration {
	var most time.Duration
	for _, share := range g.shares {
		var sum time.Duration
		for _, i := range share {
			sum += g.each[i]
		}
		if len(share) > 1 {
			most = max(most, sum)
		}
	}
	return most
}

// Jobs divides the plan among at most maxJobs jobs (1 to MaxJobs). A job has all cells of its
// recipes, since the lanes of a recipe are compared with each other. As long as there is room, each
// recipe has a job of its own. Otherwise jobs take several, so that they end at about the same time
// according to earlier durations.
func (p *Plan) Jobs(maxJobs int, book *durations.Book) ([]Job, error) {
	if maxJobs < 1 || maxJobs > MaxJobs {
		return nil, fmt.Errorf("%d jobs: want 1 to %d, GitHub's limit for one matrix", maxJobs, MaxJobs)
	}
	groups := p.jobGroups(book)
	if len(groups) > maxJobs {
		return nil, fmt.Errorf("%d jobs for %d groups of recipes with the same deployers: want at least %d", maxJobs, len(groups), len(groups))
	}
	for _, g := range groups {
		g.shares = durations.Divide(g.each, 1)
	}
	for n := len(groups); n < maxJobs; n++ { // one more for those that have longest to wait
		var slowest *jobGroup
		for _, g := range groups {
			if len(g.shares) < len(g.recipes) && (slowest == nil || g.crowded() > slowest.crowded()) {
				slowest = g
			}
		}
		if slowest == nil {
			break
		}
		slowest.shares = durations.Divide(slowest.each, len(slowest.shares)+1)
	}
	jobs := []Job{}
	for _, g := range groups {
		for _, share := range g.shares {
			slices.Sort(share)
		}
		slices.SortFunc(g.shares, slices.Compare)
		for i, share := range g.shares {
			var recipes []string
			cells := 0
			for _, at := range share {
				recipes, cells = append(recipes, g.recipes[at]), cells+g.cells[at]
			}
			name := recipes[0]
			if len(share) > 1 {
				name = fmt.Sprintf("%s, %d of %d", strings.Join(g.deployers, " "), i+1, len(g.shares))
			} else if len(g.deployers) == 1 {
				name += "/" + g.deployers[0]
			}
			jobs = append(jobs, Job{Name: name, Recipe: strings.Join(recipes, ","), Deployer: strings.Join(g.deployers, ","), Cells: cells})
		}
	}
	return jobs, nil
}

// jobGroups returns the recipes by their deployers, in the order of the plan.
func (p *Plan) jobGroups(book *durations.Book) []*jobGroup {
	var groups []*jobGroup
	for all := p.Entries; len(all) > 0; {
		recipe := all[0].Recipe
		var deployers []string
		var cost time.Duration
		cells := 0
		for ; len(all) > 0 && all[0].Recipe == recipe; all = all[1:] { // they are sorted by recipe
			if all[0].From == "" { // the job runs its upgrade, too
				deployers = append(deployers, all[0].Deployer)
			}
			cost += book.Of(all[0].Cell)
			cells++
		}
		at := slices.IndexFunc(groups, func(g *jobGroup) bool { return slices.Equal(g.deployers, deployers) })
		if at < 0 {
			at, groups = len(groups), append(groups, &jobGroup{deployers: deployers})
		}
		groups[at].recipes = append(groups[at].recipes, recipe)
		groups[at].each = append(groups[at].each, cost)
		groups[at].cells = append(groups[at].cells, cells)
	}
	return groups
}

// GitHub returns the plan as a value for strategy.matrix: one line, {"include":[…]}. Without
// entries it is {"include":[]}, which GitHub rejects as a matrix, so that the job needs a
// condition.
func (p *Plan) GitHub(maxJobs int, book *durations.Book) (string, error) {
	jobs, err := p.Jobs(maxJobs, book)
	if err != nil {
		return "", err
	}
	out, err := json.Marshal(map[string][]Job{"include": jobs})
	if err != nil {
		return "", fmt.Errorf("write the matrix: %w", err)
	}
	return string(out) + "\n", nil
}

// Cells returns a line `recipe deployer` for each cell; an upgrade's has its source as a third word.
func (p *Plan) Cells() string {
	var b strings.Builder
	for _, e := range p.Entries {
		b.WriteString(strings.TrimSpace(e.Recipe+" "+e.Deployer+" "+e.From) + "\n")
	}
	return b.String()
}

// Rows returns the plan as a table with a head, a row for each cell and each skipped recipe.
func (p *Plan) Rows() [][]string {
	rows := [][]string{{"RECIPE", "DEPLOYER", "TIER", "REASON"}}
	for _, e := range p.Entries {
		rows = append(rows, []string{e.Row(), e.Deployer, tierList(e.Tiers), reasonText(e.Reasons)})
	}
	for _, s := range p.Skipped {
		rows = append(rows, []string{s.Recipe, "(skipped)", tierList(s.Tiers), s.Reason})
	}
	return rows
}

func tierList(tiers []int) string {
	return strings.ReplaceAll(strings.ReplaceAll(strings.Trim(fmt.Sprint(tiers), "[]"), " ", ","), "0", "-")
}

// reasonText keeps a row short: the first reasons, and how many more there are.
func reasonText(reasons []string) string {
	const shown = 2
	if len(reasons) > shown {
		return fmt.Sprintf("%s, and %d more", strings.Join(reasons[:shown], ", "), len(reasons)-shown)
	}
	return strings.Join(reasons, ", ")
}
