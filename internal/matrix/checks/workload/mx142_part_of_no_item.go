package workload

import (
	"maps"
	"slices"

	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

var partOfNoItem = judge.Check{
	ID: "MX142", Name: "sub-path-of-no-item", Needs: judge.Rendered, Gives: reason.WorkloadFailed,
	Title: "A subPath of a volume of Secrets, ConfigMaps and fields is the path of a file there",
	Why:   "The items of such a volume, or the keys, say which files it has, and where (https://kubernetes.io/docs/concepts/storage/volumes/#using-subpath). A kubelet makes an empty directory at another path. What is optional or filled at run time is left out.",
	Fix:   "Name the path of an item, or a key; or leave the items out.",
	Says:  "mounts %s of volume %s (subPath), and nothing in the volume has that path", Then: "%[3]s",
	Run: func(s *judge.Scope) {
		for _, p := range s.Pods() {
			keys := func(kind, name string) []string {
				all := map[string]bool{}
				for _, o := range named(s, kind, p.Object.Object.GetNamespace(), name) {
					maps.Copy(all, facts.Keys(o))
				}
				if len(all) == 0 || s.MadeAtRunTime(kind, p.Object.Object.GetNamespace(), name, p.Object.Ref()) != nil {
					return nil
				}
				return slices.Sorted(maps.Keys(all))
			}
			for _, part := range facts.NeedUnnamed(expanded(&p.Template.Spec, aroundOf(s, p)), keys) {
				s.Report(p.Object, p.Path(), part.SubPath, part.Volume, part.Then).SetBy(part.SubPath)
			}
		}
	},
}
