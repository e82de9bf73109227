package daytwo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"go.yaml.in/yaml/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/policy"
	"github.com/nvidia/aicr-action/internal/bundle/rendering"
	"github.com/nvidia/aicr-action/internal/charts/catalog"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/compare"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/lists"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// stepsFile is the file of what a person does before an upgrade, beside the recipes or in an app's directory.
const stepsFile = "upgrade-steps.yaml"

// Steps are what a person does before an upgrade, and what differences they accept after it.
type Steps struct {
	// Before are carried out, in order, once what runs before is ready.
	Before []Step    `yaml:"before"`
	Accept []*Accept `yaml:"accept"`

	file string
}

// Step is one of these: Chart, Apply, Delete or Annotate.
type Step struct {
	// Recipe, if set, is the only one that the step is for.
	Recipe string `yaml:"recipe"`
	// Sequence, if set, is the only one that the step is for: upgrade, or one of --sequence.
	Sequence string `yaml:"sequence"`
	// Chart is the name of a chart, or of its component, of which the new definitions in crds/ are applied.
	Chart string `yaml:"chart"`
	// Apply is a file of manifests beside the steps that is applied.
	Apply string `yaml:"apply"`
	// Delete is an object, Kind/namespace/name or Kind/name; with Orphan, what it owns stays.
	Delete string `yaml:"delete"`
	Orphan bool   `yaml:"orphan"`
	// Annotate is an object, which gets the annotations of With.
	Annotate string            `yaml:"annotate"`
	With     map[string]string `yaml:"with"`

	place string
}

// Accept is a difference from a first installation that may be.
type Accept struct {
	Recipe string `yaml:"recipe"`
	// Object is Kind/namespace/name or Kind/name, and Path a field; * stands for any text.
	Object string `yaml:"object"`
	Path   string `yaml:"path"`
	// Until is the version of Chart, which is a chart's name, from which on it counts no more.
	Until  string `yaml:"until"`
	Chart  string `yaml:"chart"`
	Reason string `yaml:"reason"`

	place string
	used  atomic.Int64
}

// StepsOf reads the steps of a file or, if that is empty, those of stepsFile in a directory; nil without either.
func StepsOf(file, beside string) (*Steps, error) {
	if file != "" {
		return readSteps(file)
	}
	file = filepath.Join(beside, stepsFile)
	if _, err := os.Stat(file); beside == "" || errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return readSteps(file)
}

// readSteps reads the file of the steps.
func readSteps(file string) (*Steps, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the steps of the upgrade: %w", err)
	}
	s := &Steps{file: file}
	docs, err := yamlx.Documents(raw)
	if err != nil || len(docs) == 0 {
		if err != nil {
			p := yamlx.Problems(err)[0]
			return nil, fmt.Errorf("%s:%d: %s", file, p.Line, p.Text)
		}
		return s, nil
	}
	root := docs[0].Content[0]
	if problems := yamlx.DecodeNode(root, s); len(problems) > 0 {
		return nil, fmt.Errorf("%s:%d: %s", file, problems[0].Line, problems[0].Text)
	}
	for i := range s.Before {
		s.Before[i].place = placeOfItem(file, root, "before", i)
		if err := s.Before[i].check(); err != nil {
			return nil, fmt.Errorf("%s: %w", s.Before[i].place, err)
		}
	}
	for i, a := range s.Accept {
		a.place = placeOfItem(file, root, "accept", i)
		if err := a.check(); err != nil {
			return nil, fmt.Errorf("%s: %w", a.place, err)
		}
	}
	return s, nil
}

func placeOfItem(file string, root *yaml.Node, list string, i int) string {
	return fmt.Sprintf("%s:%d", file, yamlx.Find(root, list).Content[i].Line)
}

func (s *Step) check() error {
	given := slices.DeleteFunc([]string{s.Chart, s.Apply, s.Delete, s.Annotate}, func(text string) bool { return text == "" })
	switch {
	case len(given) != 1:
		return fmt.Errorf("a step has one of chart, apply, delete and annotate; this one has %d", len(given))
	case s.Orphan && s.Delete == "":
		return fmt.Errorf("orphan is for delete")
	case (s.Annotate == "") != (len(s.With) == 0):
		return fmt.Errorf("annotate is an object, and with its annotations: want both")
	case s.Sequence != "" && !slices.Contains(stepSequences(), s.Sequence):
		return fmt.Errorf("sequence is %q; want one of %s", s.Sequence, strings.Join(stepSequences(), ", "))
	case s.Apply != "" && !filepath.IsLocal(s.Apply):
		return fmt.Errorf("apply: %q is not in the directory of this file", s.Apply)
	}
	for _, object := range []string{s.Delete, s.Annotate} {
		if n := strings.Count(object, "/"); object != "" && n != 1 && n != 2 {
			return fmt.Errorf("%q is no object: want Kind/namespace/name, or Kind/name", object)
		}
	}
	return nil
}

// stepSequences are what a step can be for.
func stepSequences() []string { return append([]string{ordinary}, result.Sequences()...) }

// ordinary is the upgrade of what runs and is ready.
const ordinary = "upgrade"

func (a *Accept) check() error {
	switch {
	case strings.TrimSpace(a.Reason) == "":
		return fmt.Errorf("the entry for %s has no reason: say why the difference may be", a.Object)
	case a.Object == "" || a.Path == "":
		return fmt.Errorf("want an object (Kind/namespace/name) and a path, each with * for any text")
	case (a.Until == "") != (a.Chart == ""):
		return fmt.Errorf("until is a version of chart: want both")
	}
	return nil
}

// Accepted are the entries that count for an upgrade of a recipe to these releases. expired are those that do not any more.
func (s *Steps) Accepted(recipe string, releases []bundle.Release) (all []compare.Accepted, expired []string) {
	if s == nil {
		return nil, nil
	}
	for _, a := range s.Accept {
		if a.Recipe != "" && a.Recipe != recipe {
			continue
		}
		if slices.ContainsFunc(releases, func(r bundle.Release) bool {
			return a.Until != "" && r.Chart == a.Chart && !catalog.Newer(a.Until, r.ChartVersion)
		}) {
			a.used.Add(1) // it is no entry that hits nothing
			expired = append(expired, fmt.Sprintf("%s: %s of %s is accepted until %s %s, which this upgrade has reached: remove the entry", a.place, a.Path, a.Object, a.Chart, a.Until))
			continue
		}
		kind, rest, _ := strings.Cut(a.Object, "/")
		all = append(all, compare.Accepted{Object: kind + " " + rest, Path: a.Path, Reason: a.Reason, Place: a.place, Used: func() { a.used.Add(1) }})
	}
	return all, expired
}

// Unused are the entries of accept that have hit nothing.
func (s *Steps) Unused() (lines []string) {
	if s == nil {
		return nil
	}
	for _, a := range s.Accept {
		if a.used.Load() == 0 {
			lines = append(lines, fmt.Sprintf("%s: accepts %s of %s, and no upgrade of this run differs there: remove the entry, or correct it", a.place, a.Path, a.Object))
		}
	}
	return lines
}

// Carry carries out the steps before the upgrade of a cell, and says what was done. After a failure or a removal a step that is for
// every upgrade may find nothing. Reason: UPGRADE_FAILED, with the words of the step that failed.
func (s *Steps) Carry(ctx context.Context, env *lane.Env, now *bundle.Bundle, cell result.Cell) (done []string, err error) {
	if s == nil {
		return nil, nil
	}
	for i := range s.Before {
		step := &s.Before[i]
		if step.Recipe != "" && step.Recipe != cell.Recipe || step.Sequence != "" && step.Sequence != cmp.Or(cell.Sequence, ordinary) {
			continue
		}
		did, err := s.do(ctx, env, now, step)
		if cell.Sequence != "" && step.Sequence == "" && step.Apply == "" && step.Chart == "" && (apierrors.IsNotFound(err) || meta.IsNoMatchError(err)) {
			did, err = did+": it is not there", nil
		}
		if err != nil {
			return done, reason.New(reason.UpgradeFailed, "step %d before the upgrade (%s): %s: %w", i+1, step.place, did, err)
		}
		done = append(done, fmt.Sprintf("step %d before the upgrade (%s): %s", i+1, step.place, did))
	}
	return done, nil
}

func (s *Steps) do(ctx context.Context, env *lane.Env, now *bundle.Bundle, step *Step) (did string, err error) {
	switch {
	case step.Chart != "":
		return applyChart(ctx, env, now, step.Chart)
	case step.Apply != "":
		return s.apply(ctx, env, step.Apply)
	}
	object, options := step.Annotate, metav1.DeleteOptions{}
	did = "annotate " + object
	if step.Delete != "" {
		object, did = step.Delete, "delete "+step.Delete
		how := metav1.DeletePropagationForeground
		if step.Orphan {
			how = metav1.DeletePropagationOrphan
			did += " (--cascade=orphan)"
		}
		options.PropagationPolicy = &how
	}
	client, name, err := clientOf(env, object)
	if err != nil {
		return did, err
	}
	if step.Delete != "" {
		return did, client.Delete(ctx, name, options)
	}
	live, err := client.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return did, err
	}
	notes := live.GetAnnotations()
	if notes == nil {
		notes = map[string]string{}
	}
	for key, value := range step.With {
		notes[key] = value
	}
	live.SetAnnotations(notes)
	_, err = client.Update(ctx, live, metav1.UpdateOptions{})
	return did, err
}

// applyChart applies the definitions in the crds/ of a chart as it is after the upgrade.
func applyChart(ctx context.Context, env *lane.Env, now *bundle.Bundle, chart string) (string, error) {
	did := "apply the crds/ of chart " + chart
	i := slices.IndexFunc(now.Installs, func(in bundle.Install) bool {
		return in.Chart != nil && (in.Release.Chart == chart || in.Release.Component == chart)
	})
	if i < 0 {
		var names []string
		for _, in := range now.Installs {
			names = append(names, in.Release.Chart)
		}
		return did, fmt.Errorf("the upgrade has no chart of that name; it has %s", strings.Join(names, ", "))
	}
	crds, err := rendering.CRDs(now.Installs[i].Chart, now.Installs[i].Values)
	if err != nil {
		return did, err
	}
	crds = slices.DeleteFunc(crds, func(o rendering.Object) bool { return o.Definition == "" })
	n, err := eachDefinition(ctx, env, crds, applied)
	return fmt.Sprintf("%s (%s)", did, lists.Count(n, "definition")), err
}

// apply applies a file of manifests.
func (s *Steps) apply(ctx context.Context, env *lane.Env, name string) (string, error) {
	did := "apply " + name
	root, err := os.OpenRoot(filepath.Dir(s.file))
	if err != nil {
		return did, err
	}
	defer func() { _ = root.Close() }() // opened for reading
	raw, err := root.ReadFile(name)
	if err != nil {
		return did, err
	}
	objects, err := infra.DecodeObjects(raw)
	if err != nil {
		return did, err
	}
	for _, o := range objects {
		what := o.GetKind() + "/" + infra.NamespacedName(o.GetNamespace(), o.GetName())
		if problem, _ := policy.WhyRefused(o); problem != "" {
			return did, fmt.Errorf("%s %s", what, problem)
		}
		gvk := o.GroupVersionKind()
		client, err := clientFor(env, gvk.GroupKind(), gvk.Version, o.GetNamespace())
		if err == nil {
			_, err = client.Apply(ctx, o.GetName(), o, metav1.ApplyOptions{FieldManager: "kubectl", Force: true})
		}
		if err != nil {
			return did, fmt.Errorf("%s: %w", what, err)
		}
	}
	return did, nil
}

// clientOf is the client of an object that a step names by its kind, as people write it.
func clientOf(env *lane.Env, object string) (client dynamic.ResourceInterface, name string, err error) {
	parts := strings.Split(object, "/")
	namespace := ""
	if len(parts) == 3 {
		namespace = parts[1]
	}
	kind, group, _ := strings.Cut(parts[0], ".")
	client, err = clientFor(env, schema.GroupKind{Group: groupOfKind(kind, group), Kind: kind}, "", namespace)
	return client, parts[len(parts)-1], err
}

func clientFor(env *lane.Env, kind schema.GroupKind, version, namespace string) (dynamic.ResourceInterface, error) {
	mapper, err := env.Clients.Mapper()
	if err != nil {
		return nil, err
	}
	var mapping *meta.RESTMapping
	if version == "" {
		mapping, err = mapper.RESTMapping(kind)
	} else {
		mapping, err = mapper.RESTMapping(kind, version)
	}
	if err != nil {
		return nil, fmt.Errorf("%w (a kind that is not Kubernetes' own is written with its group: Widget.example.com)", err)
	}
	return env.Clients.Scoped(mapping, namespace), nil
}

// groupOfKind is the group of a kind of Kubernetes' own that is written without one.
func groupOfKind(kind, group string) string {
	if group != "" {
		return group
	}
	for g, kinds := range map[string][]string{
		"apps": {"Deployment", "DaemonSet", "StatefulSet", "ReplicaSet"}, "batch": {"Job", "CronJob"}, "apiextensions.k8s.io": {"CustomResourceDefinition"},
		"rbac.authorization.k8s.io": {"Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"}, "networking.k8s.io": {"Ingress", "IngressClass", "NetworkPolicy"},
		"storage.k8s.io": {"StorageClass", "CSIDriver"}, "policy": {"PodDisruptionBudget"}, "scheduling.k8s.io": {"PriorityClass"},
		"admissionregistration.k8s.io": {"ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"}, "apiregistration.k8s.io": {"APIService"}, "autoscaling": {"HorizontalPodAutoscaler"},
	} {
		if slices.Contains(kinds, kind) {
			return g
		}
	}
	return ""
}
