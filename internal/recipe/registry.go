package recipe

import (
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/nvidia/aicr-action/internal/recipe/document"
)

// registryFile is the component registry's place in a recipes directory.
const registryFile = "registry.yaml"

// The types of components.
const (
	TypeHelm      = "Helm"
	TypeKustomize = "Kustomize"
)

// reservedComponent is what AICR's --set means its deployers by: deployer:KEY=VALUE.
const reservedComponent = "deployer"

type registryDocument struct {
	APIVersion string           `json:"apiVersion"`
	Kind       string           `json:"kind"`
	Metadata   map[string]any   `json:"metadata"`
	Components []*registryEntry `json:"components"`
}

type registryEntry struct {
	Name              string   `json:"name"`
	DisplayName       string   `json:"displayName"`
	ValueOverrideKeys []string `json:"valueOverrideKeys"`
	HealthCheck       struct {
		AssertFile string `json:"assertFile"`
	} `json:"healthCheck"`
	Helm           *helmDefaults      `json:"helm"`
	Kustomize      *kustomizeDefaults `json:"kustomize"`
	Manifest       *manifestDefaults  `json:"manifest"`
	NodeScheduling NodeScheduling     `json:"nodeScheduling"`
	PodScheduling  struct {
		Workload struct {
			WorkloadSelectorPaths []string `json:"workloadSelectorPaths"`
		} `json:"workload"`
	} `json:"podScheduling"`
	Validations []Validation `json:"validations"`
	// ManifestFiles are those of every recipe that has the component and names none.
	ManifestFiles []string `json:"manifestFiles"`
	// GKECriticalPriority: its pods have a priority that GKE admits only where a ResourceQuota says
	// so.
	GKECriticalPriority bool `json:"gkeCriticalPriority"`

	// MixinSafeOverridePaths are the values that a mixin may set in a component that the overlays have.
	MixinSafeOverridePaths []string `json:"mixinSafeOverridePaths"`
	// The values that the bundler's flags --storage-class and --shared-storage-class set.
	StorageClassPaths       []string `json:"storageClassPaths"`
	SharedStorageClassPaths []string `json:"sharedStorageClassPaths"`

	// The rest decides nothing on a first installation by the deployers that there are. It is read,
	// and not used.

	// Two settings for Helmfile, which must not read kinds of a CRD that does not exist yet, and
	// the setting for which component may upgrade the CRDs.
	HasSelfRefCRDs        bool `json:"hasSelfRefCRDs"`
	ManifestsUseChartCRDs bool `json:"manifestsUseChartCRDs"`
	OwnsCRDs              bool `json:"ownsCRDs"`
	// How one version becomes the next, and how AICR's own tests treat the component.
	Upgrades struct {
		File string `json:"file"`
	} `json:"upgrades"`
	TestTier string `json:"testTier"`
	// Class is the half of a split bundle that it is in: core, which it is without, or ops.
	Class string `json:"class"`
}

// Validation is a check that AICR's bundler makes before it bundles the component.
type Validation struct {
	Function   string         `json:"function"`
	Severity   string         `json:"severity"`
	Conditions map[string]any `json:"conditions"` // lists of values of criteria
	Message    string         `json:"message"`
	Origin     Origin         `json:"-"`
}

type helmDefaults struct {
	Repository string `json:"defaultRepository"`
	Chart      string `json:"defaultChart"`
	Version    string `json:"defaultVersion"`
	Namespace  string `json:"defaultNamespace"`
}

type kustomizeDefaults struct {
	Source string `json:"defaultSource"`
	Path   string `json:"defaultPath"`
	Tag    string `json:"defaultTag"`
}

type manifestDefaults struct {
	Namespace string `json:"defaultNamespace"`
}

// registries is how messages call the registry.
func (s *Store) registries() string { return s.files.Places(registryFile, " and ") }

// registered is a registry entry and its place, and that of gkeCriticalPriority.
type registered struct {
	*registryEntry
	origin, priority Origin
}

// loadRegistry reads the registry, and that of a data directory on top; the result is nil if one
// cannot be used at all.
func (l *loader) loadRegistry() map[string]registered {
	all := map[string]registered{}
	broken := false
	for _, layer := range slices.Backward(l.files.Layers) {
		entries := l.registryOf(document.FilesOf(layer))
		broken = broken || entries == nil
		maps.Copy(all, entries)
	}
	if broken {
		return nil
	}
	return all
}

func (l *loader) registryOf(layer document.Files) map[string]registered {
	d := l.decoder(layer, registryFile)
	defer l.took(d)
	root, ok := l.parseFrom(layer, registryFile)
	if !ok || !d.Header(root, document.RegistryKind) {
		return nil
	}
	l.saw(d)
	var doc registryDocument
	d.Decode(root, &doc, "")
	entries := map[string]registered{}
	for i, entry := range doc.Components {
		at := Origin{File: d.File, Line: document.LineOf(root, "components", i)}
		if entry == nil {
			d.Add(at, "components[%d] is empty; write a component or remove it", i)
			continue
		}
		if !document.CheckName(&d.Problems, at, "component", entry.Name) {
			continue
		}
		if entry.Name == reservedComponent && document.GenerationOf(d.APIVersion) != document.March {
			d.Add(at, "component %q has the name by which AICR's flag --set means its deployers; rename it", entry.Name)
		}
		if first, ok := entries[entry.Name]; ok {
			d.Add(at, "component %q is already at %s; remove or rename one of them", entry.Name, first.origin)
			continue
		}
		place := func(kind, field string) Origin {
			return Origin{File: d.File, Line: document.LineOf(root, "components", i, kind, field)}
		}
		if h := entry.Helm; h != nil {
			document.CheckPlace(&d.Problems, entry.Name, h.Namespace, place("helm", "defaultNamespace"), h.Chart, place("helm", "defaultChart"))
		}
		if m := entry.Manifest; m != nil {
			document.CheckPlace(&d.Problems, entry.Name, m.Namespace, place("manifest", "defaultNamespace"), "", Origin{})
		}
		kinds := 0
		for _, has := range []bool{entry.Helm != nil, entry.Kustomize != nil, entry.Manifest != nil} {
			if has {
				kinds++
			}
		}
		if kinds != 1 {
			d.Add(at, "component %q has %d of helm, kustomize and manifest but needs exactly one; correct it", entry.Name, kinds)
		}
		if !slices.Contains([]string{"", "core", "ops"}, entry.Class) {
			d.Add(Origin{File: d.File, Line: document.LineOf(root, "components", i, "class")}, "class of component %q is %.100q; write core or ops", entry.Name, entry.Class)
		}
		if file := entry.HealthCheck.AssertFile; file != "" {
			if err := l.check(file); err != nil {
				d.Add(Origin{File: d.File, Line: document.LineOf(root, "components", i, "healthCheck", "assertFile")}, "health check of component %q: %w", entry.Name, err)
			}
		}
		for j, file := range entry.ManifestFiles {
			if err := l.check(file); err != nil {
				d.Add(Origin{File: d.File, Line: document.LineOf(root, "components", i, "manifestFiles", j)}, "manifest of component %q: %w", entry.Name, err)
			}
		}
		made := registered{registryEntry: entry, origin: at, priority: Origin{File: d.File, Line: document.LineOf(root, "components", i, "gkeCriticalPriority")}}
		for j := range entry.Validations {
			entry.Validations[j].Origin = Origin{File: d.File, Line: document.LineOf(root, "components", i, "validations", j)}
		}
		entries[entry.Name] = made
	}
	return entries
}

// defaults fills the fields of ref that no layer of the recipe set (resolution rule 5).
func (e *registryEntry) defaults(ref *ComponentRef) {
	if len(ref.ManifestFiles) == 0 {
		ref.ManifestFiles = slices.Clone(e.ManifestFiles)
	}
	if ref.Type == "" {
		// Bare manifests are rendered as Helm templates, so they are deployed as a Helm chart
		// without an upstream.
		ref.Type = TypeHelm
		if e.Kustomize != nil {
			ref.Type = TypeKustomize
		}
	}
	switch {
	case e.Helm != nil && ref.Type == TypeHelm:
		setIfEmpty(&ref.Source, e.Helm.Repository)
		setIfEmpty(&ref.Version, e.Helm.Version)
		setIfEmpty(&ref.Namespace, e.Helm.Namespace)
		if e.Helm.Chart != "" {
			// The part before the slash is a repository alias of the Helm CLI, which is no part of
			// the chart's name.
			setIfEmpty(&ref.Chart, path.Base(e.Helm.Chart))
		}
	case e.Kustomize != nil && ref.Type == TypeKustomize:
		setIfEmpty(&ref.Source, e.Kustomize.Source)
		setIfEmpty(&ref.Path, e.Kustomize.Path)
		setIfEmpty(&ref.Tag, e.Kustomize.Tag)
	case e.Manifest != nil:
		setIfEmpty(&ref.Namespace, e.Manifest.Namespace)
	}
}

// scheduling is a copy that the caller may change.
func (e *registryEntry) scheduling() NodeScheduling {
	clone := func(p SchedulingPaths) SchedulingPaths {
		for _, paths := range []*[]string{&p.NodeSelectorPaths, &p.TolerationPaths, &p.TaintPaths, &p.TaintStrPaths} {
			*paths = slices.Clone(*paths)
		}
		return p
	}
	n := e.NodeScheduling
	return NodeScheduling{clone(n.System), clone(n.Accelerated), slices.Clone(n.NodeCountPaths)}
}

func setIfEmpty(field *string, value string) {
	if *field == "" {
		*field = value
	}
}

// Entry is a component of the registry, with the defaults that a recipe takes from it.
type Entry struct {
	ComponentRef // Name, and the defaults
	DisplayName  string
	// Origin is where the entry is: in the recipes directory, or in the data directory over it.
	Origin Origin
	// ManifestOnly: it has no chart, and recipes name its manifests.
	ManifestOnly bool
	// ValueOverrideKeys are what --set of the bundler calls the component, besides its name.
	ValueOverrideKeys []string
	// At these paths the bundler sets the classes of --storage-class and --shared-storage-class, and
	// --workload-selector.
	StorageClassPaths, SharedStorageClassPaths, WorkloadSelectorPaths []string
	// Class is core, which it is without, or ops.
	Class string
	// Upgrades is the file that records how one version becomes another; empty if there is none.
	Upgrades string
}

// Entries gives the components of the registry, sorted by name.
func (s *Store) Entries() []Entry {
	var all []Entry
	for _, name := range slices.Sorted(maps.Keys(s.registry)) {
		r := s.registry[name]
		e := Entry{ComponentRef: ComponentRef{Name: name}, DisplayName: r.DisplayName, Origin: r.origin, ValueOverrideKeys: slices.Clone(r.ValueOverrideKeys)}
		e.StorageClassPaths, e.SharedStorageClassPaths = slices.Clone(r.StorageClassPaths), slices.Clone(r.SharedStorageClassPaths)
		e.WorkloadSelectorPaths = slices.Clone(r.PodScheduling.Workload.WorkloadSelectorPaths)
		e.Upgrades, e.Class = r.registryEntry.Upgrades.File, r.registryEntry.Class
		setIfEmpty(&e.DisplayName, name)
		r.defaults(&e.ComponentRef)
		e.ManifestOnly = e.Type == TypeHelm && e.Chart == ""
		all = append(all, e)
	}
	return all
}

// undone lists what AICR's own bundler does for a recipe with these criteria because of the
// registry, and this program does not do. The reader of a verdict must know of it, since this
// bundle may lack an object that AICR's has.
func (r registered) undone(query Criteria, generation Generation) []string {
	if !r.GKECriticalPriority || query.Service != "gke" || generation != March {
		return nil
	}
	return []string{fmt.Sprintf("%s sets gkeCriticalPriority (%s): on GKE, AICR's bundler adds a ResourceQuota, without which GKE admits none of its pods that have a system priority. This bundle has none", r.Name, r.priority)}
}
