// Package condition evaluates the text of a constraint, e.g. ">= 1.30", against a reading. It must not
// know recipes, or where a reading is from.
package condition

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

var (
	operatorOf = regexp.MustCompile(`^\s*(>=|<=|>|<|==|!=|)\s*(.*?)\s*$`)
	numbersOf  = regexp.MustCompile(`^v?(\d+(?:\.\d+)*)`)
	versionOf  = regexp.MustCompile(`^v?(\d+(?:\.\d+)*)$`)
)

// Holds reports whether a reading fulfils a condition. Versions are compared by number, as far
// as the condition has numbers; any other text can only be equal (==, or no operator) or not (!=).
func Holds(condition, have string) (bool, error) {
	m := operatorOf.FindStringSubmatch(condition)
	operator, want := m[1], m[2]
	if want == "" {
		return false, fmt.Errorf("%q has no value to compare with; correct it", condition)
	}
	wanted, measured := versionOf.FindStringSubmatch(want), numbersOf.FindStringSubmatch(have)
	if wanted == nil || measured == nil {
		switch operator {
		case "", "==":
			return have == want, nil
		case "!=":
			return have != want, nil
		}
		if wanted == nil {
			return false, fmt.Errorf("%q orders what is no version; correct it", condition)
		}
		return false, nil // the reading is no version, so it is neither more nor less
	}
	order := 0
	parts := strings.Split(measured[1], ".")
	for i, part := range strings.Split(wanted[1], ".") {
		have := 0
		if i < len(parts) {
			have, _ = strconv.Atoi(parts[i]) // digits only; one too large for an int is the largest
		}
		want, err := strconv.Atoi(part)
		if err != nil {
			return false, fmt.Errorf("%q has a number that is too large; correct it", condition)
		}
		if order = cmp.Compare(have, want); order != 0 {
			break
		}
	}
	return holds(operator, order), nil
}

var (
	comparison  = regexp.MustCompile(`^\s*(>=|<=|>|<|==|!=|)\s*v?(\d+(?:\.\d+){0,2})\s*$`)
	versionText = regexp.MustCompile(`^v?(\d+)\.(\d+)\.(\d+)`)
)

// OfKubernetes is Holds for a version of the API server, MAJOR.MINOR.PATCH, and a condition with at
// most these three numbers.
func OfKubernetes(condition, version string) (bool, error) {
	if !comparison.MatchString(condition) {
		return false, fmt.Errorf("%q is not a version with >=, <=, >, <, ==, != or nothing before it; correct it", condition)
	}
	if !versionText.MatchString(version) {
		return false, fmt.Errorf("the API server's version %q is not MAJOR.MINOR.PATCH", version)
	}
	return Holds(condition, version)
}

// holds reports whether the order of an actual and a required version, as cmp.Compare returns it,
// satisfies an operator. No operator means ==.
func holds(operator string, order int) bool {
	switch operator {
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
