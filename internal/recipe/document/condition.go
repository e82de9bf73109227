package document

// condition.go evaluates the text of a constraint, e.g. ">= 1.30", against a reading. It must not
// know recipes, or where a reading is from.

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

var (
	operatorOf = regexp.MustCompile(`^(>=|<=|>|<|==|!=|)\s*(.*)$`)
	// termStart is where the next condition of several begins that all must hold.
	termStart = regexp.MustCompile(`[ \t]+[><=!]`)
	// versionOf matches a version of one to three numbers, as AICR reads it: what follows the last
	// number is the distribution's, and only the number of a GKE build counts.
	versionOf = regexp.MustCompile(`^v?(\d+)(?:\.(\d+))?(?:\.(\d+))?(?:[-+](.*))?$`)
	gkeBuild  = regexp.MustCompile(`^gke\.(\d+)$`)
)

// term is one comparison.
type term struct{ operator, want string }

// parse gives the alternatives of a condition, of which one must hold; of an alternative all terms
// must. AICR has both since v1.0, for the versions of GKE: ">= 1.34.3-gke.1318000 < 1.35 || >=
// 1.35.0-gke.2745000".
func parse(condition string) ([][]term, error) {
	var all [][]term
	for _, alternative := range strings.Split(condition, "||") {
		var terms []term
		for text := strings.TrimSpace(alternative); text != "" || len(terms) == 0; {
			one, rest := text, ""
			if at := termStart.FindStringIndex(text); at != nil {
				one, rest = text[:at[0]], strings.TrimSpace(text[at[0]:])
			}
			m := operatorOf.FindStringSubmatch(one)
			if m[2] == "" {
				return nil, fmt.Errorf("%q has no value to compare with; correct it", condition)
			}
			terms = append(terms, term{m[1], m[2]})
			text = rest
		}
		all = append(all, terms)
	}
	return all, nil
}

// anyHolds reports whether all terms of one of the alternatives hold.
func anyHolds(alternatives [][]term, holds func(term) (bool, error)) (bool, error) {
	for _, terms := range alternatives {
		all := true
		for _, t := range terms {
			ok, err := holds(t)
			if err != nil {
				return false, err
			}
			if all = all && ok; !all {
				break
			}
		}
		if all {
			return true, nil
		}
	}
	return false, nil
}

// holds reports whether a reading fulfils a condition, as AICR's own CLI decides it. Without an
// operator, the texts must be equal. >=, <=, > and < compare versions as far as both have numbers,
// and then the builds of GKE; a reading that is no version is an error. == and != compare three
// numbers where both are versions, else texts.
func holds(condition, have string) (bool, error) {
	alternatives, err := parse(condition)
	if err != nil {
		return false, err
	}
	have = strings.TrimSpace(have)
	for _, terms := range alternatives { // whatever the reading is
		for _, t := range terms {
			if _, err := conditionVersion(t.want); err != nil && t.orders() {
				return false, fmt.Errorf("%q orders what is no version: %w; correct it", condition, err)
			}
		}
	}
	return anyHolds(alternatives, func(t term) (bool, error) {
		if t.operator == "" {
			return have == t.want, nil
		}
		wanted, failed := conditionVersion(t.want)
		measured, err := conditionVersion(have)
		switch {
		case t.orders() && err != nil:
			return false, fmt.Errorf("%q cannot be compared with the reading %.100q, which is no version: %w", condition, have, err)
		case t.orders():
			return t.holds(measured.compare(wanted)), nil
		case failed != nil || err != nil || !strings.Contains(t.want, "."):
			return (have == t.want) == (t.operator == "=="), nil
		}
		return (measured.numbers == wanted.numbers) == (t.operator == "=="), nil
	})
}

func (t term) orders() bool { return t.operator != "" && t.operator != "==" && t.operator != "!=" }

// parsed is a version.
type parsed struct {
	numbers [3]int
	written int // how many numbers it has
	build   string
}

func conditionVersion(text string) (parsed, error) {
	m := versionOf.FindStringSubmatch(text)
	if m == nil {
		return parsed{}, fmt.Errorf("%.100q is not one to three numbers with dots", text)
	}
	var p parsed
	for i, number := range m[1:4] {
		if number == "" {
			break
		}
		n, err := strconv.Atoi(number)
		if err != nil {
			return parsed{}, fmt.Errorf("%.100q has a number that is too large", text)
		}
		p.numbers[i], p.written = n, i+1
	}
	if build := gkeBuild.FindStringSubmatch(m[4]); build != nil {
		p.build = strings.TrimLeft(build[1], "0") + "." // never empty
	}
	return p, nil
}

// compare compares as many numbers as both have. A version with a build of GKE comes after the same
// one without.
func (p parsed) compare(other parsed) int {
	both := min(p.written, other.written)
	for i := range both {
		if order := cmp.Compare(p.numbers[i], other.numbers[i]); order != 0 {
			return order
		}
	}
	if both < len(p.numbers) {
		return 0
	}
	return cmp.Or(cmp.Compare(len(p.build), len(other.build)), cmp.Compare(p.build, other.build))
}

var (
	comparison  = regexp.MustCompile(`^v?(\d+(?:\.\d+){0,2})(?:[-+].*)?$`)
	versionText = regexp.MustCompile(`^v?(\d+)\.(\d+)\.(\d+)`)
)

// OfKubernetes is Holds for a version of the API server, MAJOR.MINOR.PATCH, and a condition with at
// most these three numbers. As many count as the condition has, without an operator too. What
// follows them, as the build of GKE does, does not count: the API server of a simulated cluster has no
// such thing.
func OfKubernetes(condition, version string) (bool, error) {
	bad := fmt.Errorf("%q is not a version with >=, <=, >, <, ==, != or nothing before it; correct it", condition)
	alternatives, err := parse(condition)
	if err != nil {
		return false, bad
	}
	for _, terms := range alternatives {
		for _, t := range terms {
			if !comparison.MatchString(t.want) {
				return false, bad
			}
		}
	}
	m := versionText.FindStringSubmatch(version)
	if m == nil {
		return false, fmt.Errorf("the API server's version %q is not MAJOR.MINOR.PATCH", version)
	}
	return anyHolds(alternatives, func(t term) (bool, error) {
		order := 0
		for i, part := range strings.Split(comparison.FindStringSubmatch(t.want)[1], ".") {
			want, err := strconv.Atoi(part)
			if err != nil {
				return false, fmt.Errorf("%q has a number that is too large; correct it", condition)
			}
			have, _ := strconv.Atoi(m[i+1]) // digits only; one too large for an int is the largest
			if order = cmp.Compare(have, want); order != 0 {
				break
			}
		}
		return t.holds(order), nil
	})
}

// holds reports whether the order of an actual and a required version, as cmp.Compare returns it,
// satisfies the operator. No operator means ==.
func (t term) holds(order int) bool {
	switch t.operator {
	case ">=":
		return order >= 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	case "<":
		return order < 0
	case "!=":
		return order != 0
	}
	return order == 0
}
