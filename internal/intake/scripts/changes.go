package scripts

import (
	"path"
	"slices"
	"strings"
)

// harmless are commands that change nothing but text, variables and files of the script's own.
func harmless() []string {
	return []string{"awk", "base64", "basename", "break", "cat", "chmod", "continue", "cp", "cut", "date", "declare", "diff", "dirname", "echo", "export", "expr", "find",
		"getopts", "grep", "egrep", "hash", "head", "id", "jq", "kill", "let", "local", "ls", "mapfile", "mkdir", "mktemp", "mv", "popd", "printf", "pushd", "pwd", "read", "readarray", "readonly", "realpath",
		"rm", "sed", "seq", "set", "sha256sum", "shopt", "sleep", "sort", "stat", "tail", "tar", "tee", "touch", "tr", "trap", "tput", "type", "ulimit", "umask", "uname", "uniq", "unset", "wait", "wc", "which", "yq"}
}

// Changes names what a command would change in a cluster besides installing a release, e.g. kubectl apply, and any
// command of which that is not known, e.g. curl or a shell; empty if it changes nothing there.
func (c Command) Changes() string {
	changing := map[string][]string{
		"kubectl": {"annotate", "apply", "autoscale", "cordon", "create", "delete", "drain", "edit", "expose", "label", "patch", "replace", "rollout", "run", "scale", "set", "taint", "uncordon"},
		"helm":    {"rollback", "uninstall", "upgrade"},
	}
	if len(c.Unknown) > 0 && c.Unknown[0].At == 0 {
		return "the command " + c.Unknown[0].Text
	}
	words := unwrapped(c.Words)
	if len(words) == 0 {
		return ""
	}
	name := path.Base(words[0])
	if changing[name] == nil && !slices.Contains(harmless(), name) {
		return name
	}
	for _, word := range words[1:] { // flags may come first
		if slices.Contains(changing[name], word) {
			return name + " " + word
		}
	}
	return ""
}

// unwrapped is the command that another one runs, e.g. behind sudo or timeout.
func unwrapped(words []string) []string {
	for len(words) > 0 && slices.Contains([]string{"builtin", "command", "env", "exec", "nohup", "sudo", "time", "timeout"}, words[0]) {
		words = words[1:]
		for len(words) > 0 && (words[0] == "" || strings.ContainsAny(words[0][:1], "-0123456789") || strings.Contains(words[0], "=")) {
			words = words[1:] // flags, times, variables
		}
	}
	return words
}
