package recipe

// criteria.go describes the systems that a query selects or that an overlay applies to. It
// must not know recipes.

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/nvidia/aicr-action/internal/util/lists"
)

// Any is the criteria value that stands for "not set".
const Any = "any"

// Criteria are the systems that a query selects, or that an overlay applies to. An empty field and
// "any" mean the same.
type Criteria struct {
	Service     string `json:"service,omitempty"`
	Accelerator string `json:"accelerator,omitempty"`
	Intent      string `json:"intent,omitempty"`
	OS          string `json:"os,omitempty"`
	Platform    string `json:"platform,omitempty"`
	Nodes       int    `json:"nodes,omitempty"` // 0 is any
}

// isSet reports whether a criterion selects one value.
func isSet(value string) bool { return value != "" && value != Any }

// Fields lists the criteria that are words.
func (c *Criteria) Fields() [5]*string {
	return [...]*string{&c.Service, &c.Accelerator, &c.Intent, &c.OS, &c.Platform}
}

// Bare is the criteria with unset fields empty.
func (c Criteria) Bare() Criteria {
	for _, f := range c.Fields() {
		if !isSet(*f) {
			*f = ""
		}
	}
	return c
}

// Spelled is the criteria with unset fields "any", the form of results (resolution rule 8).
func (c Criteria) Spelled() Criteria {
	for _, f := range c.Fields() {
		if !isSet(*f) {
			*f = Any
		}
	}
	return c
}

// ByName are the criteria that are set, by name.
func (c Criteria) ByName() map[string]string {
	all := map[string]string{}
	for i, name := range CriteriaNames() {
		if value := *c.Fields()[i]; isSet(value) {
			all[name] = value
		}
	}
	if c.Nodes > 0 {
		all["nodes"] = strconv.Itoa(c.Nodes)
	}
	return all
}

// Or takes what c leaves unset from other.
func (c Criteria) Or(other Criteria) Criteria {
	from := other.Fields()
	for i, f := range c.Fields() {
		if !isSet(*f) {
			*f = *from[i]
		}
	}
	if c.Nodes == 0 {
		c.Nodes = other.Nodes
	}
	return c
}

// Matches reports whether an overlay with criteria c applies to the query (resolution rule 1).
func (c Criteria) Matches(query Criteria) bool {
	asked := query.Fields()
	for i, f := range c.Fields() {
		if isSet(*f) && *f != *asked[i] {
			return false
		}
	}
	return c.Nodes == 0 || c.Nodes == query.Nodes
}

// Specificity is the number of criteria that are set (resolution rule 2).
func (c Criteria) Specificity() int {
	n := 0
	for _, f := range c.Fields() {
		if isSet(*f) {
			n++
		}
	}
	if c.Nodes != 0 {
		n++
	}
	return n
}

// Usual is the criteria in AICR's own spelling, from one that people may use. The arguments of a
// command line and documents of criteria may have any; overlays have AICR's.
func (c Criteria) Usual() Criteria {
	for i, f := range c.Fields() {
		*f = strings.ToLower(strings.TrimSpace(*f))
		switch alias := CriteriaNames()[i] + " " + *f; alias {
		case "service self-managed", "service self", "service vanilla":
			*f = Any
		case "os al2", "os al2023":
			*f = "amazonlinux"
		}
	}
	return c
}

// CriteriaNames are the criteria that are words, in the order of fields.
func CriteriaNames() [5]string {
	return [...]string{"service", "accelerator", "intent", "os", "platform"}
}

// KnownCriteria gives, for each criterion by its name in a recipe, the values that AICR knows,
// sorted. A recipes directory can have more, and need not have an overlay for each.
func KnownCriteria() map[string][]string {
	return map[string][]string{
		"service":     {"aks", "bcm", "cks", "eks", "generic", "gke", "k0s", "kind", "lke", "metal3", "nvke", "ocp", "oke", "rke2", "togetherai"},
		"accelerator": {"a100", "b200", "gb200", "gb300", "h100", "h200", "l40", "l40s", "rtx-pro-6000", "vr200"},
		"intent":      {"inference", "training"},
		"os":          {"amazonlinux", "cos", "ol", "rhel", "rocky", "sles", "talos", "ubuntu"},
		"platform":    {"dynamo", "kubeflow", "kueue", "nim", "runai", "slurm"},
	}
}

// UnknownValueError says that a criterion has a value that no recipe can be for.
type UnknownValueError struct {
	Criterion string // as recipes call it: service, accelerator, …
	Value     string
	Supported []string // sorted, without any
}

// Error names what is supported.
func (e *UnknownValueError) Error() string {
	suggestion := lists.Hint(e.Value, e.Supported)
	if suggestion != "" {
		suggestion += " "
	}
	return fmt.Sprintf("%s %.100q is not supported: %swant one of %s, any", e.Criterion, e.Value, suggestion, strings.Join(e.Supported, ", "))
}

// Check refuses a value that neither AICR nor one of the lists of more, by criterion, has, with an
// *UnknownValueError.
func (c Criteria) Check(more map[string][]string) error {
	known := KnownCriteria()
	for i, f := range c.Fields() {
		name := CriteriaNames()[i]
		supported := lists.Unique(append(known[name], more[name]...))
		if isSet(*f) && !slices.Contains(supported, *f) {
			slices.Sort(supported)
			return &UnknownValueError{Criterion: name, Value: *f, Supported: supported}
		}
	}
	return nil
}

// UncoveredError is a query with a criterion that no matching overlay sets. A recipe that ignores
// the criterion could be mistaken for an answer (AICR's issue 1542).
type UncoveredError struct {
	Criteria []string // their names
	Reasons  []string
}

func (e *UncoveredError) Error() string { return strings.Join(e.Reasons, "; ") }

// criteriaCovered is an *UncoveredError if the query has a criterion that none of the applied ones has.
func criteriaCovered(asked Criteria, applied, all []Criteria) error {
	var e UncoveredError
	for i, f := range asked.Fields() {
		if isSet(*f) && !slices.ContainsFunc(applied, func(c Criteria) bool { return *c.Fields()[i] == *f }) {
			e.Criteria, e.Reasons = append(e.Criteria, CriteriaNames()[i]), append(e.Reasons, completion(asked, i, all))
		}
	}
	if len(e.Criteria) == 0 {
		return nil
	}
	return &e
}

// completion says with which further criteria one of all has that of the query with the number i.
func completion(asked Criteria, i int, all []Criteria) string {
	names := CriteriaNames()
	want := *asked.Fields()[i]
	var found []map[string]string
	for _, one := range all {
		own := one.Bare()
		has := own.Fields()
		if *has[i] != want {
			continue
		}
		more, fits := map[string]string{}, true
		for j, f := range asked.Fields() {
			switch {
			case j == i || !isSet(*has[j]):
			case !isSet(*f):
				more[names[j]] = *has[j]
			case *f != *has[j]:
				fits = false
			}
		}
		if fits && len(more) > 0 {
			found = append(found, more)
		}
	}
	var ways []string
	for _, way := range found {
		// A way that contains another one is left out, since the shorter one suffices.
		if !slices.ContainsFunc(found, func(other map[string]string) bool { return len(other) < len(way) && contains(way, other) }) {
			ways = append(ways, spell(way))
		}
	}
	slices.Sort(ways)
	ways = slices.Compact(ways)
	if len(ways) == 0 {
		return fmt.Sprintf("no recipe is for %s %s together with the rest of the query; ask for less", names[i], want)
	}
	return fmt.Sprintf("a recipe for %s %s needs more than the query has: add %s", names[i], want, strings.Join(ways, ", or "))
}

func contains(all, part map[string]string) bool {
	for key, value := range part {
		if all[key] != value {
			return false
		}
	}
	return true
}

func spell(way map[string]string) string {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(way)) {
		parts = append(parts, "--"+key+" "+way[key])
	}
	return strings.Join(parts, " ")
}
