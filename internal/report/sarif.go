package report

import (
	"encoding/json"
	"io"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/result"
)

// Rule is what SARIF says of a check.
type Rule struct {
	ID, Name         string
	Title, Why, Fix  string
	Severity         result.Severity
	DocumentationURL string
}

// The parts of a SARIF 2.1.0 log that are written (https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html).
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool struct {
			Driver sarifDriver `json:"driver"`
		} `json:"tool"`
		Results          []sarifResult `json:"results"`
		ColumnKind       string        `json:"columnKind"`
		Language         string        `json:"language"`
		NewlineSequences []string      `json:"newlineSequences"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		Version        string      `json:"version,omitempty"`
		InformationURI string      `json:"informationUri"`
		Language       string      `json:"language"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID               string     `json:"id"`
		Name             string     `json:"name,omitempty"`
		ShortDescription sarifText  `json:"shortDescription"`
		FullDescription  *sarifText `json:"fullDescription,omitempty"`
		Help             *sarifText `json:"help,omitempty"`
		HelpURI          string     `json:"helpUri,omitempty"`
		Default          sarifLevel `json:"defaultConfiguration"`
	}
	sarifLevel struct {
		Level result.Severity `json:"level"`
	}
	sarifText struct {
		Text     string `json:"text"`
		Markdown string `json:"markdown,omitempty"`
	}
	sarifResult struct {
		RuleID       string             `json:"ruleId"`
		RuleIndex    int                `json:"ruleIndex"`
		Level        result.Severity    `json:"level"`
		Message      sarifText          `json:"message"`
		Locations    []sarifLocation    `json:"locations,omitempty"`
		Fingerprints map[string]string  `json:"partialFingerprints"`
		Suppressions []sarifSuppression `json:"suppressions,omitempty"`
	}
	sarifSuppression struct {
		Kind          string `json:"kind"`
		Justification string `json:"justification"`
	}
	sarifLocation struct {
		Physical *sarifPhysical `json:"physicalLocation,omitempty"`
		Logical  []sarifLogical `json:"logicalLocations,omitempty"`
	}
	sarifPhysical struct {
		Artifact struct {
			URI string `json:"uri"`
		} `json:"artifactLocation"`
		Region struct {
			StartLine int `json:"startLine"`
		} `json:"region"`
	}
	sarifLogical struct {
		FullyQualifiedName string `json:"fullyQualifiedName"`
		Kind               string `json:"kind"`
	}
)

// WriteSARIF writes the findings of failed cells, and those of checks, as SARIF 2.1.0, for GitHub's code scanning. Findings
// that several lanes share are one result. Rules are all checks; a finding of no check has its cell's reason for its
// rule. A place outside of the repository is left out: code scanning refuses it.
func (r *Report) WriteSARIF(w io.Writer) error {
	var run sarifRun
	run.ColumnKind, run.Language, run.NewlineSequences = "utf16CodeUnits", "en-US", []string{"\n"}
	run.Tool.Driver = sarifDriver{Name: "aicr-action", Version: r.Tool, InformationURI: "https://github.com/nvidia/aicr-action", Language: "en-US", Rules: []sarifRule{}}
	index := map[string]int{}
	add := func(rule Rule) int {
		if i, ok := index[rule.ID]; ok {
			return i
		}
		out := sarifRule{ID: rule.ID, Name: rule.Name, ShortDescription: sarifText{Text: rule.Title}, HelpURI: rule.DocumentationURL, Default: sarifLevel{rule.Severity}}
		if rule.Why != "" {
			out.FullDescription = &sarifText{Text: rule.Why}
			out.Help = &sarifText{Text: rule.Why + "\n\n" + rule.Fix, Markdown: rule.Why + "\n\n**What to do:** " + rule.Fix}
		}
		index[rule.ID] = len(run.Tool.Driver.Rules)
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, out)
		return index[rule.ID]
	}
	for _, rule := range r.Rules {
		add(rule)
	}
	run.Results = []sarifResult{}
	seen := map[string]bool{}
	for i := range r.Results {
		cell := &r.Results[i]
		for _, f := range findingsOf(cell) {
			rule := f.Check
			if rule == "" {
				rule = string(cell.Reason)
				add(Rule{ID: rule, Title: cell.Reason.Row().Title, Severity: result.SeverityError})
			}
			print := strings.Join([]string{cell.Recipe, rule, f.objectKey(), f.Path, f.key()}, "|")
			if seen[print] {
				continue
			}
			seen[print] = true
			run.Results = append(run.Results, f.result(rule, add(Rule{ID: rule, Title: rule, Severity: f.Severity}), print, r.Checkout.uri(f.Place.File)))
		}
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(sarifLog{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run}})
}

// sarifFinding is a finding of a cell.
type sarifFinding struct{ result.Finding }

// findingsOf are what failed a cell, and what its checks found besides.
func findingsOf(cell *result.Result) (all []sarifFinding) {
	for _, f := range cell.Findings {
		f.Severity = result.SeverityError
		all = append(all, sarifFinding{f})
	}
	for _, f := range cell.Judged {
		if f.Severity == result.SeverityError && f.Ignored == "" {
			continue // it failed the cell, and is there already
		}
		all = append(all, sarifFinding{f})
	}
	return all
}

func (f *sarifFinding) objectKey() string {
	if f.Object == nil {
		return ""
	}
	return f.Object.String()
}

// key tells findings of no check apart, which have neither an ID nor a field.
func (f *sarifFinding) key() string {
	if f.Check != "" {
		return strings.Join(f.Arguments, "|")
	}
	return f.Cause
}

func (f *sarifFinding) result(rule string, index int, print, uri string) sarifResult {
	text := f.Cause
	if len(f.Story) > 1 {
		text = strings.Join(slices.Concat([]string{f.Cause}, f.Story[1:]), "\n")
	}
	out := sarifResult{RuleID: rule, RuleIndex: index, Level: f.Severity, Message: sarifText{Text: text}, Fingerprints: map[string]string{"aicrAction/v1": print}}
	var at sarifLocation
	if uri != "" {
		at.Physical = &sarifPhysical{}
		at.Physical.Artifact.URI = uri
		at.Physical.Region.StartLine = max(1, f.Place.Line)
	}
	if f.Object != nil {
		at.Logical = []sarifLogical{{FullyQualifiedName: f.Object.String(), Kind: "resource"}}
	}
	if at.Physical != nil || at.Logical != nil {
		out.Locations = []sarifLocation{at}
	}
	if f.Ignored != "" {
		out.Suppressions = []sarifSuppression{{Kind: "external", Justification: f.Ignored}}
	}
	return out
}

// uri is a file as code scanning wants it, relative to the root of the repository; empty for one elsewhere.
func (c Checkout) uri(file string) string {
	rel, ok := c.relative(file)
	if file == "" || !ok {
		return ""
	}
	return (&url.URL{Path: filepath.ToSlash(rel)}).EscapedPath()
}
