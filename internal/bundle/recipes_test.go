package bundle

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/testkit/shippedtest"
)

const recipesDir = "../../recipes"

// asserted are the objects that a component's health check says exist, as KIND NAME.
func asserted(t *testing.T, component string) []string {
	t.Helper()
	text, err := os.ReadFile(recipesDir + "/checks/" + component + "/health-check.yaml")
	var doc struct {
		Spec struct {
			Steps []struct {
				Try []struct {
					Assert struct {
						Resource struct {
							Kind     string
							Metadata struct{ Name string }
						}
					}
				}
			}
		}
	}
	if err == nil {
		err = yaml.Unmarshal(text, &doc)
	}
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, step := range doc.Spec.Steps {
		for _, try := range step.Try {
			if r := try.Assert.Resource; r.Kind != "" {
				all = append(all, r.Kind+" "+r.Metadata.Name)
			}
		}
	}
	return all
}

// made are objects that no chart renders, since an operator of the recipe makes them, and the harness in its place.
func made(object string) bool {
	return object == "StatefulSet prometheus-kube-prometheus-prometheus"
}

// Every recipe of this project, with each value of its profile, makes a bundle for each of AICR's deployers with the simulated
// charts. Nothing in it is without effect (a scheduling path that reaches nothing, an object that two releases own), health checks
// are about objects that there are, and no component of class core waits for one of class ops.
func TestShippedRecipes(t *testing.T) {
	store := shippedtest.Recipes(t)
	class := map[string]string{}
	for _, e := range store.Entries() {
		if class[e.Name] = e.Class; e.Class == "" {
			t.Errorf("%s: component %s has no class", e.Origin, e.Name)
		}
	}
	var names []string
	for _, name := range store.Names() {
		if o, _ := store.Overlay(name); !o.Testable() {
			names = append(names, name)
			continue
		}
		for _, v := range store.Variants(name) {
			names = append(names, v.Name)
		}
	}
	used := map[string]bool{}
	for _, name := range names {
		r, err := store.ResolveName(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, ref := range r.ComponentRefs {
			used[ref.Name] = true
			for _, dep := range ref.DependencyRefs {
				if class[ref.Name] == "core" && class[dep] == "ops" {
					t.Errorf("%s: %s is of class core and depends on %s of class ops, so that the halves cannot be delivered one after the other", name, ref.Name, dep)
				}
			}
		}
	}
	if testing.Short() { // one of each service, those with a platform of their own, and one for each feature
		seen := map[string]bool{}
		names = slices.DeleteFunc(names, func(name string) bool {
			r, _ := store.ResolveName(name) // resolved above
			key := cmp.Or(strings.TrimPrefix(r.Criteria.Platform, recipe.Any), r.Criteria.Service)
			had := seen[key]
			seen[key] = true
			return had && !slices.Contains(someRecipes(), name)
		})
	}
	source, schemas := shippedtest.Charts(t), customSchemas(t)
	check := func(store *recipe.Store, name string) error {
		in, err := prepared(store, source, name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return sound(t, in, schemas, name)
	}
	if err := overAll(names, func(name string) error { return check(store, name) }); err != nil {
		t.Fatal(err)
	}

	// The database of Slurm's accounting is there if it is asked for.
	o, _ := store.Overlay("h100-eks-ubuntu-training-slurm")
	r, err := store.ResolveWith(o.Effective, recipe.Choices{Configuration: recipe.ConfigurationChoice{Accounting: recipe.ConfigurationProvided}})
	if err != nil {
		t.Fatal(err)
	}
	in, err := preparedResult(store, source, r)
	if err != nil {
		t.Fatal(err)
	}
	if err := sound(t, in, schemas, "slurm with a database"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"mariadb-operator-crds", "mariadb-operator", "slurm-accounting-mariadb"} {
		if !slices.Contains(r.DeploymentOrder, want) {
			t.Errorf("slurm with a database has no %s: %v", want, r.DeploymentOrder)
		}
	}

	// What no recipe has is added by its name alone.
	var optional []string
	for _, e := range store.Entries() {
		if !used[e.Name] {
			optional = append(optional, e.Name)
		}
	}
	if want := []string{"gatekeeper", "k8s-aibom", "lws", "nvcre", "slinky-topograph"}; !slices.Equal(optional, want) {
		t.Errorf("no recipe has %v; want %v", optional, want)
	}
	files := shippedtest.Copy(t)
	for _, name := range optional {
		files["overlays/with-"+name+".yaml"] = &fstest.MapFile{Data: fmt.Appendf(nil, "apiVersion: aicr.run/v1beta1\nkind: RecipeMetadata\nmetadata: {name: with-%s}\nspec:\n  base: eks\n  criteria: {service: eks, intent: inference, platform: only-%[1]s}\n  componentRefs: [{name: %[1]s}]\n", name)}
	}
	more, err := recipe.Open(files, "recipes")
	if err != nil {
		t.Fatal(err)
	}
	if err := overAll(optional, func(name string) error { return check(more, "with-"+name) }); err != nil {
		t.Fatal(err)
	}
}

// sound makes the bundles of a recipe, for each of AICR's deployers or, of some, for all.
func sound(t *testing.T, in Input, schemas map[schema.GroupVersionKind]customSchema, name string) error {
	lanes, err := ByName([]string{"all"})
	if err != nil {
		return err
	}
	if slices.Contains(someRecipes(), name) {
		lanes = Deployers()
	}
	for _, lane := range lanes {
		b, err := lane.Bundle(context.Background(), placed(lane, in))
		if err != nil {
			return fmt.Errorf("%s, %s: %w", name, lane.Name(), err)
		}
		if len(b.Expectation.Releases) < len(in.Components) {
			t.Errorf("%s, %s: %d releases of %d components", name, lane.Name(), len(b.Expectation.Releases), len(in.Components))
		}
		if lane.Name() != Helm {
			continue
		}
		if err := MarkMissingPaths(context.Background(), lane, in, b); err != nil {
			return err
		}
		for i := range b.Expectation.Workloads {
			if w := &b.Expectation.Workloads[i]; len(w.ForgottenPaths) > 0 {
				t.Errorf("%s: the registry lacks a path for %s %s: %v", name, w.Kind, w.Name, w.ForgottenPaths)
			}
		}
	}
	for _, w := range in.prepared.expectation.Warnings {
		t.Errorf("%s: %s", name, w)
	}
	objects, kinds := map[string]bool{}, map[string]bool{}
	for _, o := range in.prepared.expectation.Objects {
		objects[o.Object.GetKind()+" "+o.Object.GetName()] = true
		if o.Object.GetKind() == "CustomResourceDefinition" {
			group, _, _ := unstructured.NestedString(o.Object.Object, "spec", "group")
			kind, _, _ := unstructured.NestedString(o.Object.Object, "spec", "names", "kind")
			kinds[group+" "+kind] = true
		}
	}
	for _, o := range in.prepared.expectation.Objects {
		gvk := o.Object.GroupVersionKind()
		if strings.Contains(gvk.Group, ".") && !strings.HasSuffix(gvk.Group, ".k8s.io") && !kinds[gvk.Group+" "+gvk.Kind] {
			t.Errorf("%s: nothing defines the kind of %s %s", name, gvk, o.Object.GetName())
		}
		if err := refusal(schemas, o.Object); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for i := range in.Components {
		c := &in.Components[i]
		if c.Disabled() {
			continue
		}
		for _, object := range asserted(t, c.Name) {
			if !objects[object] && !made(object) {
				have := slices.DeleteFunc(slices.Sorted(maps.Keys(objects)), func(o string) bool { return !strings.HasPrefix(o, strings.Fields(object)[0]+" ") })
				t.Errorf("%s: the health check of %s asks for %s; there are %q", name, c.Name, object, have)
			}
		}
	}
	return nil
}

// Each value of a criterion that AICR knows has a recipe in its form of v1.
func TestShippedRecipes_Cover(t *testing.T) {
	store := shippedtest.Recipes(t)
	covered, profiles := map[string]bool{}, map[string]bool{}
	for _, name := range store.Names() {
		o, _ := store.Overlay(name)
		if !o.Testable() {
			continue
		}
		for criterion, value := range o.Effective.ByName() {
			covered[criterion+" "+value] = true
		}
		for _, v := range store.Variants(name) {
			profiles[v.Profile+"="+v.Value] = true
		}
	}
	for criterion, values := range recipe.KnownCriteria() {
		for _, value := range values {
			if !covered[criterion+" "+value] {
				t.Errorf("recipes has no recipe for %s %s: add one, with a node profile in kwok/profiles", criterion, value)
			}
		}
	}
	for _, want := range []string{"gpuStack=azure-managed", "gpuStack=bundle-installer", "gpuStack=gke-default", "gpuStack=oci-managed", "gpuStack=operator-managed"} {
		if !profiles[want] {
			t.Errorf("no recipe has the profile %s", want)
		}
	}
}
