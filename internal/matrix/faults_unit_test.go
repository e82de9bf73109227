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

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/recipe"
)

// F25: the recipe of a cell is the one of its name, with all that this overlay adds to those below
// it. Each of the shipped ones that sets a service can be run: it has node profiles, and its
// constraint holds.
func TestCellName_Overlay(t *testing.T) {
	r := unitRunner(t)
	store := r.Store
	has := map[string]bool{}
	for _, name := range store.Names() {
		if o, _ := store.Overlay(name); !o.Testable() {
			continue
		}
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
			has[name] = slices.ContainsFunc(p.input.Components, func(c recipe.Component) bool { return c.Name == "nodewright-customizations" })
		}
	}
	if has["eks"] || !has["eks-training"] {
		t.Errorf("nodewright-customizations: in eks %v, in eks-training %v; want it in the second only", has["eks"], has["eks-training"])
	}
}

// The clock may jump: whatever decides a verdict or ends a wait is measured on the monotonic clock,
// which time.Now carries along and these calls lose.
func TestMonotonicClock(t *testing.T) {
	allowed := map[string]string{
		"noteStart":    "the time at which a cell started, for people",
		"NewDeadline":  "KWOK_SYNC_DEADLINE_EPOCH is a point of the wall clock; it is turned into one of the monotonic clock once, here",
		"Result":       "when a cell ended whose verdict is reused, and when that was said: for people",
		"requestToken": "an annotation by whose new text Flux looks again; nothing is decided by it",
		"TimeOf":       "when a deployer says that it delivered; reported, and nothing is decided by it",
		"clock":        "whether a value that a chart renders is the time; what two objects have of it is no secret",
		"unbuilt":      "when a cell ended that was not run, for people",
		"flatten":      "whether a text of an object is a time: then it is no field for which writers fight",
		"same":         "whether two texts of an object are the same time, e.g. 2026-01-02T03:04:05Z and +00:00",
		"attemptOf":    "whether two polls saw the same try of Flux's; nothing is measured by it",
		"refresh":      "when to ask Argo CD for a comparison; its objects have wall-clock times and nothing else",
	}
	forPeople := []string{"dump.go", "record.go", "summary.go", "events.go", "gate/observed.go"} // times for people to read
	wallClock := []string{"UTC", "Local", "In", "Unix", "UnixMilli", "UnixNano", "UnixMicro", "Parse", "ParseInLocation", "Date", "Truncate", "AddDate"}
	dirs := []string{"../util/wait"}
	if err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && !strings.HasSuffix(path, "testdata") {
			dirs = append(dirs, path)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if len(dirs) < 10 {
		t.Fatalf("only %q found", dirs)
	}
	for _, dir := range dirs {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") || slices.Contains(forPeople, filepath.ToSlash(file)) {
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

// otherParse: a function of another package than time that parses, or manifestline.In, which finds a
// line.
func otherParse(sel *ast.SelectorExpr) bool {
	pkg, ok := sel.X.(*ast.Ident)
	return strings.HasPrefix(sel.Sel.Name, "Parse") && !(ok && pkg.Name == "time") || ok && pkg.Name == "manifestline"
}
