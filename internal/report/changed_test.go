package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/result"
)

func ref(group, kind, namespace, name string) result.Ref {
	return result.Ref{Group: group, Kind: kind, Namespace: namespace, Name: name}
}

// bump is the change of a component with each kind of difference, and one that only has a new version.
func bump() *result.Change {
	manager, driver := ref("apps", "Deployment", "cm", "manager"), ref("apps", "DaemonSet", "gpu", "driver")
	return &result.Change{From: "main (1a2b3c4d5e6f)", Objects: 40, Components: []result.ComponentChange{
		{
			Component: "cert-manager", FromVersion: "v1", ToVersion: "v2",
			Rolls:    []result.Roll{{Ref: driver, Pods: 6, Nodes: 6, Fields: []string{"spec.containers[a].image"}}, {Ref: manager, Pods: 1}},
			Replaced: []result.Ref{ref("example.com", "Policy", "", "cluster")}, Removed: []result.Ref{ref("", "ConfigMap", "cm", "old")}, LeftBehind: []result.Ref{ref("", "Service", "cm", "old")},
			Added: []result.Ref{ref("", "ConfigMap", "cm", "new")}, RanAgain: []result.Ref{ref("batch", "Job", "cm", "hook")}, Relabelled: 2,
			Changed: []result.ObjectChange{{Ref: manager, Fields: []result.FieldChange{{Path: "spec.replicas", From: "1", To: "2"}}, More: 3}},
			Images:  []result.ImageChange{{From: "a:1", To: "a:2", Workloads: []result.Ref{driver}}, {To: "b:1", Workloads: []result.Ref{manager}}},
			CRDs:    []result.CRDChange{{Name: "policies.example.com", RemovedVersions: []string{"v1alpha1"}, Dropped: []string{"v1alpha1"}, AddedFields: []string{"v1.spec.more: object"}, More: 2}},
			Budgets: []result.BudgetHold{{Ref: ref("policy", "PodDisruptionBudget", "cm", "b"), Why: "maxUnavailable: 0", Workloads: []result.Ref{manager}}},
		},
		{Component: "web", FromVersion: "1", ToVersion: "2"},
		{Component: "c3", ToVersion: "1", Added: []result.Ref{ref("", "ConfigMap", "x", "c3")}},
		{Component: "c4", FromVersion: "1", Removed: []result.Ref{ref("", "ConfigMap", "x", "c4")}},
	}}
}

func cells(changes ...*result.Change) []result.Result {
	var all []result.Result
	for i, c := range changes {
		all = append(all, result.Result{Cell: result.Cell{Recipe: "eks", Deployer: []string{"helm", "flux-oci", "argocd-oci"}[i], From: "main"}, Change: c})
	}
	return all
}

// Every kind of difference is said, the gravest first; the terminal has the rest with --explain.
func TestUpgrade_Terminal(t *testing.T) {
	whole := strings.Join(upgradeTerminal(cells(bump()), true), "\n")
	last := -1
	for _, want := range []string{
		"change: eks/helm from main: 1 object is replaced, 2 are removed, 1 is left behind, 2 workloads roll (7 pods), 1 CRD changes, 2 images change, 2 objects are added, 3 objects are changed, 1 PodDisruptionBudget lets none",
		"Compared with main (1a2b3c4d5e6f), by the objects in the cluster before and after the upgrade. It is no part of the verdict.",
		"cert-manager v1 → v2: 1 object is replaced",
		"replaced (deleted and created again): Policy.example.com cluster", "removed: ConfigMap cm/old", "left behind (no longer in the recipe, still in the cluster): Service cm/old",
		"rolls: DaemonSet gpu/driver, 6 pods on 6 nodes; by spec.containers[a].image", "rolls: Deployment cm/manager, 1 pod; its pod template is the same",
		"PodDisruptionBudget cm/b (maxUnavailable: 0) lets no pod of Deployment cm/manager be evicted: a rolling update does not wait for it, the drain of a node does",
		"CRD policies.example.com: without version v1alpha1; objects may still be stored as v1alpha1; with v1.spec.more: object; 2 more fields",
		"image: a:1 → a:2 (DaemonSet gpu/driver)", "new image: b:1 (Deployment cm/manager)", "added: ConfigMap cm/new",
		"changed: Deployment cm/manager: spec.replicas: 1 → 2; 3 more fields", "2 objects with other version labels or descriptions only",
		"created again as at each delivery (hooks and Jobs): Job cm/hook", "web 1 → 2: only the version changes", "c3 1 (new): 1 object is added", "c4 1 (removed): 1 is removed",
	} {
		at := strings.Index(whole, want)
		if at <= last {
			t.Errorf("%q is missing, or out of order:\n%s", want, whole)
		}
		last = max(last, at)
	}
	few := upgradeTerminal(cells(bump()), false)
	if len(few) != 5 || few[4] != "  and 1 more component (--explain shows all)" || strings.Contains(strings.Join(few, "\n"), "rolls: ") {
		t.Errorf("without --explain: got\n%s", strings.Join(few, "\n"))
	}
	if none := upgradeTerminal(cells(nil), true); none != nil || upgradeMany(cells(nil)) != nil || upgradeMarkdown(cells(nil)) != nil {
		t.Errorf("a first installation: got %q", none)
	}
}

// Hooks that run again are no change of the version, which stays.
func TestHooksOnly(t *testing.T) {
	c := &result.Change{Components: []result.ComponentChange{{Component: "kai", FromVersion: "1", ToVersion: "1", RanAgain: []result.Ref{{Kind: "Job", Name: "hook"}}}}}
	if got := upgradeSections(c); len(got) != 1 || got[0].Title != "kai 1: hooks run again" || !c.Empty() {
		t.Errorf("got %+v", got)
	}
}

// The lanes of a recipe are one part, in which a line is once, with the lanes if not all have it. An
// upgrade without a difference says so, and a rendering that it is one.
func TestGroups(t *testing.T) {
	other := bump()
	other.Objects++
	other.Components[0].Removed = append(other.Components[0].Removed, ref("", "ConfigMap", "cm", "pruned"))
	other.Components[0].LeftBehind = nil
	other.Components = append(other.Components[:3], result.ComponentChange{Component: "kai", FromVersion: "1", ToVersion: "1", RanAgain: []result.Ref{{Kind: "Job", Name: "hook"}}})
	got := strings.Join(upgradeMarkdown(cells(bump(), other, &result.Change{From: "main", Objects: 7, Rendered: true})), "")
	for _, want := range []string{
		"<details><summary>What changes in the cluster: 1 object is replaced, 2 are removed, 1 is left behind (helm only), 2 workloads roll (7 pods), 1 CRD changes, ", "<code>eks from main (helm, flux-oci)</code></summary>",
		"- `replaced (deleted and created again): Policy.example.com cluster`\n- `removed: ConfigMap cm/old`\n- `removed: ConfigMap cm/pruned (flux-oci only)`\n- `left behind (no longer in the recipe, still in the cluster): Service cm/old (helm only)`\n- `rolls: DaemonSet gpu/driver",
		"**`cert-manager v1 → v2: 1 object is replaced, 2 are removed (flux-oci only), 1 is removed (helm only), 1 is left behind (helm only), 2 workloads roll", "**`web 1 → 2: only the version changes`**", "**`c4 1 (removed): 1 is removed (helm only)`**", "**`kai 1: hooks run again (flux-oci only)`**",
		"What changes in the cluster: no difference in 7 objects, <code>eks/argocd-oci from main</code>", "by rendering both: nothing was deployed",
	} {
		if strings.Count(got, want) != 1 {
			t.Errorf("want %q once:\n%s", want, got)
		}
	}
	if many := upgradeMany(cells(bump(), &result.Change{})); len(many) != 1 || !strings.Contains(many[0], "2 cells upgraded; in 1 of them") {
		t.Errorf("many: got %q", many)
	}
	// What one lane knows from its rendering only is the same line, if it is no other.
	seen := &result.Change{Components: []result.ComponentChange{{Component: "a", FromVersion: "1", ToVersion: "2", Rolls: []result.Roll{{Ref: ref("apps", "DaemonSet", "n", "d"), Pods: 4, Nodes: 4, Fields: []string{"spec.x"}}}}}}
	made := &result.Change{Rendered: true, Components: []result.ComponentChange{{Component: "a", FromVersion: "1", ToVersion: "2", Rolls: []result.Roll{{Ref: ref("apps", "DaemonSet", "n", "d"), EachNode: true, Fields: []string{"spec.x"}}}}}}
	if got := upgradeGroups(cells(made, seen)); len(got) != 1 || got[0].Title != "eks from main (flux-oci, helm)" || len(got[0].About) != 2 || !strings.HasPrefix(got[0].About[0], "flux-oci: Compared with the recipe before, by the objects") || !strings.HasPrefix(got[0].About[1], "helm: Compared with the recipe before, by rendering both") ||
		len(got[0].Sections) != 1 || !slices.Equal(got[0].Sections[0].Lines, []string{"rolls: DaemonSet n/d, 4 pods on 4 nodes; by spec.x"}) {
		t.Errorf("a rendering beside a cluster: got %+v", got)
	}
	hooks := &result.Change{Objects: 9, Components: other.Components[3:]}
	if got := upgradeGroups(cells(&result.Change{Objects: 7}, hooks)); len(got) != 1 || got[0].Summary != "no difference in 7 objects" || got[0].Sections[0].Title != "kai 1: hooks run again (flux-oci only)" {
		t.Errorf("lanes without a difference: got %+v", got)
	}
}

// A recipe's own texts cannot become Markdown, and no list is endless.
func TestUntrusted(t *testing.T) {
	c := &result.Change{Components: []result.ComponentChange{{Component: "a`b @team\n![x](y)", Images: []result.ImageChange{{From: "x", To: "<script>\n@all"}}}}}
	for i := range 60 {
		c.Components[0].Added = append(c.Components[0].Added, ref("", "ConfigMap", "n", fmt.Sprint("c", i)))
	}
	got := upgradeMarkdown(cells(c))[0]
	if !strings.Contains(got, "``a`b @team ![x](y): ") || !strings.Contains(got, "- `new image: <script> @all ()`") && !strings.Contains(got, "`image: x → <script> @all ()`") {
		t.Errorf("got\n%s", got)
	}
	if n := strings.Count(got, "added: ConfigMap"); n != mostObjects || !strings.Contains(got, "added: 35 more") {
		t.Errorf("got %d added objects of 60:\n%s", n, got)
	}
}

// A version that becomes older is said to be a downgrade.
func TestTitle(t *testing.T) {
	for want, c := range map[string]result.ComponentChange{
		"a 1 → 2":               {Component: "a", FromVersion: "1", ToVersion: "2"},
		"a 2 → 1 (a downgrade)": {Component: "a", FromVersion: "2", ToVersion: "1", Downgrade: true},
		"a 1 (new)":             {Component: "a", ToVersion: "1"},
	} {
		if got := upgradeTitle(&c); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
