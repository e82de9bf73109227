// Package evidence has the document that a run leaves of its upgrades (matrix run --evidence), for
// AICR's records of upgrades to name: which charts became which, through which deployers, and what
// came of it. It says what was seen, and decides nothing by itself. It must not know recipes' files,
// records or clusters.
package evidence

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// apiVersion and Kind head the document.
const (
	apiVersion = "aicr.nvidia.com/v1alpha1"
	kind       = "UpgradeEvidence"
)

// Document is what a run has seen of upgrades.
type Document struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Run        Run    `json:"run"`
	From       Source `json:"from"`
	To         Source `json:"to"`
	// Charts is the chart source; Cluster and Operators are what ran the charts.
	Charts    string `json:"charts"`
	Cluster   string `json:"cluster"`
	Operators string `json:"operators"`
	// Upgrades are in the order of the run.
	Upgrades []Upgrade `json:"upgrades"`
	// Seal is the digest of all else, as sha256:HEX: a document that was cut off or edited is
	// noticed. It is no signature.
	Seal string `json:"seal"`
}

// Run says which run it was.
type Run struct {
	ID      string    `json:"id"`
	URL     string    `json:"url,omitempty"` // its page in a CI system
	Tool    string    `json:"tool"`
	Version string    `json:"version"`
	Written time.Time `json:"written"`
}

// Source is where the recipes of one side came from.
type Source struct {
	Name   string `json:"name"`
	Commit string `json:"commit,omitempty"` // empty if they are in no Git repository
	// Modified: the files are not those of the commit.
	Modified bool `json:"modified,omitempty"`
}

// Upgrade is one recipe through one deployer.
type Upgrade struct {
	Recipe string `json:"recipe"`
	// Criteria are those of the recipe, by name, as far as they are set.
	Criteria map[string]string `json:"criteria"`
	Deployer string            `json:"deployer"`
	// FirstInstallation and Verdict are how the first installation of the new recipe ended, and how
	// the upgrade to it did.
	FirstInstallation result.Status `json:"firstInstallation"`
	Verdict           result.Status `json:"verdict"`
	Reason            reason.Reason `json:"reason,omitempty"`
	// Step is the last that ran, Component the first that is to blame; of a failed upgrade only.
	Step      string `json:"step,omitempty"`
	Component string `json:"component,omitempty"`
	Cause     string `json:"cause,omitempty"`
	// Earlier is the run whose verdict was reused; empty for this one's.
	Earlier string `json:"earlierRun,omitempty"`
	// Before and After are the charts that were rendered.
	Before []result.Chart `json:"chartsBefore"`
	After  []result.Chart `json:"chartsAfter"`
	// Difference is what changed in the cluster; of an upgrade that did not come to its end it is
	// rendered.
	Difference *result.Change `json:"difference,omitempty"`
	// NotVerified, StandIns and Notes are the result's remarks: what no run here sees, what was
	// simulated, which operators ran.
	NotVerified []string `json:"notVerified,omitempty"`
	StandIns    []string `json:"standIns,omitempty"`
	Notes       []string `json:"notes,omitempty"`
}

// Criteria gives a recipe's criteria, by name.
type Criteria func(recipe string) map[string]string

// Of fills in the upgrades of a run's results.
func (d *Document) Of(results []result.Result, criteria Criteria) {
	d.APIVersion, d.Kind, d.Upgrades = apiVersion, kind, []Upgrade{}
	for i := range results {
		r := &results[i]
		if r.From == "" || r.Sequence != "" { // it is about upgrades that go well until then
			continue
		}
		u := Upgrade{
			Recipe: r.Recipe, Criteria: criteria(r.Recipe), Deployer: r.Deployer, FirstInstallation: result.NotRun, Verdict: r.Status, Reason: r.Reason, Cause: r.Cause,
			Before: r.RenderedBefore, After: r.Rendered, Difference: r.Change, NotVerified: r.NotVerified, StandIns: r.StandIns, Notes: r.Notes,
		}
		if at := slices.IndexFunc(results, func(o result.Result) bool { return o.Cell == r.First() }); at >= 0 {
			u.FirstInstallation = results[at].Status
		}
		if n := len(r.Phases); n > 0 && !r.Status.Good() {
			u.Step = r.Phases[n-1].Name
		}
		if len(r.Findings) > 0 {
			u.Component = r.Findings[0].Component
		}
		if r.Reused != nil {
			u.Earlier = strings.TrimSpace(r.Reused.Run + " " + r.Reused.URL)
		}
		d.Upgrades = append(d.Upgrades, u)
	}
}

// Encode gives the document with its seal.
func (d *Document) Encode() ([]byte, error) {
	seal, err := d.sealed()
	if err != nil {
		return nil, err
	}
	d.Seal = seal
	return encode(d)
}

// sealed is what the seal has to be.
func (d *Document) sealed() (string, error) {
	bare := *d
	bare.Seal = ""
	data, err := encode(&bare)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

func encode(d *Document) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(d); err != nil {
		return nil, fmt.Errorf("write the evidence of the upgrades: %w", err)
	}
	return b.Bytes(), nil
}
