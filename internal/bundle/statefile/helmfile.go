package statefile

// helmfile.go writes the files that helmfile reads. It must not know recipes or charts.

import (
	"bytes"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// HelmfileRelease is a release as helmfile needs it.
type HelmfileRelease struct {
	Name, Namespace, Component string
	Chart, Version, Source     string
	Local, PlainHTTP           bool
	Carries                    bool // the chart has another one in it, as an archive
	DependsOn                  []string
}

// reference is what helmfile replaces in a file of values, wherever it stands: by a file of the machine,
// a variable, or what a service answers (https://github.com/helmfile/vals).
var reference = regexp.MustCompile(`(?:secret)?ref\+[a-z0-9]+://`)

// HelmfileReference returns the line of the first reference in a file of values, from 1; 0 if it has none.
// Helm and the controllers take such a text as it is.
func HelmfileReference(values []byte) int {
	at := reference.FindIndex(values)
	if at == nil {
		return 0
	}
	return 1 + bytes.Count(values[:at[0]], []byte("\n"))
}

// NoReference is why values with a reference are not delivered.
const NoReference = "has a reference (ref+…://) that helmfile replaces by a file of this machine, a variable or what a service answers: write a test value"

const ociScheme = "oci://"

// timeout is how many seconds Helm waits for the pods of a release, as in AICR's bundles.
const timeout = 600

// HelmfileLevels puts each component in the level after the last one that it depends on. The releases
// of a level keep their order.
func HelmfileLevels(releases []HelmfileRelease) [][]HelmfileRelease {
	var levels [][]HelmfileRelease
	level, component := map[string]int{}, map[string]string{}
	for _, r := range releases { // what it depends on comes before it
		at := 0
		for _, d := range r.DependsOn {
			if component[d] == r.Component {
				at = max(at, level[d])
			} else {
				at = max(at, level[d]+1)
			}
		}
		level[r.Name], component[r.Name] = at, r.Component
		for len(levels) <= at {
			levels = append(levels, nil)
		}
		levels[at] = append(levels[at], r)
	}
	return levels
}

// Helmfile is the file of a level. Each release needs the one before, as in AICR's bundles, so
// that they come one after another. helm-diff must not ask the API server about their objects: it
// looks at a whole level before the first of its releases has brought the kinds.
func Helmfile(level []HelmfileRelease) map[string]any {
	repositories := map[string]map[string]any{}
	var releases []any
	for i, r := range level {
		entry := map[string]any{"name": r.Name, "namespace": r.Namespace}
		if r.Local {
			entry["chart"] = "./" + r.Name + "/chart"
			if r.Carries { // or else helmfile looks for it in a repository
				entry["skipDeps"] = true
			}
		} else {
			name := alias(r.Source)
			repositories[name] = repository(name, r)
			entry["chart"], entry["version"] = name+"/"+r.Chart, r.Version
			entry["values"] = []any{"./" + r.Name + "/values.yaml"}
		}
		if i > 0 {
			entry["needs"] = []any{level[i-1].Namespace + "/" + level[i-1].Name}
		}
		releases = append(releases, entry)
	}
	file := map[string]any{
		"helmDefaults": map[string]any{"wait": true, "timeout": timeout, "createNamespace": true, "disableValidation": true},
		"releases":     releases,
	}
	if len(repositories) > 0 {
		var list []any
		for _, name := range slices.Sorted(maps.Keys(repositories)) {
			list = append(list, repositories[name])
		}
		file["repositories"] = list
	}
	return file
}

var notInAlias = regexp.MustCompile(`[^A-Za-z0-9]+`)

// alias is what a bundle calls a repository of charts.
func alias(source string) string {
	_, address, ok := strings.Cut(source, "://")
	if !ok {
		address = source
	}
	return strings.Trim(notInAlias.ReplaceAllString(address, "-"), "-")
}

func repository(name string, r HelmfileRelease) map[string]any {
	entry := map[string]any{"name": name, "url": r.Source}
	if strings.HasPrefix(r.Source, ociScheme) {
		entry["url"], entry["oci"] = strings.TrimSuffix(strings.TrimPrefix(r.Source, ociScheme), "/"), true
		if r.PlainHTTP {
			entry["plainHttp"] = true
		}
	}
	return entry
}
