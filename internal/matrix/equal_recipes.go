package matrix

// equal_recipes.go finds the recipes of a run that are equal but for their names, and gives the cells
// of one the verdicts of the other's. It knows results and digests. It must not know what a
// digest is made of, or how a cell runs.

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/result"
)

// equalRecipes are the recipes of a run with what their cells depend on, in the order in which they
// start.
type equalRecipes struct {
	names []string
	lanes map[string][]string // by recipe: each deployer with its digest
	alone map[string]bool     // by recipe: it is no other one's twin
}

// plain are the names that no deployer, registry or API server changes or rejects. Another name
// could itself be what fails.
var plain = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// longest leaves room for what deployers put before and behind a recipe's name, within the 53
// bytes of a Helm release's name.
const longest = 40

// Add adds a cell with the digest of all that its verdict depends on but the recipe's name; an
// empty digest if that is not known. Such a recipe has no twin.
func (all *equalRecipes) Add(c result.Cell, digest string) {
	if all.lanes == nil {
		all.lanes, all.alone = map[string][]string{}, map[string]bool{}
	}
	if !slices.Contains(all.names, c.Recipe) {
		all.names = append(all.names, c.Recipe)
	}
	if digest == "" || c.From != "" || len(c.Recipe) > longest || !plain.MatchString(c.Recipe) {
		all.alone[c.Recipe] = true
	}
	all.lanes[c.Recipe] = append(all.lanes[c.Recipe], c.Deployer+" "+digest)
}

// Same returns, by recipe, the first one that is equal to it in each of its lanes, and has no other
// lanes: that the lanes produce the same objects is part of each verdict.
func (all *equalRecipes) Same() map[string]string {
	first, same := map[string]string{}, map[string]string{}
	for _, name := range all.names {
		if all.alone[name] {
			continue
		}
		lanes := strings.Join(slices.Sorted(slices.Values(all.lanes[name])), "\n")
		if of, ok := first[lanes]; ok {
			same[name] = of
			continue
		}
		first[lanes] = name
	}
	return same
}

// Lines says of each recipe whose it is the same as, in the order in which they start.
func (all *equalRecipes) Lines(same map[string]string) []string {
	var lines []string
	for _, name := range all.names {
		if of := same[name]; of != "" {
			lines = append(lines, fmt.Sprintf("%s is the same as %s but for its name and what no cell evaluates: it gets the verdicts of %[2]s", name, of))
		}
	}
	return lines
}

// equalResult returns the result of a cell that was not run, since it is the same as one that was. own
// is what is known of the cell itself; notVerified are those lines of the other's that are about its
// recipe's files, and ownNotVerified the cell's.
func equalResult(of, own result.Result, notVerified, ownNotVerified []string) result.Result {
	res := of
	res.Cell, res.Service, res.Rerun = own.Cell, own.Service, own.Rerun
	res.Duration, res.ReadyAfter, res.Phases, res.Processes = 0, 0, nil, nil
	res.Kubeconfig, res.Key, res.Known, res.Past = "", "", "", nil
	res.SameAs = &result.Twin{Recipe: of.Recipe, Duration: of.Cost()}
	res.NotVerified = slices.Clone(ownNotVerified)
	for _, line := range of.NotVerified {
		if !slices.Contains(notVerified, line) {
			res.NotVerified = append(res.NotVerified, line)
		}
	}
	said := fmt.Sprintf("same as %s: the two recipes deploy the same, on the same nodes and with the same settings, so that one cell decided about both", of.Cell)
	res.Notes = append([]string{said}, of.Notes...)
	return res
}
