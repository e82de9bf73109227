package daytwo

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/apis"
	"github.com/nvidia/aicr-action/internal/bundle/rendering"
)

// together matches what the API server says of a field that does not go with a type, and that may
// have been there before the type.
var together = regexp.MustCompile(`([A-Z][A-Za-z0-9]*)(?:\.[a-z0-9.-]+)? "([^"]+)" is invalid: \[?([A-Za-z0-9_.]+): Forbidden: may not be specified when `)

// unread matches what Helm says if it cannot read the manifest of the release that is in the cluster.
var unread = regexp.MustCompile(`current release manifest: resource mapping not found for name: "([^"]*)"[^\n]*? no matches for kind "([^"]+)" in version "([^"]+)"`)

// lastingHook matches the template of a hook that is in the cluster already.
var lastingHook = regexp.MustCompile(`Hook (?:pre|post)-(?:upgrade|rollback) (\S+) failed: [^\n]*(?:already exists|field is immutable)`)

// unlisted matches what Helm says, going back, of an object that is in the cluster and not in the release
// that runs. See https://github.com/helm/helm/issues/13462.
var unlisted = regexp.MustCompile(`helm rollback \S+: no ([A-Z][A-Za-z0-9]*) with the name "([^"]+)" found`)

// stale explains what fails since something of the last delivery is still there: a field that the API
// server filled in, the release's own manifest, or a hook.
func (b Bundles) stale(text string) []string {
	var lines []string
	for _, m := range together.FindAllStringSubmatch(text, -1) {
		lines = append(lines, b.filledIn(m[1], m[2], m[3])...)
	}
	for _, m := range unread.FindAllStringSubmatch(text, -1) {
		lines = append(lines, b.unserved(m[1], m[2], m[3]))
	}
	for _, m := range twoTypes.FindAllStringSubmatch(text, -1) {
		if line := b.untyped(m[1], m[2]); line != "" {
			lines = append(lines, line)
		}
	}
	for _, m := range unlisted.FindAllStringSubmatch(text, -1) {
		lines = append(lines, b.unlisted(m[1], m[2]))
	}
	for _, m := range lastingHook.FindAllStringSubmatch(text, -1) {
		lines = append(lines, b.lasting(m[1])...)
	}
	return lines
}

// filledIn says of a field that the new bundle does not render why it is there all the same.
func (b Bundles) filledIn(kind, name, field string) []string {
	o := find(b.Now, kind, name)
	if o == nil {
		return nil
	}
	parts := strings.Split(field, ".")
	if _, rendered, _ := unstructured.NestedFieldNoCopy(o.Object.Object, parts...); rendered {
		return nil
	}
	instead := "and a null in the template does not remove it"
	if field == "spec.strategy.rollingUpdate" {
		instead = "edit: {type: RollingUpdate, rollingUpdate: {maxSurge: 0, maxUnavailable: 100%}}, which removes the old pods first too, in " + b.place(o, "spec.strategy")
	}
	return []string{fmt.Sprintf("%s %s: %s is not rendered, and is still there from before the upgrade: server-side apply removes only what it has set itself, and the API server had filled this in; component %s; %s; or delete the object before the upgrade, which creates it again (with --cascade=orphan its pods stay)",
		kind, name, field, o.Component, instead)}
}

// unlisted says why an object is in the cluster that the release before the rollback does not have.
func (b Bundles) unlisted(kind, name string) string {
	line := fmt.Sprintf("%s %s is in the cluster, and the release that runs does not have it", kind, name)
	if o := find(b.Now, kind, name); o != nil {
		if rendering.KeptAtUpgrade(o.Object.GetAnnotations()) {
			line += fmt.Sprintf(": the newer chart left it out, and %s: keep kept it (component %s, %s)", rendering.HelmKeeps, o.Component, b.place(o, "metadata.annotations"))
		} else if by, _ := madeBy(b.Before, o.Object); by != nil {
			line += fmt.Sprintf(": the operator of %s made it (component %s, %s)", by.Ref(), by.Component, b.was(by))
		}
	}
	return line + "; helm rollback compares the two releases only; go back with helm upgrade and the old chart, which takes over what has its annotations, or run the rollback once more: the record of the one that failed has the object"
}

// unserved says which version of a kind the release in the cluster was installed with, and what took it
// away: the definition has the version no more, or the delivery has removed the definition.
func (b Bundles) unserved(name, kind, version string) string {
	line := fmt.Sprintf("%s %s: Helm first reads the release that is in the cluster, and that has it in %s, which the API server does not serve any more", kind, name, version)
	if o := definitionOf(b.Now, kind, version); o != nil {
		line += fmt.Sprintf(" (CustomResourceDefinition %s; component %s, template %s)", o.Object.GetName(), o.Component, b.place(o, "spec.versions"))
	} else if o := definitionOf(b.Before, kind, version); o != nil {
		return line + fmt.Sprintf(": the delivery has removed CustomResourceDefinition %s before (component %s had it, %s), and every object of its kind with it; deliver the release without the object before the upgrade, or keep the definition: annotate it helm.sh/resource-policy=keep in the cluster before the upgrade",
			o.Object.GetName(), o.Component, b.was(o))
	}
	return line + "; serve the version until every release has been upgraded to another one, or rewrite the release's manifest before the upgrade (helm mapkubeapis)"
}

// definitionOf is a bundle's definition of a kind in an apiVersion's group; nil if it has none.
func definitionOf(b *bundle.Bundle, kind, version string) *bundle.Object {
	if b == nil {
		return nil
	}
	for i := range b.Expectation.Objects {
		o := &b.Expectation.Objects[i]
		if defined := apis.DefinedBy(o.Object); defined.Kind == kind && strings.HasPrefix(version, defined.Group+"/") {
			return o
		}
	}
	return nil
}

// lasting says of a hook that is in the cluster already that nothing deletes it.
func (b Bundles) lasting(template string) []string {
	if b.Now == nil {
		return nil
	}
	var hook *bundle.Object
	for i := range b.Now.Expectation.Objects {
		if o := &b.Now.Expectation.Objects[i]; o.Hook && o.Template == template {
			if hook != nil {
				return nil // of several, Helm does not say which
			}
			hook = o
		}
	}
	if hook == nil {
		return nil
	}
	policy := hook.Object.GetAnnotations()[rendering.HelmHookPolicy]
	if policy == "" || slices.Contains(rendering.HelmHookPolicies(hook.Object.GetAnnotations()), "before-hook-creation") {
		return nil
	}
	return []string{fmt.Sprintf("%s %s is a hook that the last delivery left (helm.sh/hook-delete-policy: %s), and the upgrade creates it again; component %s; edit: helm.sh/hook-delete-policy: before-hook-creation,%s in %s",
		hook.Object.GetKind(), hook.Object.GetName(), policy, hook.Component, policy, b.place(hook, "metadata.annotations"))}
}
