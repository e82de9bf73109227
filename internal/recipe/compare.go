package recipe

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
)

// UpgradeComponent is a component of a recipe, as far as a move can change it.
type UpgradeComponent struct {
	Name, Version string
	// Unsettled says why the version that is installed is not known; empty if it is.
	Unsettled string
	// Identity says where and what it is, besides its version: namespace, chart, source and so on. What
	// only one side says is not compared.
	Identity map[string]string
	// Files are the sets of files that become objects of it; an empty set is compared too.
	Files map[string][]string
}

// UpgradeChange is how a component differs between two recipes.
type UpgradeChange string

// The changes.
const (
	VersionChange  UpgradeChange = "version"
	identityChange UpgradeChange = "identity"
	upgradeAdded   UpgradeChange = "added"
	upgradeRemoved UpgradeChange = "removed"
)

// UpgradeReason says why a row has its verdict. The words are those of AICR's own CLI.
type UpgradeReason string

// The reasons.
const (
	upgradeRecorded    UpgradeReason = "recorded"
	multipleBoundaries UpgradeReason = "multiple-boundaries"
	undefinedOrigin    UpgradeReason = "undefined-origin"
	beyondCeiling      UpgradeReason = "beyond-record-ceiling"
	NoRecord           UpgradeReason = "no-record"
	NoBoundary         UpgradeReason = "no-boundary-crossed"
	UpgradeDowngrade   UpgradeReason = "downgrade"
	identityChanged    UpgradeReason = "identity-changed"
	notComparable      UpgradeReason = "not-comparable"
)

// UpgradeMove is a part of a component's identity that is another one.
type UpgradeMove struct {
	Field string `json:"field"`
	From  string `json:"from"`
	To    string `json:"to"`
}

// UpgradeRow is what is said of one component.
type UpgradeRow struct {
	Component   string
	Change      UpgradeChange
	From, To    string
	Verdict     UpgradeVerdict // empty if there is nothing to judge
	Reason      UpgradeReason
	Explanation string
	// StopAt is where a blocked move has to stop, if that is known: a version, or below or above one.
	StopAt string
	// StoppedAt is the range of the record that stops it.
	StoppedAt string
	// Jump is how far the versions are apart, e.g. "2 minors".
	Jump string
	// Breaking says how far the move is, if that is farther than versions promise to be compatible.
	Breaking string
	Moves    []UpgradeMove
	// Record is the transition whose verdict this is; nil if none describes the move.
	Record *UpgradeTransition
	// Crossed are all transitions that the move crosses, whatever the verdict.
	Crossed []*UpgradeTransition
}

// Attention reports whether a person has to look before the move is made.
func (r *UpgradeRow) Attention() bool { return r.Verdict != "" && r.Verdict != UpgradeSafe }

// CompareUpgrades gives a row for each component that is not the same on both sides, sorted by name. Records
// are by component.
func CompareUpgrades(from, to []UpgradeComponent, records map[string]*UpgradeRecord) []UpgradeRow {
	before, after := byName(from), byName(to)
	var names []string
	for _, c := range slices.Concat(from, to) {
		names = append(names, c.Name)
	}
	slices.Sort(names)
	var rows []UpgradeRow
	for _, name := range slices.Compact(names) {
		a, was := before[name]
		b, is := after[name]
		switch {
		case !was:
			rows = append(rows, UpgradeRow{Component: name, Change: upgradeAdded, To: b.Version, Explanation: "it is installed; nothing is to be done"})
		case !is:
			rows = append(rows, UpgradeRow{Component: name, Change: upgradeRemoved, From: a.Version, Explanation: "it stays installed: nothing removes it. Remove it yourself if it is not wanted"})
		default:
			if row, changed := judge(a, b, records[name]); changed {
				rows = append(rows, row)
			}
		}
	}
	return rows
}

func byName(components []UpgradeComponent) map[string]UpgradeComponent {
	m := map[string]UpgradeComponent{}
	for _, c := range components {
		m[c.Name] = c
	}
	return m
}

// judge compares the two sides of one component.
func judge(a, b UpgradeComponent, record *UpgradeRecord) (UpgradeRow, bool) {
	row := UpgradeRow{Component: a.Name, Change: VersionChange, From: a.Version, To: b.Version, Moves: moves(a, b)}
	va, errA := parseVersion(a.Version)
	vb, errB := parseVersion(b.Version)
	same := a.Version == b.Version || errA == nil && errB == nil && va.Equal(vb)
	switch {
	case a.Unsettled != "":
		row.set(UpgradeUnversioned, notComparable, "the installed version is not known: %s", a.Unsettled)
	case same && len(row.Moves) == 0:
		return row, false
	case same:
		row.Change = identityChange
		row.relocated()
		return row, true
	case errA != nil || errB != nil:
		side, text := "from", a.Version
		if errA == nil {
			side, text = "to", b.Version
		}
		row.set(UpgradeUnversioned, notComparable, "the version %q of --%s cannot be compared: it is not three numbers, such as 1.2.3; pin one that is", text, side)
	default:
		row.judge(va, vb, record)
		row.Breaking, row.Jump = breaking(va, vb), jump(va, vb)
	}
	if len(row.Moves) > 0 && row.Verdict == UpgradeSafe {
		row.relocated() // the record is about versions, and nobody was asked about the rest
	}
	return row, true
}

func (r *UpgradeRow) set(v UpgradeVerdict, why UpgradeReason, format string, args ...any) {
	r.Verdict, r.Reason, r.Explanation = v, why, fmt.Sprintf(format, args...)
}

func (r *UpgradeRow) relocated() {
	r.Record = nil
	var fields []string
	for _, m := range r.Moves {
		fields = append(fields, m.Field)
	}
	r.set(upgradeUnknown, identityChanged, "%s changed, and records are about versions only. A deployer installs a second copy, or refuses; move the component on its own, or keep what it was", strings.Join(fields, ", "))
}

// judge looks for the one record that describes the move. A move that more than one record is about,
// or that begins or ends where its record was not looked at, is blocked: steps for another move can
// destroy what they are meant to keep.
func (r *UpgradeRow) judge(from, to *semver.Version, record *UpgradeRecord) {
	if to.LessThan(from) {
		r.set(upgradeUnknown, UpgradeDowngrade, "%s is older than %s, and records are of moves forward: nobody has said that the way back is safe", r.To, r.From)
		return
	}
	if record == nil {
		r.set(upgradeUnknown, NoRecord, "nobody has recorded how this component is upgraded; read its release notes from %s to %s", r.From, r.To)
		return
	}
	var crossed []*UpgradeTransition
	for i := range record.Transitions {
		if t := &record.Transitions[i]; t.To.below(from) && !t.To.below(to) {
			crossed = append(crossed, t)
		}
	}
	if len(crossed) == 0 {
		r.set(upgradeUnknown, NoBoundary, "%s has no record of a move between %s and %s", record.File, r.From, r.To)
		return
	}
	r.Crossed = crossed
	first := crossed[0]
	if r.StoppedAt = first.To.String(); len(crossed) == 1 && first.From.Has(from) && !first.To.above(to) && first.Verdict != upgradeBlocked {
		r.StoppedAt = ""
	}
	switch {
	case len(crossed) > 1 && first.To.compareBegin(crossed[1].To) >= 0:
		r.set(upgradeBlocked, multipleBoundaries, "the records at %s and %s both begin with %s, so that there is no version to stop at between them; correct the records", first.Origin, crossed[1].Origin, first.To.lower.version)
	case len(crossed) > 1:
		r.StopAt = first.To.lower.from()
		r.set(upgradeBlocked, multipleBoundaries, "the move crosses %d recorded boundaries, at %s; upgrade to a version of %q first, and check again from there", len(crossed), boundaries(crossed), first.To)
	case !first.From.Has(from):
		r.set(upgradeBlocked, undefinedOrigin, "the record at %s is for a move from %s, which %s is not", first.Origin, first.From, r.From)
		if first.From.below(from) {
			r.StopAt = first.From.lower.from()
			r.Explanation += fmt.Sprintf("; upgrade to a version of %q first, and check again from there", first.From)
		} else {
			r.Explanation += "; it needs a record of its own"
		}
	case first.To.above(to):
		r.StopAt = first.To.upper.to()
		r.set(upgradeBlocked, beyondCeiling, "the record at %s was looked at for %q only; upgrade to a version of that, and check again from there", first.Origin, first.To)
	default:
		r.Record = first
		r.set(first.Verdict, upgradeRecorded, "%s: from %s to %s", first.Origin, first.From, first.To)
	}
}

func boundaries(crossed []*UpgradeTransition) string {
	var all []string
	for _, t := range crossed {
		all = append(all, t.To.lower.version.String())
	}
	return strings.Join(all, ", ")
}

// jump counts in the first number that differs; empty if only what follows the three does.
func jump(from, to *semver.Version) string {
	for _, n := range []struct {
		unit string
		a, b uint64
	}{{"major", from.Major(), to.Major()}, {"minor", from.Minor(), to.Minor()}, {"patch", from.Patch(), to.Patch()}} {
		if n.a == n.b {
			continue
		}
		many := max(n.a, n.b) - min(n.a, n.b)
		switch {
		case many == 1:
			return "1 " + n.unit
		case n.unit == "patch":
			return fmt.Sprintf("%d patches", many)
		}
		return fmt.Sprintf("%d %ss", many, n.unit)
	}
	return ""
}

// breaking says in what way versions are farther apart than semantic versions promise to be
// compatible; empty if they are not.
func breaking(from, to *semver.Version) string {
	switch {
	case from.Major() != to.Major():
		return "major version"
	case from.Major() == 0 && from.Minor() != to.Minor():
		return "minor version below 1.0"
	case from.Minor() == to.Minor() && from.Patch() == to.Patch() && from.Prerelease() != to.Prerelease():
		return "prerelease"
	}
	return ""
}

// moves are the parts of the identity that differ.
func moves(a, b UpgradeComponent) []UpgradeMove {
	var all []UpgradeMove
	for _, field := range slices.Sorted(maps.Keys(a.Identity)) {
		if from, to := a.Identity[field], b.Identity[field]; from != "" && to != "" && from != to {
			all = append(all, UpgradeMove{field, from, to})
		}
	}
	for _, field := range slices.Sorted(maps.Keys(a.Files)) {
		from, to := slices.Sorted(slices.Values(a.Files[field])), slices.Sorted(slices.Values(b.Files[field]))
		if !slices.Equal(from, to) {
			all = append(all, UpgradeMove{field, strings.Join(from, ", "), strings.Join(to, ", ")})
		}
	}
	return all
}
