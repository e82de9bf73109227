// Package shell reads the variables and the words of a script that is not run. It must not know what
// the script installs.
package shell

import (
	"regexp"
	"strings"
)

// Variables are the shell variables of a script that is read and not run.
type Variables struct {
	Values map[string][]string
	// conditional are the ones that are set within if, case, for or while.
	conditional map[string]bool
	depth       int // of such blocks
}

// New has no variables yet.
func New() *Variables {
	return &Variables{Values: map[string][]string{}, conditional: map[string]bool{}}
}

var (
	assignment = regexp.MustCompile(`^(?:(?:local|readonly|export|declare)\s+(?:-\w+\s+)*)?([A-Za-z_]\w*)(\+?)=(.*)$`)
	opens      = regexp.MustCompile(`^(if|case|for|while|until)\b`)
	closes     = regexp.MustCompile(`(^|;\s*)(fi|esac|done)$`)

	// scriptDirectory are the variables that mean the script's own directory.
	scriptDirectory = regexp.MustCompile(`\$\{?(here|SCRIPT_DIR)\}?`)
	optional        = regexp.MustCompile(`\$\{(\w+):\+(--\w+) "?\$\{\w+\}"?\}`)
	list            = regexp.MustCompile(`"?\$\{(\w+)\[@\](?::?[-+][^}]*)?\}"?`)
	variable        = regexp.MustCompile(`\$\{(\w+)(?::?[-+][^}]*)?\}|\$(\w+)`)
)

// Assign keeps the value if the command sets a variable or a list, and reports whether it is such a
// command. A value that is a command's output is unknown, and so empty.
func (v *Variables) Assign(command string) bool {
	command = strings.TrimSpace(command)
	if opens.MatchString(command) {
		v.depth++
	}
	if closes.MatchString(command) && v.depth > 0 {
		v.depth--
	}
	m := assignment.FindStringSubmatch(command)
	if m == nil {
		return false
	}
	name, appends, text := m[1], m[2] != "", m[3]
	if v.depth > 0 {
		v.conditional[name] = true
		return true
	}
	var value []string
	switch inner, isList := strings.CutPrefix(text, "("); {
	case strings.Contains(text, "$("), strings.Contains(text, "`"):
	case isList:
		value = Words(v.Expand(strings.TrimSuffix(strings.TrimSpace(inner), ")")))
	default:
		if value = Words(v.Expand(text)); len(value) > 1 {
			return false // a command with a variable of its own: NAME=value command
		}
	}
	if appends {
		value = append(v.Values[name], value...)
	}
	v.Values[name] = value
	return true
}

// Expand replaces variables: a known one by its value, a list by its words, the script's directory
// by a dot, any other by nothing, since the flags that a person passes on are none of the bundle's.
func (v *Variables) Expand(command string) string {
	command = optional.ReplaceAllStringFunc(command, func(m string) string {
		g := optional.FindStringSubmatch(m)
		if value := v.text(g[1]); value != "" {
			return g[2] + ` "` + value + `"`
		}
		return ""
	})
	command = scriptDirectory.ReplaceAllString(command, ".")
	command = list.ReplaceAllStringFunc(command, func(m string) string {
		var words []string
		for _, word := range v.Values[list.FindStringSubmatch(m)[1]] {
			words = append(words, `"`+word+`"`)
		}
		return strings.Join(words, " ")
	})
	return variable.ReplaceAllStringFunc(command, func(m string) string {
		g := variable.FindStringSubmatch(m)
		return v.text(g[1] + g[2])
	})
}

func (v *Variables) text(name string) string { return strings.Join(v.Values[name], " ") }

// Uncertain returns a variable of the command whose value depends on a condition, if any.
func (v *Variables) Uncertain(command string) string {
	for _, of := range []*regexp.Regexp{list, variable} {
		for _, g := range of.FindAllStringSubmatch(command, -1) {
			if name := strings.Join(g[1:], ""); v.conditional[name] {
				return name
			}
		}
	}
	return ""
}

// Words splits a command at white space, outside of quotes.
func Words(command string) []string {
	var words []string
	var word strings.Builder
	in, quote := false, rune(0)
	for _, r := range command {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			in, quote = true, r
		case quote == 0 && (r == ' ' || r == '\t'):
			if in {
				words = append(words, word.String())
				word.Reset()
				in = false
			}
		default:
			in = true
			word.WriteRune(r)
		}
	}
	if in {
		words = append(words, word.String())
	}
	return words
}
