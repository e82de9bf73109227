package intact

import (
	"context"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/result"
)

const (
	// askFor bounds the questions of one cell, and asksAtATime those in flight.
	askFor      = 20 * time.Second
	asksAtATime = 8
	// mostWarnings bounds what the API server may say of one object.
	mostWarnings = 20
)

// answer is what the API server makes of a rendered object.
type answer struct {
	known bool
	lost  []loss
	added []loss // what nobody rendered: the API server's defaults
	// asked: the API server was asked only what it warns of.
	asked bool
	// refused is why it creates no such object, whatever its name.
	refused error
}

// Answers are what the API server says of each object of an expectation.
type Answers struct {
	of []answer // by the number of the object
	// Unasked is the number of objects for which the time was too short.
	Unasked int
}

// Ask has the API server create each object in a dry run, under another name since the object
// exists: it says what it warns of, and what it would store. Nothing is created, no watch sees it,
// and a webhook that has effects is not called. The API server's warnings are added to those of the
// clients, so that each is said once, whichever client wrote the object. Definitions are asked about
// as they are live, since only their heads are kept, and only for warnings. What the API server rejects here says nothing: a name or a
// number that is taken, a webhook that takes no dry run. about, unless nil, says which objects to ask about (see Losses.About).
func Ask(ctx context.Context, clients *infra.Clients, objects []bundle.Object, about func(*bundle.Object) bool) (*Answers, error) {
	all := &Answers{of: make([]answer, len(objects))}
	asking, mapper, err := asker(clients, &warned{clients.Warnings})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	var group errgroup.Group
	group.SetLimit(asksAtATime)
	for i := range objects {
		obj := objects[i].Object
		if ctx.Err() != nil {
			break
		}
		if about != nil && !about(&objects[i]) {
			all.of[i].asked = true
			continue
		}
		if isDefinition(&objects[i]) {
			group.Go(func() error {
				all.of[i].asked = askDefinition(ctx, asking.Dynamic.Resource(infra.CRDResource), obj.GetName())
				return nil
			})
			continue
		}
		mapping, err := mapper.RESTMapping(obj.GroupVersionKind().GroupKind(), obj.GroupVersionKind().Version)
		if err != nil {
			continue // its definition is gone, e.g. with a hook
		}
		group.Go(func() error {
			all.of[i] = ask(ctx, asking.Scoped(mapping, obj.GetNamespace()), obj, mapping.Scope.Name() == meta.RESTScopeNameNamespace)
			return nil
		})
	}
	_ = group.Wait() // none returns an error
	if ctx.Err() != nil {
		for _, a := range all.of {
			if !a.known && !a.asked {
				all.Unasked++
			}
		}
	}
	return all, nil
}

// About says which objects of a bundle are a question for a dry run: of known ones, it is known what the API server warned of when they
// were created. It decodes, defaults and validates an object in a dry run as it did then, so that
//
//   - it would warn of the same;
//   - what it would store is what it has stored. That is live, unless somebody has changed it since: only of an object that is not
//     live as it was rendered, or that its deployer calls different, is there something to find out. Of a definition a dry run says
//     only warnings.
//
// What else has a say at creation, and may have come after the object, are webhooks of programs that run (webhooks is true then) and
// admission policies of the bundle, which can change and warn of anything: with these, all objects are a question, but for definitions
// of known ones, which come first. A pod security level warns of the objects of its namespace. A quota or a limit neither warns nor
// changes anything but pods: what it denies is another question (Denied).
func (l *Losses) About(e *bundle.Expectation, webhooks bool, known map[result.Ref]bool) func(*bundle.Object) bool {
	all, undecided := l.undecided(e)
	return func(o *bundle.Object) bool {
		return !known[o.Ref()] || !isDefinition(o) && (all || webhooks || undecided[o.Ref()])
	}
}

// undecided are the objects of which a dry run can say something even if their creation's warnings are known; all of them if a policy
// has a say.
func (l *Losses) undecided(e *bundle.Expectation) (all bool, only map[result.Ref]bool) {
	warns := map[string]bool{}
	only = map[result.Ref]bool{}
	for i := range e.Objects {
		if o := e.Objects[i].Object; o.GetKind() == "Namespace" {
			warns[o.GetName()] = o.GetLabels()["pod-security.kubernetes.io/warn"] != ""
		}
	}
	for _, o := range l.all {
		only[o.of.Ref()] = true
	}
	for _, ref := range l.Differ {
		only[ref] = true
	}
	for i := range e.Objects {
		if o := &e.Objects[i]; warns[o.Object.GetNamespace()] {
			only[o.Ref()] = true
		}
	}
	return reachOf(e).everywhere, only
}

// defaults are the paths that the API server fills in of an object.
func (a *Answers) defaults(objects []bundle.Object, ref result.Ref) (paths []string) {
	for i := range objects {
		if i < len(a.of) && objects[i].Ref() == ref {
			for _, l := range a.of[i].added {
				paths = append(paths, l.Path)
			}
		}
	}
	return paths
}

func ask(ctx context.Context, client dynamic.ResourceInterface, obj *unstructured.Unstructured, namespaced bool) answer {
	return try(ctx, client, obj, onTrial(obj), "zy01", namespaced)
}

// try asks about an object as it stands on trial: under its own name for a space, or one of its own length that ends otherwise.
func try(ctx context.Context, client dynamic.ResourceInterface, obj, trial *unstructured.Unstructured, names string, namespaced bool) answer {
	namespace := ""
	if namespaced {
		namespace = obj.GetNamespace()
	}
	for _, last := range names {
		if trial.SetName(obj.GetName()); obj.GetName() != "" && last != ' ' {
			trial.SetName(renamed(obj.GetName(), last))
		}
		about := question{object: obj.GetKind() + " " + infra.NamespacedName(namespace, obj.GetName()+obj.GetGenerateName()), name: obj.GetName(), trial: trial.GetName(), left: mostWarnings}
		made, err := client.Create(context.WithValue(ctx, questionKey{}, &about), trial, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationIgnore})
		if apierrors.IsAlreadyExists(err) {
			continue
		}
		if (apierrors.IsInvalid(err) || apierrors.IsBadRequest(err)) && (trial.GetName() == obj.GetName() || refusedField(err) != "metadata.name") { // else it is the other name that is wrong
			return answer{refused: err}
		}
		if err != nil {
			return answer{}
		}
		made.SetName(obj.GetName())
		trial.SetName(obj.GetName())
		return answer{known: true, lost: lost(trial, made), added: lost(made, trial)}
	}
	return answer{}
}

// asker returns a client for dry runs, with what is to be told their warnings, and what knows the
// resources of kinds.
func asker(clients *infra.Clients, warnings rest.WarningHandlerWithContext) (*infra.Clients, meta.RESTMapper, error) {
	cfg := rest.CopyConfig(clients.Config)
	cfg.WarningHandler, cfg.WarningHandlerWithContext = nil, warnings
	client, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return nil, nil, fmt.Errorf("make a client for dry runs: %w", err)
	}
	mapper, err := clients.Mapper()
	return &infra.Clients{Dynamic: client}, mapper, err
}

// askDefinition has a live definition created in a dry run, for its warnings. Of an update the API
// server says only what is new. A definition's name is that of its resource, so that both change.
func askDefinition(ctx context.Context, client dynamic.ResourceInterface, name string) bool {
	live, err := client.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return false // it is gone, e.g. with a hook
	}
	trial := onTrial(live)
	unstructured.RemoveNestedField(trial.Object, "status")
	plural, _, _ := unstructured.NestedString(trial.Object, "spec", "names", "plural")
	of, _, _ := unstructured.NestedString(trial.Object, "spec", "group")
	if plural == "" || plural+"."+of != name {
		return false
	}
	for _, last := range "zy01" {
		other := renamed(plural, last)
		trial.SetName(other + "." + of)
		if err := unstructured.SetNestedField(trial.Object, other, "spec", "names", "plural"); err != nil {
			return false
		}
		about := question{object: "CustomResourceDefinition " + name, name: name, trial: trial.GetName(), left: mostWarnings}
		_, err := client.Create(context.WithValue(ctx, questionKey{}, &about), trial, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if !apierrors.IsAlreadyExists(err) {
			return err == nil
		}
	}
	return false
}

// onTrial is an object without what only one object can have.
func onTrial(obj *unstructured.Unstructured) *unstructured.Unstructured {
	trial := obj.DeepCopy()
	for _, f := range []string{"uid", "resourceVersion", "managedFields", "selfLink", "deletionTimestamp", "generation", "creationTimestamp"} {
		unstructured.RemoveNestedField(trial.Object, "metadata", f)
	}
	if trial.GetKind() != "Service" {
		return trial
	}
	if ip, _, _ := unstructured.NestedString(trial.Object, "spec", "clusterIP"); ip != "None" {
		unstructured.RemoveNestedField(trial.Object, "spec", "clusterIP")
		unstructured.RemoveNestedField(trial.Object, "spec", "clusterIPs")
	}
	unstructured.RemoveNestedField(trial.Object, "spec", "healthCheckNodePort")
	ports, _, _ := unstructured.NestedSlice(trial.Object, "spec", "ports")
	for _, p := range ports {
		if m, ok := p.(map[string]any); ok {
			delete(m, "nodePort")
		}
	}
	if len(ports) > 0 {
		_ = unstructured.SetNestedSlice(trial.Object, ports, "spec", "ports") // only fails where spec is no map
	}
	return trial
}

// renamed is a name of the same length and form.
func renamed(name string, last rune) string { return name[:len(name)-1] + string(last) }

// question is one dry run. The API server's warnings come with its answer, on one goroutine.
type question struct {
	object, name, trial string
	left                int
}

type questionKey struct{}

// warned adds warnings about trials to those about what was written.
type warned struct{ to *infra.Warnings }

// HandleWarningHeaderWithContext of rest.WarningHandlerWithContext.
func (w *warned) HandleWarningHeaderWithContext(ctx context.Context, _ int, _, text string) {
	q, ok := ctx.Value(questionKey{}).(*question)
	if !ok || q.left == 0 {
		return
	}
	q.left--
	if q.name != "" {
		text = strings.ReplaceAll(text, `"`+q.trial+`"`, `"`+q.name+`"`)
	}
	w.to.Add(infra.APIWarning{Object: q.object, Text: text})
}
