package discover

import (
	"encoding/json"
	"fmt"
	"strings"
)

// MaxJobs is the number of jobs that GitHub makes of one matrix at most (docs.github.com, "Usage limits" of workflow syntax).
const MaxJobs = 256

// Job is an entry of a GitHub matrix: the cells of its recipes with its deployer.
type Job struct {
	Name     string `json:"name"`     // unique among the jobs
	Recipe   string `json:"recipe"`   // one, or a comma separated list
	Deployer string `json:"deployer"` // one
	Cells    int    `json:"cells"`    // how many
}

// Jobs divides the plan among at most maxJobs jobs (1 to MaxJobs; there are at least as many as deployers). As long as there is room, each
// cell has a job of its own; then jobs take several recipes, as evenly as can be, so that no cell is left out.
func (p *Plan) Jobs(maxJobs int) ([]Job, error) {
	if maxJobs < 1 || maxJobs > MaxJobs {
		return nil, fmt.Errorf("%d jobs: want 1 to %d, GitHub's limit for one matrix", maxJobs, MaxJobs)
	}
	var deployers []string
	recipes := map[string][]string{}
	most := 0
	for _, e := range p.Entries {
		if recipes[e.Deployer] == nil {
			deployers = append(deployers, e.Deployer)
		}
		recipes[e.Deployer] = append(recipes[e.Deployer], e.Recipe)
		most = max(most, len(recipes[e.Deployer]))
	}
	if len(deployers) > maxJobs {
		return nil, fmt.Errorf("%d jobs for %d deployers: a job has one deployer, so want at least %d", maxJobs, len(deployers), len(deployers))
	}
	size := 1 // recipes a job
	for ; size < most; size++ {
		n := 0
		for _, d := range deployers {
			n += (len(recipes[d]) + size - 1) / size
		}
		if n <= maxJobs {
			break
		}
	}
	jobs := []Job{}
	for _, d := range deployers {
		all := recipes[d]
		n := (len(all) + size - 1) / size
		for i := range n {
			part := all[i*len(all)/n : (i+1)*len(all)/n]
			name := part[0] + "/" + d
			if size > 1 {
				name = fmt.Sprintf("%s %d of %d", d, i+1, n)
			}
			jobs = append(jobs, Job{Name: name, Recipe: strings.Join(part, ","), Deployer: d, Cells: len(part)})
		}
	}
	return jobs, nil
}

// GitHub gives the plan as a value for strategy.matrix: one line, {"include":[…]}. Without entries it is {"include":[]}, which GitHub
// refuses as a matrix; the job needs a condition.
func (p *Plan) GitHub(maxJobs int) (string, error) {
	jobs, err := p.Jobs(maxJobs)
	if err != nil {
		return "", err
	}
	out, err := json.Marshal(map[string][]Job{"include": jobs})
	if err != nil {
		return "", fmt.Errorf("write the matrix: %w", err)
	}
	return string(out) + "\n", nil
}

// Cells gives a line `recipe deployer` for each cell.
func (p *Plan) Cells() string {
	var b strings.Builder
	for _, e := range p.Entries {
		fmt.Fprintf(&b, "%s %s\n", e.Recipe, e.Deployer)
	}
	return b.String()
}

// Rows gives the plan as a table with a head, a row for each cell and each skipped recipe.
func (p *Plan) Rows() [][]string {
	rows := [][]string{{"RECIPE", "DEPLOYER", "TIER", "REASON"}}
	for _, e := range p.Entries {
		rows = append(rows, []string{e.Recipe, e.Deployer, tierList(e.Tiers), reasonText(e.Reasons)})
	}
	for _, s := range p.Skipped {
		rows = append(rows, []string{s.Recipe, "(skipped)", tierList(s.Tiers), s.Reason})
	}
	return rows
}

func tierList(tiers []int) string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(tiers), "[]"), " ", ",")
}

// reasonText keeps a row short: the first reasons, and how many more there are.
func reasonText(reasons []string) string {
	const shown = 2
	if len(reasons) > shown {
		return fmt.Sprintf("%s, and %d more", strings.Join(reasons[:shown], ", "), len(reasons)-shown)
	}
	return strings.Join(reasons, ", ")
}
