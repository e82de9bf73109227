package chainsaw

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sort"
	"strings"

	"github.com/kyverno/chainsaw/pkg/apis"
	"github.com/kyverno/chainsaw/pkg/apis/v1alpha1"
	"github.com/kyverno/chainsaw/pkg/engine/bindings"
	enginechecks "github.com/kyverno/chainsaw/pkg/engine/checks"
	operrors "github.com/kyverno/chainsaw/pkg/engine/operations/errors"
	"github.com/kyverno/chainsaw/pkg/engine/templating"
	"github.com/kyverno/kyverno-json/pkg/core/projection"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/nvidia/aicr-action/internal/util/confined"
	"github.com/nvidia/aicr-action/internal/util/reexec"
)

// evaluation is the name of the process that evaluates expressions. A check is untrusted text,
// which must not see data of this process, such as the job's variables.
const evaluation = "evaluating health checks"

// Hidden returns the hidden command in which expressions are evaluated.
func Hidden() []reexec.Command {
	return []reexec.Command{{Name: evaluation, Run: func(args []string) error {
		return confined.Serve(args, newLanguage(allowed).evaluate)
	}}}
}

// most is how many differing objects are reported, since a list may have hundreds.
const most = 3

// mostText is the limit for the messages of one poll, in bytes.
const mostText = 256 << 10

// question is what the process is asked: to fill in the name, namespace and labels of an
// operation's resource (fill), or whether an operation (verbAssert, verbError) holds for the
// objects that were found.
type question struct {
	What, Namespace string
	// Resource of the operation, and the Objects, as JSON.
	Resource []byte
	Objects  [][]byte
}

const fill = "fill"

// answer has the resource, filled in, or why the operation does not hold.
type answer struct {
	Resource []byte
	Why      []string
}

func (l language) evaluate(q question) (a answer) {
	defer func() {
		if failed := recover(); failed != nil {
			a = answer{Why: []string{fmt.Sprintf("the check cannot be evaluated: %v", failed)}}
		}
	}()
	obj, err := decodeObject(q.Resource)
	if err != nil {
		return answer{Why: []string{err.Error()}}
	}
	if q.What == fill {
		return l.fill(obj, q.Namespace)
	}
	found := make([]unstructured.Unstructured, len(q.Objects))
	for i, raw := range q.Objects {
		o, err := decodeObject(raw)
		if err != nil {
			return answer{Why: []string{err.Error()}}
		}
		found[i] = *o
	}
	b := bound(q.Namespace)
	if q.What == verbAssert {
		return answer{Why: short(l.assert(obj, found, b))}
	}
	return answer{Why: short(l.none(obj, found, b))}
}

func decodeObject(raw []byte) (*unstructured.Unstructured, error) {
	o := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(raw, &o.Object); err != nil { // as the client reads it: whole numbers stay whole
		return nil, fmt.Errorf("read an object: %w", err)
	}
	return o, nil
}

// short cuts lines that exceed mostText.
func short(lines []string) []string {
	left := mostText
	for i, line := range lines {
		if left -= len(line); left < 0 {
			return append(lines[:i:i], line[:len(line)+left]+" … (cut)")
		}
	}
	return lines
}

// bound are the bindings that Chainsaw gives every test and a check may use.
func bound(namespace string) apis.Bindings {
	return bindings.RegisterBinding(apis.NewBindings(), "namespace", namespace)
}

// fill returns the resource with name, namespace and labels filled in, as Chainsaw does before it
// reads the cluster. The result of an expression is part of the check too: it must not be an
// expression that the check itself may not have.
func (l language) fill(obj *unstructured.Unstructured, namespace string) answer {
	if err := templating.ResourceRef(context.Background(), l.compilers, obj, bound(namespace)); err != nil {
		return answer{Why: []string{fmt.Sprintf("fill in the resource's name: %s", l.plain(err))}}
	}
	if wrong := l.problems(obj.Object); len(wrong) > 0 {
		return answer{Why: []string{fmt.Sprintf("fill in the resource's name: %s", wrong[0].err)}}
	}
	raw, err := utiljson.Marshal(obj.Object)
	if err != nil {
		return answer{Why: []string{fmt.Sprintf("fill in the resource's name: %s", err)}}
	}
	return answer{Resource: raw}
}

// plain says an engine's error in a person's words: it calls everything that an expression cannot
// do an internal error.
func (l language) plain(err error) string {
	text := err.Error()
	if internal := (*field.Error)(nil); errors.As(err, &internal) && internal.Type == field.ErrorTypeInternal {
		text = internal.Detail
		if internal.Field != "" && internal.Field != "<nil>" {
			text = internal.Field + ": " + text
		}
	}
	if before, name, ok := strings.Cut(text, "unknown function: "); ok {
		return before + "the expression calls " + l.why(name)
	}
	return strings.ReplaceAll(text, "Internal error: ", "")
}

// assert holds if one object matches (Chainsaw's rule, also for a list).
func (l language) assert(obj *unstructured.Unstructured, found []unstructured.Unstructured, b apis.Bindings) []string {
	if len(found) == 0 {
		if obj.GetName() != "" {
			return []string{"it does not exist"}
		}
		return []string{"it selects nothing"}
	}
	var why []string
	for i := range found {
		errs, err := l.matches(obj, &found[i], b)
		switch {
		case err != nil:
			why = append(why, fmt.Sprintf("%s: %s", describe(&found[i]), l.plain(err)))
		case len(errs) > 0:
			why = append(why, l.difference(obj, &found[i], errs)...)
		default:
			empty, err := l.vacuous(obj.Object, found[i].Object, b)
			if err == nil && empty == "" {
				return nil
			}
			if err != nil {
				empty = l.plain(err)
			}
			why = append(why, fmt.Sprintf("%s: %s", describe(&found[i]), empty))
		}
		if i+1 == most && len(found) > most {
			why = append(why, fmt.Sprintf("and %d more objects", len(found)-most))
			break
		}
	}
	return why
}

// none holds if no object matches.
func (l language) none(obj *unstructured.Unstructured, found []unstructured.Unstructured, b apis.Bindings) []string {
	var names []string
	for i := range found {
		errs, err := l.matches(obj, &found[i], b)
		if err != nil {
			return []string{fmt.Sprintf("%s: %s", describe(&found[i]), l.plain(err))}
		}
		if len(errs) == 0 {
			names = append(names, describe(&found[i]))
		}
	}
	if len(names) == 0 {
		return nil
	}
	sort.Strings(names)
	why := names[0] + " is what must not be"
	if len(names) > 1 {
		why += fmt.Sprintf(" (and %d more: %s)", len(names)-1, strings.Join(names[1:min(len(names), most)], ", "))
	}
	return []string{why}
}

func (l language) matches(want, have *unstructured.Unstructured, b apis.Bindings) (field.ErrorList, error) {
	check := v1alpha1.NewCheck(want.Object)
	errs, err := enginechecks.Check(context.Background(), l.compilers, have.Object, b, &check)
	// The engine walks maps in random order, and the same failure must have the same message.
	sort.SliceStable(errs, func(i, j int) bool { return errs[i].Error() < errs[j].Error() })
	return errs, err
}

// difference is Chainsaw's own account: the fields that differ, then the two texts line by line.
func (l language) difference(want, have *unstructured.Unstructured, errs field.ErrorList) (lines []string) {
	lines = append(lines, describe(have)+" differs: "+errs[0].Error())
	// Its text of a check whose expression stands where the object has a map ends in a panic
	// (chainsaw, pkg/utils/diff prune).
	defer func() {
		if recover() != nil {
			for _, err := range errs[1:] {
				lines = append(lines, "* "+err.Error())
			}
		}
	}()
	text := operrors.ResourceError(l.compilers, *want.DeepCopy(), *have, false, apis.NewBindings(), errs).Error()
	for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
		if i > 2 && line != "" { // after the heading, which the first line above has
			lines = append(lines, line)
		}
	}
	return lines
}

// vacuous finds an iteration (a key that begins with "~") over an empty list or map: every
// statement about its members is true, and a check that selects nothing must not pass. It walks the
// check as kyverno-json's assertion does, after the check was found to match.
func (l language) vacuous(want, have any, b apis.Bindings) (string, error) {
	switch want := want.(type) {
	case []any:
		list, ok := have.([]any)
		for i := range want {
			if !ok || i >= len(list) {
				break
			}
			if empty, err := l.vacuous(want[i], list[i], b); empty != "" || err != nil {
				return empty, err
			}
		}
	case map[string]any:
		for key, sub := range want {
			empty, err := l.vacuousKey(key, sub, have, b)
			if empty != "" || err != nil {
				return empty, err
			}
		}
	}
	return "", nil
}

func (l language) vacuousKey(key string, sub, have any, b apis.Bindings) (string, error) {
	p, ferr := projection.ParseMapKey(nil, key, l.compilers)
	if ferr != nil {
		return "", ferr
	}
	value, _, err := p.Handler(have, b)
	if err != nil {
		return "", nil // an expression with a binding: the list that it iterates over is unknown
	}
	if !p.Foreach {
		return l.vacuous(sub, value, b)
	}
	members := reflect.ValueOf(value)
	if kind := members.Kind(); (kind == reflect.Slice || kind == reflect.Map) && members.Len() == 0 {
		return fmt.Sprintf("%s iterates over nothing, so that it would hold whatever it says", key), nil
	}
	if list, ok := value.([]any); ok {
		for _, member := range list {
			if empty, err := l.vacuous(sub, member, b); empty != "" || err != nil {
				return empty, err
			}
		}
	}
	return "", nil
}
