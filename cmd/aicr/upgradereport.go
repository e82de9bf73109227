package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/util/lists"
	"github.com/nvidia/aicr-action/internal/verify/upgradecheck"
)

// upgradeReport is what aicr upgrade-check prints, with the keys of AICR's own CLI.
type upgradeReport struct {
	From     string `json:"from"`
	To       string `json:"to"`
	Deployer string `json:"deployer,omitempty"`
	// Source is what of the cluster was read; nil if --from is a recipe.
	Source     *upgradecheck.Source `json:"source,omitempty"`
	Components []upgradeRow         `json:"components"`
	Summary    upgradeTotals        `json:"summary"`
	AtRisk     atRisk               `json:"atRisk"`
}

type upgradeTotals struct {
	Components int `json:"components"`
	Failing    int `json:"failing"`
}

type upgradeRow struct {
	Component       string                     `json:"component"`
	Change          recipe.UpgradeChange       `json:"change"`
	From            string                     `json:"from,omitempty"`
	To              string                     `json:"to,omitempty"`
	Verdict         recipe.UpgradeVerdict      `json:"verdict,omitempty"`
	Reason          recipe.UpgradeReason       `json:"reason,omitempty"`
	Notes           string                     `json:"notes,omitempty"`
	Explanation     string                     `json:"explanation"`
	Jump            string                     `json:"jump,omitempty"`
	StoppedAt       string                     `json:"stoppedAt,omitempty"`
	Breaking        bool                       `json:"breaking"`
	Downgrade       bool                       `json:"downgrade"`
	IdentityChanges []recipe.UpgradeMove       `json:"identityChanges,omitempty"`
	Summary         string                     `json:"summary,omitempty"`
	Precondition    string                     `json:"precondition,omitempty"`
	Reversible      string                     `json:"reversible,omitempty"`
	ReversibleNotes string                     `json:"reversibleNotes,omitempty"`
	VerifiedBy      string                     `json:"verifiedBy,omitempty"`
	Steps           []recipe.UpgradeStep       `json:"steps,omitempty"`
	Affected        []recipe.AffectedByUpgrade `json:"affectedResources,omitempty"`
	Hooks           []recipe.UpgradeHook       `json:"hooks,omitempty"`
	References      []string                   `json:"references,omitempty"`
	// Evidence is what each file of --evidence shows; Proposal a record that could be written by it,
	// or NoProposal why there is none.
	Evidence   []rowProof `json:"evidence,omitempty"`
	Proposal   string     `json:"proposal,omitempty"`
	NoProposal string     `json:"noProposal,omitempty"`
	FailsRun   bool       `json:"failsRun"`

	stopAt, breaking string // for people
}

func newUpgradeReport(ctx context.Context, from, to, deployer string, rows []recipe.UpgradeRow, seen *proofs) *upgradeReport {
	r := &upgradeReport{From: from, To: to, Deployer: deployer, Components: []upgradeRow{}}
	r.Summary.Components = len(rows)
	for i := range rows {
		row := &rows[i]
		out := upgradeRow{
			Component: row.Component, Change: row.Change, From: row.From, To: row.To, Verdict: row.Verdict, Reason: row.Reason,
			Explanation: row.Explanation, Jump: row.Jump, StoppedAt: row.StoppedAt, Breaking: row.Breaking != "", Downgrade: row.Reason == recipe.UpgradeDowngrade,
			IdentityChanges: row.Moves, stopAt: row.StopAt, breaking: row.Breaking,
		}
		if t := row.Record; t != nil {
			out.Summary, out.Precondition, out.Reversible, out.ReversibleNotes, out.VerifiedBy = t.Summary, t.Precondition, t.Reversible, t.ReversibleNotes, t.VerifiedBy
			out.Steps, out.Affected, out.Hooks, out.References = t.Steps(deployer), t.Affected, t.Hooks, t.References
		}
		if contradicted := seen.add(ctx, row, &out); contradicted || row.Attention() {
			out.FailsRun = true
			r.Summary.Failing++
		}
		out.Notes = out.notes()
		r.Components = append(r.Components, out)
	}
	return r
}

func (r *upgradeReport) print(format string) ([]byte, error) {
	switch format {
	case "json":
		return cli.DocumentJSON(r)
	case "yaml":
		return cli.DocumentYAML(r)
	}
	return []byte(cli.Inert(r.table())), nil
}

func (r *upgradeReport) table() string {
	text := fmt.Sprintf("from: %s\nto: %s\n", r.From, r.To)
	if r.Deployer != "" {
		text += "deployer: " + r.Deployer + "\n"
	}
	if len(r.Components) == 0 {
		return text + "\nno component changes\n" + r.AtRisk.lines()
	}
	rows, details := [][]string{{"COMPONENT", "FROM", "TO", "VERDICT", "NOTES"}}, ""
	for i := range r.Components {
		c := &r.Components[i]
		rows = append(rows, []string{c.Component, dash(c.From), dash(c.To), dash(cli.FirstOf(string(c.Verdict), string(c.Change))), dash(c.Notes)})
		details += c.details(r.Deployer)
	}
	return text + "\n" + cli.Table(rows) + details + r.AtRisk.lines() + fmt.Sprintf("\n%s, %d need attention\n", lists.Count(r.Summary.Components, "component change"), r.Summary.Failing)
}

// notes are what fits into a cell.
func (c *upgradeRow) notes() string {
	var notes []string
	if len(c.Steps) > 0 {
		notes = append(notes, lists.Count(len(c.Steps), "step"))
	}
	if c.stopAt != "" {
		at := "at "
		if strings.Contains(c.stopAt, " ") { // below a version, or above one
			at = ""
		}
		notes = append(notes, "stop "+at+c.stopAt)
	}
	if c.breaking != "" {
		notes = append(notes, c.breaking)
	}
	if c.Verdict == recipe.UpgradeSafe && len(c.Evidence) > 0 {
		notes = append(notes, c.covered())
	}
	for _, m := range c.IdentityChanges {
		notes = append(notes, m.Field+" changed")
	}
	return strings.Join(notes, ", ")
}

// covered says in a word or two what all files show of a safe move.
func (c *upgradeRow) covered() string {
	covers := "not covered"
	for _, one := range c.Evidence {
		if len(one.Failed) > 0 {
			return "contradicted"
		}
		if one.Covers {
			covers = "covered"
		}
	}
	return covers
}

// wayBack says whether the move can be undone, and how.
func (c *upgradeRow) wayBack() string {
	if c.Reversible == "" || c.ReversibleNotes == "" {
		return c.Reversible + c.ReversibleNotes
	}
	return c.Reversible + " (" + c.ReversibleNotes + ")"
}

// hooks are the files that are delivered around the move.
func (c *upgradeRow) hooks() string {
	var all []string
	for _, h := range c.Hooks {
		all = append(all, h.File+" ("+cli.FirstOf(h.Phase, "no phase")+")")
	}
	return strings.Join(all, ", ")
}

// details are what stands below the table.
func (c *upgradeRow) details(deployer string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s: %s\n", c.Component, c.Explanation)
	for _, m := range c.IdentityChanges {
		fmt.Fprintf(&b, "  %s: %s -> %s\n", m.Field, dash(m.From), dash(m.To))
	}
	for _, part := range []struct{ title, text string }{
		{"", c.Summary}, {"before: ", c.Precondition}, {"reversible: ", c.wayBack()}, {"verified by: ", c.VerifiedBy}, {"hooks: ", c.hooks()}, {"see ", strings.Join(c.References, ", ")},
	} {
		if part.text != "" {
			fmt.Fprintf(&b, "  %s%s\n", part.title, part.text)
		}
	}
	for i := range c.Evidence {
		for _, line := range c.Evidence[i].lines() {
			b.WriteString("  " + line + "\n")
		}
	}
	if c.Proposal != "" {
		b.WriteString("  a record that could be written by it, once a person has read the run:\n    " + strings.ReplaceAll(strings.TrimSpace(c.Proposal), "\n", "\n    ") + "\n")
	} else if c.NoProposal != "" {
		fmt.Fprintf(&b, "  no record is proposed: %s\n", c.NoProposal)
	}
	for i, s := range c.Steps {
		if i == 0 {
			fmt.Fprintf(&b, "  steps for %s:\n", deployer)
		}
		fmt.Fprintf(&b, "    %d. %s: %s\n", i+1, s.ID, s.Description)
		if s.Reason != "" {
			fmt.Fprintf(&b, "       why: %s\n", s.Reason)
		}
	}
	return b.String()
}
