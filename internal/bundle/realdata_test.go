package bundle

import (
	"context"
	"errors"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/nvidia/aicr-action/internal/charts/catalog"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/testkit/shippedtest"
)

// shipped are this project's recipes and simulated charts, as a run has them.
func shipped(t testing.TB) (*recipe.Store, catalog.Source) {
	t.Helper()
	return shippedtest.Recipes(t), shippedtest.Charts(t)
}

// prepared resolves and renders a shipped recipe.
func prepared(store *recipe.Store, charts catalog.Source, name string) (Input, error) {
	result, err := store.ResolveName(name)
	if err != nil {
		return Input{}, err
	}
	return preparedResult(store, charts, result)
}

// preparedResult renders a resolved recipe.
func preparedResult(store *recipe.Store, charts catalog.Source, result *recipe.Result) (Input, error) {
	components, err := store.Components(result)
	if err != nil {
		return Input{}, err
	}
	return Prepare(context.Background(), Input{
		Recipe: result, Components: components, Scheduling: KwokScheduling(), Charts: charts,
		ChartRepository: "oci://127.0.0.1:5500/charts", PlainHTTP: true,
		RepoURL: "oci://127.0.0.1:5500/aicr/" + RecipeName(result), KubeVersion: "v1.36.1",
	})
}

// overAll does something with recipes, on all cores.
func overAll(names []string, do func(name string) error) error {
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for _, name := range names {
		group.Go(func() error { return do(name) })
	}
	return group.Wait()
}

// someRecipes has a recipe for each feature that a recipe can use.
func someRecipes() []string {
	return []string{"eks-training", "h100-eks-ubuntu-inference-dynamo", "h100-gke-cos-training-kubeflow", "kind", "gb200-oke-ol-training-kueue"}
}

// The set has at least 36 recipes that can be run, a generic one for each service among them. Each has constraints, and phases of validation.
func TestShippedSet(t *testing.T) {
	store, _ := shipped(t)
	testable, generic := 0, map[string]bool{}
	for _, name := range store.Names() {
		o, _ := store.Overlay(name)
		if o.Testable() {
			testable++
		}
		if o.Generic() {
			generic[o.Effective.Service] = true
		}
		r, err := store.ResolveName(name)
		if err != nil {
			t.Error(err)
			continue
		}
		if len(r.Validation) == 0 || len(r.Constraints) == 0 {
			t.Errorf("%s: %d constraints, validation phases %v; want both", name, len(r.Constraints), r.Validation)
		}
	}
	if testable < 36 {
		t.Errorf("%d testable recipes, want at least 36", testable)
	}
	for _, service := range store.CriteriaValues()["service"] {
		if !generic[service] {
			t.Errorf("service %s has no generic recipe", service)
		}
	}
}

// BenchmarkShippedRecipes renders all recipes for AICR's deployers, on all cores.
func BenchmarkShippedRecipes(b *testing.B) {
	lanes, err := ByName([]string{"all"})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		store, charts := shipped(b)
		err := overAll(store.Names(), func(name string) error {
			in, err := prepared(store, charts, name)
			for _, d := range lanes {
				_, failed := d.Bundle(context.Background(), in)
				err = errors.Join(err, failed)
			}
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(len(store.Names())), "recipes/op")
	}
	b.ReportMetric(peakMiB(b), "MiB-peak")
}

// peakMiB is the most memory that this process has had; 0 where the system does not say.
func peakMiB(b *testing.B) float64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	number, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	kib, err := strconv.ParseFloat(number, 64)
	if err != nil {
		b.Fatal(err)
	}
	return kib / 1024
}
