package report

import (
	"cmp"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/result"
)

// upgradeGroup is what changes in the lanes of one recipe, each line once: mostly it is the same in all.
type upgradeGroup struct {
	// Title names the recipe with its lanes, Summary counts what changes.
	Title, Summary string
	// About says where the change was read, and what it cannot show.
	About    []string
	Sections []upgradeSection
}

// of is the change of one lane.
type of struct {
	lane   string
	change *result.Change
}

// upgradeGroups are the changes of all cells of a report. The lanes of a recipe are one group, in which what
// some of them have is marked with their names; lanes without a difference are a group of their own.
func upgradeGroups(results []result.Result) []upgradeGroup {
	var keys []string
	lanes := map[string][]of{}
	first := map[string]result.Cell{}
	for i := range results {
		c := results[i].Change
		if c == nil {
			continue
		}
		key := results[i].Row() + "\n" + c.From
		if c.Empty() {
			key += "\nnone"
		}
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
			first[key] = results[i].Cell
		}
		lanes[key] = append(lanes[key], of{results[i].Deployer, c})
	}
	var all []upgradeGroup
	for _, key := range keys {
		group := lanes[key]
		slices.SortStableFunc(group, func(a, b of) int { return cmp.Compare(rendered(a), rendered(b)) })
		g := upgradeGroup{Title: first[key].String(), Summary: summary(group), About: abouts(group), Sections: merged(group)}
		if len(group) > 1 {
			g.Title = first[key].Row() + " (" + strings.Join(namesOf(group), ", ") + ")"
		}
		all = append(all, g)
	}
	return all
}

// rendered is 1 for a lane whose change was only rendered: what was seen in a cluster goes before.
func rendered(l of) int {
	if l.change.Rendered {
		return 1
	}
	return 0
}

// abouts is what About says, once if it is the same of all lanes.
func abouts(lanes []of) []string {
	var s said
	for _, l := range lanes {
		s.add(upgradeAbout(l.change), l.lane, len(s.texts)-1)
	}
	if len(s.texts) == 1 {
		return s.texts
	}
	var all []string
	for _, text := range s.texts {
		all = append(all, strings.Join(s.lanes[text], ", ")+": "+text)
	}
	return all
}

func namesOf(lanes []of) []string {
	var all []string
	for _, l := range lanes {
		all = append(all, l.lane)
	}
	return all
}

// said are texts in the order of a report, each with the lanes that have it.
type said struct {
	texts []string
	lanes map[string][]string
}

// add puts a text where the lane has it: behind the one at place at. It returns the text's place.
func (s *said) add(text, lane string, at int) int {
	if s.lanes == nil {
		s.lanes = map[string][]string{}
	}
	place := slices.IndexFunc(s.texts, func(other string) bool { return other == text || sameRoll(other, text) })
	if place < 0 {
		place = at + 1
		s.texts = slices.Insert(s.texts, place, text)
	}
	text = s.texts[place]
	if !slices.Contains(s.lanes[text], lane) {
		s.lanes[text] = append(s.lanes[text], lane)
	}
	return max(at, place)
}

// addAll adds a lane's texts in their order.
func (s *said) addAll(texts []string, lane string) {
	at := -1
	for _, text := range texts {
		at = s.add(text, lane, at)
	}
}

// sameRoll reports whether two lines are about one workload, of which a rendering knows less: on how
// many nodes the pods are.
func sameRoll(seen, rendered string) bool {
	object, rest, roll := strings.Cut(rendered, eachNode)
	if !roll {
		return false
	}
	other, found := strings.CutPrefix(seen, object+", ")
	return found && strings.HasSuffix(other, rest)
}

// marked are the texts, each with its lanes if not all of them have it.
func (s *said) marked(all []string) []string {
	var texts []string
	for _, text := range s.texts {
		if some := s.lanes[text]; len(some) < len(all) {
			text += " (" + strings.Join(some, ", ") + " only)"
		}
		texts = append(texts, text)
	}
	return texts
}

// summary counts what changes. The number of objects that were compared is no difference.
func summary(lanes []of) string {
	var s said
	for _, l := range lanes {
		if l.change.Empty() { // and so is every other of the group
			return upgradeSummary(l.change)
		}
		s.addAll(counts(l.change.Totals(), l.change.Rendered), l.lane)
	}
	return strings.Join(s.marked(namesOf(lanes)), ", ")
}

// merged are the components that change in any of the lanes, in the order of the first that has it.
func merged(lanes []of) []upgradeSection {
	var names said
	counted, lines := map[string]*said{}, map[string]*said{}
	for _, l := range lanes {
		at := -1
		for _, section := range upgradeSections(l.change) {
			name := section.name
			at = names.add(name, l.lane, at)
			if counted[name] == nil {
				counted[name], lines[name] = &said{}, &said{}
			}
			counted[name].addAll(section.counts, l.lane)
			lines[name].addAll(section.Lines, l.lane)
		}
	}
	var all []upgradeSection
	for _, name := range names.texts {
		has := names.lanes[name]
		title := name + ": " + strings.Join(counted[name].marked(has), ", ")
		if len(has) < len(lanes) {
			title += " (" + strings.Join(has, ", ") + " only)"
		}
		all = append(all, upgradeSection{Title: title, Lines: lines[name].marked(has)})
	}
	return all
}
