package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
)

// registered are the kinds of packages that may have one importer: that one is the list of all of a
// kind. Such a package says in Go that it is one (var _ lane.Lane = …), or is in the kind's folder.
var registered = []struct{ kind, iface, folder string }{
	{"lane", "lane.Lane", ""},
	{"platform", "infra.Platform", ""},
	{"deployer", "bundle.Deployer", ""},
	{"executor of a validation's checks", "validate.Executor", ""},
	{"command", "", "internal/command/"},
	{"check", "", "internal/matrix/checks/"},
	{"judge of what one delivery left in the cluster", "", "internal/matrix/intact"},
	{"judge of the deliveries after it, and of the removal", "", "internal/matrix/daytwo"},
	{"reader of one maker's files", "", "internal/intake/"},
}

// kindOf is the registered kind of a package, if it is of one.
func kindOf(dir string, p source) string {
	for _, r := range registered {
		if r.folder != "" && strings.HasPrefix(dir+"/", strings.TrimSuffix(r.folder, "/")+"/") && dir+"/" != r.folder {
			return r.kind
		}
		for _, f := range p.files {
			for _, d := range f.Decls {
				g, ok := d.(*ast.GenDecl)
				if !ok || g.Tok != token.VAR {
					continue
				}
				for _, s := range g.Specs {
					v, ok := s.(*ast.ValueSpec)
					if !ok || v.Names[0].Name != "_" {
						continue
					}
					if of, ok := v.Type.(*ast.SelectorExpr); ok && r.iface != "" && last(of.X)+"."+of.Sel.Name == r.iface {
						return r.kind
					}
				}
			}
		}
	}
	return ""
}

// importers are the packages that import each one, tests of other packages included.
func importers(files []goFile) map[string]map[string]bool {
	by := map[string]map[string]bool{}
	for _, f := range files {
		for _, dir := range ownImports(f.parsed) {
			if dir == f.dir {
				continue
			}
			if by[dir] == nil {
				by[dir] = map[string]bool{}
			}
			by[dir][f.dir] = true
		}
	}
	return by
}

// lonely returns the packages that should be files of their only importer, a line each.
func lonely(all map[string]source, files []goFile) []string {
	by := importers(files)
	var lines []string
	for _, dir := range slices.Sorted(maps.Keys(all)) {
		main := false
		for _, f := range all[dir].files {
			main = main || f.Name.Name == "main"
		}
		if main || dir == "." || len(by[dir]) > 1 || kindOf(dir, all[dir]) != "" {
			continue
		}
		if len(by[dir]) == 0 {
			lines = append(lines, dir+" is imported by nothing: delete it")
			continue
		}
		lines = append(lines, fmt.Sprintf("%s is imported by %s only, and is of no registered kind: make it files of that package", dir, slices.Collect(maps.Keys(by[dir]))[0]))
	}
	return lines
}

// A package is a thing that several others need, or one of a registered kind.
func TestImporters(t *testing.T) {
	all, files := packages(t), allFiles(t)
	for _, line := range lonely(all, files) {
		t.Error(line)
	}
	of := map[string]bool{}
	for dir, p := range all {
		of[kindOf(dir, p)] = true
	}
	for _, r := range registered {
		if !of[r.kind] && !slices.Contains([]string{"deployer", "check"}, r.kind) {
			t.Errorf("nothing is a %s: drop the row of registered", r.kind)
		}
	}
}

// example is a module of a few files, by their paths.
func example(t *testing.T, texts map[string]string) (map[string]source, []goFile) {
	t.Helper()
	var files []goFile
	all := map[string]source{}
	for _, rel := range slices.Sorted(maps.Keys(texts)) {
		parsed, err := parser.ParseFile(token.NewFileSet(), rel, texts[rel], parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		f := goFile{rel, path.Dir(rel), strings.HasSuffix(rel, "_test.go"), parsed, wrapped(texts[rel])}
		files = append(files, f)
		if !f.test {
			if _, ok := all[f.dir]; !ok {
				all[f.dir] = source{files: map[string]*ast.File{}}
			}
			all[f.dir].files[rel] = parsed
		}
	}
	return all, files
}

func imports(dirs ...string) string {
	text := ""
	for _, d := range dirs {
		text += fmt.Sprintf("import %q\n", module+"/"+d)
	}
	return text
}

func TestLonely(t *testing.T) {
	all, files := example(t, map[string]string{
		"cmd/matrix/main.go":               "package main\n" + imports("internal/a", "internal/b", "internal/matrix/lane/x", "internal/intake/y"),
		"internal/a/a.go":                  "package a\n" + imports("internal/c", "internal/d"),
		"internal/b/b.go":                  "package b\n" + imports("internal/c"),
		"internal/b/b_test.go":             "package b\n" + imports("internal/d"),
		"internal/c/c.go":                  "package c\n",
		"internal/d/d.go":                  "package d\n",
		"internal/e/e.go":                  "package e\n",
		"internal/e/e_test.go":             "package e_test\n" + imports("internal/e"),
		"internal/matrix/lane/x/lane.go":   "package x\nvar _ lane.Lane = (*Lane)(nil)\n",
		"internal/intake/y/y.go":           "package y\n",
		"internal/matrix/intactness/in.go": "package intactness\n",
	})
	want := []string{"internal/a is imported by cmd/matrix only", "internal/b is imported by cmd/matrix only", "internal/e is imported by nothing", "internal/matrix/intactness is imported by nothing"}
	got := lonely(all, files)
	if len(got) != len(want) {
		t.Fatalf("got %d lines, want %d:\n%s", len(got), len(want), strings.Join(got, "\n"))
	}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("got %q, want %q", got[i], want[i])
		}
	}
}

// twice returns the directories whose packages have one name, a line each.
func twice(files []goFile) []string {
	by := map[string]map[string]bool{}
	for _, f := range files {
		name := path.Base(f.dir)
		if by[name] == nil {
			by[name] = map[string]bool{}
		}
		by[name][f.dir] = true
	}
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(by)) {
		dirs := by[name]
		maps.DeleteFunc(dirs, func(dir string, _ bool) bool { return path.Dir(dir) == "cmd" }) // called as users call it
		if len(dirs) > 1 && name != "." {
			lines = append(lines, fmt.Sprintf("%s are both called %s: a name stands for one thing", strings.Join(slices.Sorted(maps.Keys(dirs)), " and "), name))
		}
	}
	return lines
}

// A package's name is used once in this module, so that it says in a sentence which one is meant.
func TestPackageNames(t *testing.T) {
	for _, line := range twice(allFiles(t)) {
		t.Error(line)
	}
	_, files := example(t, map[string]string{
		"internal/a/kustomize/k.go": "package kustomize\n", "internal/b/kustomize/k.go": "package kustomize\n", "internal/b/b.go": "package b\n", "internal/b/b_test.go": "package b_test\n", "cmd/b/main.go": "package main\n",
	})
	if got := twice(files); len(got) != 1 || !strings.HasPrefix(got[0], "internal/a/kustomize and internal/b/kustomize") {
		t.Errorf("got %q", got)
	}
}

// exported are the package's names for others, with the types that stand in them: those need an
// exported name although nobody else may write it.
func exported(p source) (names, mentioned map[string]bool) {
	names, mentioned = map[string]bool{}, map[string]bool{}
	mention := func(n ast.Node) {
		if n == nil {
			return
		}
		ast.Inspect(n, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Field:
				for _, name := range n.Names { // what a struct keeps to itself
					if !name.IsExported() && len(n.Names) == 1 {
						_, isFunc := n.Type.(*ast.FuncType)
						return isFunc
					}
				}
			case *ast.SelectorExpr:
				return false
			case *ast.Ident:
				mentioned[n.Name] = true
			}
			return true
		})
	}
	signature := func(f *ast.FuncType) {
		for _, list := range []*ast.FieldList{f.TypeParams, f.Params, f.Results} {
			if list != nil {
				for _, field := range list.List {
					mention(field.Type)
				}
			}
		}
	}
	for _, f := range p.files {
		ast.Inspect(f, func(n ast.Node) bool { // decoders fill what is embedded only if it is exported
			if s, ok := n.(*ast.StructType); ok {
				for _, field := range s.Fields.List {
					if id := embedded(field); id != "" {
						mentioned[id] = true
					}
				}
			}
			return true
		})
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil && d.Name.IsExported() {
					names[d.Name.Name] = true
				}
				if d.Name.IsExported() {
					signature(d.Type)
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.TypeSpec:
						if s.Name.IsExported() {
							names[s.Name.Name] = true
							mention(s.Type)
						}
					case *ast.ValueSpec:
						for _, n := range s.Names {
							if n.IsExported() {
								names[n.Name] = true
								if s.Type != nil {
									mention(s.Type)
								}
								for _, v := range s.Values { // a value's type, as far as it is written
									mention(v)
								}
							}
						}
					}
				}
			}
		}
	}
	return names, mentioned
}

// embedded is the name of an embedded type of the same package.
func embedded(f *ast.Field) string {
	e := f.Type
	if s, ok := e.(*ast.StarExpr); ok {
		e = s.X
	}
	if id, ok := e.(*ast.Ident); ok && len(f.Names) == 0 {
		return id.Name
	}
	return ""
}

// users are the packages that name each exported name of each package; a package's own external
// tests are one of them.
func users(files []goFile) map[string]map[string]map[string]bool {
	by := map[string]map[string]map[string]bool{}
	for _, f := range files {
		own := ownImports(f.parsed)
		ast.Inspect(f.parsed, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			x, ok := s.X.(*ast.Ident)
			if !ok || x.Obj != nil {
				return true
			}
			dir, ok := own[x.Name]
			if !ok {
				return true
			}
			if by[dir] == nil {
				by[dir] = map[string]map[string]bool{}
			}
			if by[dir][s.Sel.Name] == nil {
				by[dir][s.Sel.Name] = map[string]bool{}
			}
			by[dir][s.Sel.Name][f.dir] = true
			return true
		})
	}
	return by
}

// exports returns the names that are exported for nobody, and those that one package needs.
func exports(all map[string]source, files []goFile) (nobody, one []string) {
	by := users(files)
	for _, dir := range slices.Sorted(maps.Keys(all)) {
		if strings.HasPrefix(dir, "cmd/") || roomOf(dir) == "testkit" {
			continue
		}
		names, mentioned := exported(all[dir])
		for _, name := range slices.Sorted(maps.Keys(names)) {
			switch by := by[dir][name]; {
			case len(by) == 0 && !mentioned[name] && roomOf(dir) != "test/kindnode":
				nobody = append(nobody, fmt.Sprintf("%s exports %s, which no other package names: begin it with a small letter", dir, name))
			case len(by) == 1:
				one = append(one, dir+"."+name)
			}
		}
	}
	return nobody, one
}

// What a package exports, others need.
func TestExports(t *testing.T) {
	nobody, _ := exports(packages(t), allFiles(t))
	for _, line := range nobody {
		t.Error(line)
	}
	all, files := example(t, map[string]string{
		"internal/a/a.go":      "package a\nfunc Both() Kind { return 0 }\nfunc One() {}\nfunc Nobody() {}\nfunc Tested() {}\ntype Kind int\ntype hidden struct { Embedded; x Lost }\ntype Embedded struct{}\ntype Lost int\nfunc own() { Nobody() }\n",
		"internal/a/a_test.go": "package a_test\n" + imports("internal/a") + "func f() { a.Tested() }\n",
		"internal/b/b.go":      "package b\n" + imports("internal/a") + "func f() { a.Both(); a.One(); var b struct{ Nobody int }; b.Nobody++ }\n",
		"internal/c/c.go":      "package c\n" + imports("internal/a") + "func f() { a.Both(); a := b{}; a.Nobody() }\n",
	})
	nobody, one := exports(all, files)
	if got := strings.Join(nobody, "\n"); len(nobody) != 2 || !strings.Contains(got, "exports Lost,") || !strings.Contains(got, "exports Nobody,") {
		t.Errorf("got %q, want Lost and Nobody", nobody)
	}
	if !slices.Equal(one, []string{"internal/a.One", "internal/a.Tested"}) {
		t.Errorf("got %q, want One and Tested", one)
	}
}
