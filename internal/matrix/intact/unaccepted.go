package intact

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/result"
)

// unaccepted is a CustomResourceDefinition that the API server has stored and does not serve.
type unaccepted struct {
	of  bundle.Object
	why string
}

// lookAccepted keeps a definition whose names another one has already, or whose schema is not
// structural: no request for it succeeds, and nothing but its conditions says so.
func (l *Losses) lookAccepted(o bundle.Object, live *unstructured.Unstructured) {
	if live.GetKind() != "CustomResourceDefinition" {
		return
	}
	conditions, _, _ := unstructured.NestedSlice(live.Object, "status", "conditions")
	for _, raw := range conditions {
		c, _ := raw.(map[string]any)
		bad := c["type"] == "NamesAccepted" && c["status"] == "False" || c["type"] == "NonStructuralSchema" && c["status"] == "True"
		if bad {
			l.mu.Lock()
			l.unaccepted = append(l.unaccepted, unaccepted{o, fmt.Sprintf("%v (%v)", c["message"], c["reason"])})
			l.mu.Unlock()
			return
		}
	}
}

// notServed lists the definitions that the API server does not serve, as findings.
func (l *Losses) notServed(j Judge) (found []result.Finding) {
	for i := range j.Objects {
		for _, u := range l.unaccepted {
			ref := u.of.Ref()
			if j.Objects[i].Ref() != ref || j.Objects[i].Template != u.of.Template {
				continue
			}
			place, where := j.place(&u.of, loss{Key: "names"})
			cause := fmt.Sprintf("%s (%s): the API server does not serve it: %s", ref, u.of.Component, u.why)
			found = append(found, result.Finding{Check: notServed.ID, Path: "status.conditions", Object: &ref, Component: u.of.Component, Place: place, Cause: cause, Story: []string{cause, "  no object of its kind can be created", "  " + where}})
			break
		}
	}
	return found
}
