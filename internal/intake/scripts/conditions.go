package scripts

import (
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// test answers [[ … ]].
func (r *reader) test(x syntax.TestExpr) answer {
	switch x := x.(type) {
	case *syntax.ParenTest:
		return r.test(x.X)
	case *syntax.Word:
		return filled(r.word(x))
	case *syntax.UnaryTest:
		if x.Op == syntax.TsNot {
			return r.test(x.X).not()
		}
		w, ok := x.X.(*syntax.Word)
		if !ok {
			return unknown
		}
		return r.unary(x.Op.String(), r.word(w))
	case *syntax.BinaryTest:
		switch x.Op {
		case syntax.AndTest:
			return and(r.test(x.X), r.test(x.Y))
		case syntax.OrTest:
			return and(r.test(x.X).not(), r.test(x.Y).not()).not()
		}
		a, okA := x.X.(*syntax.Word)
		b, okB := x.Y.(*syntax.Word)
		if !okA || !okB {
			return unknown
		}
		return compare(x.Op.String(), r.word(a), r.word(b))
	}
	return unknown
}

func and(a, b answer) answer {
	switch {
	case a == no || b == no:
		return no
	case a == yes && b == yes:
		return yes
	}
	return unknown
}

// oldTest answers test … and [ … ] with up to three words.
func (r *reader) oldTest(m made) answer {
	words := m.words[1:]
	if m.words[0] == "[" {
		if len(words) == 0 || words[len(words)-1] != "]" {
			return unknown
		}
		words = words[:len(words)-1]
	}
	one := func(w string) made { return made{words: []string{w}, unknown: m.unknown, doubts: m.doubts} }
	if len(words) > 0 && words[0] == "!" {
		return r.oldTest(made{words: append([]string{"test"}, words[1:]...), unknown: m.unknown, doubts: m.doubts}).not()
	}
	switch len(words) {
	case 1:
		return filled(one(words[0]))
	case 2:
		return r.unary(words[0], one(words[1]))
	case 3:
		return compare(words[1], one(words[0]), one(words[2]))
	}
	return unknown
}

func (m made) certain() bool { return !m.unknown && len(m.doubts) == 0 }
func (m made) text() string  { return strings.Join(m.words, " ") }

func answerOf(b bool) answer {
	if b {
		return yes
	}
	return no
}

func filled(m made) answer {
	if !m.certain() {
		return unknown
	}
	return answerOf(m.text() != "")
}

func (r *reader) unary(op string, m made) answer {
	switch op {
	case "-n":
		return filled(m)
	case "-z":
		return filled(m).not()
	case "-f", "-e", "-s", "-r":
		name, ok := r.inBundle(m.text())
		if !ok || !m.certain() {
			return unknown
		}
		_, there := r.files(name)
		return answerOf(there)
	}
	return unknown
}

func compare(op string, a, b made) answer {
	if !a.certain() || !b.certain() {
		return unknown
	}
	x, y := a.text(), b.text()
	switch op {
	case "=", "==", "!=":
		ok, err := path.Match(y, x)
		if err != nil {
			return unknown
		}
		return answerOf(ok == (op != "!="))
	case "-eq", "-ne", "-lt", "-le", "-gt", "-ge":
		n, m := number(x), number(y)
		if n < 0 || m < 0 {
			return unknown
		}
		return answerOf(map[string]bool{"-eq": n == m, "-ne": n != m, "-lt": n < m, "-le": n <= m, "-gt": n > m, "-ge": n >= m}[op])
	}
	return unknown
}
