package recipe

import (
	"strings"
	"testing"
)

func TestProblem(t *testing.T) {
	chart := shapeComponent{Chart: "a", Source: "https://example.com", Version: "v1.0"}
	for _, ok := range []shapeComponent{
		chart, {Source: "oci://x", Version: "1"}, {Manifests: true}, {Chart: "a", Source: "s", Version: "1", Manifests: true},
		{Kustomize: true, Path: "a"}, {Kustomize: true, Path: "a", Source: "s", Tag: "v1"},
	} {
		if field, problem := ok.Problem("registry.yaml"); problem != "" {
			t.Errorf("%+v: %s: %s", ok, field, problem)
		}
	}
	with := func(change func(*shapeComponent)) shapeComponent {
		c := chart
		change(&c)
		return c
	}
	for _, c := range []struct {
		component   shapeComponent
		field, want string
	}{
		{with(func(c *shapeComponent) { c.Patches = true }), "patches", "no deployer of AICR applies"},
		{with(func(c *shapeComponent) { c.Tag = "v1" }), "tag", "is a Helm chart and has a tag"},
		{with(func(c *shapeComponent) { c.Path = "a" }), "path", "is a Helm chart and has a path"},
		{with(func(c *shapeComponent) { c.Version = "" }), "chart", "no version"},
		{with(func(c *shapeComponent) { c.Version = "v" }), "version", "has the version v"},
		{with(func(c *shapeComponent) { c.Version = "1.0 " }), "version", "has space around its version"},
		{with(func(c *shapeComponent) { c.Source = " https://example.com" }), "source", "has space around its source"},
		{with(func(c *shapeComponent) { c.Chart = "  " }), "chart", "has space around its chart"},
		{with(func(c *shapeComponent) { c.Source = "" }), "chart", "no source to take it from"},
		{shapeComponent{}, "", "neither a chart nor manifestFiles"},
		{shapeComponent{Kustomize: true}, "type", "has no path"},
		{shapeComponent{Kustomize: true, Path: "a", Tag: "v1"}, "tag", "no source"},
		{shapeComponent{Kustomize: true, Path: "a", Manifests: true}, "type", "manifestFiles too"},
	} {
		if field, problem := c.component.Problem("registry.yaml"); field != c.field || !strings.Contains(problem, c.want) {
			t.Errorf("%+v: got %q, %q", c.component, field, problem)
		}
	}
}

func TestType(t *testing.T) {
	for _, c := range []struct {
		text    string
		anyCase bool
		want    string
	}{{"Helm", false, "Helm"}, {"helm", false, ""}, {"helm", true, "Helm"}, {"KUSTOMIZE", true, "Kustomize"}, {"", true, ""}, {"flux", true, ""}} {
		if got := shapeType(c.text, c.anyCase); got != c.want {
			t.Errorf("%q: got %q", c.text, got)
		}
	}
}
