package workload

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/nvidia/aicr-action/internal/matrix/judge"
)

// applied reads objects as an API server does before it applies them, with the schema of Kubernetes' own kinds.
var applied = sync.OnceValue(func() managedfields.TypeConverter { return applyconfigurations.NewTypeConverter(scheme.Scheme) })

var listKeyTwice = judge.Check{
	ID: "MX125", Name: "list-key-twice", Needs: judge.Rendered,
	Title: "A list with keys has each key once",
	Why: "An apply on the server's side is rejected for a key that comes twice in a list, e.g. the name of a variable, and a client that creates or patches the object is not " +
		"(https://kubernetes.io/docs/reference/using-api/server-side-apply/#merge-strategy). The API server's own reader of applied objects is asked, about Kubernetes' kinds.",
	Fix:  "Remove one.",
	Says: "has %s twice in %s", Then: "Helm 3 installs it, and what applies on the server's side is rejected (Helm 4, and controllers that do so)",
	Run: func(s *judge.Scope) {
		for i := range s.Expectation.Objects {
			o := &s.Expectation.Objects[i]
			_, err := applied().ObjectToTyped(o.Object)
			var wrong typed.ValidationErrors
			if !errors.As(err, &wrong) {
				continue
			}
			seen := map[string]bool{}
			for _, w := range wrong {
				key, twice := strings.CutPrefix(w.ErrorMessage, "duplicate entries for key ")
				if full := w.Path + key; twice && !seen[full] {
					seen[full] = true
					s.Report(o, placeOf(o.Object.Object, w.Path, key), strings.Trim(key, "[=]"), strings.TrimPrefix(w.Path, "."))
				}
			}
		}
	},
}

var step = regexp.MustCompile(`\.([^.\[]+)|\[([^\]]*)\]`)

// placeOf is the path of a list in an object, with numbers in the place of keys, and of the second item that has the key
// there; the path as it is if it cannot be followed.
func placeOf(v any, path, key string) string {
	out, steps := "", step.FindAllStringSubmatch(path+key, -1)
	for n, of := range steps {
		if of[1] != "" {
			m, _ := v.(map[string]any)
			v, out = m[of[1]], out+"."+of[1]
			continue
		}
		list, _ := v.([]any)
		at, skip := -1, n == len(steps)-1
		for i := range list {
			if has(list[i], of[2]) {
				if at = i; !skip {
					break
				}
				skip = false
			}
		}
		if at < 0 {
			return strings.TrimPrefix(path, ".")
		}
		v, out = list[at], fmt.Sprintf("%s[%d]", out, at)
	}
	return strings.TrimPrefix(out, ".")
}

// has reports whether an item of a list has a key, e.g. containerPort=80,protocol="TCP"; a field that it leaves out has
// its default.
func has(item any, key string) bool {
	for part := range strings.SplitSeq(key, ",") {
		field, text, _ := strings.Cut(part, "=")
		have := item
		if m, ok := item.(map[string]any); ok {
			if have, ok = m[field]; !ok {
				continue
			}
		}
		if raw, err := json.Marshal(have); err != nil || string(raw) != text {
			return false
		}
	}
	return true
}
