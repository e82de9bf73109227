package result

// Change is the difference that a change of a recipe makes to a running cluster. It is no part of
// the verdict: what a change may do, only its author knows.
type Change struct {
	// From is what was in the cluster before, as the user wrote it, with the commit of a Git ref.
	From string `json:"from,omitempty"`
	// Rendered: it was computed from two renderings of the charts. Nothing was deployed, so that it
	// shows neither replaced objects nor what controllers and operators did.
	Rendered bool `json:"rendered,omitempty"`
	// Objects is how many there were to compare, those of before and after together.
	Objects int `json:"objects"`
	// Components are those in which something differs, the one with the largest effect first.
	Components []ComponentChange `json:"components,omitempty"`
}

// ComponentChange is what changes in one component of the recipe.
type ComponentChange struct {
	Component string `json:"component"`
	// FromVersion and ToVersion are the chart's; empty where the component did not or does not exist.
	FromVersion string `json:"fromVersion,omitempty"`
	ToVersion   string `json:"toVersion,omitempty"`
	// Downgrade: ToVersion is older than FromVersion.
	Downgrade bool `json:"downgrade,omitempty"`
	// Rolls are the workloads whose pods are replaced, the one with the most pods first.
	Rolls []Roll `json:"rolls,omitempty"`
	// Replaced are the objects that were deleted and created again: their UID changed.
	Replaced []Ref `json:"replaced,omitempty"`
	Removed  []Ref `json:"removed,omitempty"`
	// LeftBehind are objects of before that are not in the recipe any more and are still in the
	// cluster.
	LeftBehind []Ref          `json:"leftBehind,omitempty"`
	Added      []Ref          `json:"added,omitempty"`
	Changed    []ObjectChange `json:"changed,omitempty"`
	// Relabelled is how many objects differ only in the labels that name the chart's version, or
	// only in the descriptions of a CustomResourceDefinition.
	Relabelled int `json:"relabelled,omitempty"`
	// RanAgain are Jobs and other objects of Helm's hooks that were created again, as hooks are at
	// each delivery.
	RanAgain []Ref         `json:"ranAgain,omitempty"`
	Images   []ImageChange `json:"images,omitempty"`
	CRDs     []CRDChange   `json:"crds,omitempty"`
	Budgets  []BudgetHold  `json:"budgets,omitempty"`
}

// Roll is a workload whose pods are replaced.
type Roll struct {
	Ref
	// Pods is how many were replaced, or will be; Nodes is on how many nodes a DaemonSet's were.
	Pods  int `json:"pods"`
	Nodes int `json:"nodes,omitempty"`
	// EachNode: a DaemonSet of a rendering, whose nodes are not known.
	EachNode bool `json:"eachNode,omitempty"`
	// Fields are the paths in the pod template that changed; none if something else than the
	// template replaced the pods.
	Fields []string `json:"fields,omitempty"`
}

// ObjectChange is an object that exists before and after, with different content.
type ObjectChange struct {
	Ref
	Fields []FieldChange `json:"fields,omitempty"`
	// More is how many fields differ besides those in Fields.
	More int `json:"more,omitempty"`
}

// FieldChange is one field of an object. The values are for people: shortened, and those of Secrets
// and of fields that look like one are only described.
type FieldChange struct {
	Path string `json:"path"`
	From string `json:"from"`
	To   string `json:"to"`
}

// ImageChange is an image that becomes another one. From is empty for a new container, To for one
// that is gone.
type ImageChange struct {
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	// Workloads are those that have it.
	Workloads []Ref `json:"workloads,omitempty"`
}

// CRDChange is a CustomResourceDefinition whose versions or fields changed. A path starts with the
// version.
type CRDChange struct {
	Name            string   `json:"name"`
	AddedVersions   []string `json:"addedVersions,omitempty"`
	RemovedVersions []string `json:"removedVersions,omitempty"`
	// StoredBefore and StoredAfter are the storage versions, if they differ.
	StoredBefore string `json:"storedBefore,omitempty"`
	StoredAfter  string `json:"storedAfter,omitempty"`
	// Dropped are versions in which objects may still be stored and which are not defined any more.
	Dropped       []string `json:"dropped,omitempty"`
	AddedFields   []string `json:"addedFields,omitempty"`
	RemovedFields []string `json:"removedFields,omitempty"`
	// More is how many fields were added or removed besides those that are named.
	More int `json:"more,omitempty"`
	// Rules: validation rules, defaults or other settings changed, besides what is named.
	Rules bool `json:"rules,omitempty"`
}

// BudgetHold is a PodDisruptionBudget that lets no pod of a workload be evicted. It does not hold a
// rolling update, whose controller deletes pods itself, but it does hold the drain of a node.
type BudgetHold struct {
	Ref
	// Why is its setting, e.g. "maxUnavailable: 0".
	Why       string `json:"why"`
	Workloads []Ref  `json:"workloads"`
}

// Empty reports whether nothing differs. Hooks that ran again are no difference.
func (c *Change) Empty() bool {
	if c == nil {
		return true
	}
	for i := range c.Components {
		if one := &c.Components[i]; one.Effect() > 0 || len(one.Images) > 0 || one.FromVersion != one.ToVersion {
			return false
		}
	}
	return true
}

// Totals are the numbers of a Change over all components.
type Totals struct {
	Rolls, Pods, Replaced, Removed, LeftBehind, Added, Changed, Images, CRDs, Budgets int
}

// Totals adds up the components.
func (c *Change) Totals() Totals {
	var t Totals
	if c == nil {
		return t
	}
	for i := range c.Components {
		t.add(c.Components[i].Totals())
	}
	return t
}

func (t *Totals) add(o Totals) {
	t.Rolls, t.Pods, t.Replaced, t.Removed = t.Rolls+o.Rolls, t.Pods+o.Pods, t.Replaced+o.Replaced, t.Removed+o.Removed
	t.LeftBehind, t.Added, t.Changed = t.LeftBehind+o.LeftBehind, t.Added+o.Added, t.Changed+o.Changed
	t.Images, t.CRDs, t.Budgets = t.Images+o.Images, t.CRDs+o.CRDs, t.Budgets+o.Budgets
}

// Totals are the numbers of one component.
func (c *ComponentChange) Totals() Totals {
	t := Totals{
		Rolls: len(c.Rolls), Replaced: len(c.Replaced), Removed: len(c.Removed), LeftBehind: len(c.LeftBehind), Added: len(c.Added),
		Changed: len(c.Changed) + c.Relabelled, Images: len(c.Images), CRDs: len(c.CRDs), Budgets: len(c.Budgets),
	}
	for _, r := range c.Rolls {
		t.Pods += r.Pods
	}
	return t
}

// Effect is how much the change of a component does to a cluster. An object that is replaced,
// removed or left behind weighs as much as ten pods: it may be what other objects hang on.
func (c *ComponentChange) Effect() int {
	t := c.Totals()
	each := 0
	for _, r := range c.Rolls {
		if r.EachNode {
			each++ // as much as a replaced object: its nodes are not known
		}
	}
	return 10*(t.Replaced+t.Removed+t.LeftBehind+t.CRDs+each) + t.Pods + t.Rolls + t.Added + t.Changed
}
