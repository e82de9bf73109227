package report

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/util/lists"
	"github.com/nvidia/aicr-action/internal/util/mdtext"
)

// maxMarkdown is a little less than the 1 MiB that GitHub takes as a step summary; of a longer one
// it shows nothing at all.
// https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands#step-isolation-and-limits
const maxMarkdown = 1<<20 - 4<<10

// maxComment is a little less than the 65,536 characters that GitHub takes as a comment.
const maxComment = 60 << 10

// mostOpen is how many lines of a story a reader sees without a click, with the edit among them.
const mostOpen = 14

// mostLines bounds a story; the whole of it is in the results file.
const mostLines = 40

// WriteMarkdown writes a report that fits a GitHub step summary: the grid, then the failures, then
// the rest, folded. It leaves out the last parts if the report would exceed 1 MiB, and says so.
func (r *Report) WriteMarkdown(w io.Writer) error {
	_, err := io.WriteString(w, r.markdown(maxMarkdown))
	return err
}

func (r *Report) markdown(limit int) string {
	m := &markdown{limit: limit - 200} // room for the line about parts that were left out
	m.add(r.mdHead())
	m.rows(r.mdGrid())
	for _, part := range r.mdCauses() {
		m.add(part)
	}
	m.add(r.mdUnfinished())
	for _, part := range upgradeMarkdown(r.Results) {
		m.add(part)
	}
	m.add(r.mdValidation())
	m.add(r.mdChaos())
	m.add(r.mdTimes())
	for _, k := range r.remarks() {
		m.add(mdRemarks(k))
	}
	m.add(r.mdTimeline())
	if m.left > 0 {
		fmt.Fprintf(&m.b, "\n%s left out to stay below GitHub's limit of %s; %s and the HTML report have everything.\n", lists.Count(m.left, "part"), map[bool]string{true: "1 MiB", false: "64 KiB"}[limit > maxComment], FileName)
	}
	return m.b.String()
}

// markdown collects parts up to a limit in bytes.
type markdown struct {
	b     strings.Builder
	limit int
	left  int // parts that did not fit
}

func (m *markdown) add(part string) bool {
	if part == "" {
		return true
	}
	if m.b.Len()+len(part) > m.limit {
		m.left++
		return false
	}
	m.b.WriteString(part)
	return true
}

// rows adds the grid, which is never left out as a whole.
func (m *markdown) rows(rows []string) {
	for _, row := range rows {
		if !m.add(row) {
			return
		}
	}
}

func (r *Report) mdHead() string {
	mark := "✗"
	if r.Green() {
		mark = "✓"
	}
	text := fmt.Sprintf("## %s AICR matrix: %s\n\n", mark, TotalsText(r.Results))
	for _, u := range r.Unread {
		text += "> **Not included:** " + mdtext.Code(oneLine(u)) + "\n\n"
	}
	return text
}

func (r *Report) mdGrid() []string {
	g := r.grid()
	if len(g.Groups) == 0 {
		return []string{"No cell was run: nothing was checked.\n"}
	}
	if r.narrow && len(g.Deployers) >= wideLanes {
		return append(r.mdNarrow(&g), r.mdSame(g.Many), r.mdFrom())
	}
	head, line := "| "+g.What+" |", "|---|"
	summed := g.Many && len(g.Deployers) > 1
	if summed {
		head += " all lanes |"
		line += "---|"
	}
	for _, d := range g.Deployers {
		head += " " + mdtext.CellCode(d) + " |"
		line += "---|"
	}
	rows := []string{head + "\n" + line + "\n"}
	for _, group := range g.Groups {
		if group.Title != "" {
			rows = append(rows, "| **"+mdtext.CellCode(group.Title)+"** |"+strings.Repeat(" |", strings.Count(line, "|")-2)+"\n")
		}
		for _, l := range group.Lines {
			row := "| " + mdtext.CellCode(l.Recipe) + " |"
			if summed {
				row += " " + r.mdSummary(&l) + " |"
			}
			for _, c := range l.Cells {
				if l.Same && c != nil {
					row += " " + styleOf(c.Status).Mark + " |"
					continue
				}
				row += " " + r.mdCell(c) + " |"
			}
			rows = append(rows, row+"\n")
		}
	}
	return append(rows, r.mdSame(g.Many), r.mdFrom())
}

// mdSame says which lanes made the same objects.
func (r *Report) mdSame(many bool) (text string) {
	for _, line := range r.sameObjects(many) {
		text += "\n" + mdtext.Code(line) + "\n"
	}
	return text
}

// wideLanes is from how many lanes on a table with a column for each is wider than a comment.
const wideLanes = 3

// mdNarrow is the grid with one column for all lanes: what they have in common, and those that did
// not pass, each with its ending. Of a few recipes it has each lane.
func (r *Report) mdNarrow(g *grid) []string {
	head := "| " + g.What + " | "
	for i, d := range g.Deployers {
		head += strings.Repeat(", ", min(i, 1)) + mdtext.CellCode(d)
	}
	rows := []string{head + " |\n|---|---|\n"}
	for _, group := range g.Groups {
		if group.Title != "" {
			rows = append(rows, "| **"+mdtext.CellCode(group.Title)+"** | |\n")
		}
		for _, l := range group.Lines {
			texts := []string{}
			if g.Many {
				texts = append(texts, r.mdSummary(&l))
			}
			for i, c := range l.Cells {
				if c != nil && !l.Same && !(g.Many && c.Status.Good()) {
					texts = append(texts, mdtext.CellCode(g.Deployers[i])+" "+r.mdCell(c))
				}
			}
			rows = append(rows, "| "+mdtext.CellCode(l.Recipe)+" | "+strings.Join(texts, "<br>")+" |\n")
		}
	}
	return rows
}

// mdFrom says what was run.
func (r *Report) mdFrom() string {
	first := r.Results[0]
	from := []string{}
	kind, at := first.Input()
	for _, p := range []struct{ name, value string }{{"charts", first.Charts}, {kind, at}, {"data", first.Data}, {"cluster", first.Cluster}, {"run", r.RunID}} {
		if p.value != "" {
			from = append(from, p.name+" "+mdtext.Code(p.value))
		}
	}
	if url := mdURL(r.CI.URL); url != "" {
		from = append(from, "[the run]("+url+")")
	}
	return "\n" + strings.Join(from, " · ") + "\n"
}

// mdSummary is how the lanes of a recipe ended, in one cell.
func (r *Report) mdSummary(l *gridLine) string {
	first, texts := r.summary(l)
	if !l.Same {
		return texts[0]
	}
	return styleOf(first.Status).Mark + " " + strings.ReplaceAll(texts[0], "*", "\\*")
}

func (r *Report) mdCell(res *result.Result) string {
	if res == nil {
		return ""
	}
	text := r.cellText(res)
	switch {
	case res.Status.Good() && len(res.Notes) > 0:
		text += " \\*"
	case r.hasReason(res):
		text = mdtext.CellCode(text)
	}
	return styleOf(res.Status).Mark + " " + text
}

// mdCauses has one part per root cause.
func (r *Report) mdCauses() []string {
	var parts []string
	for i, c := range r.causes() {
		var b strings.Builder
		if i == 0 {
			b.WriteString("\n### What went wrong\n")
		}
		first := c.Cells[0]
		fmt.Fprintf(&b, "\n#### %d. %s in %s\n\n", i+1, mdtext.Code(r.reasonText(first)), lists.Count(len(c.Cells), "cell"))
		story := storyLines(c.Story)
		b.WriteString(mdtext.Code(c.Text) + "\n\n") // which wraps on a small screen, as a block of code does not
		shown, rest := opened(story, c.Text)
		if len(shown) > 0 {
			b.WriteString(mdtext.CodeList(shown) + "\n")
		}
		if c.Place.File != "" {
			b.WriteString("Look at " + mdtext.Code(c.Place.String()) + ".\n\n")
		}
		if text := standing(c.Cells); text != "" {
			b.WriteString("**Before:** " + mdtext.Code(text) + "\n\n")
		}
		b.WriteString("Cells: " + codes(c.Cells, 20) + "\n\n")
		if first.Rerun != "" {
			b.WriteString("Rerun:\n\n" + mdtext.Fence(first.Rerun, "sh") + "\n")
		}
		if len(rest) > 0 {
			b.WriteString(mdtext.Folded("Details of", first.Cell.String(), mdtext.Fence(strings.Join(rest, "\n"), "")))
		}
		b.WriteString(mdArtifacts(first))
		parts = append(parts, b.String())
	}
	return parts
}

// mostLead is how many lines of a long story are shown above it: what to do.
const mostLead = 3

// opened divides a story into what stands below its cause, and what is folded. A story that does not begin
// with its cause, e.g. of an upgrade, begins with what explains it, and says what to do.
func opened(story []string, cause string) (shown, folded []string) {
	if len(story) == 0 {
		return nil, nil
	}
	leads := oneLine(story[0]) != cause
	if len(story) <= mostOpen {
		if leads {
			return story, nil
		}
		return story[1:], nil
	}
	return advice(story, cause), story
}

// advice is what a story says that is to be done: its edits, and what is in front of the cause.
func advice(story []string, cause string) (lines []string) {
	leads := len(story) > 0 && oneLine(story[0]) != cause
	for i, line := range story {
		if len(lines) < mostLead && (leads && i < mostLead-1 || strings.HasPrefix(strings.TrimSpace(line), "edit: ")) {
			lines = append(lines, line)
		}
	}
	return lines
}

// inLink is a link's target that cannot end the link.
var inLink = regexp.MustCompile(`^https?://[A-Za-z0-9._~:/?#@&=%+-]+$`)

// mdURL is a link's target, or empty if the text is no web address, since results are untrusted.
func mdURL(s string) string {
	if inLink.MatchString(s) {
		return s
	}
	return ""
}

// mdArtifacts says where the debug artifacts of a cell are. In CI, whose machine is removed after
// the run, it is the command that downloads them.
func mdArtifacts(c *result.Result) string {
	command := c.Upload.Command()
	switch {
	case command != "" && mdURL(c.Upload.URL) != "":
		return "Debug artifacts of " + mdtext.Code(c.Cell.String()) + ", in [the run](" + c.Upload.URL + "#artifacts):\n\n" + mdtext.Fence(command, "sh") + "\n"
	case command != "":
		return "Debug artifacts:\n\n" + mdtext.Fence(command, "sh") + "\n"
	case c.Artifacts != "":
		return "Debug artifacts: " + mdtext.Code(c.Artifacts) + "\n\n"
	}
	return ""
}

// storyLines are the lines of a story, at most mostLines of them.
func storyLines(story []string) []string {
	if len(story) == 0 {
		return nil
	}
	all := strings.Split(strings.Join(story, "\n"), "\n")
	return headAndTail(all, mostLines, " in "+FileName)
}

// headAndTail are the first and the last of too many lines: a program's reason may be its first line or its last
// one.
func headAndTail(all []string, most int, where string) []string {
	if len(all) <= most {
		return all
	}
	tail := most / 4
	return slices.Concat(all[:most-tail], []string{fmt.Sprintf("… %d more lines%s …", len(all)-most, where)}, all[len(all)-tail:])
}

func (r *Report) mdUnfinished() string {
	var b strings.Builder
	for _, u := range r.unfinishedCells(result.Interrupted, result.NotRun, result.Skipped) {
		fmt.Fprintf(&b, "\n%s **%s** %s: %s\n", styleOf(u.Status).Mark, styleOf(u.Status).Word, codes(u.Cells, 20), mdtext.Code(u.Text))
	}
	return b.String()
}

// mdValidation lists the results of the recipes' validation phases.
func (r *Report) mdValidation() string {
	var b strings.Builder
	n := 0
	for i := range r.Results {
		if len(r.Results[i].Validation) == 0 {
			continue
		}
		n++
		fmt.Fprintf(&b, "%s: %s\n\n", mdtext.Code(r.Results[i].Cell.String()), validated(r.Results[i].Validation))
		for j := range r.Results[i].Validation {
			b.WriteString("- " + mdtext.Code(oneLine(CheckLine(&r.Results[i].Validation[j]))) + "\n")
		}
		b.WriteString("\n")
	}
	if n == 0 {
		return ""
	}
	return mdtext.Folded("Validation of "+lists.Count(n, "cell"), "", b.String())
}

func (r *Report) mdTimes() string {
	var b strings.Builder
	phases := phaseNames(r.Results)
	if len(phases) == 0 {
		return ""
	}
	b.WriteString("| cell |")
	for _, p := range phases {
		b.WriteString(" " + mdtext.CellCode(p) + " |")
	}
	b.WriteString(" all |\n|---|" + strings.Repeat("--:|", len(phases)+1) + "\n")
	for i := range r.Results {
		result := &r.Results[i]
		if len(result.Phases) == 0 {
			continue
		}
		b.WriteString("| " + mdtext.CellCode(result.Cell.String()) + " |")
		for _, name := range phases {
			text := ""
			for _, p := range result.Phases {
				if p.Name == name {
					text = p.Took()
				}
			}
			b.WriteString(" " + text + " |")
		}
		b.WriteString(" " + seconds(result.Duration) + " |\n")
	}
	return mdtext.Folded("Times", "", b.String()+"\n")
}

// phaseNames are the steps that cells have gone through, in their order.
func phaseNames(results []result.Result) []string {
	var names []string
	seen := map[string]bool{}
	for i := range results {
		for _, p := range results[i].Phases {
			if !seen[p.Name] {
				seen[p.Name] = true
				names = append(names, p.Name)
			}
		}
	}
	return names
}

func mdRemarks(k remarkKind) string {
	var b strings.Builder
	b.WriteString(k.Means + " " + k.Effect() + "\n\n")
	list := func(remarks []remark) {
		for _, x := range remarks {
			b.WriteString("- " + mdtext.Code(x.Text))
			if !x.All {
				b.WriteString(" in " + codes(x.Cells, 4))
			}
			b.WriteString("\n")
		}
	}
	fresh, old := k.split()
	list(fresh)
	if len(old) > 0 {
		b.WriteString("\nUnchanged since run " + mdtext.Code(old[0].Old) + ":\n\n")
		list(old)
	}
	return mdtext.Folded(k.Title+": "+k.Count(), "", b.String()+"\n")
}
