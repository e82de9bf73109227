package matrix

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/util/lists"
	"github.com/nvidia/aicr-action/internal/util/mdtext"
)

// summary returns summary.md, the page that a person reads first: what failed and why, what it
// blocked, where the pods are, how to run the cell again, which file to open next. Its only sources
// are cell.json's content and the list of files.
func summary(rec cellRecord, lane lane.Artifacts, files []artifact) string {
	p := &page{}
	p.head(rec)
	if rec.Status != result.Passed {
		p.section("Open next")
		for i, l := range nextFiles(rec, lane, files) {
			p.line("%d. `%s`: %s", i+1, l.name, l.why)
		}
	}
	p.reported(rec)
	p.workloads(rec)
	p.nodes(rec)
	p.notTheRecipes(rec)
	p.files(files)
	return p.String()
}

// page is Markdown that also reads well as plain text: messages are in code blocks instead of being
// escaped.
type page struct{ strings.Builder }

// mostRows bounds a table; the rest is in cell.json.
const mostRows = 40

func (p *page) line(format string, args ...any) { fmt.Fprintf(&p.Builder, format+"\n", args...) }

func (p *page) section(title string) { p.line("\n## %s\n", title) }

// code writes a block that no text can end early.
func (p *page) code(lines ...string) { p.WriteString(mdtext.Fence(strings.Join(lines, "\n"), "")) }

// folded writes a block that a reader opens, after a blank line.
func (p *page) folded(title, text string, lines []string) {
	folded := mdtext.Folded(fmt.Sprintf("%s (%d)", title, len(lines)), "", text+mdtext.Fence(strings.Join(lines, "\n"), ""))
	p.line("\n%s", strings.Trim(folded, "\n"))
}

func (p *page) table(head []string, rows [][]string) {
	p.line("| %s |", strings.Join(head, " | "))
	p.line("|%s", strings.Repeat("---|", len(head)))
	for i, row := range rows {
		if i == mostRows {
			p.line("\nand %d more in `cell.json`", len(rows)-i)
			return
		}
		for j := range row {
			row[j] = tableText(row[j])
		}
		p.line("| %s |", strings.Join(row, " | "))
	}
}

// mostText bounds the text in one cell of a table, in characters.
const mostText = 400

func tableText(s string) string {
	if r := []rune(s); len(r) > mostText {
		s = string(r[:mostText]) + "…"
	}
	return strings.NewReplacer("\n", " ", "|", `\|`, "<", "&lt;", "](", `]\(`).Replace(s)
}

func (p *page) head(rec cellRecord) {
	if rec.Status == result.Passed {
		p.line("# %s %s: passed, %d pods", rec.Status.Mark(), rec.Cell, rec.Pods)
	} else {
		p.line("# %s %s: %s", rec.Status.Mark(), rec.Cell, rec.Reason)
		p.line("")
		p.code(rec.Cause)
	}
	p.line("")
	var phases []string
	for _, ph := range rec.Phases {
		phases = append(phases, ph.Name+" "+ph.Took())
	}
	course := fmt.Sprintf("%s after %s", rec.Status, inSeconds(rec.Duration))
	if len(phases) > 0 {
		course += ", in step " + rec.Phases[len(rec.Phases)-1].Name + " (" + strings.Join(phases, ", ") + ")"
		if rec.Status == result.Passed {
			course = fmt.Sprintf("passed after %s (%s)", inSeconds(rec.Duration), strings.Join(phases, ", "))
		}
	}
	p.line("- %s", course)
	if rec.Stage != "" {
		p.line("- stage of the first failed object: %s", rec.Stage)
	}
	if rec.Component != "" {
		p.line("- to blame: process %s", rec.Component)
	}
	recipes := rec.Recipes
	if rec.Data != "" {
		recipes += " with the data of " + rec.Data
	}
	p.line("- charts: %s, recipes: %s, cluster: %s, started %s", rec.Charts, recipes, rec.Cluster, rec.Started.UTC().Format(time.RFC3339))
	p.line("- run it again: `%s`", rec.Rerun)
	if rec.Reason != "" {
		p.line("- what the reason means: `matrix explain %s`", rec.Reason)
	}
	details := rec.Details
	if len(details) > 0 && details[0] == rec.Cause {
		details = details[1:]
	}
	if len(details) > 0 {
		p.section("What is wrong")
		p.code(rec.Details...)
	}
}

func inSeconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

// reported writes what the deployer reported of its objects: causes first, and one line for the
// objects that only wait for them.
func (p *page) reported(rec cellRecord) {
	if rec.Observed == nil {
		if rec.Expectation == nil {
			return
		}
		p.section("What was expected")
		p.line("%d releases, %d workloads, %d objects; the cell ended before any of them was checked.",
			len(rec.Expectation.Releases), len(rec.Expectation.Workloads), len(rec.Expectation.Objects))
		return
	}
	o := rec.Observed
	p.section("What the deployer reported")
	if o.Unreadable != "" {
		p.line("The last polls could not read the cluster. This state is from an earlier poll:\n")
		p.code(o.Unreadable)
		p.line("")
	}
	count := map[string]int{}
	for _, it := range o.Items {
		count[it.State]++
	}
	var counts []string
	var rows [][]string
	var blocked []string
	for _, state := range []lane.ItemState{lane.ItemFailed, lane.ItemSuspect, lane.ItemWaiting, lane.ItemBlocked, lane.ItemAccepted, lane.ItemGood} {
		if n := count[state.String()]; n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n, state))
		}
		for _, it := range o.Items {
			switch {
			case it.State != state.String() || state == lane.ItemGood:
			case state == lane.ItemBlocked:
				blocked = append(blocked, it.ID+": "+result.FirstLine(it.Text))
			default:
				rows = append(rows, []string{it.ID, it.State, result.FirstLine(it.Text)})
			}
		}
	}
	if len(counts) == 0 {
		counts = []string{"nothing yet"}
	}
	p.line("%d objects: %s.", len(o.Items), strings.Join(counts, ", "))
	if len(rows) > 0 {
		p.line("")
		p.table([]string{"object", "state", "what it says"}, rows)
	}
	if len(blocked) > 0 {
		p.line("\nWaiting for something else, and no cause of the failure:\n")
		p.code(lists.AtMost(blocked, mostRows)...)
	}
	if len(o.Missing) > 0 {
		p.line("\nReported as delivered, but missing from the cluster:\n")
		p.code(o.Missing...)
	}
}

// workloads writes what was wrong with pods, by workload. Pods that the scheduler could not place
// are grouped by its message.
func (p *page) workloads(rec cellRecord) {
	if rec.Observed == nil || len(rec.Observed.Workloads) == 0 {
		return
	}
	p.section("Workloads and pods")
	var rows [][]string
	var sentences, unmade []string
	refused := map[string][]string{}
	for _, w := range rec.Observed.Workloads {
		switch {
		case w.Absent:
			unmade = append(unmade, w.ID)
		case len(w.Problems) > 0:
			rows = append(rows, []string{w.ID, strings.Join(w.Problems, "; ")})
		}
		for _, pod := range w.Pods {
			if pod.Refused == "" {
				continue
			}
			if refused[pod.Refused] == nil {
				sentences = append(sentences, pod.Refused)
			}
			refused[pod.Refused] = append(refused[pod.Refused], pod.Name)
		}
	}
	all := len(rec.Observed.Workloads)
	p.line("At %s UTC, %d workloads: %d as expected, %d not as expected, %d not created yet.",
		rec.Observed.At.Format(time.TimeOnly), all, all-len(rows)-len(unmade), len(rows), len(unmade))
	for _, s := range sentences {
		p.line("\nRefused by the scheduler (%d):\n", len(refused[s]))
		p.code(append([]string{s}, lists.AtMost(refused[s], mostRows)...)...)
	}
	if len(rows) > 0 {
		p.line("")
		p.table([]string{"workload", "what is wrong"}, rows)
	}
	if len(unmade) > 0 {
		p.folded("workloads that were not created yet", "", unmade)
	}
}

func (p *page) nodes(rec cellRecord) {
	if rec.Observed == nil || len(rec.Observed.Nodes) == 0 {
		return
	}
	p.section("Nodes")
	var rows [][]string
	for _, g := range rec.Observed.Nodes {
		nodes := strings.Join(g.Nodes, ", ")
		if len(g.NotReady) > 0 {
			nodes += "; not Ready: " + strings.Join(g.NotReady, ", ")
		}
		rows = append(rows, []string{fmt.Sprintf("%d %s", len(g.Nodes), g.Kind), g.Instance, strings.Join(g.Taints, ", "), g.Allocatable, fmt.Sprint(g.Pods), nodes})
	}
	p.table([]string{"nodes", "type", "taints", "room in each", "pods on them", "names"}, rows)
}

// notTheRecipes writes what the harness injected or noticed, so that readers do not look for it in
// the recipe.
func (p *page) notTheRecipes(rec cellRecord) {
	titled := false
	for _, row := range result.RemarkRows() {
		lines := rec.Remarks(row.Kind)
		if len(lines) == 0 {
			continue
		}
		if !titled {
			p.line("\n## Overrides, stand-ins and notes")
			titled = true
		}
		p.folded(row.Title, row.Means+" "+row.Effect()+"\n\n", lines)
	}
}

func (p *page) files(files []artifact) {
	p.section("All files")
	sorted := slices.Clone(files)
	slices.SortStableFunc(sorted, func(a, b artifact) int { return strings.Compare(a.name, b.name) })
	var rows [][]string
	var troubles []string
	for _, f := range sorted {
		what := f.what
		if f.state != "" {
			what = "**not complete.** " + what
			troubles = append(troubles, f.name+": "+f.state)
		}
		rows = append(rows, []string{"`" + f.name + "`", what})
	}
	p.table([]string{"file", "what is in it"}, rows)
	if len(troubles) > 0 {
		p.line("\nDebug files that could not be collected:\n")
		p.code(troubles...)
	}
}
