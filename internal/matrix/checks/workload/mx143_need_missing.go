package workload

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

const (
	deletedSays = "%s %s %s, a hook that is deleted once it has succeeded (helm.sh/hook-delete-policy)"
	notStarted  = "does not start"
)

var needMissing = judge.Check{
	ID: "MX143", Name: "secret-or-config-map-missing", Needs: judge.Rendered, Until: judge.Settled, Gives: reason.WorkloadFailed,
	Title: "The Secrets and ConfigMaps of a pod exist, with the keys that it needs",
	Why: "A kubelet starts no container of a pod before what it mounts and takes variables from is there (https://kubernetes.io/docs/concepts/configuration/secret/#optional-secrets); a simulated one starts every pod. " +
		"What operators and Jobs make at run time is a note.",
	Fix:  "Add the object or the key, correct the name, or make the reference optional.",
	Says: "%s %s %s, which does not exist, and nothing in the recipe makes it", Then: waits + "; if the cluster has it, say so in --cluster-file: `%[4]s`",
	Others: map[string]judge.Message{
		"key":   {Says: noKeySays, Then: "%[6]s"},
		"maker": {Says: "%s key %s of %s %s, which %s makes without that key", Then: waits},
		"gone":  {Says: deletedSays, Then: waits},
	},
	Run: func(s *judge.Scope) {
		for _, p := range s.Pods() {
			for _, n := range facts.NeedsOf(expanded(&p.Template.Spec, aroundOf(s, p))) {
				needed(s, p, n)
			}
		}
	},
}

// needed reports a need of a pod that the cluster does not meet, or nothing of the bundle.
func needed(s *judge.Scope, p facts.PodTemplate, n facts.Need) {
	namespace, from := p.Object.Object.GetNamespace(), p.Object.Ref()
	full := infra.NamespacedName(namespace, n.Name)
	if s.Live == nil { // keys of what is rendered are MX141's
		if s.Lacks(result.Ref{Kind: n.Kind, Namespace: namespace, Name: n.Name}, from) {
			s.Report(p.Object, p.Path(), n.How, n.Kind, full, clusterLine(n.Kind, full, n.Keys)).SetBy(n.Name).OneCause(n.Kind + full)
		}
		return
	}
	have := s.Live.Secrets
	if n.Kind == facts.ConfigMap {
		have = s.Live.ConfigMaps
	}
	keys, exists := have[full]
	m := s.MadeAtRunTime(n.Kind, namespace, n.Name, from)
	if !exists {
		if hook := deletedHook(s, n.Kind, namespace, n.Name); hook != nil {
			// It was there when the pods of hooks started. Those of others come later, or are created again later.
			if keys, exists = facts.Keys(hook), true; !p.Object.Hook && m == nil {
				s.ReportAs("gone", p.Object, p.Path(), n.How, n.Kind, full).SetBy(n.Name).OneCause(n.Kind + full)
				return
			}
		}
	}
	missing := without(n.Keys, keys)
	rendered, before := renderedWithout(s, p, n)
	switch {
	case exists && len(missing) == 0, len(before) > 0: // that is MX141's
	case m != nil:
		if unknown := m.Without(missing); len(unknown) > 0 {
			s.ReportAs("maker", p.Object, p.Path(), n.How, strings.Join(unknown, ", "), n.Kind, full, m.By).SetBy(n.Name).OneCause(n.Kind + full + strings.Join(unknown, ","))
			return
		}
		s.Unverified(p.Object, n.Kind+" "+full, "is made at run time by "+m.By, notStarted, "do not start")
	case !exists:
		s.Report(p.Object, p.Path(), n.How, n.Kind, full, clusterLine(n.Kind, full, n.Keys)).SetBy(n.Name).OneCause(n.Kind + full)
	case len(keys) == 0 && len(rendered) == 0:
		s.Unverified(p.Object, n.Kind+" "+full, "is rendered empty, to be filled at run time with "+strings.Join(missing, ", "), notStarted, "do not start")
	default:
		has := strings.Join(lists.AtMost(slices.Sorted(maps.Keys(keys)), 5), ", ")
		s.ReportAs("key", p.Object, p.Path(), n.How, strings.Join(missing, ", "), n.Kind, full, has, cmp.Or(n.Then, waits)).SetBy(n.Name).OneCause(n.Kind + full + strings.Join(missing, ","))
	}
}

// clusterLine is the line of a cluster file by which a Secret or ConfigMap exists.
func clusterLine(kind, full string, keys []string) string {
	list := "secrets"
	if kind == facts.ConfigMap {
		list = "configMaps"
	}
	return fmt.Sprintf("%s: {%s: [%s]}", list, full, strings.Join(keys, ", "))
}

// deletedHook is a hook of that name that is deleted once it has succeeded; nil if there is none.
func deletedHook(s *judge.Scope, kind, namespace, name string) *bundle.Object {
	all := slices.DeleteFunc(named(s, kind, namespace, name), func(o *bundle.Object) bool { return !o.Ephemeral })
	if len(all) == 0 {
		return nil
	}
	return all[len(all)-1]
}
