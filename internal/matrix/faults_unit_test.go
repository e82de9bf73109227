package matrix

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/kubernetes/fake"

	aicraction "github.com/nvidia/aicr-action"
	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/kwok"
)

// F15: one look asks for every list once, so that all that it says is about one moment.
func TestOneSnapshotPerLook(t *testing.T) {
	kube := fake.NewClientset(objects(testNodes(), deployment("d"), list(pod("d-1", "ReplicaSet", "d", "s0")))...)
	env := testEnv(kube, bundle.Expectation{Workloads: []bundle.Workload{
		expected("Deployment", "d", 1, sys), expected("Deployment", "e", 2, sys), expected("DaemonSet", "f", -1, acc), expected("Job", "j", 1, sys),
	}})
	g := newGate(env, &fakeLane{look: always(good("a"))}, Budgets{}, Deadline{}, nil)
	g.look(t.Context())
	lists := map[string]int{}
	for _, a := range kube.Actions() {
		if a.GetVerb() != "list" {
			t.Errorf("a look made a request that is no list: %s %s", a.GetVerb(), a.GetResource().Resource)
		}
		lists[a.GetResource().Resource]++
	}
	for _, resource := range []string{"pods", "nodes", "deployments", "daemonsets", "jobs"} {
		if lists[resource] != 1 {
			t.Errorf("%s were listed %d times in one look, want once", resource, lists[resource])
		}
	}
}

// F25: the recipe of a cell is the one of its name, with all that this overlay adds to those below it.
func TestCellIsWhatItsNameSays(t *testing.T) {
	paths := infra.Paths{Root: t.TempDir()}
	stack, err := infra.NewStack(paths, kwok.StackMod, kwok.StackSum)
	if err != nil {
		t.Fatal(err)
	}
	profiles, err := infra.LoadProfiles(kwok.Files, "profiles")
	if err != nil {
		t.Fatal(err)
	}
	recipes, err := fs.Sub(aicraction.Recipes, "recipes")
	if err != nil {
		t.Fatal(err)
	}
	store, err := recipe.Open(recipes, "recipes")
	if err != nil {
		t.Fatal(err)
	}
	r := &Runner{Platform: &infra.Embedded{Paths: paths, Stack: stack}, Store: store, Profiles: profiles, Nodes: infra.DefaultNodeGroups(2, 4)}
	has := map[string]bool{}
	for _, name := range []string{"eks", "eks-training"} {
		plans, err := r.Plan(name, bundle.Deployers())
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range plans {
			got := p.input.Recipe
			overlays := got.Metadata.AppliedOverlays
			if p.Cell.Recipe != name || bundle.RecipeName(got) != name || len(overlays) == 0 || overlays[len(overlays)-1] != name {
				t.Errorf("cell %s: its bundle is recipe %q of overlays %q", p.Cell, bundle.RecipeName(got), overlays)
			}
			if want, _ := store.Overlay(name); want.Criteria.Intent != "" && got.Criteria.Intent != want.Criteria.Intent {
				t.Errorf("cell %s: intent %q, want %q", p.Cell, got.Criteria.Intent, want.Criteria.Intent)
			}
			has[name] = slices.ContainsFunc(p.input.Components, func(c recipe.Component) bool { return c.Name == "skyhook-customizations" })
		}
	}
	if has["eks"] || !has["eks-training"] {
		t.Errorf("skyhook-customizations: in eks %v, in eks-training %v; want it in the second only", has["eks"], has["eks-training"])
	}
}

// The clock may jump: whatever decides a verdict or ends a wait is measured on the monotonic clock, which time.Now carries along and these
// calls lose.
func TestVerdictsUseTheMonotonicClock(t *testing.T) {
	allowed := map[string]string{
		"runLane":     "the time at which a cell started, for people",
		"NewDeadline": "KWOK_SYNC_DEADLINE_EPOCH is a point of the wall clock; it is turned into one of the monotonic clock once, here",
		"timeOf":      "when a deployer says that it delivered; reported, and nothing is decided by it",
		"refresh":     "when to ask Argo CD for a comparison; its objects have wall-clock times and nothing else",
	}
	evidence := []string{"dump.go", "record.go", "summary.go", "events.go"} // times for people to read
	wallClock := []string{"UTC", "Local", "In", "Unix", "UnixMilli", "UnixNano", "UnixMicro", "Parse", "ParseInLocation", "Date", "Truncate", "AddDate"}
	for _, dir := range []string{".", "../wait"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no source in %s (%v)", dir, err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") || slices.Contains(evidence, filepath.Base(file)) {
				continue
			}
			set := token.NewFileSet()
			parsed, err := parser.ParseFile(set, file, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(parsed.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == `"time"` }) {
				continue
			}
			for _, d := range parsed.Decls {
				f, ok := d.(*ast.FuncDecl)
				if !ok || allowed[f.Name.Name] != "" {
					continue
				}
				ast.Inspect(f, func(n ast.Node) bool {
					if call, ok := n.(*ast.CallExpr); ok {
						if sel, ok := call.Fun.(*ast.SelectorExpr); ok && slices.Contains(wallClock, sel.Sel.Name) && !otherParse(sel) {
							t.Errorf("%s: %s uses the wall clock (%s); a deadline must not. If nothing is decided by it, say so in this test",
								set.Position(call.Pos()), f.Name.Name, sel.Sel.Name)
						}
					}
					return true
				})
			}
		}
	}
}

// otherParse: a function of that name in another package than time.
func otherParse(sel *ast.SelectorExpr) bool {
	pkg, ok := sel.X.(*ast.Ident)
	return strings.HasPrefix(sel.Sel.Name, "Parse") && !(ok && pkg.Name == "time")
}
