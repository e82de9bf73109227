package recipe

// profile_values.go reads a recipe's profile: a choice that a recipe leaves to its user, e.g. who installs
// the driver (AICR's ADR-015). It must not know other parts of a recipe, or how they are merged.

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"github.com/nvidia/aicr-action/internal/recipe/document"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

// externalAdvertiser is the only advertiser that a profile's value may name: something outside of the
// recipe advertises the GPUs.
const externalAdvertiser = "external"

// VariantMark stands between the name of a recipe and that of a profile's value.
const VariantMark = "--"

// ProfileSelected is the value that holds of a recipe's profile.
type ProfileSelected struct {
	Name       string `json:"name"`
	Value      string `json:"value"`
	Advertiser string `json:"advertiser,omitempty"`
	// OwnedPaths are the values, by component, that the profile decides, and "enabled" for the
	// component itself. Overrides must not contradict them.
	OwnedPaths map[string][]string `json:"ownedPaths"`
}

// profileDocument is spec.profile of an overlay.
type profileDocument struct {
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Default     string         `json:"default"`
	Values      map[string]any `json:"values"`
}

type valueDocument struct {
	Constraints          []document.Constraint `json:"constraints"`
	ReadinessConstraints []document.Constraint `json:"readinessConstraints"`
	ComponentRefs        []struct {
		Name      string         `json:"name"`
		Overrides map[string]any `json:"overrides"`
	} `json:"componentRefs"`
	Advertiser string `json:"advertiser"`
}

// Profile is an overlay's profile, decoded and checked.
type Profile struct {
	Name        string
	Description string
	Default     string
	Values      []string // sorted
	Origin      document.Origin
	// Owned are the paths that the profile decides, as in Selected.
	Owned  map[string][]string
	values map[string]*ProfileValue
}

// ProfileValue is one value of a profile: what it sets if it is selected.
type ProfileValue struct {
	Constraints, Readiness []document.Constraint
	Components             []ProfileComponent
	Advertiser             string
	origin                 document.Origin
}

// ProfileComponent has the overrides of one component.
type ProfileComponent struct {
	Name      string
	Overrides *document.Tree
	origin    document.Origin
}

var identifier = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

// ProfileSelection is a value of a profile, as --profile NAME=VALUE chooses it. The zero value selects the
// default value of a recipe's profile.
type ProfileSelection struct{ Name, Value string }

// ParseProfile reads NAME=VALUE; an empty text is the zero Selection.
func ParseProfile(text string) (ProfileSelection, error) {
	if text == "" {
		return ProfileSelection{}, nil
	}
	name, value, ok := strings.Cut(text, "=")
	if !ok || !identifier.MatchString(name) || !identifier.MatchString(value) {
		return ProfileSelection{}, fmt.Errorf("%.100q is not a profile's value; write NAME=VALUE", text)
	}
	return ProfileSelection{name, value}, nil
}

// Select gives the value of the selection, and the selection with a default filled in. The error says
// that this is not the profile, or has no such value.
func (p *Profile) Select(selection ProfileSelection) (*ProfileValue, ProfileSelection, error) {
	switch {
	case selection == ProfileSelection{}:
		selection = ProfileSelection{p.Name, p.Default}
	case selection.Name != p.Name:
		return nil, selection, fmt.Errorf("profile %q was asked for, and that of the recipe is %q (%s); correct --profile", selection.Name, p.Name, p.Origin)
	}
	value, ok := p.values[selection.Value]
	if !ok {
		return nil, selection, fmt.Errorf("profile %q has no value %q (%s); %s", p.Name, selection.Value, p.Origin, cmp.Or(lists.Hint(selection.Value, p.Values), "they are "+strings.Join(p.Values, ", ")))
	}
	return value, selection, nil
}
