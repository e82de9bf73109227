package report

import (
	"cmp"
	"embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/lists"
	"github.com/nvidia/aicr-action/internal/util/mdtext"
)

//go:embed page
var pageFiles embed.FS

// WriteHTML writes the report as one self-contained page: it needs no network, and is readable
// without scripts.
func (r *Report) WriteHTML(w io.Writer) error {
	css, err := pageFiles.ReadFile("page/page.css")
	if err != nil {
		return err
	}
	js, err := pageFiles.ReadFile("page/page.js")
	if err != nil {
		return err
	}
	tmpl, err := template.New("page.html.tmpl").Funcs(template.FuncMap{
		"seconds": seconds, "plural": lists.Count, "workload": workloadName, "checkLine": func(c result.Check) string { return CheckLine(&c) }, "chaosLines": func(s result.ChaosStep) []string { return ChaosLines(&s) }, "changeSections": upgradeSections, "changeSummary": upgradeSummary, "changeAbout": upgradeAbout,
	}).ParseFS(pageFiles, "page/page.html.tmpl")
	if err != nil {
		return err
	}
	p := r.page()
	p.CSS, p.JS = template.CSS(css), template.JS(js)
	var b strings.Builder
	if err := tmpl.Execute(&b, p); err != nil {
		return err
	}
	_, err = io.WriteString(w, mdtext.Visible(b.String())) // texts are a stranger's, and none may turn another one around
	return err
}

// page is what the template shows.
type page struct {
	CSS       template.CSS
	JS        template.JS
	Title     string
	Green     bool
	Totals    string
	From      []labelled
	URL       string // of the CI run
	Unread    []string
	Styles    []styleCount
	What      string // of the first column
	Deployers []string
	Groups    []rowGroup
	Summed    bool // rows have a summary of all lanes
	Rows      []gridRow
	Alike     []string // which lanes made the same objects
	Causes    []causeView
	Differ    []causeView
	Remarks   []remarkKind
	Phases    []string
}

type labelled struct{ Name, Value string }

type styleCount struct {
	style
	Count int
}

type gridRow struct {
	Recipe string
	Cells  []*cellView // nil where there is no cell
	// Same: the lanes agree. Then Summary and style show how all of them ended.
	Same    bool
	Summary string
	style
}

// rowGroup is the rows of one service; Title is empty if it is the only group.
type rowGroup struct {
	Title string
	Rows  []gridRow
}

// Columns of the grid.
func (p *page) Columns() int {
	n := 1 + len(p.Deployers)
	if p.Summed {
		n++
	}
	return n
}

// cellView is a cell of the grid, and its part of the page.
type cellView struct {
	*result.Result
	style
	ID     int
	Reason string // with the code
	Text   string // beside the word
	Steps  []stepView
}

type stepView struct {
	Name   string
	N      int // which step it is, from 1; the same in all cells
	Ms     int64
	Took   time.Duration
	Failed bool
}

type causeView struct {
	style
	Reason, Text string
	Place        string
	Cells        []*cellView
	Story        []string
	Rerun        string
	Artifacts    string
	Before       string // which cells are newly failing, already failing or flaky
	Download     string
	RunURL       string // where the artifacts are
}

func (r *Report) page() *page {
	p := &page{
		Title: "AICR matrix: " + TotalsText(r.Results), Green: r.Green(), Totals: TotalsText(r.Results), URL: webURL(r.CI.URL), Unread: r.Unread,
		Remarks: r.remarks(), Phases: phaseNames(r.Results),
	}
	p.From = r.from()
	count := map[result.Status]int{}
	for i := range r.Results {
		count[r.Results[i].Status]++
	}
	for _, l := range styles() {
		if count[l.Status] > 0 {
			p.Styles = append(p.Styles, styleCount{l, count[l.Status]})
		}
	}
	views := r.views(p.Phases)
	g := r.grid()
	p.What, p.Deployers, p.Summed, p.Alike = g.What, g.Deployers, g.Many && len(g.Deployers) > 1, r.sameObjects(g.Many)
	for _, group := range g.Groups {
		rows := rowGroup{Title: group.Title}
		for _, l := range group.Lines {
			row := gridRow{Recipe: l.Recipe, Same: l.Same}
			for _, c := range l.Cells {
				row.Cells = append(row.Cells, views[c])
			}
			if p.Summed {
				first, texts := r.summary(&l)
				row.Summary, row.style = texts[0], styleOf(first.Status)
			}
			rows.Rows = append(rows.Rows, row)
		}
		p.Groups, p.Rows = append(p.Groups, rows), append(p.Rows, rows.Rows...)
	}
	for _, c := range r.causes() {
		first := c.Cells[0]
		v := causeView{style: styleOf(first.Status), Reason: r.reasonText(first), Text: c.Text, Place: c.Place.String(), Story: afterCause(c.Story, c.Text), Rerun: first.Rerun, Artifacts: first.Artifacts, Before: standing(c.Cells),
			Download: first.Upload.Command(), RunURL: webURL(upload(first).URL)}
		for _, cell := range c.Cells {
			v.Cells = append(v.Cells, views[cell])
		}
		if c.Reason == reason.LaneDivergence {
			p.Differ = append(p.Differ, v)
			continue
		}
		p.Causes = append(p.Causes, v)
	}
	return p
}

// afterCause is a story without a first line that repeats the cause above it.
func afterCause(story []string, cause string) []string {
	if len(story) > 0 && story[0] == cause {
		return story[1:]
	}
	return story
}

// from says where the results come from.
func (r *Report) from() []labelled {
	var all []labelled
	add := func(name, value string) {
		if value != "" {
			all = append(all, labelled{name, value})
		}
	}
	distinct := func(of func(*result.Result) string) string {
		var values []string
		for i := range r.Results {
			if v := of(&r.Results[i]); v != "" && !slices.Contains(values, v) {
				values = append(values, v)
			}
		}
		return strings.Join(values, ", ")
	}
	add("charts", distinct(func(x *result.Result) string { return x.Charts }))
	for _, kind := range []string{"recipes", "app", "bundle"} {
		add(kind, distinct(func(x *result.Result) string {
			if is, at := x.Input(); is == kind {
				return at
			}
			return ""
		}))
	}
	add("data", distinct(func(x *result.Result) string { return x.Data }))
	add("cluster", distinct(func(x *result.Result) string { return x.Cluster }))
	add("run", r.RunID)
	add("repository", r.CI.Repository)
	add("branch", r.CI.Branch)
	add("commit", r.CI.Commit)
	add("shard", r.CI.Shard)
	if t := r.began(); !t.IsZero() {
		add("began", t.UTC().Format("2006-01-02 15:04:05 UTC"))
		if end := r.finished(); end.After(t) {
			add("took", end.Sub(t).Round(time.Second).String())
		}
	}
	add("matrix", r.Tool)
	return all
}

func (r *Report) views(phases []string) map[*result.Result]*cellView {
	views := map[*result.Result]*cellView{}
	for i := range r.Results {
		res := &r.Results[i]
		v := &cellView{Result: res, style: styleOf(res.Status), ID: i, Reason: r.reasonText(res)}
		switch {
		case res.Status.Good(), r.hasReason(res):
			v.Text = r.cellText(res)
		}
		for j, ph := range res.Phases {
			v.Steps = append(v.Steps, stepView{
				Name: ph.Name, N: slices.Index(phases, ph.Name) + 1, Ms: max(1, ph.Duration.Milliseconds()), Took: ph.Duration,
				Failed: j == len(res.Phases)-1 && broken(res.Status),
			})
		}
		views[res] = v
	}
	return views
}

// Brief is what the grid of many recipes says of a cell beside its mark: why it did not pass,
// unless the summary of its recipe has that, or how long it took.
func (c *cellView) Brief(summed bool) string {
	switch {
	case !c.Status.Good() && !summed && c.Text != "":
		return c.Text
	case !c.Status.Good() && !summed || c.Duration == 0:
		return c.Word
	}
	return seconds(c.Duration)
}

// Key is the text that the page's filter searches.
func (c *cellView) Key() string { return strings.ToLower(c.Cell.String() + " " + c.Reason) }

// Nodes are the cell's nodes with their pods by namespace; nil if the gate never read them.
func (c *cellView) Nodes() []nodeView {
	if c.Placement == nil {
		return nil
	}
	var all []nodeView
	for i := range c.Placement.Nodes {
		n := &c.Placement.Nodes[i]
		all = append(all, nodeView{PlacedNode: n, Count: podCount(n.Pods), Spaces: byNamespace(n.Pods)})
	}
	return all
}

// Unplaced are the pods that no node has, with the finding of which their workload is the object.
func (c *cellView) Unplaced() []namespaceView {
	if c.Placement == nil {
		return nil
	}
	spaces := byNamespace(c.Placement.Unplaced)
	for i := range spaces {
		for j := range spaces[i].Groups {
			g := &spaces[i].Groups[j]
			for _, f := range c.Findings {
				if o := f.Object; o != nil && o.Namespace == g.Namespace && o.Kind+" "+o.Name == g.Workload {
					g.Why = f.Cause
					break
				}
			}
		}
	}
	return spaces
}

// Download is the command that gets the debug artifacts from CI, RunURL where they are to be seen;
// empty elsewhere.
func (c *cellView) Download() string { return c.Upload.Command() }

// RunURL is the page of the CI run that has the debug artifacts.
func (c *cellView) RunURL() string { return webURL(upload(c.Result).URL) }

// pastView is a mark in the row of a cell's earlier runs.
type pastView struct {
	style
	Title, URL string
}

// History is the row of marks, the oldest run first and this one last; empty if nothing is known of
// earlier runs.
func (c *cellView) History() []pastView {
	if len(c.Past) == 0 {
		return nil
	}
	var all []pastView
	for _, p := range c.Past {
		v := pastView{style: styleOf(p.Status), Title: "run " + p.Run, URL: webURL(p.URL)}
		if p.Commit != "" {
			v.Title += ", " + p.Commit[:min(7, len(p.Commit))]
		}
		if p.Reason != "" {
			v.Title += ": " + p.Reason
		}
		all = append(all, v)
	}
	return append(all, pastView{style: c.style, Title: "this run"})
}

// Remarked reports whether a cell has notes or warnings.
func (c *cellView) Remarked() bool { return len(c.Notes)+len(c.Warnings) > 0 }

type nodeView struct {
	*result.PlacedNode
	Count  int
	Spaces []namespaceView
}

// Like names the nodes that the entry represents; it is empty for an entry of one node. The CPU and
// memory of the entry are those of each of the nodes.
func (n nodeView) Like() string {
	if n.Alike == 0 {
		return ""
	}
	return fmt.Sprintf("and the other %d of %s, each", n.Alike-1, strings.Join(lists.AtMost(n.Names, likeNames), ", "))
}

// likeNames are shown of the ranges of names that an entry stands for.
const likeNames = 12

type namespaceView struct {
	Name   string
	Groups []groupView
}

// groupView is a workload's pods; Why no node has them, if they are a finding's.
type groupView struct {
	result.PodGroup
	Why string
}

func podCount(groups []result.PodGroup) int {
	n := 0
	for i := range groups {
		n += len(groups[i].Pods) + groups[i].More
	}
	return n
}

func byNamespace(groups []result.PodGroup) []namespaceView {
	var all []namespaceView
	sorted := slices.Clone(groups)
	slices.SortStableFunc(sorted, func(a, b result.PodGroup) int { return cmp.Compare(a.Namespace, b.Namespace) })
	for _, g := range sorted {
		if len(all) == 0 || all[len(all)-1].Name != g.Namespace {
			all = append(all, namespaceView{Name: g.Namespace})
		}
		last := &all[len(all)-1]
		last.Groups = append(last.Groups, groupView{PodGroup: g})
	}
	return all
}

// workloadName is a workload without its kind, since the name nearly always shows the kind.
func workloadName(g groupView) string {
	_, name, ok := strings.Cut(g.Workload, " ")
	if !ok {
		name = g.Workload
	}
	if n := len(g.Pods) + g.More; n > 1 {
		name += fmt.Sprintf(" ×%d", n)
	}
	return name
}

// webURL is a link that can be trusted to be one.
func webURL(s string) string {
	if strings.HasPrefix(s, "https://") || strings.HasPrefix(s, "http://") {
		return s
	}
	return ""
}
