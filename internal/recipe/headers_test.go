package recipe

import (
	"slices"
	"testing"
)

// What only a later release of AICR knows is no obstacle where its own CLI resolves the recipe.
func TestOpenHeaders(t *testing.T) {
	files := july(t, map[string]string{
		"registry":     "{apiVersion: aicr.run/v9, components: [{name: app, wholly: new}]}",
		"overlays/eks": "{apiVersion: aicr.run/v9, metadata: {name: eks}, spec: {criteria: {service: eks, moon: full}, constraints: [{name: K8s.server.version, value: '>= 1.30', tint: blue}], news: {}, componentRefs: [{name: none, also: new}]}}",
	})
	if _, err := Open(files, "recipes"); err == nil {
		t.Fatal("it is readable as a whole: the test shows nothing")
	}
	s, err := OpenHeaders(files, "recipes")
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.ResolveName("eks")
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"base", "eks"}; !slices.Equal(r.Metadata.AppliedOverlays, want) || r.Criteria.Service != "eks" {
		t.Errorf("got %+v", r)
	}
	if len(r.Constraints) != 1 || r.Constraints[0].Value != ">= 1.30" || r.Constraints[0].Origin.File != "recipes/overlays/eks.yaml" {
		t.Errorf("constraints %+v", r.Constraints)
	}
	all, err := s.Components(r)
	if err != nil || len(all) > 0 {
		t.Errorf("components %v, %v", all, err)
	}
}

func TestOpenHeaders_Refused(t *testing.T) {
	for want, content := range map[string]string{
		"the overlay has no name":      "{metadata: {}, spec: {}}",
		"base \"none\" does not exist": "{metadata: {name: eks}, spec: {base: none}}",
	} {
		_, err := OpenHeaders(july(t, map[string]string{"overlays/eks": content}), "recipes")
		refused(t, err, "recipes/overlays/eks.yaml:", want)
	}
}
