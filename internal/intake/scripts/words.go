package scripts

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// here stands for the script's directory in values.
const here = "\x00here"

// relative gives words with the script's directory as the way to it from the working directory.
func (r *reader) relative(words []string) []string {
	way := "."
	if r.dir != "." && r.dir != elsewhere && !strings.HasPrefix(r.dir, "..") {
		way = strings.Repeat("../", strings.Count(r.dir, "/")+1)
		way = strings.TrimSuffix(way, "/")
	}
	made := make([]string, len(words))
	for i, w := range words {
		made[i] = strings.ReplaceAll(w, here, way)
	}
	return made
}

// made is what words are after expansion.
type made struct {
	words   []string
	unknown bool
	doubts  []Doubt
	// unset: a variable is in it that the script does not set; parts are the words that are unknown for either reason.
	unset bool
	parts []Unknown
}

func (m *made) take(other made) {
	m.unknown, m.unset = m.unknown || other.unknown, m.unset || other.unset
	m.doubts = append(m.doubts, other.doubts...)
}

func (r *reader) words(list []*syntax.Word) made {
	var all made
	for _, w := range r.alternatives(list) {
		m := r.word(w)
		if m.unknown || m.unset {
			all.parts = append(all.parts, Unknown{At: len(all.words), Text: textOf(w), Unset: !m.unknown})
		}
		all.words = append(all.words, m.words...)
		all.take(m)
	}
	return all
}

// mostBraces is how many commas a word may have in braces: the words that it becomes are at most 2 to the power of that.
const mostBraces = 8

// alternatives are the words that a{b,c} and the like become. A range stays as it is: it is for loops, of which each turn
// is read once.
func (r *reader) alternatives(list []*syntax.Word) (all []*syntax.Word) {
	for _, w := range list {
		split := &syntax.Word{Parts: slices.Clone(w.Parts)}
		commas, escaped := 0, false
		for _, p := range w.Parts {
			if lit, ok := p.(*syntax.Lit); ok {
				commas += strings.Count(lit.Value, ",")
				escaped = escaped || strings.Contains(lit.Value, `\{`) || strings.Contains(lit.Value, `\,`) || strings.Contains(lit.Value, `\}`) // which the library does not see
			}
		}
		switch {
		case commas == 0 || escaped || !syntax.SplitBraces(split):
			all = append(all, w)
		case commas > mostBraces:
			r.fail(w, "a word has %d commas in braces, of which %d are followed", commas, mostBraces)
			return all
		case slices.ContainsFunc(split.Parts, func(p syntax.WordPart) bool {
			b, ok := p.(*syntax.BraceExp)
			return ok && b.Sequence
		}):
			all = append(all, w)
		default:
			all = append(all, expand.Braces(split)...)
		}
	}
	return all
}

// textOf is a word as a script has it.
func textOf(w *syntax.Word) string {
	var text strings.Builder
	if syntax.NewPrinter(syntax.SingleLine(true)).Print(&text, w) != nil {
		return "a word"
	}
	return text.String()
}

// fields collects the fields that a word becomes.
type fields struct {
	done    []string
	current strings.Builder
	begun   bool // there is a field, which may be empty
}

func (f *fields) add(text string, quoted bool) {
	if text != "" || quoted {
		f.begun = true
	}
	f.current.WriteString(text)
}

func (f *fields) end() {
	if f.begun {
		f.done = append(f.done, f.current.String())
	}
	f.current.Reset()
	f.begun = false
}

// several adds words: the first continues the field, the last can be continued.
func (f *fields) several(words []string, quoted bool) {
	for i, w := range words {
		if i > 0 {
			f.end()
		}
		f.add(w, quoted)
	}
}

// split adds text that is split at white space.
func (f *fields) split(text string) {
	for i, part := range strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == '\t' || r == '\n' }) {
		if i > 0 || strings.IndexByte(" \t\n", text[0]) >= 0 {
			f.end()
		}
		f.add(part, false)
	}
	if text != "" && strings.IndexByte(" \t\n", text[len(text)-1]) >= 0 {
		f.end()
	}
}

func (r *reader) word(w *syntax.Word) made { return r.wordIn(w, plain) }

func (r *reader) wordIn(w *syntax.Word, where context) made {
	var m made
	if w == nil || len(w.Parts) == 0 {
		return m
	}
	var f fields
	if first, ok := w.Parts[0].(*syntax.Lit); ok && strings.HasPrefix(first.Value, "~") {
		m.unknown = true // whose home
	}
	r.parts(w.Parts, where, &f, &m)
	f.end()
	m.words = f.done
	size := sizeOf(m.words)
	if r.text += size; size > mostValue || r.text > mostText {
		r.fail(w, "a value is larger than %d KiB, or all are together larger than %d MiB", mostValue>>10, mostText>>20)
		m.words = nil
	}
	return m
}

func sizeOf(words []string) (bytes int) {
	for _, w := range words {
		bytes += len(w)
	}
	return bytes
}

// context is where a part of a word is.
type context int

const (
	plain    context = iota
	inQuotes         // in double quotes
	inAssign         // the value of a variable, which is not split
	inValue          // within ${…:-…} without quotes, where text is split too
)

func (r *reader) parts(parts []syntax.WordPart, where context, f *fields, m *made) {
	quoted := where == inQuotes
	for _, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit:
			if where == inValue {
				f.split(unescaped(p.Value, false))
				continue
			}
			if r.globs && !quoted && strings.ContainsAny(p.Value, "*?[") {
				m.unknown = true // nothing, if no file is there
			}
			f.add(unescaped(p.Value, quoted), quoted)
		case *syntax.SglQuoted:
			text := p.Value
			if p.Dollar {
				if escaped, _, err := expand.Format(nil, text, nil); err == nil {
					text = escaped
				}
			}
			f.add(text, true)
		case *syntax.DblQuoted:
			if len(p.Parts) == 0 {
				f.add("", true)
			}
			r.parts(p.Parts, inQuotes, f, m)
		case *syntax.ParamExp:
			r.parameter(p, quoted || where == inAssign, f, m)
		case *syntax.CmdSubst:
			if isHere(p) {
				f.add(here, quoted)
				continue
			}
			m.unknown = true
			f.add("", quoted)
		default:
			m.unknown = true
		}
	}
}

// isHere recognizes $(cd "$(dirname "$0")" && pwd), by which a script knows its directory, and
// $(dirname "$0").
func isHere(s *syntax.CmdSubst) bool {
	var text strings.Builder
	if syntax.NewPrinter().Print(&text, s) != nil {
		return false
	}
	return strings.Contains(text.String(), "dirname") && (strings.Contains(text.String(), "$0") || strings.Contains(text.String(), "BASH_SOURCE"))
}

func unescaped(text string, quoted bool) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var made strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) {
			if next := text[i+1]; next == '\n' {
				i++
				continue
			} else if !quoted || strings.IndexByte("$`\"\\", next) >= 0 {
				i++
			}
		}
		made.WriteByte(text[i])
	}
	return made.String()
}

// otherwise are the forms that say what counts in place of an unset variable.
var otherwise = []syntax.ParExpOperator{syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.AssignUnset, syntax.AssignUnsetOrNull, syntax.AlternateUnset, syntax.AlternateUnsetOrNull}

// parameter expands $NAME, ${NAME[@]} and the forms with another value. Those that cut a value up
// are not followed.
func (r *reader) parameter(p *syntax.ParamExp, quoted bool, f *fields, m *made) {
	if p.Param == nil || p.Excl || p.Length || p.Slice != nil || p.Repl != nil || p.Names != 0 || len(p.Modifiers) > 0 || p.Flags != nil {
		m.unknown = true
		f.add("", quoted)
		return
	}
	name := p.Param.Value
	v, isSet, all := r.valueOf(name, p.Index)
	m.unknown, m.unset = m.unknown || v.unknown, m.unset || v.unset
	if _, err := strconv.Atoi(name); err != nil && !isSet && !all && p.Index == nil && (p.Exp == nil || !slices.Contains(otherwise, p.Exp.Op)) {
		m.unset = true
	}
	if len(v.others) > 0 {
		m.doubts = append(m.doubts, Doubt{Name: name, Others: v.others})
	}
	if p.Exp != nil {
		empty := strings.Join(v.words, "") == ""
		other := false // the other word counts
		switch p.Exp.Op {
		case syntax.DefaultUnset, syntax.AssignUnset:
			other = !isSet
		case syntax.DefaultUnsetOrNull, syntax.AssignUnsetOrNull:
			other = empty && !v.unknown
		case syntax.AlternateUnset:
			if other = isSet; all {
				other = len(v.words) > 0 // a list without elements is unset
			}
			v.words = nil
		case syntax.AlternateUnsetOrNull:
			if other = !empty; !other && !v.unknown {
				v.words = nil
			}
		case syntax.ErrorUnset, syntax.ErrorUnsetOrNull:
			if p.Exp.Op == syntax.ErrorUnsetOrNull && isSet && empty && !v.unknown && !v.unset && r.maybe == 0 && len(v.others) == 0 {
				r.fail(p, "the script ends here: %s is empty (${%s:?})", name, name)
			}
		default: // a part of the value
			m.unknown = m.unknown || !empty
		}
		if other && p.Exp.Word != nil {
			where := inValue
			if quoted {
				where = inQuotes
			}
			if p.Exp.Op == syntax.AssignUnset || p.Exp.Op == syntax.AssignUnsetOrNull {
				one := r.wordIn(p.Exp.Word, inAssign)
				r.keep(name, value{words: []string{strings.Join(one.words, " ")}, unknown: one.unknown || p.Index != nil, unset: one.unset})
			}
			r.parts(p.Exp.Word.Parts, where, f, m)
			return
		}
		if p.Exp.Op == syntax.AlternateUnset || p.Exp.Op == syntax.AlternateUnsetOrNull {
			f.add("", quoted && !all)
			return
		}
	}
	switch {
	case all && quoted:
		f.several(v.words, true)
	case quoted:
		f.add(strings.Join(v.words, " "), true)
	default:
		for i, word := range v.words {
			if i > 0 {
				f.end()
			}
			f.split(word)
		}
	}
}

// valueOf finds a variable or an argument. all means that each of its words is one of the command.
func (r *reader) valueOf(name string, index syntax.ArithmExpr) (v value, isSet, all bool) {
	switch name {
	case "@", "*":
		return value{words: r.arguments, list: true, unset: slices.Contains(r.unsure, true)}, len(r.arguments) > 0, true
	case "#":
		return value{words: []string{strconv.Itoa(len(r.arguments))}}, true, false
	case "?", "$", "!", "RANDOM", "PWD", "BASH_SOURCE", "0":
		return value{unknown: true}, true, false
	}
	if n, err := strconv.Atoi(name); err == nil {
		if n <= len(r.arguments) {
			return value{words: r.arguments[n-1 : n], unset: n > 0 && n <= len(r.unsure) && r.unsure[n-1]}, true, false
		}
		return value{}, false, false
	}
	v, isSet = r.variables[name]
	switch i, isWord := index.(*syntax.Word); {
	case index == nil:
		if v.list && len(v.words) > 1 {
			v.words = v.words[:1]
		}
		return v, isSet, false
	case isWord && (i.Lit() == "@" || i.Lit() == "*"):
		return v, isSet, true
	case isWord && number(i.Lit()) >= 0 && number(i.Lit()) < len(v.words):
		v.words = v.words[number(i.Lit()):][:1]
		return v, isSet, false
	}
	return value{unknown: isSet}, isSet, false
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return -1
	}
	return n
}

// assign gives a variable what a script says.
func (r *reader) assign(a *syntax.Assign) {
	if a.Name == nil || a.Naked {
		return
	}
	name := a.Name.Value
	before := r.variables[name]
	var m made
	switch {
	case a.Array != nil:
		for _, e := range a.Array.Elems {
			m.unknown = m.unknown || e.Index != nil
			for _, w := range r.alternatives([]*syntax.Word{e.Value}) {
				one := r.word(w)
				m.words = append(m.words, one.words...)
				m.take(one)
			}
		}
	case a.Value != nil:
		one := r.wordIn(a.Value, inAssign)
		m.words = []string{strings.Join(one.words, " ")}
		m.take(one)
	default:
		m.words = []string{""}
	}
	v := value{words: m.words, list: a.Array != nil, unknown: m.unknown || a.Index != nil, unset: m.unset}
	for _, d := range m.doubts { // NAME=$OTHER has OTHER's possible values
		v.others = append(v.others, d.Others...)
	}
	switch {
	case before.list && a.Array == nil && a.Index == nil: // the first element alone
		first, rest := "", before.words[min(1, len(before.words)):]
		if a.Append {
			first = strings.Join(before.words[:min(1, len(before.words))], "")
		}
		v.list, v.words = true, append([]string{first + strings.Join(v.words, " ")}, rest...)
		v.unknown, v.unset = v.unknown || before.unknown, v.unset || before.unset
		v.others = append(v.others, before.others...)
	case a.Append:
		v.list = v.list || before.list
		if v.list {
			v.words = append(append([]string{}, before.words...), v.words...)
		} else {
			v.words = []string{strings.Join(before.words, " ") + strings.Join(v.words, " ")}
		}
		v.unknown, v.unset = v.unknown || before.unknown, v.unset || before.unset
		v.others = append(v.others, before.others...)
	}
	if sizeOf(v.words) > mostValue {
		r.fail(a, "the value of %s is larger than %d KiB", name, mostValue>>10)
		return
	}
	r.keep(name, v)
}

// keep gives a variable a value; under a condition that is not decided, as one of several.
func (r *reader) keep(name string, v value) {
	before := r.variables[name]
	if r.maybe > 0 {
		before.others = append(append(before.others, v.words), v.others...)
		before.unknown = before.unknown || v.unknown
		if len(before.others) > mostCalls {
			before.others = before.others[:mostCalls]
		}
		r.variables[name] = before
		return
	}
	r.variables[name] = v
}

// inBundle is the path of a file from the script's directory, if that can be known.
func (r *reader) inBundle(name string) (string, bool) {
	name = r.relative([]string{name})[0]
	if path.IsAbs(name) || name == "" || r.dir == elsewhere {
		return "", false
	}
	return path.Join(r.dir, name), true
}
