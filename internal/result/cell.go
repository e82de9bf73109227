package result

import (
	"fmt"
	"time"

	"github.com/nvidia/aicr-action/internal/result/reason"
)

// Cell is one recipe through one deployer.
type Cell struct {
	Recipe   string `json:"recipe"`
	Deployer string `json:"deployer"`
	// From is what ran in the cluster before, as the user wrote it (--from): the cell is an upgrade.
	// Empty for a first installation.
	From string `json:"from,omitempty"`
	// Sequence says how what ran before came to its end, if not by the upgrade itself: SequenceFailed or SequenceRemoved.
	Sequence string `json:"sequence,omitempty"`
}

// What may come between what runs before and the upgrade.
const (
	// SequenceFailed: its delivery has failed, and the new version has to heal that.
	SequenceFailed = "failed"
	// SequenceRemoved: it was removed, and the new version is installed on what stays.
	SequenceRemoved = "removed"
)

// Sequences are the values of Cell.Sequence.
func Sequences() []string { return []string{SequenceFailed, SequenceRemoved} }

// String is recipe/deployer, the name that a person types and results carry; of an upgrade, "from"
// and its source follow.
func (c Cell) String() string {
	if c.From == "" {
		return c.Recipe + "/" + c.Deployer
	}
	return c.Recipe + "/" + c.Deployer + c.before()
}

// before says what ran before.
func (c Cell) before() string {
	switch c.Sequence {
	case SequenceFailed:
		return " from " + c.From + " after a failure"
	case SequenceRemoved:
		return " from " + c.From + " after a removal"
	}
	return " from " + c.From
}

// Row is the name of the line that the cell has in a table with a column per deployer: the recipe,
// and what it is upgraded from.
func (c Cell) Row() string {
	if c.From == "" {
		return c.Recipe
	}
	return c.Recipe + c.before()
}

// First is the first installation of the same recipe through the same deployer.
func (c Cell) First() Cell { return Cell{Recipe: c.Recipe, Deployer: c.Deployer} }

// FileName is the cell's name as part of the name of a file or directory.
func (c Cell) FileName() string {
	name := c.Recipe + "-" + c.Deployer
	if c.From != "" {
		name += "-from"
	}
	if c.Sequence != "" {
		name += "-" + c.Sequence
	}
	return name
}

// Status is how a cell ended. It is decided once, in VerdictOf.
type Status string

// The statuses of a cell.
const (
	Passed         Status = "passed"
	Reused         Status = "reused" // passed in an earlier run, with the same inputs
	Failed         Status = "failed"
	Timeout        Status = "timeout"
	Infrastructure Status = "infrastructure" // the machine or the harness, not the recipe
	Interrupted    Status = "interrupted"
	Skipped        Status = "skipped"
	NotRun         Status = "not run"
)

// Mark is the sign that stands for the status in every report; "?" for a status that is not known.
func (s Status) Mark() string {
	marks := map[Status]string{Passed: "✓", Reused: "↻", Failed: "✗", Timeout: "◷", Infrastructure: "⚠", Interrupted: "■", Skipped: "–", NotRun: "○"}
	if m := marks[s]; m != "" {
		return m
	}
	return "?"
}

// Good reports whether the cell's recipe is in order: it passed, in this run or with the same
// inputs in an earlier one.
func (s Status) Good() bool { return s == Passed || s == Reused }

// Red reports whether the cell has a verdict, and not a good one.
func (s Status) Red() bool { return s == Failed || s == Timeout || s == Infrastructure }

// Reuse is where the verdict of a cell comes from that passed in an earlier run and was not run
// again.
type Reuse struct {
	// Run is the ID of that run, and URL its page in a CI system. Ended is the end of the cell, and
	// Duration its time.
	Run      string        `json:"run"`
	URL      string        `json:"url,omitempty"`
	Ended    time.Time     `json:"ended"`
	Duration time.Duration `json:"durationNs"`
	// Key is the digest of the cell's inputs, the same then and now.
	Key string `json:"key"`
}

// Twin says of which recipe of the same run the verdict of a cell is, since both are equal.
type Twin struct {
	Recipe string `json:"recipe"`
	// Duration is what that recipe's cell took.
	Duration time.Duration `json:"durationNs"`
}

// Verdict is why a cell ended as it did.
type Verdict struct {
	Status Status        `json:"status"`
	Reason reason.Reason `json:"reason,omitempty"`
	// Component is the process to blame, for infrastructure failures that have one.
	Component string `json:"component,omitempty"`
	// Stage is the failure stage of the first failed object: pull, render, apply, health or
	// schedule; empty if its controller does not report one.
	Stage Stage `json:"stage,omitempty"`
	// Cause is one line; Details are the lines that a person reads next. Both are made from
	// Findings, and nothing reads them back.
	Cause   string   `json:"cause,omitempty"`
	Details []string `json:"details,omitempty"`
	// Findings are what is wrong, the cause first. None for a cell that passed or was not run.
	Findings []Finding `json:"findings,omitempty"`
}

// Phase is the time that one step of a cell took.
type Phase struct {
	Name     string        `json:"name"`
	Duration time.Duration `json:"durationNs"`
	// Ahead is the time of a step that ran ahead, while other cells ran. Duration does not include
	// it.
	Ahead time.Duration `json:"aheadNs,omitempty"`
}

// Took is the step's time in words, e.g. 1.5 s, or 0.0 s (5.2 s ahead).
func (p Phase) Took() string {
	text := fmt.Sprintf("%.1f s", p.Duration.Seconds())
	if p.Ahead > 0 {
		text += fmt.Sprintf(" (%.1f s ahead)", p.Ahead.Seconds())
	}
	return text
}

// ProcessUse is what the processes of one name took in a cell, those included that they started and
// waited for.
type ProcessUse struct {
	Name string        `json:"name"`
	CPU  time.Duration `json:"cpuNs"`
	// Peak is the largest resident memory of one of them, in bytes.
	Peak int64 `json:"peakBytes"`
}

// Cost is the cell's time plus that of the steps that ran ahead. It does not include the wait
// between them. Of a cell that was not run because it is another one's twin it is the other's.
func (r *Result) Cost() time.Duration {
	if r.SameAs != nil {
		return r.SameAs.Duration
	}
	sum := r.Duration
	for _, p := range r.Phases {
		sum += p.Ahead
	}
	return sum
}

// Result is everything that is known about a cell once it has ended.
type Result struct {
	Cell
	Verdict
	// Service is the kind of cluster that the recipe is for, its criteria.service; empty in files
	// of versions that did not write it.
	Service string `json:"service,omitempty"`
	// Started is the start of the cell, and Duration its time from then on. Both ignore steps that
	// ran ahead.
	Started  time.Time     `json:"started"`
	Duration time.Duration `json:"durationNs"`
	Phases   []Phase       `json:"phases,omitempty"`
	// Attempts are those before this one, which ended with a crash of the stack and no verdict.
	// Started and Duration are the last one's.
	Attempts []Attempt `json:"attempts,omitempty"`
	// ReadyAfter is the time from Started until the cluster and controllers were ready and the
	// charts published; 0 if the cell ended before.
	ReadyAfter time.Duration `json:"readyAfterNs,omitempty"`
	// Processes are those that the platform started for the cell, without this program; none where
	// it does not say.
	Processes []ProcessUse `json:"processes,omitempty"`
	// Charts, Recipes and Cluster say what really ran: the chart source, the recipes directory, the
	// kind of cluster. Data is the directory that was laid over the recipes (--data), if any.
	Charts  string `json:"charts"`
	Recipes string `json:"recipes"`
	Data    string `json:"data,omitempty"`
	Cluster string `json:"cluster"`
	// Kubernetes is the version of the control plane, e.g. v1.36.1.
	Kubernetes string `json:"kubernetes,omitempty"`
	// Helm is the major version of Helm that delivered; 0 in lanes that are neither Helm's nor helmfile's.
	Helm int `json:"helm,omitempty"`
	// Reused says of which run the verdict is; nil if it is this run's.
	Reused *Reuse `json:"reused,omitempty"`
	// SameAs says that the verdict is that of another recipe's cell, which is equal; nil if the cell
	// ran itself.
	SameAs *Twin `json:"sameAs,omitempty"`
	// Components is the number of releases, Pods of pods that were verified.
	Components int `json:"components"`
	Pods       int `json:"pods"`
	// AnyNode is the number of workloads of another program's bundle of which nothing says on which kind of node they
	// belong.
	AnyNode int `json:"anyNode,omitempty"`
	// Checks is the number of assertions of health checks that held.
	Checks int `json:"checks,omitempty"`
	// Validation has the results of the probes, whose phase is "probes", and of the recipe's own
	// validation phases, in their order; none without --probes and --validate.
	Validation []Check `json:"validation,omitempty"`
	// Judged are the findings of the checks with an ID, warnings and notes too, and those that the user has
	// ignored. Each is also among Verdict.Findings, Warnings or NotVerified.
	Judged []Finding `json:"judged,omitempty"`
	// Chaos is what was broken on purpose after all else, and what survived; nil without --chaos.
	// It is no part of the verdict.
	Chaos *Chaos `json:"chaos,omitempty"`
	// Change is what the change of the recipe did to the cluster; nil for a first installation. It is
	// no part of the verdict.
	Change *Change `json:"change,omitempty"`
	// Rendered are the charts that the bundle was rendered from; RenderedBefore those of what ran
	// before an upgrade.
	Rendered       []Chart `json:"renderedCharts,omitempty"`
	RenderedBefore []Chart `json:"renderedChartsBefore,omitempty"`
	// Placement is where the pods were when the gate last looked; nil if it never did.
	Placement *Placement `json:"placement,omitempty"`
	// Spans say when each component's workloads became ready, the earliest first; none if the gate never looked.
	Spans []Span `json:"spans,omitempty"`
	// Scheduling is how pods got their nodes over time; nil if nothing was deployed, or in files of
	// versions that did not write it.
	Scheduling *Scheduling `json:"scheduling,omitempty"`
	// NodeGroups are the groups of the recipe's node profiles, whose nodes are made for pods; none without such groups.
	NodeGroups []NodeGroup `json:"nodeGroups,omitempty"`
	// The remarks: what the harness changed, simulated or noticed. result.RemarkRows explains each
	// kind; a list of strings here without a row there fails a test. The first word of a line of
	// HealthPolicy is the kind.
	Overrides    []string `json:"overrides,omitempty"`
	Ignored      []string `json:"ignored,omitempty"`
	StandIns     []string `json:"standIns,omitempty"`
	OutOfOrder   []string `json:"outOfOrder,omitempty"`
	HealthPolicy []string `json:"healthPolicy,omitempty"`
	Sandbox      []string `json:"sandbox,omitempty"`
	// Controllers: how each controller reached the API server, if there was a choice.
	Controllers []string `json:"controllers,omitempty"`
	// NotVerified: what a run here cannot see, e.g. a Secret that an operator makes at run time.
	NotVerified []string `json:"notVerified,omitempty"`
	// LeftOut: what of an app was not run, since a chart could not be had. Such a cell has not passed.
	LeftOut []string `json:"leftOut,omitempty"`
	// LeftBehind: what stayed when the recipe had been removed.
	LeftBehind []string `json:"leftBehind,omitempty"`
	// ReusedFrom describes Reused for people.
	ReusedFrom []string `json:"reusedFrom,omitempty"`
	// ChartSources: where each component's chart was found, unless Charts says it for all.
	ChartSources []string `json:"chartSources,omitempty"`
	Notes        []string `json:"notes,omitempty"`
	Warnings     []string `json:"warnings,omitempty"`
	// Rerun is the command that runs this cell again. Artifacts is the directory of its debug
	// artifacts, if any.
	Rerun     string `json:"rerun"`
	Artifacts string `json:"artifacts,omitempty"`
	// Upload is where CI keeps that directory; nil elsewhere.
	Upload *Upload `json:"upload,omitempty"`
	// Key is the digest of the cell's inputs for --reuse; empty if the inputs cannot be known, or
	// without that flag.
	Key string `json:"key,omitempty"`
	// Known is how the cell stands to the runs in Past, the oldest of which comes first. Both are
	// empty without a history.
	Known Known  `json:"known,omitempty"`
	Past  []Past `json:"past,omitempty"`
	// OldWarnings are the places in Warnings, from 0, of those that the cell had in the last run of
	// Past too.
	OldWarnings []int `json:"oldWarnings,omitempty"`
	// Kubeconfig of the cluster, if it was kept.
	Kubeconfig string `json:"kubeconfig,omitempty"`
	// ComparedWith is the deployer whose objects this cell's were compared with, if the recipe
	// passed through more than one; the cell that the others are compared with names itself in
	// none. ComparedObjects is how many there were.
	ComparedWith    string `json:"comparedWith,omitempty"`
	ComparedObjects int    `json:"comparedObjects,omitempty"`
	// DeclaredDifferences is how many differences between the two are on the list of those that are
	// known and not the recipe's. Notes name them, with the reason.
	DeclaredDifferences int `json:"declaredDifferences,omitempty"`
}
