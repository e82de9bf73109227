package archtest

import (
	"fmt"
	"go/ast"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// sentences are the fields and methods that have what a person reads: result.Finding's and those of
// the lists that become it.
var sentences = []string{"Cause", "Details", "Story", "Warnings", "Notes", "Remarks", "Complaints"}

// searching are the functions that look into a text, or edit it.
var searching = []string{"Contains", "ContainsAny", "HasPrefix", "HasSuffix", "Replace", "ReplaceAll", "Cut", "CutPrefix", "CutSuffix", "Index", "LastIndex", "Split", "SplitN", "Fields", "EqualFold",
	"MatchString", "FindString", "FindStringSubmatch", "FindStringIndex", "ReplaceAllString", "ReplaceAllStringFunc"}

// quoting are the files that may look into a sentence, because what they look for is not ours: the
// words of a program that has no code for what it means.
var quoting = map[string]string{
	"internal/matrix/gate/stuck.go":           "how Argo CD, Flux and Helm name a workload that failed in their own error",
	"internal/matrix/gate/lookup.go":          "whether a line is indented, for the next one to be alike; it looks for no meaning",
	"internal/matrix/why/addresses.go":        "what the API server says of a Service's address",
	"internal/matrix/why/namespace.go":        "how Helm begins the error of a CRD",
	"internal/matrix/why/served.go":           "how Helm and Argo CD say that a kind is not served",
	"internal/matrix/why/toolong.go":          "what the API server says of a value that is too long",
	"internal/verify/validate/agent/tests.go": "it removes a mark that a cluster's text may have, and looks for no meaning",
}

// owed are the files that still look into a sentence of our own. A row goes when what the sentence
// says gets a field; none is added.
var owed = map[string]string{
	"internal/matrix/daytwo/install_only.go": "whether a check of references missed an object, and which: compare the finding's ID and object",
	"internal/matrix/why/locate.go":          "the line that a finding's own edit names: the finding has a place",
	"internal/report/read.go":                "which notes are about earlier attempts: the result has a list of attempts",
	"internal/tools/bench/gangs.go":          "whether pods are left: the workflow's result can count them",
}

// maxOwed is how many there were when the rule came.
const maxOwed = 4

// reading returns the places at which a sentence is searched or edited, a line each, and which rows
// of quoting allow one.
func reading(files []goFile, may map[string]string) (lines []string, used map[string]bool) {
	used = map[string]bool{}
	for _, f := range files {
		if f.test {
			continue
		}
		//lint:ignore SA1019 the local variables of one file are all that is asked for, and types would take a minute
		elements := map[*ast.Object]bool{} // variables that range over sentences
		sentence := func(e ast.Node) (name string) {
			ast.Inspect(e, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.SelectorExpr:
					if slices.Contains(sentences, n.Sel.Name) {
						name = n.Sel.Name
					}
				case *ast.Ident:
					if n.Obj != nil && elements[n.Obj] {
						name = n.Name
					}
				case *ast.FuncLit:
					return false
				}
				return name == ""
			})
			return name
		}
		ast.Inspect(f.parsed, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.RangeStmt:
				if v, ok := n.Value.(*ast.Ident); ok && v.Obj != nil {
					if s, ok := n.X.(*ast.SelectorExpr); ok && slices.Contains(sentences, s.Sel.Name) {
						elements[v.Obj] = true
					}
				}
			case *ast.CallExpr:
				called, ok := n.Fun.(*ast.SelectorExpr)
				if !ok || !slices.Contains(searching, called.Sel.Name) || last(called.X) == "slices" {
					return true
				}
				for _, arg := range n.Args {
					if name := sentence(arg); name != "" {
						if may[f.rel] != "" {
							used[f.rel] = true
							continue
						}
						lines = append(lines, fmt.Sprintf("%s: %s.%s looks into a sentence (%s): give what it says a field of its own, and compare that", f.rel, last(called.X), called.Sel.Name, name))
					}
				}
			}
			return true
		})
	}
	return lines, used
}

// Results are data: no package finds out from a sentence what happened, or edits one.
func TestSentences(t *testing.T) {
	may := maps.Clone(quoting)
	maps.Copy(may, owed)
	lines, used := reading(allFiles(t), may)
	for _, line := range lines {
		t.Error(line)
	}
	if len(owed) > maxOwed {
		t.Errorf("%d files look into sentences of our own, at most %d", len(owed), maxOwed)
	}
	for file, why := range may {
		if !used[file] {
			t.Errorf("%s looks into no sentence any more: drop its row", file)
		}
		if len(strings.Fields(why)) < 4 {
			t.Errorf("%s: say why the sentence must be read: %q", file, why)
		}
	}
	_, files := example(t, map[string]string{
		"internal/a/a.go": `package a
func f() {
	_ = strings.Contains(f.Cause, "x") || re.MatchString(v.Failure.Cause())
	for _, w := range c.Warnings { w = strings.ReplaceAll(w, "a", "b") }
	for _, w := range c.Words { w = strings.ReplaceAll(w, "a", "b") }
	_ = slices.Contains(names, c.Name) || f.Cause == "" || append(f.Details, "x") != nil
}`,
		"internal/a/a_test.go": "package a\nfunc g() { strings.Contains(f.Cause, \"x\") }\n",
		"internal/a/quotes.go": "package a\nfunc h() { strings.Contains(f.Cause, \"x\") }\n",
	})
	lines, used = reading(files, map[string]string{"internal/a/quotes.go": "the words of Helm"})
	if len(lines) != 3 || !used["internal/a/quotes.go"] {
		t.Errorf("got %d places, want 3; %v:\n%s", len(lines), used, strings.Join(lines, "\n"))
	}
}

// proseName are the names of lists that hold sentences.
var proseName = regexp.MustCompile(`(?i)(warnings?|notes?|details|lines|complaints|problems|causes|remarks|story|sentences|reasons|advice|hints|said|refused|refusals|differences)$`)

// prose returns the lists of sentences that packages hand to others: exported fields, and results of
// exported functions and methods, of type []string.
func prose(all map[string]source, files []goFile) []string {
	crossing := map[string]bool{} // packages that another room imports
	for _, f := range files {
		for _, dir := range ownImports(f.parsed) {
			if !f.test && roomOf(dir) != roomOf(f.dir) {
				crossing[dir] = true
			}
		}
	}
	texts := func(e ast.Expr) bool {
		a, ok := e.(*ast.ArrayType)
		if !ok || a.Len != nil {
			return false
		}
		id, ok := a.Elt.(*ast.Ident)
		return ok && id.Name == "string"
	}
	var lines []string
	for dir, p := range all {
		if !crossing[dir] {
			continue
		}
		for file, parsed := range p.files {
			for _, d := range parsed.Decls {
				switch d := d.(type) {
				case *ast.FuncDecl:
					if !d.Name.IsExported() || d.Type.Results == nil {
						continue
					}
					for _, r := range d.Type.Results.List {
						if !texts(r.Type) {
							continue
						}
						if len(r.Names) == 0 && proseName.MatchString(d.Name.Name) {
							lines = append(lines, file+": "+d.Name.Name)
						}
						for _, n := range r.Names {
							if proseName.MatchString(n.Name) || proseName.MatchString(d.Name.Name) {
								lines = append(lines, file+": "+d.Name.Name+" ("+n.Name+")")
							}
						}
					}
				case *ast.GenDecl:
					for _, s := range d.Specs {
						of, ok := s.(*ast.TypeSpec)
						if !ok || !of.Name.IsExported() {
							continue
						}
						st, ok := of.Type.(*ast.StructType)
						if !ok {
							continue
						}
						for _, field := range st.Fields.List {
							for _, n := range field.Names {
								if n.IsExported() && texts(field.Type) && proseName.MatchString(n.Name) {
									lines = append(lines, file+": "+of.Name.Name+"."+n.Name)
								}
							}
						}
					}
				}
			}
		}
	}
	slices.Sort(lines)
	return lines
}

func TestProse(t *testing.T) {
	all, files := example(t, map[string]string{
		"internal/bundle/b.go": `package bundle
type Bundle struct { Warnings, Names []string; notes []string; Notes string }
func Check() (warnings []string, err error) { return nil, nil }
func (b *Bundle) Notes() []string { return nil }
func Names() []string { return nil }
func lines() []string { return nil }
`,
		"internal/bundle/inner/i.go": "package inner\nfunc Warnings() []string { return nil }\n",
		"internal/matrix/m.go":       "package matrix\n" + imports("internal/bundle"),
		"internal/bundle/c.go":       "package bundle\n" + imports("internal/bundle/inner"),
	})
	if got := prose(all, files); len(got) != 3 {
		t.Errorf("got %d lists, want 3:\n%s", len(got), strings.Join(got, "\n"))
	}
}
