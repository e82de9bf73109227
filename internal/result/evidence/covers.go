package evidence

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/nvidia/aicr-action/internal/result"
)

// Side is a component's chart on one side of a move. The digest is empty if it is not known.
type Side struct{ Version, Digest string }

// Question is about the move of one component.
type Question struct {
	Component string
	From, To  Side
	Criteria  map[string]string
	// Deployer limits the lanes to those of one, by AICR's name; empty for any.
	Deployer string
}

// Answer is what a document says of a move.
type Answer struct {
	// Passed are the deployers whose upgrade has shown the move.
	Passed []string
	// Failed are the upgrades with the move that failed by it.
	Failed []*Upgrade
	// Why says what else there is about the move, or why there is nothing.
	Why string
}

// Covers: an upgrade has shown the move, and none has failed by it.
func (a Answer) Covers() bool { return len(a.Passed) > 0 && len(a.Failed) == 0 }

// Covers says what the document shows of a move: of the same recipe's criteria, with the same
// versions and digests on both sides.
func (d *Document) Covers(q Question) Answer {
	var a Answer
	var others []string
	for i := range d.Upgrades {
		u := &d.Upgrades[i]
		why := u.shows(q)
		switch {
		case why != "":
		case u.Verdict == result.Failed || u.Verdict == result.Timeout:
			if u.Component == q.Component || u.Component == "" {
				a.Failed = append(a.Failed, u)
			}
			why = fmt.Sprintf("the upgrade ended with %s", u.Reason)
		case !u.Verdict.Good():
			why = fmt.Sprintf("the upgrade has no verdict (%s %s)", u.Verdict, u.Reason)
		case !u.FirstInstallation.Good():
			why = fmt.Sprintf("its end was compared with nothing, since the first installation is %s", u.FirstInstallation)
		default:
			if !slices.Contains(a.Passed, u.Deployer) {
				a.Passed = append(a.Passed, u.Deployer)
			}
			continue
		}
		others = append(others, u.Recipe+"/"+u.Deployer+": "+why)
	}
	a.Why = strings.Join(others, "; ")
	if len(d.Upgrades) == 0 {
		a.Why = "it has no upgrade"
	}
	return a
}

// shows says why the upgrade is not the move that is asked for; empty if it is.
func (u *Upgrade) shows(q Question) string {
	if q.Deployer != "" && Family(u.Deployer) != q.Deployer {
		return "another deployer"
	}
	if !maps.Equal(u.Criteria, q.Criteria) {
		return "another recipe, with the criteria " + text(u.Criteria)
	}
	for _, side := range []struct {
		what   string
		charts []result.Chart
		want   Side
	}{{"before", u.Before, q.From}, {"after", u.After, q.To}} {
		i := slices.IndexFunc(side.charts, func(c result.Chart) bool { return c.Component == q.Component && c.Release == q.Component })
		switch {
		case i < 0:
			return "without the component " + side.what
		case !same(side.charts[i].Version, side.want.Version):
			return fmt.Sprintf("%s was %s %s, and not %s", q.Component, side.charts[i].Version, side.what, side.want.Version)
		case side.want.Digest == "" || side.charts[i].Digest == "":
			return fmt.Sprintf("the chart's digest %s is not known", side.what)
		case side.charts[i].Digest != side.want.Digest:
			return fmt.Sprintf("the chart %s had other files (%s from %s, and here %s)", side.what, brief(side.charts[i].Digest), side.charts[i].From, brief(side.want.Digest))
		}
	}
	return ""
}

func brief(digest string) string { return digest[:min(len(digest), len("sha256:")+12)] }

// same compares versions: with or without v in front.
func same(a, b string) bool {
	va, errA := semver.NewVersion(a)
	vb, errB := semver.NewVersion(b)
	if errA != nil || errB != nil {
		return a == b && a != ""
	}
	return va.Equal(vb) && va.Metadata() == vb.Metadata()
}

// Family is the deployer by AICR's name: without how the bundle is published.
func Family(deployer string) string {
	return strings.TrimSuffix(strings.TrimSuffix(deployer, "-oci"), "-git")
}

// text lists criteria.
func text(criteria map[string]string) string {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(criteria)) {
		parts = append(parts, key+"="+criteria[key])
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}
