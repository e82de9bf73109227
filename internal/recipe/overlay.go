package recipe

import (
	"github.com/nvidia/aicr-action/internal/recipe/document"
)

// baseOverlay is the root of every chain of overlays.
const baseOverlay = "base"

// Overlay is a part of a recipe that applies to the systems that its criteria describe, on top of
// its base.
type Overlay struct {
	Name     string
	Origin   Origin   // where its metadata.name is
	Base     string   // the name of its parent; empty for the root
	Mixins   []string // in the order in which they are merged
	Criteria Criteria // its own
	// Effective is Criteria with unset fields taken from the nearest base that sets them: the query
	// for exactly this overlay.
	Effective Criteria

	layer   layer
	profile *Profile
	lines   overlayLines
}

type overlayLines struct {
	base, criteria int
	mixins         []int
}

// Testable reports whether the overlay is for one kind of cluster, so that a cluster can be
// simulated for it.
func (o *Overlay) Testable() bool { return isSet(o.Criteria.Service) }

// CriteriaOrigin is where it says what it applies to; of an overlay that does not say so, where its
// name is.
func (o *Overlay) CriteriaOrigin() Origin {
	if o.lines.criteria == 0 {
		return o.Origin
	}
	return Origin{File: o.Origin.File, Line: o.lines.criteria}
}

// Generic reports whether the overlay is testable and not for one kind of accelerator.
func (o *Overlay) Generic() bool { return o.Testable() && !isSet(o.Criteria.Accelerator) }

// layer is what overlays and mixins have in common: what they put on top of the layers before them.
type layer struct {
	constraints []Constraint
	components  []declaration
	validation  map[string]any
	lines       map[string]validationLines // of validation, by phase
}

// declaration is a componentRef with the places of its parts.
type declaration struct {
	ref       ComponentRef
	overrides *document.Tree
	origin    Origin
	// lines of list elements and of the fields of which a fault may be found only later
	valuesFile, dependencyRefs int
	manifestLines, depLines    []int
	preManifestLines           []int
	patchLines                 []int
	fields                     []declaredField
}

// declaredField is a field that is set, and its line.
type declaredField struct {
	name string
	line int
}

func (d *declaration) at(line int) Origin { return Origin{File: d.origin.File, Line: line} }

type overlayDocument struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Metadata   map[string]any `json:"metadata"`
	Spec       overlaySpec    `json:"spec"`
}

type overlaySpec struct {
	Base          string          `json:"base"`
	Criteria      Criteria        `json:"criteria"`
	Constraints   []Constraint    `json:"constraints"`
	ComponentRefs []ComponentRef  `json:"componentRefs"`
	Validation    validationPhase `json:"validation"`
	Mixins        []string        `json:"mixins"`
	// Since April 2026.
	Profile    *profileDocument `json:"profile"`
	Resolution *struct {
		StrictDimensions []string `json:"strictDimensions"`
	} `json:"resolution"`
}

// validationPhase has the phases, whose content is not this package's business.
type validationPhase struct {
	Readiness   map[string]any `json:"readiness"`
	Deployment  map[string]any `json:"deployment"`
	Performance map[string]any `json:"performance"`
	Conformance map[string]any `json:"conformance"`
}

func (v validationPhase) phases() map[string]any {
	phases := map[string]any{}
	for name, phase := range map[string]map[string]any{
		"readiness": v.Readiness, "deployment": v.Deployment, "performance": v.Performance, "conformance": v.Conformance,
	} {
		if phase != nil {
			phases[name] = phase
		}
	}
	return phases
}

type mixinDocument struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Metadata   map[string]any `json:"metadata"`
	Spec       mixinSpec      `json:"spec"`
}

// mixinSpec lacks on purpose what decides whether and where a layer applies.
type mixinSpec struct {
	Constraints   []Constraint   `json:"constraints"`
	ComponentRefs []ComponentRef `json:"componentRefs"`
}

// mixin is a layer that overlays share.
type mixin struct {
	name   string
	origin Origin
	layer  layer
}
