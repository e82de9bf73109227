package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/charts"
	"github.com/nvidia/aicr-action/internal/charts/archive"
	"github.com/nvidia/aicr-action/internal/charts/catalog"
	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result/evidence"
)

// proofs are the files of --evidence, with the charts by whose digests they are compared.
type proofs struct {
	files    []string
	all      []*evidence.Document
	before   catalog.Source // nil: the originals' files are not known
	after    catalog.Source
	from, to *recipe.Result
	deployer string
}

// rowProof is what one file shows of a row.
type rowProof struct {
	File string `json:"file"`
	Run  string `json:"run,omitempty"`
	// Covers: an upgrade of that run has shown exactly this move, through these deployers.
	Covers    bool     `json:"covers"`
	Deployers []string `json:"deployers,omitempty"`
	Failed    []string `json:"failed,omitempty"`
	Why       string   `json:"why,omitempty"`
}

// openProofs reads the files before anything is compared; nil without any.
func (a *app) openProofs(ctx context.Context, f upgradeFlags, from, to *recipe.Result, deployer string) (*proofs, error) {
	if len(f.evidence) == 0 {
		return nil, nil
	}
	p := &proofs{files: f.evidence, from: from, to: to, deployer: deployer}
	for _, file := range f.evidence {
		d, err := evidence.ReadFile(file)
		if err != nil {
			return nil, cli.Usagef("--evidence: %w", err)
		}
		p.all = append(p.all, d)
	}
	var err error
	after := a.inBinary(f.dirs).Recipes
	if p.before, err = a.originals(f.charts, cli.FirstOf(f.fromRecipes, after)); err != nil {
		return nil, err
	}
	p.after, err = a.originals(f.charts, after)
	return p, err
}

// originals is a chart source whose files are those that a cluster gets; nil for simulated charts.
func (a *app) originals(values []string, recipesDir string) (catalog.Source, error) {
	values = a.ChartsFor(values, recipesDir)
	if slices.Contains(values, cli.Simulated) || slices.Contains(values, charts.AnyVersionName) {
		return nil, nil
	}
	return a.Charts(values, recipesDir)
}

// side is a component's chart in a recipe, with the digest of its files.
func (p *proofs) side(ctx context.Context, r *recipe.Result, source catalog.Source, component string) (evidence.Side, error) {
	for _, ref := range r.ComponentRefs {
		if ref.Name != component {
			continue
		}
		s := evidence.Side{Version: cli.FirstOf(ref.Version, ref.Tag)}
		if source == nil || ref.Chart == "" {
			return s, nil
		}
		ch, _, err := source.Load(ctx, catalog.RefOf(&recipe.Component{ComponentRef: ref}))
		if err != nil {
			return s, err
		}
		digest, err := archive.Digest(ch)
		s.Digest = archive.DigestPrefix + digest
		return s, err
	}
	return evidence.Side{}, nil
}

// add says in a row what the files show of it, and proposes a record where one is owed. It changes no
// verdict: those are the records'. It reports whether a file contradicts the verdict safe.
func (p *proofs) add(ctx context.Context, row *recipe.UpgradeRow, out *upgradeRow) (contradicted bool) {
	owed := row.Reason == recipe.NoRecord || row.Reason == recipe.NoBoundary
	if p == nil || row.Change != recipe.VersionChange || row.Verdict != recipe.UpgradeSafe && !owed {
		return false
	}
	q := evidence.Question{Component: row.Component, Criteria: p.to.Criteria.ByName(), Deployer: p.deployer}
	var unknown []string
	var err error
	if q.From, err = p.side(ctx, p.from, p.before, row.Component); err != nil {
		unknown = append(unknown, "the old chart: "+err.Error())
	}
	if q.To, err = p.side(ctx, p.to, p.after, row.Component); err != nil {
		unknown = append(unknown, "the new chart: "+err.Error())
	}
	if p.before == nil || p.after == nil {
		unknown = append(unknown, "only the files of original charts are compared: lock them (matrix charts lock), or name a directory with --charts")
	}
	seen := recipe.UpgradeSeen{Component: row.Component, From: row.From, To: row.To}
	for i, d := range p.all {
		answer := d.Covers(q)
		one := rowProof{File: p.files[i], Run: d.Run.URL, Covers: answer.Covers(), Deployers: answer.Passed, Why: strings.Join(append(unknown, notEmpty(answer.Why)...), "; ")}
		for _, u := range answer.Failed {
			one.Failed = append(one.Failed, fmt.Sprintf("%s: %s at the step %s: %s", u.Deployer, u.Reason, u.Step, u.Cause))
			seen.Failed = append(seen.Failed, recipe.SeenFailure{Deployer: evidence.Family(u.Deployer), Step: u.Step, Reason: string(u.Reason), Cause: u.Cause})
		}
		for _, name := range answer.Passed {
			if !slices.Contains(seen.Passed, name) {
				seen.Passed = append(seen.Passed, name)
			}
		}
		if seen.Run == "" && len(answer.Passed)+len(answer.Failed) > 0 {
			seen.Run, seen.About = d.Address(), about(d)
		}
		contradicted = contradicted || row.Verdict == recipe.UpgradeSafe && len(answer.Failed) > 0
		out.Evidence = append(out.Evidence, one)
	}
	if owed {
		if out.Proposal, err = recipe.ProposeUpgrade(seen); err != nil {
			out.NoProposal = err.Error()
		}
	}
	return contradicted
}

// about says what the run was and what it does not show.
func about(d *evidence.Document) string {
	text := fmt.Sprintf("%s operators on simulated nodes, charts from %s", d.Operators, d.Charts)
	switch {
	case d.To.Commit != "" && d.To.Modified:
		text += ", recipes of commit " + d.To.Commit + " with changes"
	case d.To.Commit != "":
		text += ", recipes of commit " + d.To.Commit
	}
	return text
}

func notEmpty(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}

// lines are what a file shows, for people.
func (r *rowProof) lines() []string {
	var all []string
	for _, f := range r.Failed {
		all = append(all, "contradicted by "+r.File+": "+f)
	}
	switch {
	case r.Covers:
		all = append(all, "covered by "+r.File+" through "+strings.Join(r.Deployers, ", "))
	case len(r.Failed) == 0:
		all = append(all, "not covered by "+r.File+": "+cli.FirstOf(r.Why, "it does not have the move"))
	}
	return all
}
