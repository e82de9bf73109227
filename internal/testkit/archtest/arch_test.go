// Package archtest holds the shape of this module: which package may import which, what must stay out of the small ones, and how large one
// may grow. docs/how-it-works.md has the map.
package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	module = "github.com/nvidia/aicr-action"
	root   = "../../.."
	// maxFiles and maxLines are what one package may have without its tests; the commands are exempt, with a file per command.
	maxFiles, maxLines = 25, 3600
)

// leaves import no package of this module. Every package that is not a leaf may import them.
var leaves = []string{
	".", "kwok", "internal/util/atomicfile", "internal/util/bounded", "internal/util/lists", "internal/util/mdtext", "internal/bundle/operators", "internal/result/reason", "internal/util/shellword", "internal/report/testreport", "internal/util/wait", "internal/util/yamlx", "internal/tools/gotest", "internal/util/sandbox",
	"internal/util/egress", "internal/bundle/scopes", "internal/bundle/apis", "internal/bundle/appset", "internal/util/inorder",
	"kwok/charts/internal/crdgen", "kwok/manifests/internal/manifestgen",
}

// arrows says what each of the other packages may import, besides the leaves: the packages of its row, and whatever those may import.
var arrows = map[string]string{
	"internal/recipe":             "internal/recipe/kustomize",
	"internal/result":             "",
	"internal/infra/health":       "",
	"internal/infra/clusterstate": "",
	"internal/charts/archive":     "",
	"internal/charts/render":      "internal/charts/kustomize",
	"internal/charts/kustomize":   "",
	"internal/util/confined":      "",
	"internal/verify/checks":      "internal/result internal/util/confined",

	"internal/util/texttemplate": "internal/util/confined",
	"internal/matrix/discover":   "internal/recipe internal/matrix/durations",
	"internal/report":            "internal/result",
	"internal/matrix/reuse":      "internal/result",
	"internal/matrix/durations":  "internal/result",
	"internal/tools/bench":       "internal/report internal/workflow",
	"internal/bundle":            "internal/bundle/kustomize internal/result internal/charts/archive internal/bundle/owners",

	"internal/recipe/kustomize": "",
	"internal/bundle/kustomize": "internal/recipe internal/charts/render",

	"internal/bundle/documents": "",
	"internal/bundle/owners":    "internal/bundle/documents",
	"internal/bundle/oci":       "internal/bundle",
	"internal/charts":           "internal/bundle",

	"internal/bundle/adjust":           "internal/bundle",
	"internal/cli/document":            "",
	"internal/verify/snapshot":         "",
	"internal/verify/snapshot/collect": "internal/verify/snapshot",
	"internal/verify/validate":         "internal/recipe internal/verify/snapshot internal/result",
	"internal/verify/validate/agent":   "internal/verify/validate",

	"internal/verify/validate/agent/runchecks": "internal/verify/validate/agent",

	"internal/bundle/forgotten":           "internal/bundle",
	"internal/bundle/foreign":             "internal/bundle/forgotten",
	"internal/bundle/foreign/foreigntest": "internal/bundle/oci",

	"internal/infra":          "internal/bundle internal/infra/health internal/infra/clusterstate",
	"internal/infra/apiproxy": "",
	"internal/infra/host":     "internal/infra",
	"internal/infra/stack":    "internal/infra/host",
	"internal/infra/simulate": "internal/infra",
	"internal/infra/gitops":   "internal/infra",
	"internal/infra/podrun":   "internal/infra/host",

	"internal/infra/addons": "internal/infra/stack internal/infra/simulate",

	"internal/infra/embedded":       "internal/infra/stack internal/infra/addons internal/infra/podrun internal/infra/simulate internal/infra/apiproxy internal/infra/gitops",
	"internal/testkit/embeddedtest": "internal/infra/embedded internal/testkit/infratest",

	"internal/infra/kind":        "internal/infra/host internal/infra/simulate internal/infra/gitops",
	"internal/testkit/infratest": "internal/infra/stack internal/infra/simulate internal/testkit",
	"internal/testkit":           "internal/infra",

	"internal/observe":            "internal/infra",
	"internal/matrix/dump":        "internal/infra",
	"internal/matrix/lane":        "internal/observe internal/bundle/oci",
	"internal/matrix/why":         "internal/observe",
	"internal/matrix/compare":     "internal/matrix/lane",
	"internal/matrix/lane/helm":   "internal/matrix/lane/helminstall",
	"internal/matrix/lane/argocd": "internal/matrix/lane/helminstall",
	"internal/matrix/lane/flux":   "internal/matrix/lane",
	"internal/testkit/lanetest":   "internal/matrix/lane",
	"internal/matrix/refs":        "internal/observe internal/matrix/why",
	"internal/matrix/gate":        "internal/matrix/lane internal/matrix/why internal/matrix/refs",
	"internal/matrix/artifacts":   "internal/matrix/gate internal/matrix/compare internal/matrix/dump",
	"internal/matrix": "internal/matrix/reuse internal/matrix/durations internal/matrix/artifacts internal/matrix/lane/helm internal/matrix/lane/argocd internal/matrix/lane/flux " +
		"internal/bundle/forgotten internal/infra/simulate internal/verify/checks internal/verify/snapshot/collect internal/verify/validate internal/verify/chaos internal/verify/probe internal/observe/placement",
	"internal/matrix/lane/helminstall": "internal/matrix/lane",

	"internal/verify/probe": "internal/infra internal/infra/simulate internal/recipe internal/util/texttemplate",

	"internal/workflow/vnodes":   "internal/infra",
	"internal/observe/placement": "internal/infra",
	"internal/workflow":          "internal/workflow/vnodes internal/observe/placement internal/verify/chaos internal/report internal/infra/addons internal/util/texttemplate",
	"internal/verify/chaos":      "internal/infra/simulate internal/observe",

	"internal/cli/metrics": "internal/matrix internal/workflow",

	"cmd/gpu-scheduler": "",

	"internal/cli/inventory":      "internal/recipe internal/infra/simulate",
	"internal/cli":                "internal/bundle/adjust internal/charts internal/cli/inventory internal/matrix internal/report internal/infra/stack",
	"internal/tools/release":      "internal/infra/stack",
	"internal/tools/release/tool": "internal/tools/release",
	"cmd/matrix":                  "internal/verify/validate internal/cli internal/matrix/discover internal/infra/embedded internal/infra/kind internal/bundle/foreign internal/cli/metrics",
	"cmd/aicr":                    "internal/cli internal/cli/document internal/verify/snapshot/collect internal/verify/validate/agent/runchecks",
	"test/kindnode":               "internal/infra/stack",
}

// apart are pairs that an arrow would allow, by way of others, and that must not import each other all the same.
var apart = map[string][]string{
	"internal/infra":          {"internal/recipe"}, // a cluster knows nothing of recipes
	"internal/infra/host":     {"internal/recipe", "internal/bundle"},
	"internal/infra/stack":    {"internal/recipe", "internal/bundle"},
	"internal/infra/simulate": {"internal/recipe"},
	"internal/infra/embedded": {"internal/recipe"},
	"internal/infra/kind":     {"internal/recipe"},
	"internal/observe":        {"internal/recipe"},
}

// light are packages that a tool for results only may import: none of these must come with them, however far away.
var (
	light = []string{"internal/result", "internal/report", "internal/matrix/discover"}
	heavy = []string{"helm.sh/helm", "sigs.k8s.io/kwok", "sigs.k8s.io/kustomize", "github.com/kyverno"}
)

// source is one package without its tests.
type source struct {
	files   map[string]*ast.File
	lines   int
	imports map[string]string // of this module's packages, to the file that has the import
}

// packages are this module's packages that have more than tests, by their directories.
func packages(t *testing.T) map[string]source {
	t.Helper()
	all := map[string]source{}
	fset := token.NewFileSet()
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if _, err := os.Stat(filepath.Join(file, "go.mod")); err == nil && file != root {
			return fs.SkipDir // another module
		}
		if d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && d.Name() != "..") {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		parsed, err := parser.ParseFile(fset, file, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		dir := path.Dir(rel)
		p, ok := all[dir]
		if !ok {
			p = source{files: map[string]*ast.File{}, imports: map[string]string{}}
		}
		p.files[rel] = parsed
		p.lines += fset.File(parsed.FileStart).LineCount()
		for _, spec := range parsed.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			if imported == module {
				p.imports["."] = rel
			} else if own, ok := strings.CutPrefix(imported, module+"/"); ok {
				p.imports[own] = rel
			}
		}
		all[dir] = p
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// reach is what a package may import: the leaves, its row, and what that reaches.
func reach(dir string) map[string]bool {
	may := map[string]bool{}
	if slices.Contains(leaves, dir) {
		return may
	}
	for _, leaf := range leaves {
		may[leaf] = true
	}
	for _, next := range strings.Fields(arrows[dir]) {
		may[next] = true
		maps.Copy(may, reach(next))
	}
	return may
}

// faults says what is wrong with the imports of packages, a line each.
func faults(all map[string]source) []string {
	var lines []string
	for _, dir := range slices.Sorted(maps.Keys(all)) {
		if _, ok := arrows[dir]; !ok && !slices.Contains(leaves, dir) {
			lines = append(lines, fmt.Sprintf("%s is in no row of this test: say what it may import, and add it to the map in docs/how-it-works.md", dir))
			continue
		}
		may := reach(dir)
		for _, imported := range slices.Sorted(maps.Keys(all[dir].imports)) {
			file := all[dir].imports[imported]
			switch {
			case slices.Contains(apart[dir], imported):
				lines = append(lines, fmt.Sprintf("%s: %s must not know %s", file, dir, imported))
			case may[imported]:
			case reach(imported)[dir]:
				lines = append(lines, fmt.Sprintf("%s: %s imports %s, which is the wrong way: the arrow goes from %s to %s", file, dir, imported, imported, dir))
			default:
				lines = append(lines, fmt.Sprintf("%s: %s imports %s, and no arrow leads there", file, dir, imported))
			}
		}
	}
	return lines
}

func TestImports(t *testing.T) {
	all := packages(t)
	for _, line := range faults(all) {
		t.Error(line)
	}
	for _, dir := range append(slices.Sorted(maps.Keys(arrows)), leaves...) {
		if _, ok := all[dir]; !ok {
			t.Errorf("%s has a row in this test and no code", dir)
		}
	}
}

// The test itself: it names the import that runs the wrong way.
func TestFaultsNamesTheWrongWay(t *testing.T) {
	with := func(dir, imported string) map[string]source {
		return map[string]source{dir: {imports: map[string]string{imported: dir + "/x.go"}}}
	}
	for _, c := range []struct{ dir, imported, want string }{
		{"internal/matrix", "internal/matrix/gate", ""},
		{"internal/bundle", "internal/result/reason", ""},
		{"internal/bundle", "internal/infra", "internal/bundle/x.go: internal/bundle imports internal/infra, which is the wrong way"},
		{"internal/result/reason", "internal/result", "which is the wrong way"},
		{"internal/matrix/gate", "internal/infra/embedded", "no arrow leads there"},
		{"internal/report", "internal/bundle", "no arrow leads there"},
		{"internal/infra", "internal/recipe", "internal/infra must not know internal/recipe"},
		{"internal/new", "internal/result", "internal/new is in no row"},
	} {
		got := strings.Join(faults(with(c.dir, c.imported)), "\n")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s imports %s: got %q, want %q", c.dir, c.imported, got, c.want)
		}
	}
}

func TestLightPackages(t *testing.T) {
	for _, dir := range light {
		out, err := exec.Command("go", "list", "-deps", module+"/"+dir).Output()
		if err != nil {
			t.Fatalf("go list -deps %s: %v", dir, err)
		}
		for dep := range strings.Lines(string(out)) {
			for _, h := range heavy {
				if strings.HasPrefix(dep, h) {
					t.Errorf("%s depends on %s", dir, strings.TrimSpace(dep))
				}
			}
		}
	}
}

func TestSizes(t *testing.T) {
	for dir, p := range packages(t) {
		if !strings.HasPrefix(dir, "cmd/") && (len(p.files) > maxFiles || p.lines > maxLines) {
			t.Errorf("%s has %d files and %d lines without its tests; at most %d and %d", dir, len(p.files), p.lines, maxFiles, maxLines)
		}
	}
}

// Lanes, the gate and the runner do not notice which platform made their cluster.
func TestMatrixDoesNotNameThePlatform(t *testing.T) {
	for dir, p := range packages(t) {
		if dir != "internal/matrix" && !strings.HasPrefix(dir, "internal/matrix/") {
			continue
		}
		for file, parsed := range p.files {
			ast.Inspect(parsed, func(n ast.Node) bool {
				var text string
				switch n := n.(type) {
				case *ast.Comment:
					text = n.Text
				case *ast.BasicLit:
					text = n.Value
				case *ast.Ident:
					text = n.Name
				}
				if strings.Contains(strings.ToLower(text), "embedded") {
					t.Errorf("%s names the platform: %s", file, text)
				}
				return true
			})
		}
	}
}

// Every package says what it is for, in one place.
func TestPackageComments(t *testing.T) {
	for dir, p := range packages(t) {
		var with []string
		for file, parsed := range p.files {
			if parsed.Doc.Text() != "" {
				with = append(with, file)
			}
		}
		if len(with) != 1 {
			t.Errorf("%s: %d files with a package comment, want 1: %q", dir, len(with), with)
		}
	}
}

// Every exported name has a comment that begins with it. Methods that a standard interface asks for need none, and neither do the methods of
// fakes: the interfaces that they stand in for have the comments.
func TestExportedNamesHaveComments(t *testing.T) {
	known := []string{"Error", "Unwrap", "Is", "String", "MarshalJSON", "UnmarshalJSON", "MarshalText", "UnmarshalText", "Write"}
	for dir, p := range packages(t) {
		for file, parsed := range p.files {
			check := func(name, doc string) {
				doc = strings.TrimPrefix(strings.TrimPrefix(doc, "A "), "An ")
				if ast.IsExported(name) && !strings.HasPrefix(doc, name) {
					t.Errorf("%s: %s has no comment that begins with its name", file, name)
				}
			}
			for _, decl := range parsed.Decls {
				switch d := decl.(type) {
				case *ast.FuncDecl:
					if d.Recv == nil || !strings.HasSuffix(dir, "test") && ast.IsExported(receiver(d)) && !slices.Contains(known, d.Name.Name) {
						check(d.Name.Name, d.Doc.Text())
					}
				case *ast.GenDecl:
					for _, spec := range d.Specs {
						if s, ok := spec.(*ast.TypeSpec); ok {
							check(s.Name.Name, d.Doc.Text()+s.Doc.Text())
						}
						if s, ok := spec.(*ast.ValueSpec); ok && d.Doc.Text()+s.Doc.Text()+s.Comment.Text() == "" {
							check(s.Names[0].Name, "") // a group has one comment for all
						}
					}
				}
			}
		}
	}
}

func receiver(d *ast.FuncDecl) string {
	of := d.Recv.List[0].Type
	if star, ok := of.(*ast.StarExpr); ok {
		of = star.X
	}
	if id, ok := of.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}
