package intact

import (
	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/result"
)

// Generated lists, by object, the paths at which a second rendering of the same charts differs:
// passwords, certificates, dates.
func Generated(first, second []bundle.Object) map[result.Ref][]string {
	again := map[result.Ref]*bundle.Object{}
	for i := range second {
		again[second[i].Ref()] = &second[i]
	}
	found := map[result.Ref][]string{}
	for i := range first {
		ref := first[i].Ref()
		other := again[ref]
		if other == nil || found[ref] != nil {
			continue
		}
		for _, l := range lostFields(plain(first[i].Object), plain(other.Object)) {
			found[ref] = append(found[ref], l.Path)
		}
	}
	return found
}
