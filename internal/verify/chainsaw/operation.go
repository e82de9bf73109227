package chainsaw

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/nvidia/aicr-action/internal/util/confined"
)

// verdict is the result of one poll: why is nil if the operation holds; final if waiting cannot
// change it.
type verdict struct {
	why   []string
	final bool
}

// evaluator asks the process in which expressions are evaluated.
type evaluator struct {
	confined.Worker[question, answer]
}

// evaluationLimits are far above what a check needs, whose evaluation takes milliseconds.
func evaluationLimits() confined.Limits {
	return confined.Limits{Time: 15 * time.Second, Memory: 512 << 20}
}

func newEvaluator(name string) *evaluator {
	return &evaluator{confined.Worker[question, answer]{Name: name, Limits: evaluationLimits()}}
}

// ask gives the answer; limited, a line for people, is set if the evaluation went over a limit.
func (e *evaluator) ask(ctx context.Context, q question) (a answer, limited string, err error) {
	a, err = e.Ask(ctx, q)
	if limit := (*confined.LimitError)(nil); errors.As(err, &limit) {
		return answer{}, "it cannot be evaluated: " + limit.What + "; no health check needs that: look for an expression that repeats or enlarges something", nil
	}
	return a, "", err
}

// object is the operation's resource with name, namespace and labels filled in, as Chainsaw does
// before it reads the cluster; why is set if that fails.
func (op *operation) object(ctx context.Context, e *evaluator, namespace string) (obj *unstructured.Unstructured, why []string, err error) {
	raw, err := utiljson.Marshal(op.resource.Object)
	if err != nil {
		return nil, nil, fmt.Errorf("write down the resource: %w", err)
	}
	a, limited, err := e.ask(ctx, question{What: fill, Namespace: namespace, Resource: raw})
	switch {
	case err != nil:
		return nil, nil, err
	case limited != "":
		return nil, []string{limited}, nil
	case len(a.Why) > 0:
		return nil, a.Why, nil
	}
	if obj, err = decodeObject(a.Resource); err != nil {
		return nil, nil, err
	}
	if obj.GetNamespace() == "" {
		obj.SetNamespace(namespace) // poll removes it again if the kind has none
	}
	return obj, nil, nil
}

// poll evaluates the operation once. bound is the namespace that the check's expressions know.
func (op *operation) poll(ctx context.Context, r *reader, obj *unstructured.Unstructured, bound string) (verdict, error) {
	mapping, err := r.resource(obj.GroupVersionKind())
	if meta.IsNoMatchError(err) {
		return verdict{why: []string{fmt.Sprintf("the cluster has no kind %s in %s", obj.GetKind(), obj.GetAPIVersion())}, final: true}, nil
	}
	if err != nil {
		return verdict{}, fmt.Errorf("find kind %s: %w", obj.GetKind(), err)
	}
	if mapping.Resource.GroupResource() == secrets {
		return verdict{why: []string{noSecrets}, final: true}, nil
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
	if op.verb == verbError && len(found) == 0 && namespace != "" {
		exists, err := r.namespaceExists(ctx, namespace)
		if err != nil {
			return verdict{}, err
		}
		if !exists {
			return verdict{why: []string{fmt.Sprintf("namespace %s does not exist: nothing that is looked for there can be found", namespace)}, final: true}, nil
		}
	}
	return op.judge(ctx, r.evaluator, obj, found, bound)
}

// judge says whether the operation holds for the objects that were found.
func (op *operation) judge(ctx context.Context, e *evaluator, obj *unstructured.Unstructured, found []unstructured.Unstructured, bound string) (verdict, error) {
	q := question{What: op.verb, Namespace: bound, Objects: make([][]byte, len(found))}
	var err error
	if q.Resource, err = utiljson.Marshal(obj.Object); err != nil {
		return verdict{}, fmt.Errorf("write down the resource: %w", err)
	}
	for i := range found {
		if q.Objects[i], err = utiljson.Marshal(found[i].Object); err != nil {
			return verdict{}, fmt.Errorf("write down %s: %w", describe(&found[i]), err)
		}
	}
	a, limited, err := e.ask(ctx, q)
	if err != nil {
		return verdict{}, err
	}
	if limited != "" {
		return verdict{why: []string{limited}, final: true}, nil
	}
	return verdict{why: a.Why}, nil
}

// secrets are what no check may read: what a check reads can end in the report.
var secrets = schema.GroupResource{Resource: "secrets"}

const noSecrets = "a health check may not read Secrets, since what it reads can end in the report; assert on the object that uses the Secret"
