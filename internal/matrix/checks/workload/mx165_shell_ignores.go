package workload

import (
	"path"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/matrix/judge"
)

var shellIgnores = judge.Check{
	ID: "MX165", Name: "arguments-that-a-shell-ignores", Needs: judge.Rendered,
	Title: "What follows the script of a shell is used by it",
	Why: "sh -c takes one entry as its script; what follows are the script's $0, $1, ..., and a script without a $ uses none of them " +
		"(https://pubs.opengroup.org/onlinepubs/9799919799/utilities/sh.html). [sh, -c, sleep, infinity] runs sleep without an argument.",
	Fix:  "Write the script as one entry.",
	Says: "runs %q in a shell, and the script does not use what follows: %s", Then: "write the script as one entry",
	Run: func(s *judge.Scope) {
		for _, p := range s.Pods() {
			for _, c := range p.Containers() {
				all := slices.Concat(c.Command, c.Args)
				if len(c.Command) == 0 || !slices.Contains([]string{"sh", "bash", "dash", "ash"}, path.Base(all[0])) {
					continue
				}
				at := slices.IndexFunc(all, func(word string) bool {
					return strings.HasPrefix(word, "-") && !strings.HasPrefix(word, "--") && strings.HasSuffix(word, "c")
				})
				if at < 1 || at > 1 && !strings.HasPrefix(all[1], "-") || at+2 >= len(all) || readsMore(all[at+1]) || all[at+2] == "--" || len(all) == at+3 && all[at+2] == path.Base(all[0]) {
					continue
				}
				s.Report(p.Object, c.Path, all[at+1], strings.Join(all[at+2:], " ")).OneOfTemplate()
			}
		}
	},
}

// readsMore reports whether a script may use its arguments: it has a $, or has another file run in its place.
func readsMore(script string) bool {
	return strings.Contains(script, "$") || slices.ContainsFunc(strings.Fields(script), func(word string) bool { return word == "." || word == "source" })
}
