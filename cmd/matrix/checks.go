package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nvidia/aicr-action/internal/cli"
	"github.com/nvidia/aicr-action/internal/matrix/checks"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/report"
	"github.com/nvidia/aicr-action/internal/result"
)

// ignoreFlags say what the user ignores, and which checks run.
type ignoreFlags struct {
	ignore, only []string
	file         string
	bench        *judge.Bench // once it is settled
}

func (f *ignoreFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.ignore, "ignore", nil, "ignore a check, as `ID[=KIND/NAMESPACE/NAME]`; one that makes cells fail for a named object only (repeatable; with reasons in "+judge.IgnoreFile+")")
	cmd.Flags().StringVar(&f.file, "ignore-file", "", "`file` with what is ignored (default: "+judge.IgnoreFile+" of the working directory, if there is one)")
	cmd.Flags().StringSliceVar(&f.only, "only", nil, "run these `checks` only, by ID or name")
}

// settle reads the flags and the file.
func (f *ignoreFlags) settle() error {
	all := checks.All()
	ignores, err := judge.NewIgnores(all, f.ignore, cli.FirstOf(f.file, judge.IgnoreFile), f.file != "")
	if err != nil {
		return cli.Usagef("%w", err)
	}
	f.bench = &judge.Bench{Checks: all, Ignore: ignores}
	if len(f.only) == 0 {
		return nil
	}
	f.bench.Checks = nil
	for _, id := range f.only {
		c := judge.ByID(all, id)
		if c == nil {
			return cli.Usagef("--only %s: %w", id, judge.Unknown(all, id))
		}
		f.bench.Checks, f.bench.Only = append(f.bench.Checks, *c), append(f.bench.Only, c.ID)
	}
	return nil
}

// rerun are the flags that check a cell again in the same way.
func (f *ignoreFlags) rerun() (parts []string) {
	for _, one := range f.ignore {
		parts = append(parts, "--ignore", one)
	}
	if f.file != "" {
		parts = append(parts, "--ignore-file", f.file)
	}
	if len(f.only) > 0 {
		parts = append(parts, "--only", strings.Join(f.only, ","))
	}
	return parts
}

// unused says what was ignored in vain, if every recipe was checked that it may be for.
func unused(bench *judge.Bench, ran []string) []string {
	return bench.Ignore.Unused(func(recipe string) bool { return slices.Contains(ran, recipe) })
}

// severity is that of what a check finds as a rule.
func severity(c *judge.Check) result.Severity {
	if c.Gives == "" {
		return result.SeverityWarning
	}
	return result.SeverityError
}

// rules are the checks, as SARIF has them.
func rules() (all []report.Rule) {
	for _, c := range checks.All() {
		all = append(all, report.Rule{ID: c.ID, Name: c.Name, Title: c.Title, Why: c.Why, Fix: c.Fix, Severity: severity(&c), DocumentationURL: "https://github.com/nvidia/aicr-action/blob/main/docs/checks.md#" + strings.ToLower(c.ID)})
	}
	return all
}

// checkNames are the IDs and names of all checks.
func checkNames() (names []string) {
	for _, c := range checks.All() {
		names = append(names, c.ID, c.Name)
	}
	return names
}

// listedCheck is a check in JSON and YAML.
type listedCheck struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Stage string `json:"stage"`
	// Reason is that with which a cell fails; empty for a warning.
	Reason string `json:"reason,omitempty"`
	Title  string `json:"title"`
}

func listChecks() listed {
	l := listed{head: []string{"ID", "CHECK", "STAGE", "A FINDING IS", "RULE"}, without: true}
	for _, c := range checks.All() {
		gives := "warning"
		if c.Gives != "" {
			gives = string(c.Gives)
		}
		l.rows = append(l.rows, listRow{name: c.Name, cells: []string{c.ID, c.Name, c.Needs.String(), gives, c.Title}, item: listedCheck{c.ID, c.Name, c.Needs.String(), string(c.Gives), c.Title}})
	}
	return l
}

// explainCheck is what a check means.
func explainCheck(id string) (string, bool) {
	c := judge.ByID(checks.All(), id)
	if c == nil {
		return "", false
	}
	gives := "a warning"
	if c.Gives != "" {
		gives = fmt.Sprintf("the cell fails: %s (exit code %d)", c.Gives, c.Gives.Code())
	}
	text := fmt.Sprintf("%s  %s\n%s.\n\n%s\n\nWhat to do: %s\n\nFound: %s. Stage: %s", c.ID, c.Name, c.Title, c.Why, c.Fix, gives, c.Needs)
	if c.Needs == judge.Rendered {
		text += ", without a cluster (matrix check)"
	}
	return text + ".\nTo ignore it for one object: --ignore " + c.ID + "=KIND/NAMESPACE/NAME, or an entry with a reason in " + judge.IgnoreFile + ".\n", true
}

// ignoringPage is the section of docs/checks.md on what a user may ignore, with ~ for a backtick.
const ignoringPage = `## Ignoring a check

Findings of checks end with an ID, e.g. ~[MX202]~. ~matrix explain MX202~ says what it means and what to do. To ignore one, put ~.aicr-checks.yaml~ into the
directory in which ~matrix~ runs:

~~~yml
ignore:
- check: MX202
  object: Ingress/web/portal # KIND/NAMESPACE/NAME, or KIND/NAME; * for any
  recipe: eks-training       # optional
  reason: the platform team installs the default class
~~~

A check that makes a cell fail is ignored for one named object only. Every use is in the results, with its reason; an entry that ignores nothing is a warning. ~--ignore MX202=Ingress/web/portal~ does the
same for one run, and ~--only MX202~ runs no other check.

## All checks

`

// checksMarkdown is docs/checks.md.
func checksMarkdown() string {
	var b strings.Builder
	all := checks.All()
	fmt.Fprintf(&b, "<!-- Generated by `make generate` from internal/matrix/checks. -->\n# Checks\n\n"+
		"%d checks have an ID. `matrix check` runs those of the stage `rendered` without a cluster; a run has them all.\n\n"+strings.ReplaceAll(ignoringPage, "~", "`")+
		"| ID | check | stage | a finding is |\n|---|---|---|---|\n", len(all))
	for _, c := range all {
		gives := "a warning"
		if c.Gives != "" {
			gives = fmt.Sprintf("`%s` (%d)", c.Gives, c.Gives.Code())
		}
		fmt.Fprintf(&b, "| [%s](#%s) | %s | %s | %s |\n", c.ID, strings.ToLower(c.ID), c.Name, c.Needs, gives)
	}
	for _, c := range all {
		fmt.Fprintf(&b, "\n## %s\n\n**%s.** %s\n\nWhat to do: %s\n", c.ID, c.Title, c.Why, c.Fix)
	}
	return b.String()
}
