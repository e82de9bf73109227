package recipe

import (
	"github.com/nvidia/aicr-action/internal/recipe/document"
)

// Constraint is a requirement on the system that a recipe is for.
type Constraint = document.Constraint

// ExpectedResource names an object that a component must produce.
type ExpectedResource struct {
	Kind      string `json:"kind"`
	Name      string `json:"name"`
	Namespace string `json:"namespace,omitempty"`
	// Origin is where the entry is.
	Origin Origin `json:"-"`
}

// ComponentRef is one component of a recipe.
type ComponentRef struct {
	Name           string         `json:"name"`
	Namespace      string         `json:"namespace,omitempty"`
	Chart          string         `json:"chart,omitempty"`
	Type           string         `json:"type,omitempty"` // Helm or Kustomize
	Source         string         `json:"source,omitempty"`
	Version        string         `json:"version,omitempty"`
	Tag            string         `json:"tag,omitempty"`
	Path           string         `json:"path,omitempty"`
	ValuesFile     string         `json:"valuesFile,omitempty"`
	Overrides      map[string]any `json:"overrides,omitempty"`
	Patches        []string       `json:"patches,omitempty"` // files, relative to the recipes directory; for Kustomize
	DependencyRefs []string       `json:"dependencyRefs,omitempty"`
	ManifestFiles  []string       `json:"manifestFiles,omitempty"`
	// PreManifestFiles are applied before the chart, as a release of their own.
	PreManifestFiles   []string           `json:"preManifestFiles,omitempty"`
	Cleanup            bool               `json:"cleanup,omitempty"`
	ExpectedResources  []ExpectedResource `json:"expectedResources,omitempty"`
	HealthCheckAsserts string             `json:"healthCheckAsserts,omitempty"`
	// HealthCheckSkip: the registry's health check is not the component's in this recipe.
	HealthCheckSkip bool `json:"healthCheckSkip,omitempty"`
}

// SchedulingPaths are the dotted value paths of a chart at which the pods of one node kind are
// steered.
type SchedulingPaths struct {
	NodeSelectorPaths []string `json:"nodeSelectorPaths,omitempty"`
	TolerationPaths   []string `json:"tolerationPaths,omitempty"`
	// TaintPaths and TaintStrPaths get the taint of nodes that are not tuned yet, as an object or as
	// KEY=VALUE:EFFECT.
	TaintPaths    []string `json:"taintPaths,omitempty"`
	TaintStrPaths []string `json:"taintStrPaths,omitempty"`
	// AICR's bundler refuses a bundle without a node selector for these.
	RequireNodeSelector                  bool `json:"requireNodeSelector,omitempty"`
	RequireNodeSelectorIfStorageClassSet bool `json:"requireNodeSelectorIfStorageClassSet,omitempty"`
}

// NodeScheduling is a registry entry's nodeScheduling block.
type NodeScheduling struct {
	System         SchedulingPaths `json:"system,omitempty"`
	Accelerated    SchedulingPaths `json:"accelerated,omitempty"`
	NodeCountPaths []string        `json:"nodeCountPaths,omitempty"`
}

// Manifest is one manifest file of a component, to be rendered as a Helm template.
type Manifest struct {
	Path string // as the recipe names it, relative to the recipes directory
	File string // as a person can open it
	// Line of File is why the manifest is there, if its text is in no file; 0 otherwise.
	Line    int
	Content []byte
	// At gives the place of a line of Content, where that was written from other files; nil if
	// Content is File's.
	At func(line int) Origin `json:"-"`
}

// Origin is the place of a line of the manifest.
func (m *Manifest) Origin(line int) Origin {
	switch {
	case m.Line > 0:
		return Origin{File: m.File, Line: m.Line}
	case m.At != nil:
		return m.At(line)
	}
	return Origin{File: m.File, Line: line}
}

// Component is a component with everything that a bundle needs: registry defaults filled in, values
// merged, manifests read.
type Component struct {
	ComponentRef
	DisplayName       string
	ValueOverrideKeys []string
	NodeScheduling    NodeScheduling
	Values            map[string]any
	// Origins has, for every dotted value path that any file sets (maps and leaves), the place that
	// set it last.
	Origins   map[string]Origin
	Manifests []Manifest
	// PreManifests are those of PreManifestFiles.
	PreManifests []Manifest
	// Kustomization is set for a component of type Kustomize.
	Kustomization *Kustomization
	// Declared is where the recipe (an overlay, mixin or the registry) last declared the component.
	Declared Origin
	// Registered is where the registry has the component.
	Registered Origin
	// GKECriticalPriority: the registry says that its pods have a priority that GKE admits only where a
	// ResourceQuota says so.
	GKECriticalPriority bool
	// Undone lists what AICR's own bundler does about the component because of the registry, and
	// this program does not do: messages with file and line.
	Undone []string
	// Validations are the checks that the registry has for the component, on any condition.
	Validations []Validation
}

// ManifestOnly reports whether the component has no chart, but manifests or a kustomization that
// generates them.
func (c *Component) ManifestOnly() bool {
	return c.Chart == "" && (len(c.Manifests) > 0 || len(c.PreManifests) > 0 || c.Kustomization != nil)
}

// Metadata of a Result.
type Metadata struct {
	Name            string   `json:"name,omitempty"` // the overlay that was asked for by name, if any
	AppliedOverlays []string `json:"appliedOverlays"`
	// SelectedProfile is the value that holds of the profile of one of the overlays, if one has any.
	SelectedProfile *ProfileSelected `json:"selectedProfile,omitempty"`
	// ExcludedOverlays are those that a measured system has no use for, and ConstraintWarnings why.
	ExcludedOverlays   []ExcludedByReading `json:"excludedOverlays,omitempty"`
	ConstraintWarnings []ReadingWarning    `json:"constraintWarnings,omitempty"`
}

// Result is a resolved recipe: kind RecipeResult.
type Result struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Metadata   Metadata `json:"metadata"`
	Criteria   Criteria `json:"criteria"` // unset fields are printed as "any"
	// Configuration is what was chosen besides the criteria and the profile; nil if there was no choice.
	Configuration   *Configuration             `json:"configuration,omitempty"`
	Constraints     []Constraint               `json:"constraints,omitempty"`
	ComponentRefs   []ComponentRef             `json:"componentRefs"`
	DeploymentOrder []string                   `json:"deploymentOrder"`
	Validation      map[string]any             `json:"validation,omitempty"`
	validationLines map[string]validationLines // by phase
	unknown         []string
}
