package everyday

import (
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// Two workloads of a namespace have pods of their own (F158).
func TestFind_Overlaps(t *testing.T) {
	of := func(kind, namespace, name, app, more string) bundle.Object {
		return bundle.Object{Component: "c", Object: testkit.Parsed(t, "{apiVersion: apps/v1, kind: "+kind+", metadata: {namespace: "+namespace+", name: "+name+"}, spec: {selector: {matchLabels: {app: "+app+"}}, template: {metadata: {labels: {app: "+app+more+"}}}}}")}
	}
	first := of("Deployment", "x", "one", "web", ", part: a")
	for want, second := range map[string]bundle.Object{
		"selects pods with app=web, and those of Deployment x/one are among them": of("Deployment", "x", "two", "web", ""),
	} {
		check(t, Find(&bundle.Expectation{Objects: []bundle.Object{first, second}}, Cluster{}), want)
	}
	for _, second := range []bundle.Object{of("Deployment", "z", "two", "web", ""), of("Deployment", "x", "two", "db", ""), of("DaemonSet", "x", "two", "web", ""), first} {
		check(t, Find(&bundle.Expectation{Objects: []bundle.Object{first, second}}, Cluster{}), "")
	}
}

// A role that is made of others has one of them (F158).
func TestFind_Aggregates(t *testing.T) {
	role := func(name, more string) bundle.Object {
		return bundle.Object{Component: "c", Object: testkit.Parsed(t, "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: "+name+more)}
	}
	made := func(label string) bundle.Object {
		return role("made", "}, aggregationRule: {clusterRoleSelectors: [{matchLabels: {"+label+"}}]}}")
	}
	part := role("part", ", labels: {part: ofit}}}")
	check(t, Find(&bundle.Expectation{Objects: []bundle.Object{made("part: nope"), part}}, Cluster{}), "is made of ClusterRoles by their labels (aggregationRule), and the recipe has none of these")
	check(t, Find(&bundle.Expectation{Objects: []bundle.Object{made("part: ofit"), part}}, Cluster{}), "")
	check(t, Find(&bundle.Expectation{Objects: []bundle.Object{made("rbac.authorization.k8s.io/aggregate-to-view: \"true\"")}}, Cluster{}), "")
}
