// Package archtest holds the shape of this module: which package may import which, what must stay
// out of the small ones, when something is a package of its own (importers_test.go), how much a room
// may have (budgets_test.go, budgets.yaml), and that nobody reads another package's sentences
// (sentences_test.go). docs/how-it-works.md has the map.
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
	"sync"
	"testing"
)

const (
	module = "github.com/nvidia/aicr-action"
	root   = "../../.."
	// maxRooms is how many folders internal/ may have: as many as a reader finds a place in by
	// name.
	maxRooms = 15
)

// rooms says, for each room, which other rooms it may import. A room is a folder of internal/ with
// all that is below it, a command, or one of the packages outside of internal/. Arrows lead down
// this list: util <- result, recipe <- charts <- bundle <- intake, infra <- observe <- verify <-
// matrix <- cmd.
var rooms = []struct{ name, may string }{
	{"util", ""},
	{"kwok", ""},
	{".", ""}, // the files that the binary carries along
	{"result", "util"},
	{"report", "util result"},
	{"recipe", "util"},
	{"charts", "util result recipe"},
	{"bundle", "util result recipe charts kwok ."},
	{"intake", "util result recipe charts bundle"},
	{"infra", "util result bundle kwok"},
	{"observe", "util result bundle infra"},
	{"verify", "util result recipe infra observe kwok ."},
	{"matrix", "util result recipe charts bundle infra observe verify"},
	{"workflow", "util result report infra observe verify kwok ."},
	{"command", "util result report recipe charts bundle intake infra observe verify matrix workflow kwok ."},
	{"cmd/matrix", "util bundle command"},
	{"cmd/aicr", "util result report recipe charts bundle verify command kwok ."},
	{"cmd/gpu-scheduler", "util"},
	{"tools", "util result report recipe charts bundle infra observe workflow kwok"},
	{"testkit", "util result recipe charts bundle infra observe verify matrix kwok ."},
	{"test/kindnode", "infra kwok"},
}

// apart has packages that must not import a room, although other packages of their own room may.
var apart = map[string]string{
	"internal/infra/host":            "bundle",
	"internal/infra/stack":           "bundle",
	"internal/infra/apiproxy":        "bundle",
	"internal/infra/clusterstate":    "bundle",
	"internal/observe":               "recipe",
	"internal/matrix/gate":           "recipe",
	"internal/matrix/discover":       "infra",
	"internal/matrix/reuse":          "infra",
	"internal/matrix/durations":      "infra",
	"internal/command/cli":           "intake",
	"internal/command/cli/docio":     "matrix",
	"internal/command/cli/inventory": "intake",
}

// light are packages that a tool for results only may import: none of these must come with them,
// however far away.
var (
	light = []string{"internal/result", "internal/report", "internal/matrix/discover"}
	heavy = []string{"helm.sh/helm", "sigs.k8s.io/kwok", "sigs.k8s.io/kustomize", "github.com/kyverno"}
)

// goFile is one Go file of this module.
type goFile struct {
	rel, dir string
	test     bool // of the package's tests, or of others' tests of it
	parsed   *ast.File
	lines    int // at 120 columns
}

// goFiles are all Go files of this module, in the order of their paths.
var goFiles = sync.OnceValues(func() ([]goFile, error) {
	var all []goFile
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
		if d.IsDir() || !strings.HasSuffix(file, ".go") {
			return nil
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		parsed, err := parser.ParseFile(fset, file, text, parser.ParseComments)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		all = append(all, goFile{rel, path.Dir(rel), strings.HasSuffix(rel, "_test.go"), parsed, wrapped(string(text))})
		return nil
	})
	return all, err
})

func allFiles(t *testing.T) []goFile {
	t.Helper()
	all, err := goFiles()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// ownImports are the directories of this module that a file imports, by the names that it has for
// them; packages are called like their directories.
func ownImports(f *ast.File) map[string]string {
	names := map[string]string{}
	for _, spec := range f.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		dir := "."
		if imported != module {
			var own bool
			if dir, own = strings.CutPrefix(imported, module+"/"); !own {
				continue
			}
		}
		name := path.Base(imported)
		if dir == "." {
			name = "aicraction"
		}
		if spec.Name != nil {
			name = spec.Name.Name
		}
		names[name] = dir
	}
	return names
}

// source is one package without its tests.
type source struct {
	files   map[string]*ast.File
	imports map[string]string // of this module's packages, to the file that has the import
}

// packages are this module's packages that have more than tests, by their directories.
func packages(t *testing.T) map[string]source {
	t.Helper()
	all := map[string]source{}
	for _, f := range allFiles(t) {
		if f.test {
			continue
		}
		p, ok := all[f.dir]
		if !ok {
			p = source{files: map[string]*ast.File{}, imports: map[string]string{}}
		}
		p.files[f.rel] = f.parsed
		for _, imported := range ownImports(f.parsed) {
			p.imports[imported] = f.rel
		}
		all[f.dir] = p
	}
	return all
}

// roomOf is the room that a package is in.
func roomOf(dir string) string {
	if dir == "." {
		return "."
	}
	parts := strings.Split(dir, "/")
	switch parts[0] {
	case "internal":
		return parts[1]
	case "cmd", "test":
		return strings.Join(parts[:min(2, len(parts))], "/")
	}
	return parts[0]
}

// faults returns what is wrong with the imports between rooms, a line each.
func faults(all map[string]source) []string {
	may := map[string][]string{}
	for _, r := range rooms {
		may[r.name] = strings.Fields(r.may)
	}
	var lines []string
	for _, dir := range slices.Sorted(maps.Keys(all)) {
		own := roomOf(dir)
		if _, ok := may[own]; !ok {
			lines = append(lines, fmt.Sprintf("%s is in no room of this test: say which rooms %s may import, and add it to the map in docs/how-it-works.md", dir, own))
			continue
		}
		for _, imported := range slices.Sorted(maps.Keys(all[dir].imports)) {
			file, room := all[dir].imports[imported], roomOf(imported)
			switch {
			case room != own && apart[dir] == room:
				lines = append(lines, fmt.Sprintf("%s: %s must not know %s", file, dir, room))
			case room == own || slices.Contains(may[own], room):
			case slices.Contains(may[room], own):
				lines = append(lines, fmt.Sprintf("%s: %s imports %s, which is the wrong way: the arrow goes from %s to %s", file, dir, imported, room, own))
			default:
				lines = append(lines, fmt.Sprintf("%s: %s imports %s, and no arrow leads from %s to %s", file, dir, imported, own, room))
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
	used := map[string]bool{}
	inside := map[string]bool{}
	for dir := range all {
		used[roomOf(dir)] = true
		if strings.HasPrefix(dir, "internal/") {
			inside[roomOf(dir)] = true
		}
	}
	for _, r := range rooms {
		if !used[r.name] {
			t.Errorf("the room %s has no code", r.name)
		}
	}
	if len(inside) > maxRooms {
		t.Errorf("internal/ has %d rooms, at most %d", len(inside), maxRooms)
	}
}

// Arrows lead down the list of rooms.
func TestRooms_Order(t *testing.T) {
	seen := []string{}
	for _, r := range rooms {
		for _, to := range strings.Fields(r.may) {
			if !slices.Contains(seen, to) {
				t.Errorf("%s may import %s, which stands below it in the list", r.name, to)
			}
		}
		seen = append(seen, r.name)
	}
}

// The test itself: it names the import that runs the wrong way.
func TestFaults(t *testing.T) {
	for _, c := range []struct{ dir, imported, want string }{
		{"internal/matrix", "internal/matrix/gate", ""},
		{"internal/bundle", "internal/result/reason", ""},
		{"internal/bundle", "internal/infra", "internal/bundle/x.go: internal/bundle imports internal/infra, which is the wrong way"},
		{"internal/result/reason", "internal/report", "which is the wrong way"},
		{"internal/report", "internal/bundle", "no arrow leads from report to bundle"},
		{"internal/infra", "internal/recipe", "no arrow leads from infra to recipe"},
		{"internal/matrix/gate", "internal/recipe", "internal/matrix/gate must not know recipe"},
		{"internal/new", "internal/result", "internal/new is in no room"},
	} {
		got := strings.Join(faults(map[string]source{c.dir: {imports: map[string]string{c.imported: c.dir + "/x.go"}}}), "\n")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s imports %s: got %q, want %q", c.dir, c.imported, got, c.want)
		}
	}
}

// commands are the packages of internal/command: each may import those that stand above it. The
// commands of matrix are of no other program.
var commands = []string{"cli/docio", "cli/inventory", "cli", "platform", "metrics", "bundles", "reports", "clusters", "inspect", "workflows", "run"}

// wrongCommands returns the imports of packages of commands that run the wrong way, a line each.
func wrongCommands(all map[string]source) []string {
	var lines []string
	for _, dir := range slices.Sorted(maps.Keys(all)) {
		own, isCommand := strings.CutPrefix(dir, "internal/command/")
		at := slices.Index(commands, own)
		if isCommand && at < 0 {
			lines = append(lines, dir+" is not among commands: say which of them it may import")
			continue
		}
		for _, imported := range slices.Sorted(maps.Keys(all[dir].imports)) {
			other, ok := strings.CutPrefix(imported, "internal/command/")
			if ok && (isCommand && slices.Index(commands, other) > at || !isCommand && dir != "cmd/matrix" && !strings.HasPrefix(other+"/", "cli/")) {
				lines = append(lines, fmt.Sprintf("%s: %s must not import %s", all[dir].imports[imported], dir, imported))
			}
		}
	}
	return lines
}

// What all commands share knows none of them, and what several share does not know these.
func TestCommands_Order(t *testing.T) {
	for _, line := range wrongCommands(packages(t)) {
		t.Error(line)
	}
	got := wrongCommands(map[string]source{
		"internal/command/platform": {imports: map[string]string{"internal/command/run": "x.go"}},
		"internal/command/run":      {imports: map[string]string{"internal/command/cli": "x.go"}},
		"internal/command/new":      {},
		"cmd/aicr":                  {imports: map[string]string{"internal/command/cli/docio": "x.go", "internal/command/inspect": "y.go"}},
	})
	want := []string{"y.go: cmd/aicr must not import internal/command/inspect", "internal/command/new is not among commands: say which of them it may import", "x.go: internal/command/platform must not import internal/command/run"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// inits returns the init functions of non-test code, a line each. An import must not change what a
// program is: only its main decides that. No exceptions are needed.
func inits(all map[string]source) []string {
	var lines []string
	for _, p := range all {
		for file, parsed := range p.files {
			for _, d := range parsed.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
					lines = append(lines, file+" has a func init: call it from main, or from what needs it")
				}
			}
		}
	}
	slices.Sort(lines)
	return lines
}

func TestInits(t *testing.T) {
	for _, line := range inits(packages(t)) {
		t.Error(line)
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\nfunc init() {}\nfunc (t T) init() {}\n", 0)
	if err != nil {
		t.Fatal(err)
	}
	if got := inits(map[string]source{"x": {files: map[string]*ast.File{"x.go": parsed}}}); len(got) != 1 {
		t.Errorf("an init and a method of that name: got %q", got)
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

// Lanes, the gate and the runner do not notice which platform made their cluster.
func TestMatrix_NoPlatformNames(t *testing.T) {
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

// Every exported name has a comment that begins with it. Methods of standard interfaces and of
// fakes need none, since the interfaces have the comments.
func TestExportedNames_Comments(t *testing.T) {
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
