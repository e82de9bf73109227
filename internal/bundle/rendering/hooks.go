package rendering

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	helmrelease "helm.sh/helm/v3/pkg/release"
)

// bygone are hooks that Helm 2 had. Charts that are for both have objects with them, and have what
// counts since Helm 3 elsewhere.
var bygone = []string{"crd-install", "test-failure"}

var hookAnnotation = regexp.MustCompile(`helm\.sh/hook["']?\s*:\s*(.*)`)

// skippedHook is an error if Helm leaves out an object since one of its hooks is misspelt. Helm says
// so in a log that nobody reads, Argo CD and Flux take what Helm has made, and so no deployer misses
// the object.
func skippedHook(ch *chart.Chart, skipped []string) error {
	for _, text := range skipped {
		for hook := range strings.SplitSeq(text, ",") {
			hook = strings.TrimSpace(hook)
			if isHook(hook) || slices.Contains(bygone, strings.ToLower(hook)) {
				continue
			}
			return fmt.Errorf("%s%q is no hook, so Helm leaves the object out without a word, and so does each deployer: helm.sh/hook is one or several of %s, with commas between", placeOf(ch, hook), hook, strings.Join(hooks(), ", "))
		}
	}
	return nil
}

func hooks() []string {
	var all []string
	for _, e := range []helmrelease.HookEvent{helmrelease.HookPreInstall, helmrelease.HookPostInstall, helmrelease.HookPreUpgrade, helmrelease.HookPostUpgrade, helmrelease.HookPreRollback, helmrelease.HookPostRollback, helmrelease.HookPreDelete, helmrelease.HookPostDelete, helmrelease.HookTest} {
		all = append(all, e.String())
	}
	return all
}

func isHook(text string) bool {
	return slices.Contains(append(hooks(), "test-success"), strings.ToLower(text))
}

// placeOf is the template and line that has a hook as it was rendered, before a colon; empty if an
// expression makes it.
func placeOf(ch *chart.Chart, hook string) string {
	for _, t := range ch.Templates {
		line := 0
		for text := range strings.SplitSeq(string(t.Data), "\n") {
			line++
			if found := hookAnnotation.FindStringSubmatch(text); found != nil && hook != "" && strings.Contains(found[1], hook) {
				return fmt.Sprintf("%s/%s:%d: ", ch.ChartFullPath(), t.Name, line)
			}
		}
	}
	for _, d := range ch.Dependencies() {
		if at := placeOf(d, hook); at != "" {
			return at
		}
	}
	return ""
}
