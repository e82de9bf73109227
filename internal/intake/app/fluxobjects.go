package app

// fluxobjects.go makes and changes single objects of Flux for a cell, whose charts are in one Git
// repository and one registry. It must not know files, other objects or clusters.

import (
	"cmp"
	"fmt"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/fluxapi"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// loginFields are the fields of a source that are about reaching it.
func loginFields() []string {
	return []string{"secretRef", "certSecretRef", "proxySecretRef", "serviceAccountName", "passCredentials"}
}

// withoutLogin leaves out what a source needs to reach its repository, and of an OCIRepository what tells
// whether that still has the same bytes. It gives what is not verified for that.
func withoutLogin(source *yamlv3.Node) (unknown []string) {
	spec := yamlx.Find(source, "spec")
	name := yamlx.Text(source, "kind") + " " + yamlx.Text(source, "metadata", "name")
	if yamlx.Text(source, "kind") == "OCIRepository" {
		if yamlx.Find(spec, "verify") != nil {
			unknown = append(unknown, name+": the signature of its chart (spec.verify)")
			yamlx.Drop(spec, "verify")
		}
		if digest := yamlx.Text(spec, "ref", "digest"); digest != "" {
			unknown = append(unknown, fmt.Sprintf("%s: whether its tag %s still has the digest that Flux pulls, %s", name, yamlx.Text(spec, "ref", "tag"), digest))
			yamlx.Drop(yamlx.Find(spec, "ref"), "digest")
		}
	}
	for _, key := range loginFields() {
		if yamlx.Find(spec, key) != nil {
			unknown = append(unknown, fmt.Sprintf("%s: whether its %s lets Flux reach %s", name, key, yamlx.Text(spec, "url")))
			yamlx.Drop(spec, key)
		}
	}
	return unknown
}

// fluxObjectPacked is the HelmRelease of the chart that has what a Kustomization with this spec applies itself. It
// reports whether the HelmRelease waits for its objects: a Kustomization is ready as soon as these are
// applied, unless it asks for more.
func fluxObjectPacked(name string, within *yamlv3.Node) (release *yamlv3.Node, waits bool, err error) {
	namespace := cmp.Or(yamlx.Text(within, "targetNamespace"), "default")
	install := ""
	waits = yamlx.Text(within, "wait") == "true" || yamlx.Find(within, "healthChecks") != nil
	if timeout := yamlx.Text(within, "timeout"); !waits {
		install = ", disableWait: true"
	} else if timeout != "" {
		install = ", timeout: " + timeout
	}
	docs, err := yamlx.Documents(fmt.Appendf(nil, `apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: %[1]s, namespace: %[2]s}
spec:
  interval: 10m
  releaseName: %[1]s
  targetNamespace: %[3]s
  storageNamespace: %[3]s
  install: {createNamespace: true%[4]s}
  chart: {spec: {chart: ./charts/%[1]s, reconcileStrategy: Revision, sourceRef: {kind: GitRepository, name: %[5]s}}}
`, name, bundle.FluxNamespace, namespace, install, bundle.FluxSource))
	if err != nil {
		return nil, false, err
	}
	return docs[0].Content[0], waits, nil
}

// withExpressions gives a HelmRelease expressions that tell whether its objects are ready.
func withExpressions(spec *yamlv3.Node, all []fluxapi.Expressions) {
	yamlx.Drop(spec, "healthCheckExprs")
	if len(all) == 0 {
		return
	}
	list := &yamlv3.Node{Kind: yamlv3.SequenceNode, Tag: "!!seq"}
	for _, e := range all {
		n := &yamlv3.Node{Kind: yamlv3.MappingNode, Tag: "!!map"}
		for _, field := range []struct{ key, text string }{{"apiVersion", e.APIVersion}, {"kind", e.Kind}, {"current", e.Current}, {"failed", e.Failed}, {"inProgress", e.InProgress}} {
			if field.text != "" {
				yamlx.Set(n, field.key, "!!str", field.text)
			}
		}
		list.Content = append(list.Content, n)
	}
	spec.Content = append(spec.Content, &yamlv3.Node{Kind: yamlv3.ScalarNode, Tag: "!!str", Value: "healthCheckExprs"}, list)
}
