package main

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rhysd/actionlint"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/command/reports"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// repository is the top of the repository.
const repository = "../.."

// matrixDocument is README.md, another page at the top, or one of docs/ or of an example.
type matrixDocument struct {
	name   string // from the top of the repository
	blocks []block
	spans  []string // code spans outside of blocks, on one line each
	text   string   // without blocks
}

// block is a fenced code block.
type block struct {
	language, text string
	line           int // of its first line, in the document
}

// documents are what a reader finds commands in.
func documents(t *testing.T) []matrixDocument {
	t.Helper()
	files := []string{filepath.Join(repository, "README.md")}
	for _, pattern := range []string{"[A-QS-Z]*.md", "docs/*.md", "docs/contributing/*.md", "examples/*/*.md"} {
		found, err := filepath.Glob(filepath.Join(repository, filepath.FromSlash(pattern)))
		if err != nil || len(found) == 0 {
			t.Fatalf("no pages %s: %v", pattern, err)
		}
		files = append(files, found...)
	}
	var all []matrixDocument
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name, err := filepath.Rel(repository, file)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, parseDocument(filepath.ToSlash(name), string(raw)))
	}
	return all
}

var (
	fence    = regexp.MustCompile("^\\s*```(\\S*)\\s*$")
	codeSpan = regexp.MustCompile("`([^`]+)`")
)

func parseDocument(name, content string) matrixDocument {
	d := matrixDocument{name: name}
	var prose []string
	open := false
	for i, line := range strings.Split(content, "\n") {
		m := fence.FindStringSubmatch(line)
		switch {
		case m != nil && !open:
			d.blocks = append(d.blocks, block{language: m[1], line: i + 2})
			open = true
		case m != nil:
			open = false
		case open:
			d.blocks[len(d.blocks)-1].text += line + "\n"
		default:
			prose = append(prose, line)
		}
	}
	d.text = strings.Join(prose, "\n")
	for _, m := range codeSpan.FindAllStringSubmatch(d.text, -1) {
		d.spans = append(d.spans, strings.ReplaceAll(strings.Join(strings.Fields(m[1]), " "), `\|`, "|"))
	}
	return d
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#{1,6} (.+)$`)
	notSlug = regexp.MustCompile(`[^\p{L}\p{N}\-_ ]`)
)

// anchors are those that GitHub makes of a page's headings.
func anchors(text string) []string {
	var all []string
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		all = append(all, strings.ReplaceAll(notSlug.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	return all
}

// TestDocumentLinks: every relative link leads to a file, every anchor to a heading.
func TestDocumentLinks(t *testing.T) {
	for _, d := range documents(t) {
		for _, m := range link.FindAllStringSubmatch(d.text, -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			to, anchor, _ := strings.Cut(m[1], "#")
			target := d.name
			if to != "" {
				target = path.Join(path.Dir(d.name), to)
			}
			file := filepath.Join(repository, filepath.FromSlash(target))
			info, err := os.Stat(file)
			if err != nil || strings.HasPrefix(target, "..") {
				t.Errorf("%s: the link to %s leads nowhere: %v", d.name, m[1], err)
				continue
			}
			if anchor == "" || info.IsDir() {
				continue
			}
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Contains(anchors(parseDocument(target, string(raw)).text), anchor) {
				t.Errorf("%s: %s has no heading for #%s", d.name, target, anchor)
			}
		}
	}
}

// TestDocumentIndex: README.md can be read in four minutes, and docs/ has few pages, each of which the
// index names.
func TestDocumentIndex(t *testing.T) {
	all := documents(t)
	raw, err := os.ReadFile(filepath.Join(repository, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	if words := len(strings.Fields(string(raw))); words > 1000 {
		t.Errorf("README.md has %d words, want 1,000 at most", words)
	}
	index := all[slices.IndexFunc(all, func(d matrixDocument) bool { return d.name == "docs/README.md" })]
	pages := 0
	for _, d := range all {
		page, ok := strings.CutPrefix(d.name, "docs/")
		if !ok || d.name == index.name {
			continue
		}
		if !strings.Contains(page, "/") {
			pages++
		}
		if !strings.Contains(index.text, "]("+page+")") {
			t.Errorf("docs/README.md does not name %s", page)
		}
	}
	if pages > 16 { // checks.md, which is generated, is one
		t.Errorf("docs/ has %d pages, want 16 at most: add a section to one of them", pages)
	}
}

// TestDocumentWorkflows: actionlint finds nothing in the workflows that the pages show, the inputs
// of this action included.
func TestDocumentWorkflows(t *testing.T) {
	top, err := filepath.Abs(repository)
	if err != nil {
		t.Fatal(err)
	}
	project, err := actionlint.NewProject(top)
	if err != nil {
		t.Fatal(err)
	}
	shown := 0
	for _, d := range documents(t) {
		for _, b := range d.blocks {
			if b.language != "yaml" {
				continue
			}
			shown++
			linter, err := actionlint.NewLinter(io.Discard, &actionlint.LinterOptions{})
			if err != nil {
				t.Fatal(err)
			}
			// In this repository the action is ./, whose inputs the linter can read.
			local := regexp.MustCompile(`nvidia/aicr-action(/\S+?)?@main`).ReplaceAllStringFunc(b.text, func(m string) string {
				return "./" + strings.TrimPrefix(strings.TrimSuffix(strings.TrimPrefix(m, "nvidia/aicr-action"), "@main"), "/")
			})
			if local == b.text {
				t.Errorf("%s:%d: the workflow does not use this action", d.name, b.line)
			}
			found, err := linter.Lint(filepath.Join(top, ".github", "workflows", "shown.yaml"), []byte(local), project)
			if err != nil {
				t.Fatalf("%s:%d: %v", d.name, b.line, err)
			}
			for _, e := range found {
				t.Errorf("%s:%d: %s [%s]", d.name, b.line+e.Line-1, e.Message, e.Kind)
			}
		}
	}
	if shown == 0 {
		t.Error("no page shows a workflow")
	}
}

var (
	codes        = regexp.MustCompile(`(?i)\b(?:codes?|exit) ((?:\d+(?:, | or | and | to )?)+)`)
	number       = regexp.MustCompile(`\d+`)
	constantName = regexp.MustCompile(`^[A-Z][A-Z0-9]*(_[A-Z0-9]+)+$`)
	reasonCode   = regexp.MustCompile("`([A-Z][A-Z_]+)` \\((\\d+)")
	flagName     = regexp.MustCompile(`(?:^|\s|\[)--([a-z][a-z0-9-]+)`)
)

// TestDocumentFacts: exit codes, reasons, variables, flags and deployers that the pages name exist.
func TestDocumentFacts(t *testing.T) {
	known, byName := map[int]bool{}, map[string]int{}
	for _, row := range reason.Table() {
		known[row.Code] = true
		byName[row.Name()] = row.Code
	}
	flags := map[string]bool{}
	eachCommand(rootCommand(&cli.App{}, &reports.CIFiles{}), func(c *cobra.Command) {
		c.Flags().VisitAll(func(f *pflag.Flag) { flags[f.Name] = true })
		c.PersistentFlags().VisitAll(func(f *pflag.Flag) { flags[f.Name] = true })
	})
	flags["help"] = true
	source := sources(t)
	ofAICR := aicrCodes(t)
	for _, d := range documents(t) {
		known := known
		if another(d) {
			known = ofAICR
		}
		for _, m := range codes.FindAllStringSubmatch(d.text, -1) {
			for _, n := range number.FindAllString(m[1], -1) {
				if code, err := strconv.Atoi(n); err != nil || !known[code] && code < 128 {
					t.Errorf("%s: %q: there is no exit code %s", d.name, m[0], n)
				}
			}
		}
		for _, m := range reasonCode.FindAllStringSubmatch(d.text, -1) {
			if code, ok := byName[m[1]]; !ok || strconv.Itoa(code) != m[2] {
				t.Errorf("%s: %s is said to be %s, and is %d (%v)", d.name, m[1], m[2], code, ok)
			}
		}
		for _, span := range d.spans {
			name, _, _ := strings.Cut(span, "=")
			if _, ok := byName[name]; constantName.MatchString(name) && !ok && !strings.Contains(source, name) {
				t.Errorf("%s: nothing here knows %s", d.name, name)
			}
			if !strings.HasPrefix(span, "-") { // another program's command; matrix's own are TestDocuments'
				continue
			}
			for _, m := range flagName.FindAllStringSubmatch(span, -1) {
				if !flags[m[1]] && !strings.Contains(source, m[1]) {
					t.Errorf("%s: `%s`: no verb has the flag --%s, and nothing here passes it to another program", d.name, span, m[1])
				}
			}
		}
	}
	all := documents(t)
	cli := all[slices.IndexFunc(all, func(d matrixDocument) bool { return d.name == "docs/cli.md" })]
	for _, d := range bundle.Deployers() {
		if !strings.Contains(cli.text, "\n| `"+d.Name()+"` |") {
			t.Errorf("the table of lanes in docs/cli.md lacks %s", d.Name())
		}
	}
}

// aicrCodes are the exit codes of cmd/aicr, which the pages about it name: it is another program, so
// they are read from its source.
func aicrCodes(t *testing.T) map[int]bool {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "aicr", "exitcodes.go"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[int]bool{}
	for _, m := range regexp.MustCompile(`\brow\((\d+), "`).FindAllStringSubmatch(string(text), -1) {
		code, err := strconv.Atoi(m[1])
		if err != nil {
			t.Fatal(err)
		}
		all[code] = true
	}
	if len(all) < 5 {
		t.Fatalf("cmd/aicr has the exit codes %v: correct how this test reads them", all)
	}
	return all
}

// sources is what this repository says in programs, settings and build files, tests apart: the
// flags and variables of other programs that the pages speak of stand in it.
func sources(t *testing.T) string {
	t.Helper()
	var all bytes.Buffer
	err := filepath.WalkDir(repository, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == "testdata" || d.Name() == "bin" || d.Name() == "docs") {
			return fs.SkipDir
		}
		if strings.HasSuffix(file, "_test.go") || !slices.Contains([]string{".go", ".yaml", ".yml", ".tmpl"}, filepath.Ext(file)) && d.Name() != "Makefile" || d.IsDir() {
			return nil
		}
		raw, err := os.ReadFile(file)
		all.Write(raw)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

func eachCommand(c *cobra.Command, do func(*cobra.Command)) {
	do(c)
	for _, sub := range c.Commands() {
		eachCommand(sub, do)
	}
}

// testExists reports whether a directory, from the top of the repository, has a test of that name.
func testExists(t *testing.T, dir, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(repository, filepath.FromSlash(dir), "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range parsed.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Name.Name == name {
				return true
			}
		}
	}
	return false
}
