package workflow

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// suffixLetters are the letters in the suffixes that Kubernetes generates
// (k8s.io/apimachinery/pkg/util/rand).
const suffixLetters = "bcdfghjklmnpqrstvwxz2456789"

// samples returns names that the pods of an object would have; nil for kinds whose controllers are
// not Kubernetes' own.
func samples(o *unstructured.Unstructured) []string {
	name := o.GetName()
	var all []string
	for i := range len(suffixLetters) - 5 {
		suffix := suffixLetters[i : i+5]
		switch o.GroupVersionKind().GroupKind().String() {
		case "Pod":
			return []string{name}
		case "Job.batch":
			if mode, _, _ := unstructured.NestedString(o.Object, "spec", "completionMode"); mode == "Indexed" {
				for index := range 3 {
					all = append(all, name+"-"+strconv.Itoa(index)+"-"+suffix)
				}
				continue
			}
			all = append(all, name+"-"+suffix)
		case "StatefulSet.apps":
			all = append(all, name+"-"+strconv.Itoa(i%3))
		case "ReplicaSet.apps", "DaemonSet.apps", "ReplicationController":
			all = append(all, name+"-"+suffix)
		case "Deployment.apps":
			all = append(all, name+"-"+suffixLetters[i:i+5]+suffixLetters[:5]+"-"+suffix, name+"-"+suffixLetters[i:i+5]+suffixLetters[:4]+"-"+suffix)
		default:
			return nil
		}
	}
	return all
}

// neverMatches says that no pod of the object can have a name that its podNameFormat matches; "" if
// one can. For kinds of other controllers, the names are not known before they run.
func (o *object) neverMatches(text string) string {
	var known []string
	for _, d := range o.documents {
		known = append(known, samples(d)...)
	}
	if len(known) == 0 || slices.ContainsFunc(known, o.podName.MatchString) {
		return ""
	}
	kind := o.documents[0].GetKind()
	return fmt.Sprintf("podNameFormat %q never matches: the pods of %s %s have names such as %s", text, kind, o.name, strings.Join(known[:min(2, len(known))], " and "))
}
