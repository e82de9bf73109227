package rendering

import (
	"slices"
	"strings"

	helmrelease "helm.sh/helm/v3/pkg/release"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// ArgoHook is Argo CD's own annotation for hooks, which it prefers to Helm's.
const ArgoHook = "argocd.argoproj.io/hook"

// ArgoSyncOptions is Argo CD's annotation for how it syncs, prunes and deletes an object.
const ArgoSyncOptions = "argocd.argoproj.io/sync-options"

// HasSyncOption reports whether an object has an option for Argo CD, e.g. Prune=false (gitops-engine,
// HasAnnotationOption).
func HasSyncOption(annotations map[string]string, option string) bool {
	return slices.ContainsFunc(strings.Split(annotations[ArgoSyncOptions], ","), func(given string) bool { return strings.TrimSpace(given) == option })
}

// syncPhases are the phases of Argo CD's own hooks that run at a sync, and otherPhases the rest. Their case
// counts.
var (
	syncPhases  = []string{"PreSync", "Sync", "PostSync"}
	otherPhases = []string{"SyncFail", "Skip", "PreDelete", "PostDelete"}
)

// ArgoPhases are the values of that annotation.
func ArgoPhases() []string { return slices.Concat(syncPhases, otherPhases) }

// atFirstSync gives the hooks that Argo CD runs at its first sync, besides what Helm makes at
// installation: Argo CD does not know whether a release is new, so that it runs the hooks of upgrades
// too. The deployer deletes and makes those again, so that one may be missing; whether it has succeeded
// the Application says. One with the name of another object of the release is that.
func atFirstSync(installed []Object, hooks []*helmrelease.Hook) (added []Object, err error) {
	have := map[string]bool{}
	for _, o := range installed {
		have[keyOf(o.Unstructured)] = true
	}
	for _, h := range hooks {
		if runsAtInstall(h) {
			continue
		}
		objs, err := Parse(h.Manifest, h.Path)
		if err != nil {
			return nil, err
		}
		for _, o := range objs {
			if !synced(o.Unstructured, runsAtUpgrade(h)) || have[keyOf(o.Unstructured)] {
				continue
			}
			o.Hook, o.Ephemeral = true, true
			added, have[keyOf(o.Unstructured)] = append(added, o), true
		}
	}
	return added, nil
}

// synced reports whether Argo CD creates an object when it syncs: what its own annotation says, and
// otherwise Helm's.
func synced(o *unstructured.Unstructured, byHelm bool) bool {
	own, runs := ArgoHooks(o.GetAnnotations())
	return runs || !own && byHelm
}

// ArgoHooks reports whether an object has a hook of Argo CD's own, and one that runs at a sync.
func ArgoHooks(annotations map[string]string) (own, runs bool) {
	phases := ownPhases(annotations)
	return len(phases) > 0, slices.ContainsFunc(phases, atSync)
}

// ownPhases are those of Argo CD's own annotation. It passes over what it does not know, as if it were not
// there.
func ownPhases(annotations map[string]string) (phases []string) {
	for phase := range strings.SplitSeq(annotations[ArgoHook], ",") {
		if phase = strings.TrimSpace(phase); slices.Contains(ArgoPhases(), phase) {
			phases = append(phases, phase)
		}
	}
	return phases
}

func atSync(phase string) bool { return slices.Contains(syncPhases, phase) }

// argoPhases are Argo CD's names for Helm's hooks that it runs.
var argoPhases = map[string]string{"pre-install": "PreSync", "pre-upgrade": "PreSync", "post-install": "PostSync", "post-upgrade": "PostSync"}

// PhasesInArgoCD are the phases in which Argo CD runs an object as a hook: what its own annotation says and,
// if that says nothing that it knows, Helm's (gitops-engine, hook.Types).
func PhasesInArgoCD(annotations map[string]string) []string {
	phases := ownPhases(annotations)
	if len(phases) > 0 {
		return phases
	}
	for _, hook := range HelmHooks(annotations) {
		if phase := argoPhases[hook]; phase != "" {
			phases = append(phases, phase)
		}
	}
	return phases
}

// RunsAtSync reports whether Argo CD runs an object as a hook when it syncs, and not at a deletion or a
// failure. It does not run Helm's tests.
func RunsAtSync(annotations map[string]string) bool {
	return slices.ContainsFunc(PhasesInArgoCD(annotations), atSync)
}

// goneInArgoCD reports whether an object's own annotations for Argo CD, which Helm and Flux do not
// read, let it delete the object once it is synced, or never create it.
func goneInArgoCD(annotations map[string]string) bool {
	own, runs := ArgoHooks(annotations)
	return own && (!runs || strings.Contains(annotations["argocd.argoproj.io/hook-delete-policy"], "HookSucceeded"))
}

func keyOf(o *unstructured.Unstructured) string {
	return strings.Join([]string{o.GroupVersionKind().GroupKind().String(), o.GetNamespace(), o.GetName()}, "/")
}

// namedBySync is what Argo CD puts behind the generateName of a hook: a revision, the first phase and a
// time, of which only the phase is known (gitops-engine, syncContext.getSyncTasks).
func namedBySync(annotations map[string]string) string {
	return "0000000-" + strings.ToLower(PhasesInArgoCD(annotations)[0]) + "-0"
}

// generatedName reports whether Argo CD gives an object its name when it syncs, so that no name is known.
func generatedName(o *unstructured.Unstructured) bool {
	return o.GetGenerateName() != "" && RunsAtSync(o.GetAnnotations()) && o.GetName() == o.GetGenerateName()+namedBySync(o.GetAnnotations())
}
