package recipe

import (
	"fmt"
	"strings"

	"github.com/Masterminds/semver/v3"
)

// bound is one end of a Range.
type bound struct {
	version   *semver.Version
	inclusive bool
}

// from is the lowest version of a range that begins with the bound, for people.
func (b *bound) from() string { return b.text("above ") }

// to is the highest version of a range that ends with the bound, for people.
func (b *bound) to() string { return b.text("below ") }

func (b *bound) text(beyond string) string {
	if b.inclusive {
		return b.version.String()
	}
	return beyond + b.version.String()
}

// UpgradeRange is a set of versions: what all of its comparators allow. The zero value allows every version.
type UpgradeRange struct {
	Text         string
	lower, upper *bound
}

// parseVersion reads a version: three numbers, a prerelease if any, and a v in front or not. Nothing
// is guessed: v1.2 is no version that can be compared.
func parseVersion(text string) (*semver.Version, error) {
	v, err := semver.StrictNewVersion(strings.TrimPrefix(text, "v"))
	if err != nil {
		return nil, fmt.Errorf("%.100q is not a version of three numbers, such as 1.2.3 or v1.2.3-rc.1", text)
	}
	return v, nil
}

// parseRange reads comparators with spaces between them, all of which hold: <, <=, >, >= or =, or
// none, which means equal.
func parseRange(text string) (UpgradeRange, error) {
	r := UpgradeRange{Text: text}
	fields := strings.Fields(text)
	if len(fields) == 0 {
		return r, fmt.Errorf("the range is empty; write comparators, e.g. \">=1.2.0 <1.3.0\"")
	}
	for _, field := range fields {
		rest := strings.TrimLeft(field, "<>=")
		op := field[:len(field)-len(rest)]
		if strings.ContainsAny(rest, "+") {
			return r, fmt.Errorf("%q has build metadata, by which versions are not compared; remove it", field)
		}
		v, err := parseVersion(rest)
		if err != nil {
			return r, fmt.Errorf("%q is not a comparator: %w; ranges are made of <, <=, >, >= and =, with spaces between them", field, err)
		}
		var lower, upper *bound
		switch op {
		case "<", "<=":
			upper = &bound{v, op == "<="}
		case ">", ">=":
			lower = &bound{v, op == ">="}
		case "=", "":
			lower, upper = &bound{v, true}, &bound{v, true}
		default:
			return r, fmt.Errorf("%q begins with %s; write <, <=, >, >= or =", field, op)
		}
		if lower != nil && r.lower != nil || upper != nil && r.upper != nil {
			return r, fmt.Errorf("%q is a second bound on the same side; keep one", field)
		}
		if lower != nil {
			r.lower = lower
		}
		if upper != nil {
			r.upper = upper
		}
	}
	if r.lower != nil && r.upper != nil {
		if c := r.lower.version.Compare(r.upper.version); c > 0 || c == 0 && !(r.lower.inclusive && r.upper.inclusive) {
			return r, fmt.Errorf("no version is in the range %q; correct it", text)
		}
	}
	return r, nil
}

// Has reports whether a version is in the range.
func (r UpgradeRange) Has(v *semver.Version) bool { return !r.below(v) && !r.above(v) }

// below reports whether a version is before the range begins.
func (r UpgradeRange) below(v *semver.Version) bool {
	if r.lower == nil {
		return false
	}
	c := v.Compare(r.lower.version)
	return c < 0 || c == 0 && !r.lower.inclusive
}

// above reports whether a version is past the end of the range.
func (r UpgradeRange) above(v *semver.Version) bool {
	if r.upper == nil {
		return false
	}
	c := v.Compare(r.upper.version)
	return c > 0 || c == 0 && !r.upper.inclusive
}

// endsBefore reports whether no version of the range is in other, or after it.
func (r UpgradeRange) endsBefore(other UpgradeRange) bool {
	if r.upper == nil || other.lower == nil {
		return false
	}
	c := r.upper.version.Compare(other.lower.version)
	return c < 0 || c == 0 && !(r.upper.inclusive && other.lower.inclusive)
}

// compareBegin compares where ranges begin: below zero if a version of r may be before other begins. Both have
// lower bounds.
func (r UpgradeRange) compareBegin(other UpgradeRange) int {
	if c := r.lower.version.Compare(other.lower.version); c != 0 || r.lower.inclusive == other.lower.inclusive {
		return c
	}
	if r.lower.inclusive {
		return -1
	}
	return 1
}

func (r UpgradeRange) String() string { return r.Text }
