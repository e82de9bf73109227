package recipe

import (
	"strings"
	"testing"
	"testing/fstest"
)

// What a phase wants is found with the line that says so: in the overlay that set the phase last, and in a resolved recipe that was read.
func TestValidationPhase(t *testing.T) {
	files := minimal(t)
	header := func(name string) string {
		return "apiVersion: aicr.nvidia.com/v1alpha1\nkind: RecipeMetadata\nmetadata:\n  name: " + name + "\nspec:\n"
	}
	files["overlays/base.yaml"] = &fstest.MapFile{Data: []byte(header("base") + `  validation:
    deployment:
      checks: [a]
    performance:
      timeout: 5m
      checks:
        - b
      constraints:
        - {name: b, value: ">= 300"}
`)}
	files["overlays/aks.yaml"] = &fstest.MapFile{Data: []byte(header("aks") + `  criteria: {service: aks}
  validation:
    deployment:
      checks:
        - c
`)}
	store := open(t, files)
	r, err := store.Resolve(Criteria{Service: "aks"})
	if err != nil {
		t.Fatal(err)
	}
	p, ok, err := r.ValidationPhase("deployment")
	if err != nil || !ok || len(p.Checks) != 1 || p.Checks[0].Name != "c" || !strings.HasSuffix(p.Checks[0].Origin.String(), "overlays/aks.yaml:10") {
		t.Errorf("got %+v, %v, %v", p, ok, err)
	}
	p, _, err = r.ValidationPhase("performance")
	if err != nil || len(p.Constraints) != 1 || p.Constraints[0].Value != ">= 300" || !strings.HasSuffix(p.Constraints[0].Origin.String(), "base.yaml:14") || len(p.Unread) != 1 {
		t.Errorf("got %+v, %v", p, err)
	}
	if _, ok, err := r.ValidationPhase("conformance"); ok || err != nil {
		t.Errorf("got %v, %v", ok, err)
	}
}

func TestValidationPhaseRefuses(t *testing.T) {
	for name, c := range map[string]struct{ block, want string }{
		"a list":     {"{deployment: []}", "r.yaml:7: validation.deployment must be a mapping"},
		"no list":    {"{deployment: {checks: a}}", "r.yaml:7: validation.deployment.checks must be a list"},
		"no name":    {"{deployment: {checks: [1]}}", "r.yaml:7: validation.deployment.checks[0] must be the name"},
		"no value":   {"{deployment: {constraints: [{name: a}]}}", "r.yaml:7: validation.deployment.constraints[0] needs a name and a value"},
		"no mapping": {"{deployment: {constraints: [a]}}", "needs a name and a value"},
	} {
		r, err := ReadResult("r.yaml", []byte("apiVersion: aicr.nvidia.com/v1alpha1\nkind: RecipeResult\nmetadata: {appliedOverlays: [base]}\ncriteria: {}\ncomponentRefs: [{name: a}]\ndeploymentOrder: [a]\nvalidation: "+c.block+"\n"))
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := r.ValidationPhase("deployment"); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}
