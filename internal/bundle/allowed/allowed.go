// Package allowed lists the fields that the objects of Argo CD and Flux in a bundle may have. A
// field that is not listed may make a controller fetch, run or write something that the harness
// does not know of: a newer version of a controller brings new ones. The lists are what AICR's
// bundles use, and what belongs to it. They serve twice: for bundles before a cluster exists, and
// in the API server, for what a release delivers. It must not know clusters.
package allowed

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Rule is the closed list of the fields at one place of a kind of objects.
type Rule struct {
	// Kind is the kind of the object.
	Kind string
	// Path leads to the place, e.g. spec.sources[].helm; [] stands for each item of a list. Empty
	// is the object itself.
	Path string
	// Fields may be there.
	Fields []string
}

// sourceFields are those of a source of an Application. Not: kustomize and plugin, which read
// other files or run programs.
var sourceFields = words("repoURL targetRevision path chart helm directory ref name")

// helmFields are those of a source's Helm options. Not: fileParameters, which reads files;
// passCredentials.
var helmFields = words("releaseName valuesObject values valueFiles ignoreMissingValueFiles parameters version skipCrds skipTests skipSchemaValidation namespace")

// directoryFields are those of a directory of manifests. Not: jsonnet, a language that reads files.
var directoryFields = words("recurse include exclude")

// refFields are those of a reference to a source.
var refFields = words("apiVersion kind name namespace")

// top are the fields of every object.
var top = words("apiVersion kind metadata spec status")

// Rules returns the lists, in the order in which they are checked.
func Rules() []Rule {
	return []Rule{
		// Argo CD. The source of an operation counts in place of that of the Application; its
		// controller writes it. Not: manifests, which are delivered in place of a source.
		{"Application", "", append(slices.Clone(top), "operation")},
		{"Application", "spec", words("destination project source sources syncPolicy ignoreDifferences info revisionHistoryLimit")},
		{"Application", "spec.source", sourceFields},
		{"Application", "spec.source.helm", helmFields},
		{"Application", "spec.source.directory", directoryFields},
		{"Application", "spec.sources[]", sourceFields},
		{"Application", "spec.sources[].helm", helmFields},
		{"Application", "spec.sources[].directory", directoryFields},
		{"Application", "operation", words("sync initiatedBy retry info")},
		{"Application", "operation.sync", words("revision revisions prune dryRun syncStrategy resources syncOptions autoHealAttemptsCount source sources")},
		{"Application", "operation.sync.source", sourceFields},
		{"Application", "operation.sync.source.helm", helmFields},
		{"Application", "operation.sync.source.directory", directoryFields},
		{"Application", "operation.sync.sources[]", sourceFields},
		{"Application", "operation.sync.sources[].helm", helmFields},
		{"Application", "operation.sync.sources[].directory", directoryFields},
		// Flux. Not: kubeConfig, decryption, verify, proxySecretRef, postBuild, patches.
		{"Kustomization", "", top},
		{"Kustomization", "spec", words("interval retryInterval timeout path prune force wait suspend sourceRef dependsOn targetNamespace deletionPolicy")},
		{"HelmRelease", "", top},
		{"HelmRelease", "spec", words("chart chartRef interval timeout releaseName targetNamespace storageNamespace install upgrade uninstall rollback test values valuesFrom dependsOn maxHistory driftDetection persistentClient suspend waitStrategy")},
		{"HelmRelease", "spec.chart", words("metadata spec")},
		{"HelmRelease", "spec.chart.spec", words("chart version interval sourceRef reconcileStrategy valuesFiles ignoreMissingValuesFiles")},
		{"HelmRelease", "spec.chartRef", refFields},
		{"HelmChart", "spec", words("chart version interval sourceRef reconcileStrategy valuesFiles ignoreMissingValuesFiles suspend")},
		{"HelmRepository", "spec", words("interval url type insecure timeout suspend provider")},
		{"OCIRepository", "spec", words("interval url ref layerSelector insecure timeout ignore suspend provider")},
		{"GitRepository", "spec", words("interval url ref timeout ignore suspend provider")},
		{"ArtifactGenerator", "spec", words("sources artifacts")},
		{"ArtifactGenerator", "spec.sources[]", words("alias kind name namespace")},
		{"ArtifactGenerator", "spec.artifacts[]", words("name copy revision originRevision")},
		{"ArtifactGenerator", "spec.artifacts[].copy[]", words("from to exclude strategy")},
	}
}

func words(text string) []string { return strings.Fields(text) }

// Kinds returns the kinds that have rules, sorted.
func Kinds() []string {
	set := map[string]bool{}
	for _, r := range Rules() {
		set[r.Kind] = true
	}
	return slices.Sorted(maps.Keys(set))
}

// Refused is a field that no rule lists.
type Refused struct {
	// Path leads to the field, its own name last.
	Path []string
	Rule Rule
}

// Error says which field it is, and which there may be.
func (r *Refused) Error() string {
	return fmt.Sprintf("%s of %s may configure a controller beyond what a bundle needs; allowed are %s", strings.Join(r.Path, "."), r.Rule.Kind, strings.Join(r.Rule.Fields, ", "))
}

// Check returns the first field of an object, given as a YAML or JSON mapping, that no rule of its
// kind lists; nil if there is none. An object of a kind without rules passes.
func Check(kind string, object map[string]any) *Refused {
	for _, r := range Rules() {
		if r.Kind != kind {
			continue
		}
		if path := unlisted(object, segments(r.Path), nil, r.Fields); path != nil {
			return &Refused{Path: path, Rule: r}
		}
	}
	return nil
}

func segments(path string) []string {
	if path == "" {
		return nil
	}
	return strings.Split(path, ".")
}

// unlisted walks to the place of a rule; it returns the path of the first field that is not listed.
func unlisted(at any, path, walked, fields []string) []string {
	m, ok := at.(map[string]any)
	if !ok {
		return nil // absent, or of a type that the API server refuses
	}
	if len(path) == 0 {
		for _, key := range slices.Sorted(maps.Keys(m)) {
			if !slices.Contains(fields, key) {
				return append(slices.Clone(walked), key)
			}
		}
		return nil
	}
	name, list := strings.CutSuffix(path[0], "[]")
	walked = append(slices.Clone(walked), name)
	if !list {
		return unlisted(m[name], path[1:], walked, fields)
	}
	items, _ := m[name].([]any)
	for _, item := range items {
		if found := unlisted(item, path[1:], walked, fields); found != nil {
			return found
		}
	}
	return nil
}

// Expression returns the rule in CEL, over the variable object: true if every field is listed, or
// the object is of another kind. Its kind is the expression kind.
func (r Rule) Expression(kind string) string {
	return fmt.Sprintf("%s != '%s' || %s", kind, r.Kind, celAt("object", segments(r.Path), r.Fields, 0))
}

func celAt(at string, path, fields []string, depth int) string {
	if len(path) == 0 {
		return fmt.Sprintf("dyn(%s).all(k, k in ['%s'])", at, strings.Join(fields, "','"))
	}
	name, list := strings.CutSuffix(path[0], "[]")
	next := at + "." + name
	if list {
		item := fmt.Sprintf("i%d", depth)
		return fmt.Sprintf("(!has(%s) || %s.all(%s, %s))", next, next, item, celAt(item, path[1:], fields, depth+1))
	}
	return fmt.Sprintf("(!has(%s) || %s)", next, celAt(next, path[1:], fields, depth))
}
