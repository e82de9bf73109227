// Package policy says what a bundle may have: which fields the objects of Argo CD and Flux, which
// objects belong to the harness and its controllers, and which ones a recipe may not deliver.
package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/util/lists"
)

// Rule is the closed list of the fields at one place of a kind of objects.
type Rule struct {
	// Kind is the kind of the object, in a group of Argo CD or Flux.
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

// HelmDefault reports whether a source's Helm option with this value says what is so without it.
func HelmDefault(option, value string) bool {
	if option == "version" {
		return value == "v3"
	}
	return value == "false" && slices.Contains(words("ignoreMissingValueFiles skipCrds skipTests skipSchemaValidation"), option)
}

// directoryFields are those of a directory of manifests. Not: jsonnet, a language that reads files.
var directoryFields = words("recurse include exclude")

// refFields are those of a reference to a source.
var refFields = words("apiVersion kind name namespace")

// top are the fields of every object.
var top = words("apiVersion kind metadata spec status")

// An operation's fields. Not: manifests, which are delivered in place of a source.
var (
	operationFields = words("sync initiatedBy retry info")
	syncFields      = words("revision revisions prune dryRun syncStrategy resources syncOptions autoHealAttemptsCount source sources")
)

// SourcePaths lead to every source of an Application that Argo CD may read. Argo CD prefers the
// source of an operation to the Application's own, and during an operation that of the operation's
// state. The list includes the state because an Application has no status subresource: a user who
// may write an Application can write an operation that appears to run already.
func SourcePaths() []string {
	return []string{
		"spec.source", "spec.sources[]", "operation.sync.source", "operation.sync.sources[]",
		"status.operationState.operation.sync.source", "status.operationState.operation.sync.sources[]",
		"status.operationState.syncResult.source", "status.operationState.syncResult.sources[]",
	}
}

// sourceRules are the rules of each source below these paths.
func sourceRules(kind string, paths ...string) []Rule {
	var all []Rule
	for _, path := range paths {
		all = append(all, Rule{kind, path, sourceFields}, Rule{kind, path + ".helm", helmFields}, Rule{kind, path + ".directory", directoryFields})
	}
	return all
}

// Rules returns the lists, in the order in which they are checked.
func Rules() []Rule { return slices.Concat(applicationRules(), applicationSetRules(), fluxRules()) }

func applicationRules() []Rule {
	return append([]Rule{
		{"Application", "", append(slices.Clone(top), "operation")},
		{"Application", "spec", words("destination project source sources syncPolicy ignoreDifferences info revisionHistoryLimit")},
		{"Application", "operation", operationFields},
		{"Application", "operation.sync", syncFields},
		{"Application", "status.operationState.operation", operationFields},
		{"Application", "status.operationState.operation.sync", syncFields},
	}, sourceRules("Application", SourcePaths()...)...)
}

// applicationSetRules: a list and the Secrets of clusters are all that a bundle generates from.
// Not: generators that ask Git, hosts of source code, registries or a plugin's address;
// templatePatch.
func applicationSetRules() []Rule {
	return append([]Rule{
		{"ApplicationSet", "", top},
		{"ApplicationSet", "spec", words("goTemplate goTemplateOptions generators strategy template syncPolicy preservedFields")},
		{"ApplicationSet", "spec.generators[]", words("matrix list clusters")},
		{"ApplicationSet", "spec.generators[].matrix", words("generators")},
		{"ApplicationSet", "spec.generators[].matrix.generators[]", words("list clusters")},
		{"ApplicationSet", "spec.generators[].matrix.generators[].list", words("elements")},
		{"ApplicationSet", "spec.generators[].matrix.generators[].clusters", words("selector")},
		{"ApplicationSet", "spec.generators[].list", words("elements")},
		{"ApplicationSet", "spec.generators[].clusters", words("selector")},
		{"ApplicationSet", "spec.template", words("metadata spec")},
		{"ApplicationSet", "spec.template.spec", words("destination project source sources syncPolicy")},
	}, sourceRules("ApplicationSet", "spec.template.spec.source", "spec.template.spec.sources[]")...)
}

func fluxRules() []Rule {
	return []Rule{
		// Flux. Not: kubeConfig, decryption, verify, proxySecretRef, postBuild, patches.
		{"Kustomization", "", top},
		{"Kustomization", "spec", words("interval retryInterval timeout path prune force wait suspend sourceRef dependsOn targetNamespace deletionPolicy healthChecks healthCheckExprs")},
		{"HelmRelease", "", top},
		{"HelmRelease", "spec", words("chart chartRef interval timeout releaseName targetNamespace storageNamespace install upgrade uninstall rollback test values valuesFrom dependsOn maxHistory driftDetection persistentClient suspend waitStrategy healthCheckExprs postRenderers commonMetadata")},
		{"HelmRelease", "spec.chart", words("metadata spec")},
		{"HelmRelease", "spec.chart.spec", words("chart version interval sourceRef reconcileStrategy valuesFiles ignoreMissingValuesFiles")},
		{"HelmRelease", "spec.postRenderers[]", words("kustomize")},
		{"HelmRelease", "spec.postRenderers[].kustomize", words("patches images")},
		{"HelmRelease", "spec.postRenderers[].kustomize.patches[]", words("patch target")},
		{"HelmRelease", "spec.chartRef", refFields},
		{"HelmRelease", "spec.dependsOn[]", words("name namespace")},
		{"HelmChart", "spec", words("chart version interval sourceRef reconcileStrategy valuesFiles ignoreMissingValuesFiles suspend")},
		{"HelmRepository", "spec", words("interval url type insecure timeout suspend provider")},
		{"OCIRepository", "spec", words("interval url ref layerSelector insecure timeout ignore suspend provider")},
		{"GitRepository", "spec", words("interval url ref timeout ignore suspend provider")},
		{"ExternalArtifact", "spec", words("sourceRef")}, // what source-watcher makes of a generator's
		{"ArtifactGenerator", "spec", words("sources artifacts")},
		{"ArtifactGenerator", "spec.sources[]", words("alias kind name namespace")},
		{"ArtifactGenerator", "spec.artifacts[]", words("name copy revision originRevision")},
		{"ArtifactGenerator", "spec.artifacts[].copy[]", words("from to exclude strategy")},
	}
}

func words(text string) []string { return strings.Fields(text) }

func kindsOf(rules []Rule) []string {
	set := map[string]bool{}
	for _, r := range rules {
		set[r.Kind] = true
	}
	return slices.Sorted(maps.Keys(set))
}

// FluxGroups are the API groups of Flux that its controllers here read.
func FluxGroups() []string {
	return []string{"source.toolkit.fluxcd.io", "source.extensions.fluxcd.io", "kustomize.toolkit.fluxcd.io", "helm.toolkit.fluxcd.io"}
}

// argoCDGroup is the API group of Argo CD. Other programs have kinds in it too, e.g. Argo
// Workflows.
const argoCDGroup = "argoproj.io"

// ArgoCDKinds are Argo CD's kinds that have rules.
func ArgoCDKinds() []string { return kindsOf(slices.Concat(applicationRules(), applicationSetRules())) }

// FluxKinds are Flux's kinds that have rules. A bundle has no other kind in Flux's groups.
func FluxKinds() []string { return kindsOf(fluxRules()) }

// governed reports whether the rules of a kind are about objects of this API version; an empty one
// is one that the API server refuses.
func governed(apiVersion, kind string) bool {
	group, _, _ := strings.Cut(apiVersion, "/")
	if slices.Contains(ArgoCDKinds(), kind) {
		return apiVersion == "" || group == argoCDGroup
	}
	return apiVersion == "" || slices.Contains(FluxGroups(), group)
}

// Refused is a field that no rule lists.
type Refused struct {
	// Path leads to the field, its own name last.
	Path []string
	Rule Rule
}

// programs are fields of a source whose reason is known: another program than Helm or Kustomize makes
// the manifests.
var programs = map[string]string{
	"plugin":  "a plugin beside Argo CD's repo-server",
	"jsonnet": "Jsonnet",
}

// Error says which field it is, and which there may be.
func (r *Refused) Error() string {
	if program := programs[r.Path[len(r.Path)-1]]; program != "" && (slices.Contains(r.Path, "source") || slices.Contains(r.Path, "sources")) {
		return fmt.Sprintf("%s of %s has %s make the manifests, which is not done here; commit what it makes, and pass that with --app or in the bundle", strings.Join(r.Path, "."), r.Rule.Kind, program)
	}
	near := lists.Nearest(r.Path[len(r.Path)-1], r.Rule.Fields)
	if near != "" {
		near = fmt.Sprintf(", or is no field at all (did you mean %s?)", near)
	}
	return fmt.Sprintf("%s of %s may configure a controller beyond what a bundle needs%s; allowed are %s", strings.Join(r.Path, "."), r.Rule.Kind, near, strings.Join(r.Rule.Fields, ", "))
}

// Check returns the first field of an object, given as a YAML or JSON mapping, that no rule of its
// kind lists; nil if there is none. An object of a kind without rules passes, and so does one of
// the same kind in another group.
func Check(kind string, object map[string]any) *Refused {
	if version, _ := object["apiVersion"].(string); !governed(version, kind) {
		return nil
	}
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

// Gather returns the values at these paths as one list, in CEL, over the variable object.
func Gather(paths []string) string {
	var parts []string
	for _, path := range paths {
		at, there := "object", []string{}
		path, list := strings.CutSuffix(path, "[]")
		for _, name := range segments(path) {
			at += "." + name
			there = append(there, "has("+at+")")
		}
		value := at
		if !list {
			value = "[" + at + "]"
		}
		parts = append(parts, "("+strings.Join(there, " && ")+" ? "+value+" : [])")
	}
	return strings.Join(parts, " + ")
}
