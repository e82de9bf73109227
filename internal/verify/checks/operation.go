package checks

import (
	"context"
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
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// verdict of one look: why is nil if the operation holds; final if waiting cannot change it.
type verdict struct {
	why   []string
	final bool
}

// most is how many objects that differ are told of; a list may have hundreds.
const most = 3

// bound are the bindings that Chainsaw gives every test and a check may use.
func bound(namespace string) apis.Bindings {
	return bindings.RegisterBinding(apis.NewBindings(), "namespace", namespace)
}

// object is the operation's resource with name, namespace and labels filled in, as Chainsaw does before it looks.
func (op *operation) object(ctx context.Context, namespace string) (*unstructured.Unstructured, error) {
	obj := op.resource.DeepCopy()
	if err := templating.ResourceRef(ctx, apis.DefaultCompilers, obj, bound(namespace)); err != nil {
		return nil, fmt.Errorf("fill in the resource's name: %w", err)
	}
	if obj.GetNamespace() == "" {
		obj.SetNamespace(namespace) // taken off again in look, if the kind has none
	}
	return obj, nil
}

// look evaluates the operation once.
func (op *operation) look(ctx context.Context, r *reader, obj *unstructured.Unstructured, b apis.Bindings) (verdict, error) {
	mapping, err := r.resource(obj.GroupVersionKind())
	if meta.IsNoMatchError(err) {
		return verdict{why: []string{fmt.Sprintf("the cluster has no kind %s in %s", obj.GetKind(), obj.GetAPIVersion())}, final: true}, nil
	}
	if err != nil {
		return verdict{}, fmt.Errorf("find kind %s: %w", obj.GetKind(), err)
	}
	namespace := obj.GetNamespace()
	if mapping.Scope.Name() == meta.RESTScopeNameRoot && namespace != "" {
		obj.SetNamespace("")
		if op.resource.GetNamespace() == "" {
			namespace = ""
		} else {
			return verdict{why: []string{fmt.Sprintf("%s has no namespaces; remove metadata.namespace from the check", obj.GetKind())}, final: true}, nil
		}
	}
	found, err := r.read(ctx, mapping.Resource, obj)
	if err != nil {
		return verdict{}, err
	}
	if op.verb == verbAssert {
		return op.assert(obj, found, b), nil
	}
	if len(found) == 0 && namespace != "" {
		exists, err := r.namespaceExists(ctx, namespace)
		if err != nil {
			return verdict{}, err
		}
		if !exists {
			return verdict{why: []string{fmt.Sprintf("namespace %s does not exist: nothing that is looked for there can be found", namespace)}, final: true}, nil
		}
	}
	return op.none(obj, found, b), nil
}

// assert holds if one object matches (Chainsaw's rule, also for a list).
func (op *operation) assert(obj *unstructured.Unstructured, found []unstructured.Unstructured, b apis.Bindings) verdict {
	if len(found) == 0 {
		if obj.GetName() != "" {
			return verdict{why: []string{"it does not exist"}}
		}
		return verdict{why: []string{"it selects nothing"}}
	}
	var why []string
	for i := range found {
		errs, err := matches(obj, &found[i], b)
		switch {
		case err != nil:
			why = append(why, fmt.Sprintf("%s: %s", describe(&found[i]), err))
		case len(errs) > 0:
			why = append(why, difference(obj, &found[i], errs)...)
		default:
			empty, err := vacuous(obj.Object, found[i].Object, b)
			if err == nil && empty == "" {
				return verdict{}
			}
			if err != nil {
				empty = err.Error()
			}
			why = append(why, fmt.Sprintf("%s: %s", describe(&found[i]), empty))
		}
		if i+1 == most && len(found) > most {
			why = append(why, fmt.Sprintf("and %d more objects", len(found)-most))
			break
		}
	}
	return verdict{why: why}
}

// none holds if no object matches.
func (op *operation) none(obj *unstructured.Unstructured, found []unstructured.Unstructured, b apis.Bindings) verdict {
	var names []string
	for i := range found {
		errs, err := matches(obj, &found[i], b)
		if err != nil {
			return verdict{why: []string{fmt.Sprintf("%s: %s", describe(&found[i]), err)}}
		}
		if len(errs) == 0 {
			names = append(names, describe(&found[i]))
		}
	}
	if len(names) == 0 {
		return verdict{}
	}
	sort.Strings(names)
	why := names[0] + " is what must not be"
	if len(names) > 1 {
		why += fmt.Sprintf(" (and %d more: %s)", len(names)-1, strings.Join(names[1:min(len(names), most)], ", "))
	}
	return verdict{why: []string{why}}
}

func matches(want, have *unstructured.Unstructured, b apis.Bindings) (field.ErrorList, error) {
	check := v1alpha1.NewCheck(want.Object)
	errs, err := enginechecks.Check(context.Background(), apis.DefaultCompilers, have.Object, b, &check)
	// The engine walks maps, in no order; the same red is to read the same every time.
	sort.SliceStable(errs, func(i, j int) bool { return errs[i].Error() < errs[j].Error() })
	return errs, err
}

// difference is Chainsaw's own account: the fields that differ, then the two texts line by line.
func difference(want, have *unstructured.Unstructured, errs field.ErrorList) (lines []string) {
	lines = append(lines, describe(have)+" differs: "+errs[0].Error())
	// Its text of a check whose expression stands where the object has a map ends in a panic (chainsaw, pkg/utils/diff prune).
	defer func() {
		if recover() != nil {
			for _, err := range errs[1:] {
				lines = append(lines, "* "+err.Error())
			}
		}
	}()
	text := operrors.ResourceError(apis.DefaultCompilers, *want.DeepCopy(), *have, false, apis.NewBindings(), errs).Error()
	for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
		if i > 2 && line != "" { // after the heading, which the first line above has
			lines = append(lines, line)
		}
	}
	return lines
}

// vacuous finds an iteration (a key that begins with "~") over an empty list or map: every statement about its members is true, and a
// check that selects nothing must not pass. It follows the check as kyverno-json's assertion does; the check is known to match.
func vacuous(want, have any, b apis.Bindings) (string, error) {
	switch want := want.(type) {
	case []any:
		list, ok := have.([]any)
		for i := range want {
			if !ok || i >= len(list) {
				break
			}
			if empty, err := vacuous(want[i], list[i], b); empty != "" || err != nil {
				return empty, err
			}
		}
	case map[string]any:
		for key, sub := range want {
			empty, err := vacuousKey(key, sub, have, b)
			if empty != "" || err != nil {
				return empty, err
			}
		}
	}
	return "", nil
}

func vacuousKey(key string, sub, have any, b apis.Bindings) (string, error) {
	p, ferr := projection.ParseMapKey(nil, key, apis.DefaultCompilers)
	if ferr != nil {
		return "", ferr
	}
	value, _, err := p.Handler(have, b)
	if err != nil {
		return "", nil // an expression with a binding; what it iterates over cannot be told
	}
	if !p.Foreach {
		return vacuous(sub, value, b)
	}
	members := reflect.ValueOf(value)
	if kind := members.Kind(); (kind == reflect.Slice || kind == reflect.Map) && members.Len() == 0 {
		return fmt.Sprintf("%s iterates over nothing, so that it would hold whatever it says", key), nil
	}
	if list, ok := value.([]any); ok {
		for _, member := range list {
			if empty, err := vacuous(sub, member, b); empty != "" || err != nil {
				return empty, err
			}
		}
	}
	return "", nil
}
