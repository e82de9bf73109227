package placement

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"time"

	"github.com/nvidia/aicr-action/internal/result"
)

//go:embed page/page.html.tmpl
var pageText string

// mostRows bounds the rows in the picture of the nodes. With more nodes, each row is several
// neighbours by name, and shows their mean.
const mostRows = 64

// Page is what WriteHTML shows.
type Page struct {
	Title     string
	Passed    bool
	Workflows []PageWorkflow
	// Chaos is what was broken meanwhile: the first entry names the file, each other one is a step,
	// in lines.
	Chaos [][]string
}

// PageWorkflow is one workflow.
type PageWorkflow struct {
	Name, File, Error string
	Status            result.StepStatus
	Took              time.Duration
	Tasks             []PageTask
	Placement         *Result
}

// PageTask is one of its tasks.
type PageTask struct {
	ID, Type, Error string
	Status          result.StepStatus
	Took            time.Duration
}

// WriteHTML writes one page that needs neither network nor script.
func WriteHTML(w io.Writer, p Page) error {
	tmpl, err := template.New("page").Funcs(template.FuncMap{"round": func(d time.Duration) string { return d.Round(10 * time.Millisecond).String() }}).Parse(pageText)
	if err != nil {
		return err
	}
	return tmpl.Execute(w, p)
}

// Row is a row of the picture.
type Row struct {
	Name  string
	Cells []Cell
}

// Cell is a stretch of time in which a row's occupancy was the same.
type Cell struct {
	X, Width int
	// Shade is from 0 for nothing taken to 10 for all, and -1 if the nodes take no pods.
	Shade int
	Title string
}

// Columns returns the number of moments in the picture.
func (r *Result) Columns() int { return len(r.picture) }

// Seconds returns how long the workflow took.
func (r *Result) Seconds() string { return fmt.Sprintf("%.1f s", float64(r.end)/1000) }

// groupName returns the name of a row of so many nodes, by its first one.
func groupName(first string, nodes int) string {
	if nodes == 1 {
		return first
	}
	return fmt.Sprintf("%s and %d more", first, nodes-1)
}

// meanOf returns the mean percentage of these nodes at a moment; false if none of them takes pods
// and has GPUs.
func meanOf(moment []float64, nodes []int) (float64, bool) {
	sum, n := 0.0, 0
	for _, i := range nodes {
		if moment[i] >= 0 {
			sum, n = sum+moment[i], n+1
		}
	}
	return sum / float64(max(1, n)), n > 0
}

// shadeOf returns a percentage in tenths: 0 to 10, also for a node that lost GPUs which pods still
// hold.
func shadeOf(percent float64) int { return min(10, int(percent+5)/10) }

// Rows returns the picture of the nodes over time.
func (r *Result) Rows() []Row {
	shown := []int{}
	for i := range r.rows {
		for _, column := range r.picture {
			if column[i] >= 0 {
				shown = append(shown, i)
				break
			}
		}
	}
	per := max(1, (len(shown)+mostRows-1)/mostRows)
	var rows []Row
	for at := 0; at < len(shown); at += per {
		group := shown[at:min(at+per, len(shown))]
		row := Row{Name: groupName(r.rows[group[0]], len(group))}
		for x, column := range r.picture {
			shade, text := -1, "takes no pods"
			if mean, ok := meanOf(column, group); ok {
				shade, text = shadeOf(mean), fmt.Sprintf("%.0f%% of the GPUs taken", mean)
			}
			if last := len(row.Cells) - 1; last >= 0 && row.Cells[last].Shade == shade {
				row.Cells[last].Width++
				continue
			}
			row.Cells = append(row.Cells, Cell{X: x, Width: 1, Shade: shade, Title: fmt.Sprintf("%s, from %.1f s: %s", row.Name, float64(r.Occupancy[x].At)/1000, text)})
		}
		rows = append(rows, row)
	}
	return rows
}
