package validate

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

const gpuOperator = "gpu-operator"

// operatorHealth: every workload in the namespaces of the recipe's components is ready, and so is
// the GPU operator's ClusterPolicy. In kube-system only what belongs to a component counts.
func operatorHealth(ctx context.Context, in Inputs) (Outcome, error) {
	l := &observation{}
	var namespaces []string
	for _, ref := range in.enabled() {
		if ref.Namespace != "" && !slices.Contains(namespaces, ref.Namespace) {
			namespaces = append(namespaces, ref.Namespace)
		}
	}
	slices.Sort(namespaces)
	n := 0
	for _, namespace := range namespaces {
		all, err := in.workloads(ctx, namespace)
		if err != nil {
			return Outcome{}, err
		}
		for i := range all {
			w := &all[i]
			if namespace == metav1.NamespaceSystem && w.component == "" {
				continue
			}
			n++
			if w.why != "" {
				l.fails(w.component, "%s: %s", w, w.why)
			}
		}
	}
	if n > 0 {
		l.holds("%s in %s ready", lists.Count(n, "workload"), lists.Count(len(namespaces), "namespace"))
	}
	if _, ok := in.component(gpuOperator); ok {
		if err := l.ready(ctx, &in, gpuOperator, gpuOperator); err != nil {
			return Outcome{}, err
		}
		if err := l.clusterPolicy(ctx, &in); err != nil {
			return Outcome{}, err
		}
	}
	return l.outcome(), nil
}

// gpuOperatorHealth is operatorHealth of the GPU operator alone.
func gpuOperatorHealth(ctx context.Context, in Inputs) (Outcome, error) {
	l := &observation{}
	if err := l.ready(ctx, &in, gpuOperator, ""); err != nil {
		return Outcome{}, err
	}
	if err := l.clusterPolicy(ctx, &in); err != nil {
		return Outcome{}, err
	}
	return l.outcome(), nil
}

// clusterPolicy checks that the GPU operator reports its ClusterPolicy as ready.
func (l *observation) clusterPolicy(ctx context.Context, in *Inputs) error {
	policies, err := in.list(ctx, policyKind, "")
	if err != nil {
		return err
	}
	if len(policies) == 0 {
		l.fails(gpuOperator, "the cluster has no ClusterPolicy")
	}
	for i := range policies {
		if state, _, _ := unstructured.NestedString(policies[i].Object, "status", "state"); state != "ready" {
			l.fails(gpuOperator, "ClusterPolicy %s is not ready: its state is %q", policies[i].GetName(), state)
		} else {
			l.holds("ClusterPolicy %s is ready", policies[i].GetName())
		}
	}
	return nil
}

// expectedResources: what the recipe's components list as expectedResources exists, and workloads
// among them are ready.
func expectedResources(ctx context.Context, in Inputs) (Outcome, error) {
	l := &observation{}
	for _, ref := range in.enabled() {
		for _, want := range ref.ExpectedResources {
			if err := l.exists(ctx, &in, ref, want); err != nil {
				return Outcome{}, err
			}
		}
	}
	if len(l.good)+len(l.bad) == 0 {
		return Outcome{Status: result.StepSkipped, Message: "no component of the recipe lists expectedResources"}, nil
	}
	return l.outcome(), nil
}

func (l *observation) exists(ctx context.Context, in *Inputs, ref recipe.ComponentRef, want recipe.ExpectedResource) error {
	kind, namespaced, err := in.served(want.Kind)
	if err != nil {
		l.failsAt(want.Origin, ref.Name, "%s %s: %v", want.Kind, want.Name, err)
		return nil
	}
	namespace := ""
	if namespaced {
		if namespace = want.Namespace; namespace == "" {
			namespace = ref.Namespace
		}
	}
	name := strings.TrimPrefix(namespace+"/"+want.Name, "/")
	if _, err := in.Dynamic.Resource(kind).Namespace(namespace).Get(ctx, want.Name, metav1.GetOptions{}); apierrors.IsNotFound(err) {
		l.failsAt(want.Origin, ref.Name, "%s %s is missing", want.Kind, name)
		return nil
	} else if err != nil {
		return err
	}
	if kind.Group == "apps" {
		all, err := in.workloads(ctx, namespace)
		if err != nil {
			return err
		}
		for i := range all {
			if w := &all[i]; strings.EqualFold(w.kind, want.Kind) && w.meta.Name == want.Name && w.why != "" {
				l.failsAt(want.Origin, ref.Name, "%s: %s", w, w.why)
				return nil
			}
		}
	}
	l.holds("%s %s exists", want.Kind, name)
	return nil
}

// gpuOperatorVersion checks that the running GPU operator has the version that the recipe's
// constraint requires, or else the version of the recipe's component.
func gpuOperatorVersion(ctx context.Context, in Inputs) (Outcome, error) {
	ref, ok := in.component(gpuOperator)
	if !ok {
		return Outcome{Status: result.StepSkipped, Message: "the recipe does not deploy gpu-operator"}, nil
	}
	all, err := in.workloads(ctx, ref.Namespace)
	if err != nil {
		return Outcome{}, err
	}
	have, from := "", ""
	for i := range all {
		w := &all[i]
		if w.kind != "Deployment" || w.component != gpuOperator || !strings.HasSuffix(w.meta.Name, gpuOperator) {
			continue
		}
		from = w.String()
		if have = w.meta.Labels["app.kubernetes.io/version"]; have != "" {
			break
		}
		for _, image := range w.images {
			if i := strings.LastIndex(image, ":"); i > strings.LastIndex(image, "/") {
				have, _, _ = strings.Cut(image[i+1:], "@")
			}
		}
		break
	}
	if have == "" {
		return Outcome{Status: result.StepFailed, Message: fmt.Sprintf("namespace %s has no Deployment gpu-operator with a version", ref.Namespace)}, nil
	}
	wanted := in.Constraints
	if len(wanted) == 0 {
		wanted = []recipe.Constraint{{Name: "the recipe's version", Value: ref.Version}}
	}
	for _, c := range wanted {
		wanted := c
		if len(in.Constraints) == 0 {
			wanted.Value = "== " + c.Value // the v of a version does not count
		}
		holds, err := wanted.Holds(have)
		if err != nil {
			return Outcome{Status: result.StepFailed, Message: fmt.Sprintf("constraint %s: %v", c.Name, err), Actual: have}, nil
		}
		if !holds {
			return Outcome{Status: result.StepFailed, Message: fmt.Sprintf("%s has version %s, want %s", from, have, c.Value), Actual: have, Final: true}, nil
		}
	}
	return Outcome{Status: result.StepPassed, Message: fmt.Sprintf("%s has version %s, want %s", from, have, wanted[0].Value), Actual: have}, nil
}
