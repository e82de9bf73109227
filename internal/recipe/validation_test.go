package recipe

import (
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

// The requirements of a phase have the file and line that set them: in the overlay that set the
// phase last, and in a resolved recipe that was read.
func TestValidationPlaces(t *testing.T) {
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
	if block, checks, constraints := r.ValidationPlaces("deployment"); len(checks) != 1 || len(constraints) != 0 || !strings.HasSuffix(checks[0].String(), "overlays/aks.yaml:10") || block.Line != 8 {
		t.Errorf("got %v, %v, %v", block, checks, constraints)
	}
	if _, _, constraints := r.ValidationPlaces("performance"); len(constraints) != 1 || !strings.HasSuffix(constraints[0].String(), "base.yaml:14") {
		t.Errorf("got %v", constraints)
	}
	r.ComponentRefs, r.DeploymentOrder = []ComponentRef{{Name: "a"}}, []string{"a"} // nothing is read without one
	text, err := r.YAML()
	if err != nil {
		t.Fatal(err)
	}
	back, err := ReadResult("r.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	if _, checks, _ := back.ValidationPlaces("deployment"); len(checks) != 1 || checks[0].File != "r.yaml" || strings.TrimSpace(strings.Split(string(text), "\n")[checks[0].Line-1]) != "- c" {
		t.Errorf("got %v in\n%s", checks, text)
	}
}

// An entry of expectedResources has its line, through merging and in a resolved recipe that was
// read.
func TestPlacesOfExpectedResources(t *testing.T) {
	files := minimal(t)
	const header = "apiVersion: aicr.nvidia.com/v1alpha1\nkind: RecipeMetadata\nmetadata:\n  name: base\nspec:\n"
	files["overlays/base.yaml"] = &fstest.MapFile{Data: []byte(header + `  componentRefs:
    - name: cert-manager
      expectedResources:
        - {kind: Deployment, name: a}
        - kind: Deployment
          name: b
`)}
	store := open(t, files)
	r, err := store.Resolve(Criteria{Service: "aks"})
	if err != nil {
		t.Fatal(err)
	}
	lines := func(r *Result) (all []string) {
		for _, ref := range r.ComponentRefs {
			for _, e := range ref.ExpectedResources {
				all = append(all, e.Name+" "+e.Origin.String())
			}
		}
		return all
	}
	if got := strings.Join(lines(r), ", "); !strings.HasSuffix(got, "overlays/base.yaml:10") || !strings.Contains(got, "overlays/base.yaml:9, b") {
		t.Errorf("got %s", got)
	}
	text, err := r.YAML()
	if err != nil {
		t.Fatal(err)
	}
	back, err := ReadResult("r.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range lines(back) {
		name, line, _ := strings.Cut(entry, " r.yaml:")
		n, err := strconv.Atoi(line)
		if err != nil || !strings.Contains(strings.Join(strings.Split(string(text), "\n")[n-1:n+1], "\n"), "name: "+name) {
			t.Errorf("%s is not there in\n%s", entry, text)
		}
	}
}

// Results have the text of each health check, as AICR's own CLI writes them: since July, and not of a check that the recipe
// leaves out.
func TestWithHealthChecks(t *testing.T) {
	files := map[string]string{
		"registry":      `{components: [{name: app, healthCheck: {assertFile: checks/app.yaml}, helm: {defaultRepository: "https://charts.example", defaultChart: app, defaultVersion: "1"}}, {name: db, healthCheck: {assertFile: checks/app.yaml}, manifest: {defaultNamespace: db}}]}`,
		"overlays/base": `{metadata: {name: base}, spec: {componentRefs: [{name: app}, {name: db, healthCheckSkip: true, manifestFiles: [checks/app.yaml]}]}}`,
		"checks/app":    "# why\nkind: Test\n",
	}
	s := open(t, july(t, files))
	r, _ := resolve(t, s, "base")
	with, err := s.WithHealthChecks(r)
	if err != nil || with.ComponentRefs[0].HealthCheckAsserts != "# why\nkind: Test\n" || with.ComponentRefs[1].HealthCheckAsserts != "" || r.ComponentRefs[0].HealthCheckAsserts != "" {
		t.Errorf("got %+v, %v", with, err)
	}
}
