package charts

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"sigs.k8s.io/yaml"
)

// Where a simulated chart has an image as a map, as its original does, a recipe changes a part of
// it: each one has its repository in the values, so that a tag alone is enough, and its template
// makes a name of the map. Rendered as text, a map is no name of an image.
func TestSimulatedImages(t *testing.T) {
	const dir = "../../kwok/charts"
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	images := 0
	for _, e := range entries {
		ch, err := loader.Load(dir + "/" + e.Name())
		if err != nil {
			continue // _common, and files
		}
		paths := imagesIn(ch.Values, "")
		images += len(paths)
		for _, path := range paths {
			if image := at(ch.Values, path); image["repository"] == "" || image["repository"] == nil {
				t.Errorf("%s: %s has no repository: a recipe that sets its tag has no image", e.Name(), path)
			}
		}
		for _, f := range ch.Templates {
			for i, line := range strings.Split(string(f.Data), "\n") {
				if expression, ok := strings.CutPrefix(strings.TrimSpace(line), "image: {{ "); ok && len(paths) > 0 && strings.HasPrefix(strings.TrimLeft(expression, "$"), ".") && !strings.Contains(expression, "egistry") && !named(ch.Name(), expression) {
					t.Errorf("%s/%s:%d: %s: write {{ include \"simulated.image\" (list IMAGE TAG) }}", e.Name(), f.Name, i+1, strings.TrimSpace(line))
				}
			}
		}
	}
	if images < 30 {
		t.Errorf("%d images are found in the values, want 30 or more", images)
	}
}

// named: the originals have a plain name there, too.
func named(chart, expression string) bool {
	return chart == "gpu-operator" || chart == "network-operator" && strings.Contains(expression, ".Values.operator.image") || strings.Contains(expression, ".torchDistributed.")
}

// imagesIn gives the paths of values called image that are maps; that of lws has one for its manager.
func imagesIn(values map[string]any, path string) []string {
	var paths []string
	for _, key := range slices.Sorted(maps.Keys(values)) {
		inside, ok := values[key].(map[string]any)
		if !ok {
			continue
		}
		here := strings.TrimPrefix(path+"."+key, ".")
		if key == "image" && inside["registry"] == nil && inside["manager"] == nil {
			paths = append(paths, here)
		}
		paths = append(paths, imagesIn(inside, here)...)
	}
	return paths
}

func at(values map[string]any, path string) map[string]any {
	for _, key := range strings.Split(path, ".") {
		values, _ = values[key].(map[string]any)
	}
	return values
}

// KAI's chart takes an empty text for "no runtime class", which July's recipes set, and null for the same.
// Without quotes an empty text is a null in YAML, which Argo CD and Flux deliver and the API server refuses.
func TestSimulatedEmptyText(t *testing.T) {
	ch, err := loader.Load("../../kwok/charts/kai-scheduler")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ class, want any }{"a class": {"other", "other"}, "empty": {"", ""}, "null": {nil, nil}} {
		t.Run(name, func(t *testing.T) {
			values, err := chartutil.ToRenderValues(ch, map[string]any{"admission": map[string]any{"gpuPodRuntimeClassName": c.class}}, chartutil.ReleaseOptions{Name: "kai", Namespace: "kai"}, chartutil.DefaultCapabilities)
			if err != nil {
				t.Fatal(err)
			}
			files, err := engine.Render(ch, values)
			if err != nil {
				t.Fatal(err)
			}
			var config struct{ Spec map[string]any }
			if err := yaml.Unmarshal([]byte(strings.Split(files["kai-scheduler/templates/config.yaml"], "---")[0]), &config); err != nil {
				t.Fatal(err)
			}
			admission, is := config.Spec["admission"].(map[string]any)
			if is != (c.want != nil) || admission["gpuPodRuntimeClassName"] != c.want {
				t.Errorf("spec.admission is %v, want the class %v", config.Spec["admission"], c.want)
			}
		})
	}
}
