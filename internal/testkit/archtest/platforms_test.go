package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// choosing is the file in which names stand for platforms, and named are the files that may write
// one: each platform has its own, and recipes have a value that is called the same.
const choosing = "internal/command/platform/platforms.go"

var named = map[string][]string{
	"embedded": {"internal/infra/embedded/platform.go", "internal/command/cli/recipes.go"},
	"kind":     {"internal/infra/kind/platform.go"},
}

// platformNames returns the places that choose by a platform's name, a line each: a comparison with
// the name, a constant for it, a use of the platform's constant, and a comparison of what a platform
// calls itself.
func platformNames(all map[string]source) []string {
	var lines []string
	for _, p := range all {
		for file, parsed := range p.files {
			found := func(what string) {
				lines = append(lines, fmt.Sprintf("%s: %s: only %s knows platforms by name; ask the platform's infra.Limits", file, what, choosing))
			}
			check := func(e ast.Expr) {
				switch e := e.(type) {
				case *ast.BasicLit:
					name := strings.Trim(e.Value, `"`)
					if allowed, ok := named[name]; ok && !slices.Contains(allowed, file) && (name != "kind" || !strings.HasPrefix(file, "internal/recipe/")) {
						found("compares with " + e.Value)
					}
				case *ast.CallExpr:
					if called, ok := e.Fun.(*ast.SelectorExpr); ok && called.Sel.Name == "Kind" && strings.EqualFold(last(called.X), "platform") {
						found("compares a platform's Kind")
					}
				}
			}
			ast.Inspect(parsed, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.BinaryExpr:
					if n.Op == token.EQL || n.Op == token.NEQ {
						check(n.X)
						check(n.Y)
					}
				case *ast.SwitchStmt:
					check(n.Tag)
				case *ast.CaseClause:
					for _, e := range n.List {
						check(e)
					}
				case *ast.ValueSpec:
					for _, e := range n.Values {
						check(e)
					}
				case *ast.SelectorExpr:
					if of := last(n.X); n.Sel.Name == "Name" && (of == "embedded" || of == "kind") && file != choosing {
						found("uses " + of + ".Name")
					}
				}
				return true
			})
		}
	}
	slices.Sort(lines)
	return lines
}

// last is the last name of an expression such as a.b.c.
func last(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

// One file chooses the platform by its name.
func TestPlatformNames(t *testing.T) {
	for _, line := range platformNames(packages(t)) {
		t.Error(line)
	}
	const text = `package x
const onKind = "kind"
var a = f.cluster == "embedded" || "kind" != f.cluster || f.cluster == kind.Name || r.Platform.Kind() == other
func f() { switch cluster { case "kind": }; switch platform.Kind() {} }
var no = map[string]any{"kind": "x"}["kind"] == nil || t.Kind() == reflect.Map || f.kind.Len == "kinds"
`
	parsed, err := parser.ParseFile(token.NewFileSet(), "x.go", text, 0)
	if err != nil {
		t.Fatal(err)
	}
	got := platformNames(map[string]source{"cmd/matrix": {files: map[string]*ast.File{"cmd/matrix/x.go": parsed}}})
	if len(got) != 7 {
		t.Errorf("got %d places, want 7:\n%s", len(got), strings.Join(got, "\n"))
	}
}
