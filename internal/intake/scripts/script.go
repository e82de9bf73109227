// Package scripts says which commands a script makes, without running it: it reads the script,
// follows what it can decide of variables, conditions and functions, and reads the commands of Helm
// that install releases.
package scripts

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Command is a simple command of a script, e.g. helm upgrade.
type Command struct {
	// Line is where the script itself has it; for a command within a function, where that is called.
	Line  int
	Words []string
	// Dir is the working directory, relative to that of the script; Elsewhere if it is not in there.
	Dir string
	// Maybe: whether the command is made depends on something that is not known, e.g. on what another
	// command says.
	Maybe bool
	// Unknown are the words that can be known only when the script runs.
	Unknown []Unknown
	// Doubts are the variables of the command whose values depend on such a thing.
	Doubts []Doubt
}

// Unknown is a word whose value the script has from a command, or from a variable that it does not set. At is where it
// begins in the command's words; it may be none.
type Unknown struct {
	At   int
	Text string // as the script has it
	// Unset: it is of a variable alone, which is empty unless whoever runs the script has set it.
	Unset bool
}

// Doubt is a variable with more than one possible value. The command has the first one.
type Doubt struct {
	Name   string
	Others [][]string
}

// elsewhere is the directory of a command that is not made in the script's.
const elsewhere = "//"

// What a script may have at most. AICR's largest has 28 KB.
const (
	mostBytes      = 128 << 10
	mostStatements = 20_000
	mostValue      = 64 << 10
	mostText       = 16 << 20 // in all values that were made
	mostCalls      = 20       // functions that call functions, and scripts that read scripts
)

// Error is a script that cannot be read.
type Error struct {
	Line int
	Err  error
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// Read gives the commands of a script of bash, as it is run without arguments and with an empty
// environment. Files has the content of a file, by its path from the script's directory, of which it
// may lead out; ok is false if there is none. Errors are an *Error.
func Read(text string, files func(name string) (content []byte, ok bool)) ([]Command, error) {
	r := &reader{files: files, variables: map[string]value{}, functions: map[string]*syntax.Stmt{}, dir: "."}
	r.script(text)
	if r.err != nil {
		return nil, r.err
	}
	return r.commands, nil
}

// value is what a variable has.
type value struct {
	words   []string
	list    bool       // an array
	unknown bool       // it has the output of a command, or more than is followed here
	unset   bool       // it has a variable that the script does not set
	others  [][]string // what it has if something is as it is not known to be
}

type reader struct {
	files     func(string) ([]byte, bool)
	variables map[string]value
	functions map[string]*syntax.Stmt
	arguments []string         // of the function
	unsure    []bool           // which of them are known only when the script runs
	locals    map[string]outer // of the function, what they stand before; nil outside of functions
	dir       string
	line      int // of the call in the script itself; 0 outside of functions and other scripts
	calls     int
	globs     bool // a pattern that no file matches is no word, or an error
	maybe     int  // the conditions around this place that are not decided

	commands   []Command
	statements int
	text       int
	ended      bool // by exit or return
	err        *Error
}

// outer is a variable that a function's own has hidden.
type outer struct {
	value
	set bool
}

func (r *reader) fail(n syntax.Node, format string, args ...any) {
	if r.err == nil {
		r.err = &Error{Line: r.lineOf(n), Err: fmt.Errorf(format, args...)}
	}
}

// lineOf is the line of the script itself by which a place is named: that of the call, within functions and other
// scripts. 0 without a place.
func (r *reader) lineOf(n syntax.Node) int {
	if r.line == 0 && n != nil {
		return int(n.Pos().Line())
	}
	return r.line
}

// script follows a script, or one that it reads with source.
func (r *reader) script(text string) {
	if len(text) > mostBytes {
		r.fail(nil, "the script is larger than %d KiB", mostBytes>>10)
		return
	}
	if before, _, found := strings.Cut(text, "\r\n"); found {
		if r.err == nil {
			r.err = &Error{Line: max(r.line, strings.Count(before, "\n")+1), Err: errors.New("lines end with CR LF, and bash takes the CR for a part of the words: give the file LF line ends, e.g. by the line \"* -text\" in .gitattributes")}
		}
		return
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		if parse := (syntax.ParseError{}); errors.As(err, &parse) {
			if r.err == nil {
				r.err = &Error{Line: max(r.line, int(parse.Pos.Line())), Err: fmt.Errorf("this is not understood as a script of bash: %s", parse.Text)}
			}
			return
		}
		r.fail(nil, "this is not understood as a script of bash: %w", err)
		return
	}
	r.all(file.Stmts)
}

// answer is what a condition says.
type answer int

const (
	no answer = iota
	yes
	unknown
)

func (a answer) not() answer {
	switch a {
	case no:
		return yes
	case yes:
		return no
	}
	return unknown
}

// all follows statements, and answers whether the last of them succeeds.
func (r *reader) all(list []*syntax.Stmt) answer {
	last := yes
	for _, s := range list {
		if r.ended || r.err != nil {
			break
		}
		last = r.statement(s)
	}
	return last
}

// perhaps follows what is not known to be reached.
func (r *reader) perhaps(follow func()) {
	r.maybe++
	follow()
	r.maybe--
}

func (r *reader) statement(s *syntax.Stmt) answer {
	if r.statements++; r.statements > mostStatements {
		r.fail(s, "the script has more than %d statements", mostStatements)
		return unknown
	}
	a := r.command(s.Cmd)
	if s.Negated {
		a = a.not()
	}
	return a
}

func (r *reader) command(c syntax.Command) answer {
	switch c := c.(type) {
	case *syntax.CallExpr:
		return r.call(c)
	case *syntax.DeclClause:
		for _, a := range c.Args {
			if r.locals != nil && a.Name != nil && slices.Contains([]string{"local", "declare", "typeset"}, c.Variant.Value) {
				r.local(a)
			}
			r.assign(a)
		}
		return yes
	case *syntax.IfClause:
		r.branch(c)
		return unknown
	case *syntax.BinaryCmd:
		return r.binary(c)
	case *syntax.Block:
		return r.all(c.Stmts)
	case *syntax.Subshell:
		return r.subshell(c.Stmts)
	case *syntax.FuncDecl:
		if c.Name != nil {
			r.functions[c.Name.Value] = c.Body
		}
		return yes
	case *syntax.TestClause:
		return r.test(c.X)
	case *syntax.WhileClause:
		r.loop(c)
		return unknown
	case *syntax.ForClause:
		r.each(c)
		return unknown
	case *syntax.CaseClause:
		r.choose(c)
		return unknown
	case *syntax.TimeClause:
		if c.Stmt != nil {
			return r.statement(c.Stmt)
		}
	}
	return unknown
}

func (r *reader) branch(c *syntax.IfClause) {
	if len(c.Cond) == 0 { // else
		r.all(c.Then)
		return
	}
	switch r.all(c.Cond) {
	case yes:
		r.all(c.Then)
	case no:
		if c.Else != nil {
			r.branch(c.Else)
		}
	default:
		r.perhaps(func() { r.all(c.Then) })
		if c.Else != nil {
			r.perhaps(func() { r.branch(c.Else) })
		}
	}
}

// binary follows a && b, a || b and a | b. A command is taken to succeed there: what follows its
// failure is no installation.
func (r *reader) binary(c *syntax.BinaryCmd) answer {
	first := r.statement(c.X)
	if _, isTest := c.X.Cmd.(*syntax.TestClause); first == unknown && !isTest && r.plain(c.X) {
		first = yes
		if c.X.Negated {
			first = no
		}
	}
	wanted := yes
	switch c.Op {
	case syntax.AndStmt:
	case syntax.OrStmt:
		wanted = no
	default: // a pipe
		return r.statement(c.Y)
	}
	switch {
	case r.ended || r.err != nil:
		return unknown
	case first == wanted:
		return r.statement(c.Y)
	case first == unknown:
		r.perhaps(func() { r.statement(c.Y) })
		return unknown
	}
	return first
}

// plain reports whether the statement is a command that is expected to succeed, and not a question.
func (r *reader) plain(s *syntax.Stmt) bool {
	c, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(c.Args) == 0 {
		return false
	}
	switch c.Args[0].Lit() {
	case "command", "type", "which", "hash", "test", "[", "grep":
		return false
	}
	return true
}

func (r *reader) subshell(list []*syntax.Stmt) answer {
	kept, dir, ended := r.variables, r.dir, r.ended
	r.variables = maps.Clone(kept)
	a := r.all(list)
	r.variables, r.dir, r.ended = kept, dir, ended
	return a
}

// loop follows what is done again and again once. What a loop waits for is done at least once.
func (r *reader) loop(c *syntax.WhileClause) {
	a := r.all(c.Cond)
	if c.Until {
		a = a.not()
	}
	switch a {
	case yes:
		r.all(c.Do)
	case unknown:
		r.perhaps(func() { r.all(c.Do) })
	}
}

func (r *reader) each(c *syntax.ForClause) {
	items, isList := c.Loop.(*syntax.WordIter)
	if !isList {
		r.perhaps(func() { r.all(c.Do) })
		return
	}
	made := r.words(items.Items)
	if len(made.words) == 0 || made.unknown {
		r.perhaps(func() { r.all(c.Do) })
		return
	}
	var others [][]string
	for _, w := range made.words[1:] {
		others = append(others, []string{w})
	}
	r.variables[items.Name.Value] = value{words: made.words[:1], others: others}
	r.all(c.Do)
}

func (r *reader) choose(c *syntax.CaseClause) {
	of := r.word(c.Word)
	for _, item := range c.Items {
		for _, pattern := range item.Patterns {
			p := r.word(pattern)
			text := strings.Join(p.words, " ")
			if of.unknown || len(of.doubts) > 0 || p.unknown {
				r.perhaps(func() { r.all(item.Stmts) })
				break
			}
			if ok, err := path.Match(text, strings.Join(of.words, " ")); err == nil && ok {
				r.all(item.Stmts)
				return
			}
		}
	}
}
