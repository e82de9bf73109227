package workload

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

const (
	// waits is what a kubelet does without a Secret, a ConfigMap or a key.
	waits = "a kubelet starts none of its containers without it"
	// noKeySays is said of keys that an object does not have.
	noKeySays = "%s key %s of %s %s, which has no such key (it has %s)"
)

var keyMissing = judge.Check{
	ID: "MX141", Name: "key-missing", Needs: judge.Rendered, Gives: reason.WorkloadFailed,
	Title: "The keys that a pod needs are in the Secrets and ConfigMaps that the recipe has",
	Why: "A kubelet waits for a key that is not optional, for ever (https://kubernetes.io/docs/concepts/configuration/configmap/#using-configmaps-as-files-from-a-pod), " +
		"and mounts an empty directory in the place of a missing subPath. Keys that something fills in at run time are left out.",
	Fix:  "Correct the key, or make it optional.",
	Says: noKeySays, Then: "%[6]s",
	Run: func(s *judge.Scope) {
		for _, p := range s.Pods() {
			for _, n := range facts.NeedsOf(expanded(&p.Template.Spec, aroundOf(s, p))) {
				if keys, missing := renderedWithout(s, p, n); len(missing) > 0 {
					noKey(s, p, n, keys, missing)
				}
			}
		}
	},
}

// renderedWithout are the keys that the bundle's objects of a name have, and those of a need that they lack, unless
// something may fill them in at run time.
func renderedWithout(s *judge.Scope, p facts.PodTemplate, n facts.Need) (keys map[string]bool, missing []string) {
	namespace := p.Object.Object.GetNamespace()
	keys = map[string]bool{}
	for _, o := range named(s, n.Kind, namespace, n.Name) {
		maps.Copy(keys, facts.Keys(o))
	}
	if missing = without(n.Keys, keys); len(missing) == 0 || len(keys) == 0 || s.MadeAtRunTime(n.Kind, namespace, n.Name, p.Object.Ref()) != nil {
		return keys, nil
	}
	return keys, missing
}

func without(keys []string, have map[string]bool) []string {
	return slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return have[k] })
}

// noKey reports a need of keys that an object does not have.
func noKey(s *judge.Scope, p facts.PodTemplate, n facts.Need, keys map[string]bool, missing []string) {
	full, wants := infra.NamespacedName(p.Object.Object.GetNamespace(), n.Name), strings.Join(missing, ", ")
	name := n.Name
	if at, _ := facts.PlaceOf(s.Components, p.Object.Component, p.Object.Template, missing[0]); at.Path != "" {
		name = missing[0]
	}
	has := strings.Join(lists.AtMost(slices.Sorted(maps.Keys(keys)), 5), ", ")
	s.Report(p.Object, p.Path(), n.How, wants, n.Kind, full, has, cmp.Or(n.Then, waits)).SetBy(name).OneCause(n.Kind + full + strings.Join(missing, ","))
}
