package scripts

import (
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// call follows a command, or the assignments that stand alone.
func (r *reader) call(c *syntax.CallExpr) answer {
	if len(c.Args) == 0 {
		for _, a := range c.Assigns {
			r.assign(a)
		}
		return yes
	}
	made := r.words(c.Args)
	if len(made.words) == 0 && len(made.parts) > 0 {
		made.words = []string{""}
	}
	if len(made.words) == 0 {
		return unknown
	}
	name, args := made.words[0], made.words[1:]
	switch body := r.functions[name]; {
	case body != nil:
		return r.function(c, body, args, made.parts)
	case name == "exit" || name == "return":
		r.ended = r.maybe == 0
		return yes
	case name == "shift":
		if len(args) == 0 {
			args = []string{"1"}
		}
		if n := number(args[0]); n >= 0 {
			r.arguments, r.unsure = r.arguments[min(n, len(r.arguments)):], r.unsure[min(n, len(r.unsure)):]
		}
		return yes
	case name == "true" || name == ":":
		return yes
	case name == "false":
		return no
	case name == "unset" && r.maybe == 0:
		for _, a := range args {
			delete(r.variables, a)
		}
		return yes
	case name == "cd" && len(args) == 1:
		r.cd(args[0], made.unknown)
		return yes
	case name == "test" || name == "[":
		return r.oldTest(made)
	case (name == "source" || name == ".") && len(args) > 0:
		return r.source(c, args[0])
	}
	r.commands = append(r.commands, Command{Line: r.lineOf(c), Words: r.relative(made.words), Dir: r.dir, Maybe: r.maybe > 0, Doubts: made.doubts, Unknown: made.parts})
	return unknown
}

func (r *reader) function(c *syntax.CallExpr, body *syntax.Stmt, args []string, parts []Unknown) answer {
	if r.calls++; r.calls > mostCalls {
		r.fail(c, "functions call each other more than %d deep", mostCalls)
		return unknown
	}
	line, arguments, unsure := r.line, r.arguments, r.unsure
	r.line, r.arguments, r.unsure = r.lineOf(c), args, make([]bool, len(args))
	for _, p := range parts {
		if at := p.At - 1; at >= 0 && at < len(args) {
			r.unsure[at] = true
		}
	}
	a := r.statement(body)
	r.line, r.arguments, r.unsure = line, arguments, unsure
	r.calls--
	r.ended = false
	return a
}

// source follows another script of the same directory. The values of one that is not there are not
// known.
func (r *reader) source(c *syntax.CallExpr, name string) answer {
	content, ok := r.files(path.Join(r.dir, r.relative([]string{name})[0]))
	if !ok {
		return unknown
	}
	if r.calls++; r.calls > mostCalls {
		r.fail(c, "scripts read each other more than %d deep", mostCalls)
		return unknown
	}
	line := r.line
	r.line = r.lineOf(c)
	r.script(string(content))
	r.line = line
	r.calls--
	return yes
}

func (r *reader) cd(to string, isUnknown bool) {
	switch {
	case r.maybe > 0 && to != here:
		r.dir = elsewhere
	case isUnknown || to == "" || path.IsAbs(to) || strings.HasPrefix(to, "~") || to == "-":
		r.dir = elsewhere
	case strings.HasPrefix(to, here):
		r.dir = path.Clean("." + strings.TrimPrefix(to, here))
	case r.dir != elsewhere:
		r.dir = path.Join(r.dir, to)
	}
}
