package scripts

import (
	"path"
	"slices"
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
	case name == "set" && len(args) > 0 && args[0] == "--" && r.maybe == 0:
		r.arguments, r.unsure = args[1:], make([]bool, len(args)-1)
		for _, u := range made.parts {
			for i := max(u.At-2, 0); i < len(r.unsure); i++ { // what is unknown may be several words
				r.unsure[i] = true
			}
		}
		return yes
	case name == "shopt":
		r.globs = r.globs || slices.Contains(args, "nullglob") || slices.Contains(args, "failglob")
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
	line, arguments, unsure, locals := r.line, r.arguments, r.unsure, r.locals
	r.line, r.arguments, r.unsure, r.locals = r.lineOf(c), slices.Clone(args), make([]bool, len(args)), map[string]outer{}
	for _, p := range parts {
		switch at := p.At - 1; {
		case at >= len(args) && !p.Unset: // nothing is known of it, so that it has no word here
			r.arguments, r.unsure = append(r.arguments, ""), append(r.unsure, true)
		case at >= 0 && at < len(args):
			r.unsure[at] = true
		}
	}
	a := r.statement(body)
	for name, before := range r.locals {
		if r.variables[name] = before.value; !before.set {
			delete(r.variables, name)
		}
	}
	r.line, r.arguments, r.unsure, r.locals = line, arguments, unsure, locals
	r.calls--
	r.ended = false
	return a
}

// local makes a variable the function's own. Without a value it is unset.
func (r *reader) local(a *syntax.Assign) {
	name := a.Name.Value
	if _, ok := r.locals[name]; !ok {
		before, set := r.variables[name]
		r.locals[name] = outer{before, set}
	}
	if a.Naked {
		delete(r.variables, name)
	}
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
