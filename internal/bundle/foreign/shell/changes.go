package shell

import "slices"

// Changes names what a command would change in a cluster besides installing a release, e.g. kubectl apply;
// empty if it changes nothing there that is known.
func (c Command) Changes() string {
	changing := map[string][]string{
		"kubectl": {"annotate", "apply", "autoscale", "cordon", "create", "delete", "drain", "edit", "expose", "label", "patch", "replace", "rollout", "run", "scale", "set", "taint", "uncordon"},
		"helm":    {"rollback", "uninstall", "upgrade"},
	}
	if len(c.Words) < 2 {
		return ""
	}
	for _, word := range c.Words[1:] { // flags may come first
		if slices.Contains(changing[c.Words[0]], word) {
			return c.Words[0] + " " + word
		}
	}
	return ""
}
