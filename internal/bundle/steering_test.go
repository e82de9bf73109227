package bundle

import (
	"testing"

	"sigs.k8s.io/yaml"
)

// A part that is switched off has no pods, so that a path in it needs not reach any.
func TestOff(t *testing.T) {
	for name, c := range map[string]struct {
		path, recipe, chart string
		want                bool
	}{
		"by the chart":             {"ruler.spec.tolerations", "{}", "{ruler: {enabled: false, spec: {}}}", true},
		"by the recipe":            {"ruler.spec.tolerations", "{ruler: {enabled: false}}", "{ruler: {enabled: true}}", true},
		"on by the recipe":         {"ruler.spec.tolerations", "{ruler: {enabled: true}}", "{ruler: {enabled: false}}", false},
		"another word":             {"updater.tolerations", "{}", "{updater: {enable: false}}", true},
		"in the middle":            {"a.b.c.tolerations", "{a: {enabled: true}}", "{a: {b: {enabled: false}}}", true},
		"a switch below the path":  {"a.tolerations", "{}", "{a: {tolerations: {enabled: false}}}", false},
		"a switch of another part": {"a.tolerations", "{}", "{b: {enabled: false}}", false},
		"no switch":                {"a.tolerations", "{}", "{a: {tolerations: []}}", false},
		"a text":                   {"a.tolerations", "{}", "{a: {enabled: \"no\"}}", false},
		"the top":                  {"tolerations", "{enabled: false}", "{}", false},
		"no map":                   {"a.b.tolerations", "{a: 1}", "{a: [x]}", false},
	} {
		t.Run(name, func(t *testing.T) {
			var recipe, chart map[string]any
			if err := yaml.Unmarshal([]byte(c.recipe), &recipe); err != nil {
				t.Fatal(err)
			}
			if err := yaml.Unmarshal([]byte(c.chart), &chart); err != nil {
				t.Fatal(err)
			}
			if got := steeringOff(c.path, recipe, chart); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}
