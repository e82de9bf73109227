package recipe

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/recipe/document"
)

// UpgradeSeen is what runs have shown of a move, for Propose.
type UpgradeSeen struct {
	Component, From, To string
	// Passed and Failed are deployers by AICR's names.
	Passed []string
	Failed []SeenFailure
	// Run is the address of the run.
	Run string
	// About says what the run was, e.g. which recipe, and what it does not show.
	About string
}

// SeenFailure is an upgrade that failed.
type SeenFailure struct{ Deployer, Step, Reason, Cause string }

// ProposeUpgrade is the text of a record of exactly this move: safe if every upgrade with it passed, manual
// with the step that failed otherwise. A person has to read it before it is one: of a manual record,
// what to do is not known. An error says why there is nothing to propose.
func ProposeUpgrade(s UpgradeSeen) (string, error) {
	from, err := parseVersion(s.From)
	if err != nil {
		return "", err
	}
	to, err := parseVersion(s.To)
	if err != nil {
		return "", err
	}
	if !from.LessThan(to) {
		return "", fmt.Errorf("a record is of a move forward, and %s is not newer than %s", s.To, s.From)
	}
	if len(s.Passed)+len(s.Failed) == 0 {
		return "", fmt.Errorf("no upgrade has shown the move")
	}
	if s.Run == "" {
		return "", fmt.Errorf("a record names the run that shows it, and this one has no address that a reviewer could open: run it in CI")
	}
	t := proposedTransition{From: "=" + from.String(), To: "=" + to.String()}
	switch {
	case len(s.Failed) > 0:
		t.Verdict, t.Summary = UpgradeManual, "The upgrade failed: "+s.Failed[0].Cause
		t.Steps = failedSteps(s)
		t.References = []string{s.Run}
	default:
		t.Verdict, t.VerifiedBy = UpgradeSafe, fmt.Sprintf("KWOK run %s through %s; %s", s.Run, strings.Join(s.Passed, ", "), s.About)
	}
	versions := document.ApiVersions(document.UpgradesKind)
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(proposedRecord{versions[len(versions)-1], document.UpgradesKind, s.Component, []proposedTransition{t}}); err != nil {
		return "", fmt.Errorf("write the proposed record: %w", err)
	}
	return b.String(), nil
}

type proposedRecord struct {
	APIVersion  string               `yaml:"apiVersion"`
	Kind        string               `yaml:"kind"`
	Component   string               `yaml:"component"`
	Transitions []proposedTransition `yaml:"transitions"`
}

type proposedTransition struct {
	From       string          `yaml:"from"`
	To         string          `yaml:"to"`
	Verdict    UpgradeVerdict  `yaml:"verdict"`
	VerifiedBy string          `yaml:"verifiedBy,omitempty"`
	Summary    string          `yaml:"summary,omitempty"`
	Steps      []proposedGroup `yaml:"stepsByDeployer,omitempty"`
	References []string        `yaml:"references,omitempty"`
}

type proposedGroup struct {
	Deployers []string       `yaml:"deployers,omitempty"`
	Steps     []proposedStep `yaml:"steps"`
}

type proposedStep struct {
	ID          string `yaml:"id"`
	Description string `yaml:"description"`
	Reason      string `yaml:"reason,omitempty"`
}

// failedSteps has a group for the deployers with a failure, and one for the others, since a manual
// record needs steps for each.
func failedSteps(s UpgradeSeen) []proposedGroup {
	var groups []proposedGroup
	for _, name := range UpgradeDeployers() {
		i := slices.IndexFunc(s.Failed, func(f SeenFailure) bool { return f.Deployer == name })
		if i < 0 {
			continue
		}
		f := s.Failed[i]
		groups = append(groups, proposedGroup{[]string{name}, []proposedStep{{
			ID: "before-the-upgrade", Description: "Not known yet: write what has to be done so that the step " + f.Step + " passes.", Reason: f.Reason + ": " + f.Cause,
		}}})
	}
	if len(groups) < len(UpgradeDeployers()) {
		passed := "none"
		if len(s.Passed) > 0 {
			passed = strings.Join(s.Passed, ", ")
		}
		groups = append(groups, proposedGroup{nil, []proposedStep{{
			ID: "look", Description: "Not known yet: write what has to be done, if anything. The run passed through: " + passed + ".",
		}}})
	}
	return groups
}
