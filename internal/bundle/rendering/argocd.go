package rendering

import (
	"strings"

	helmrelease "helm.sh/helm/v3/pkg/release"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// argoHook is Argo CD's own annotation for hooks, which it prefers to Helm's.
const argoHook = "argocd.argoproj.io/hook"

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
	known := false
	for _, kind := range strings.Split(o.GetAnnotations()[argoHook], ",") {
		switch strings.TrimSpace(kind) {
		case "PreSync", "Sync", "PostSync":
			return true
		case "Skip", "SyncFail", "PreDelete", "PostDelete":
			known = true
		}
	}
	return !known && byHelm
}

func keyOf(o *unstructured.Unstructured) string {
	return strings.Join([]string{o.GroupVersionKind().GroupKind().String(), o.GetNamespace(), o.GetName()}, "/")
}
