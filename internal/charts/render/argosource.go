package render

// argosource.go names the files by which a directory or a chart changes the source of the
// Application that reads it. Argo CD merges them before anything else (mergeSourceParameters in
// reposerver/repository), so that no policy of the API server sees what they set, e.g. a plugin. The
// package knows names only.

import "strings"

// name is the file for every Application; with -NAME before its extension it is for one.
const name = ".argocd-source"

// ArgoSourceFiles are the files of a directory that Argo CD merges into the source of an Application, in this
// order.
func ArgoSourceFiles(app string) []string {
	return []string{name + ".yaml", name + "-" + app + ".yaml"}
}

// IsArgoSource reports whether a file, named from the directory of a source, is one of Files for some
// Application.
func IsArgoSource(file string) bool {
	rest, ok := strings.CutPrefix(file, name)
	return ok && (rest == ".yaml" || strings.HasPrefix(rest, "-") && strings.HasSuffix(rest, ".yaml") && !strings.Contains(rest, "/"))
}
