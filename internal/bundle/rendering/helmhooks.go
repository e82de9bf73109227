package rendering

import (
	"slices"
	"strings"
)

// Helm's annotations for hooks.
const (
	HelmHook       = "helm.sh/hook"
	HelmHookWeight = "helm.sh/hook-weight"
	HelmHookPolicy = "helm.sh/hook-delete-policy"
)

// HelmKeeps is Helm's annotation for an object that it is never to delete.
const HelmKeeps = "helm.sh/resource-policy"

// KeptAtUpgrade reports whether Helm leaves an object that its release has no more. An upgrade and a
// rollback take no other spelling (kube.Client, Update).
func KeptAtUpgrade(annotations map[string]string) bool { return annotations[HelmKeeps] == "keep" }

// KeptAtUninstall reports whether Helm leaves an object of a release that it uninstalls: it passes over
// each one that has the annotation, whatever that says (action, filterManifestsToKeep).
func KeptAtUninstall(annotations map[string]string) bool {
	_, given := annotations[HelmKeeps]
	return given
}

// HelmHooks are the phases in which Helm runs an object as a hook. Helm reads the list in lower case and
// without spaces (releaseutil.SortManifests).
func HelmHooks(annotations map[string]string) []string { return words(annotations[HelmHook]) }

// HelmHookPolicies are the words that say when Helm deletes a hook, also those that Helm does not know.
func HelmHookPolicies(annotations map[string]string) []string {
	return words(annotations[HelmHookPolicy])
}

// RunsInHelm reports whether an object is a hook of one of the phases.
func RunsInHelm(annotations map[string]string, phases ...string) bool {
	return slices.ContainsFunc(HelmHooks(annotations), func(p string) bool { return slices.Contains(phases, p) })
}

func words(list string) []string {
	var all []string
	for w := range strings.SplitSeq(list, ",") {
		if w = strings.ToLower(strings.TrimSpace(w)); w != "" {
			all = append(all, w)
		}
	}
	return all
}
