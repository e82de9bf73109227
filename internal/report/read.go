package report

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/report/testreport"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/util/filesys"
)

// maxResults is the largest results file that is read, in bytes: ten times what a thousand cells
// make.
const maxResults = 256 << 20

// Read reads a results file that WriteCTRF wrote. A file that is cut off, of another program or of
// another version of the format is an error that says so.
func Read(path string) (*Report, error) {
	raw, err := filesys.File(path, maxResults)
	if err != nil {
		return nil, fmt.Errorf("read the results: %w", err)
	}
	r, err := parse(raw)
	if err != nil {
		return nil, fmt.Errorf("read the results in %s: %w", path, err)
	}
	return r, nil
}

func parse(raw []byte) (*Report, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return nil, errors.New("the file is empty: the run or its upload was interrupted")
	}
	var in testreport.CTRF[ctrfExtra]
	if err := json.Unmarshal(raw, &in); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) && syntax.Offset >= int64(len(raw)) {
			return nil, fmt.Errorf("the file is cut off after %d bytes (%w): the run or its upload was interrupted", len(raw), err)
		}
		return nil, fmt.Errorf("not a results file: %w", err)
	}
	switch {
	case in.ReportFormat != "CTRF":
		return nil, fmt.Errorf("not a results file: its reportFormat is %q, want CTRF", in.ReportFormat)
	case in.Extra == nil || in.Extra.FormatVersion == 0:
		return nil, fmt.Errorf("a CTRF report of another program (%s): it lacks extra.aicrActionFormat", cmp.Or(in.Results.Tool.Name, "unnamed"))
	case in.Extra.FormatVersion != formatVersion:
		return nil, fmt.Errorf("it was written in version %d of the format, and this program reads version %d; use the version of matrix that wrote it (%s)",
			in.Extra.FormatVersion, formatVersion, cmp.Or(in.Results.Tool.Version, "unknown"))
	}
	r := &Report{Meta: Meta{Tool: in.Results.Tool.Version, RunID: in.RunID, Started: in.Extra.Started, CI: in.Extra.CI, Shards: in.Extra.Shards}, Unread: in.Extra.Unread}
	if in.Timestamp != nil {
		r.Written = *in.Timestamp
	}
	seen := map[result.Cell]bool{}
	for i := range in.Results.Tests {
		t := &in.Results.Tests[i]
		if strings.HasPrefix(t.Name, setupPrefix) {
			continue // computed again from the cells
		}
		var extra cellExtra
		if err := json.Unmarshal(t.Extra, &extra); err != nil {
			return nil, fmt.Errorf("test %q: its extra object: %w", t.Name, err)
		}
		result := extra.Result
		switch {
		case result.Recipe == "" || result.Deployer == "" || t.Name != "kwok/"+result.Cell.String():
			return nil, fmt.Errorf("test %q is not about the cell %q that its extra object has", t.Name, result.Cell)
		case !slices.ContainsFunc(styles(), func(l style) bool { return l.Status == result.Status }):
			return nil, fmt.Errorf("test %q has the status %q, which this program does not know", t.Name, result.Status)
		case seen[result.Cell]:
			return nil, fmt.Errorf("test %q appears twice; combine files with `matrix merge`", t.Name)
		case t.Status != ctrfStatus(result.Status):
			return nil, fmt.Errorf("test %q says %q, but its extra object says %q: the file was edited", t.Name, t.Status, result.Status)
		}
		seen[result.Cell] = true
		r.Results = append(r.Results, result)
	}
	return r, nil
}

// ReadAll reads and merges files as Merge does. A file that cannot be read is left out, and named
// in the report's Unread and in the errors, one per file.
//
// Each of accept may refuse a file that was read, e.g. since it is of another run.
func ReadAll(paths, lanes []string, accept ...func(*Report) error) (*Report, []error) {
	var reports []*Report
	var unread []string
	var errs []error
	for _, p := range paths {
		r, err := Read(p)
		for _, fine := range accept {
			if err == nil {
				if err = fine(r); err != nil {
					err = fmt.Errorf("read the results in %s: %w", p, err)
				}
			}
		}
		if err != nil {
			errs = append(errs, err)
			unread = append(unread, err.Error())
			continue
		}
		reports = append(reports, r)
	}
	for _, text := range mixed(reports) {
		errs, unread = append(errs, errors.New(text)), append(unread, text)
	}
	merged := merge(lanes, reports...)
	merged.Unread = append(merged.Unread, unread...)
	return merged, errs
}

// mixed says which cells are in two reports with different recipes: these are no two attempts at one
// cell, and the latest of them would hide how the other ended.
func mixed(reports []*Report) []string {
	var texts []string
	seen := map[result.Cell]result.Result{}
	for _, r := range reports {
		for _, c := range r.Results {
			if a, twice := seen[c.Cell]; twice && (a.Recipes != c.Recipes || a.Data != c.Data) {
				texts = append(texts, fmt.Sprintf("cell %s was run with the recipes in %s (%s) and with those in %s (%s): merge the results of each directory on their own", c.Cell, a.Recipes, a.Status, c.Recipes, c.Status))
				continue
			}
			seen[c.Cell] = c
		}
	}
	return texts
}

// WantShards is for a report that is to be the whole of a run: shards that are missing, or that do
// not fit together, are named in Unread and in the errors.
func (r *Report) WantShards() []error {
	var errs []error
	for _, text := range missingShards(r.Shards) {
		if !slices.Contains(r.Unread, text) {
			r.Unread = append(r.Unread, text)
		}
		errs = append(errs, errors.New(text))
	}
	return errs
}

// merge joins the reports of shards. If several contain the same cell, the latest attempt wins, and
// one that ran wins over one that did not; earlier attempts become notes. Cells are sorted by
// recipe, then in the order of lanes, which names deployers; those that it lacks come last, by
// name.
func merge(lanes []string, reports ...*Report) *Report {
	out := &Report{}
	at := map[result.Cell]int{}
	var runs []string
	for i, r := range reports {
		if i == 0 {
			out.Meta = r.Meta
			out.Shards = nil
		}
		for _, s := range r.Shards {
			if !slices.Contains(out.Shards, s) {
				out.Shards = append(out.Shards, s)
			}
		}
		if r.RunID != "" && !slices.Contains(runs, r.RunID) {
			runs = append(runs, r.RunID)
		}
		if !r.Started.IsZero() && (out.Started.IsZero() || r.Started.Before(out.Started)) {
			out.Started = r.Started
		}
		if r.Written.After(out.Written) {
			out.Written = r.Written
		}
		out.Unread = append(out.Unread, r.Unread...)
		for _, result := range r.Results {
			if j, twice := at[result.Cell]; twice {
				out.Results[j] = latest(out.Results[j], result)
				continue
			}
			at[result.Cell] = len(out.Results)
			out.Results = append(out.Results, result)
		}
	}
	out.RunID = strings.Join(runs, ",")
	if len(reports) > 1 {
		out.CI.Shard = ""
	}
	out.sort(lanes)
	return out
}

// sort sorts the cells by recipe, with its upgrades after it, then in the order of lanes.
func (r *Report) sort(lanes []string) {
	lane := map[string]int{}
	for i, name := range lanes {
		lane[name] = i - len(lanes) // before those of other versions, which are 0 and sorted by name
	}
	slices.SortStableFunc(r.Results, func(a, b result.Result) int {
		return cmp.Or(strings.Compare(a.Recipe, b.Recipe), strings.Compare(a.From, b.From), strings.Compare(a.Sequence, b.Sequence), cmp.Compare(lane[a.Deployer], lane[b.Deployer]), strings.Compare(a.Deployer, b.Deployer))
	})
}

// latest chooses between two attempts at one cell. The other one stays as a note, unless it never
// ran.
func latest(a, b result.Result) result.Result {
	if a.Started.After(b.Started) {
		a, b = b, a
	}
	if !a.Started.IsZero() && a.Started.Equal(b.Started) && a.Status == b.Status {
		return b // the same file twice
	}
	if !a.Started.IsZero() {
		note := "an earlier attempt ended as " + string(a.Status)
		if a.Reason != "" {
			note += ", " + string(a.Reason) + ": " + a.Cause
		}
		b.Notes = append(slices.Clone(b.Notes), append(earlierNotes(a), note)...)
		if a.Known == result.Flaky || a.Key != "" && a.Key == b.Key && (a.Status.Good() && b.Status.Red() || a.Status.Red() && b.Status.Good()) {
			b.Known = result.Flaky
		}
	}
	return b
}

// earlierNotes are the notes on attempts before a.
func earlierNotes(a result.Result) []string {
	var notes []string
	for _, n := range a.Notes {
		if strings.HasPrefix(n, "an earlier attempt ") {
			notes = append(notes, n)
		}
	}
	return notes
}
