package upgradecheck

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
)

// Answer is what upgrade-check says, as far as two answers are compared.
type Answer struct {
	Rows []Row `json:"components"`
	// Source is what was read in a cluster; nil of a recipe's or a bundle's answer.
	Source *Source `json:"source"`
}

// Row is what is said of one component. AICR's read-back compares these keys and no others.
type Row struct {
	Component string `json:"component"`
	Change    string `json:"change"`
	From      string `json:"from"`
	To        string `json:"to"`
	Verdict   string `json:"verdict"`
	Reason    string `json:"reason"`
	FailsRun  bool   `json:"failsRun"`
}

// AnswerOf is the answer of this program's own comparison.
func AnswerOf(rows []recipe.UpgradeRow, source *Source) Answer {
	a := Answer{Source: source}
	for i := range rows {
		r := &rows[i]
		a.Rows = append(a.Rows, Row{r.Component, string(r.Change), r.From, r.To, string(r.Verdict), string(r.Reason), r.Attention()})
	}
	return a
}

// ReadAnswer reads what a CLI printed with --format json. What is counted may be a number or the list itself.
func ReadAnswer(text string) (Answer, error) {
	var said struct {
		Rows   []Row `json:"components"`
		Source *struct {
			Matched count            `json:"matched"`
			Helm    map[string]count `json:"helm"`
			Argo    map[string]count `json:"argo"`
		} `json:"source"`
	}
	start := strings.Index(text, "{")
	if start < 0 {
		return Answer{}, errors.New("it printed no JSON object")
	}
	if err := json.NewDecoder(strings.NewReader(text[start:])).Decode(&said); err != nil {
		return Answer{}, fmt.Errorf("it printed JSON that cannot be read: %w", err)
	}
	a := Answer{Rows: said.Rows}
	if s := said.Source; s != nil {
		a.Source = &Source{Matched: int(s.Matched)}
		if h := s.Helm; h != nil {
			a.Source.Helm = &HelmSource{Records: int(h["records"]), Unattributed: int(h["unattributed"]), Unreadable: int(h["unreadable"]), Uninstalled: int(h["uninstalled"]), StampedUnmatched: int(h["stampedUnmatched"])}
		}
		if g := s.Argo; g != nil {
			a.Source.Argo = &ArgoSource{Applications: int(g["applications"]), Unattributed: int(g["unattributed"]), Unreadable: int(g["unreadable"])}
		}
	}
	return a, nil
}

// count is a number, or as many as a list has.
type count int

func (c *count) UnmarshalJSON(text []byte) error {
	var list []any
	if json.Unmarshal(text, &list) == nil {
		*c = count(len(list))
		return nil
	}
	return json.Unmarshal(text, (*int)(c))
}

// The changes of a component that is not there yet, and of one that is there and in the new recipe no more.
const (
	added   = "added"
	removed = "removed"
)

// Disagree compares what is said of a cluster with what is said of the bundle that was delivered there, by the rules of
// AICR's KWOK matrix since v1.2: something is matched, no chart that the bundler made belongs to no component, nothing that was
// delivered counts as added, and both say the same of each component. It is nil if they agree. What was not delivered counts
// on neither side: a component that the cell leaves out, or one that an upgrade has left behind. who says whose upgrade-check it is.
func Disagree(who string, cluster, bundle Answer, delivered []string) *result.Failure {
	var f result.Finding
	say := func(format string, args ...any) { f.Story = append(f.Story, fmt.Sprintf(format, args...)) }
	if s := cluster.Source; s != nil {
		if s.Matched == 0 {
			say("of the %d components that were delivered it finds none in the cluster", len(delivered))
		}
		if s.Helm != nil && s.Helm.StampedUnmatched > 0 {
			say("%d Helm releases have a chart that AICR's bundler made, and belong to no component", s.Helm.StampedUnmatched)
		}
	}
	here, there := delivers(cluster, delivered), delivers(bundle, delivered)
	var names []string
	for _, r := range slices.Concat(here, there) {
		if !slices.Contains(names, r.Component) {
			names = append(names, r.Component)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		a, b := rowOf(here, name), rowOf(there, name)
		switch {
		case a == b:
		case a.Change == added:
			say("%s: it was delivered, and counts as not installed", name)
		default:
			say("%s: of the cluster it says %s, and of the bundle %s", name, a.text(), b.text())
		}
		if a != b && f.Component == "" {
			f.Component = name
		}
	}
	if len(f.Story) == 0 {
		return nil
	}
	f.Cause = who + " reads another thing from the cluster than was delivered: " + f.Story[0]
	if n := len(f.Story) - 1; n > 0 {
		f.Cause += fmt.Sprintf(" (and %d more)", n)
	}
	return result.NewFailure(f)
}

// delivers are the rows without those of what was not delivered.
func delivers(a Answer, delivered []string) []Row {
	return slices.DeleteFunc(slices.Clone(a.Rows), func(r Row) bool {
		return (r.Change == added || r.Change == removed) && !slices.Contains(delivered, r.Component)
	})
}

func rowOf(rows []Row, component string) Row {
	for _, r := range rows {
		if r.Component == component {
			return r
		}
	}
	return Row{}
}

func (r Row) text() string {
	if r == (Row{}) {
		return "nothing"
	}
	text := r.Change
	if r.From != "" || r.To != "" {
		text += fmt.Sprintf(" from %q to %q", r.From, r.To)
	}
	for _, part := range []string{r.Verdict, r.Reason} {
		if part != "" {
			text += ", " + part
		}
	}
	return text
}
