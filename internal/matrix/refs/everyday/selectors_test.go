package everyday

import (
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/refs/problem/problemtest"
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

// A Pod of its own that a controller takes for one of its pods.
func TestFind_Adopted(t *testing.T) {
	lone := func(meta string) string {
		return "apiVersion: v1\nkind: Pod\nmetadata: {namespace: x, " + meta + "}\nspec: {containers: [{name: c}]}\n---\n"
	}
	of := func(kind, more string) string {
		return "apiVersion: " + kind + "\nmetadata: {name: db, namespace: x}\nspec: {" + more + "template: {metadata: {labels: {app: db, tier: t}}, spec: {containers: [{name: c}]}}}\n"
	}
	const by, mine = "selector: {matchLabels: {app: db}}, ", "name: tool, labels: {app: db}"
	for name, c := range map[string]struct{ objects, want string }{
		"a ReplicaSet":                {lone(mine) + of("apps/v1\nkind: ReplicaSet", by), "has labels that ReplicaSet.apps x/db selects (app=db), and no owner"},
		"a DaemonSet":                 {lone(mine) + of("apps/v1\nkind: DaemonSet", by), "has labels that DaemonSet.apps x/db selects"},
		"a ReplicationController":     {lone(mine) + of("v1\nkind: ReplicationController", "selector: {app: db}, "), "has labels that ReplicationController x/db selects"},
		"a Job with its own selector": {lone(mine) + of("batch/v1\nkind: Job", "manualSelector: true, "+by), "has labels that Job.batch x/db selects"},
		"a StatefulSet":               {lone(mine) + of("apps/v1\nkind: StatefulSet", by), ""},
		"a StatefulSet's name":        {lone("name: db-0, labels: {app: db}") + of("apps/v1\nkind: StatefulSet", by), "has labels that StatefulSet.apps x/db selects"},
		"a Deployment":                {lone(mine) + of("apps/v1\nkind: Deployment", by), ""},
		"other labels":                {lone("name: tool, labels: {app: tool}") + of("apps/v1\nkind: ReplicaSet", by), ""},
	} {
		t.Run(name, func(t *testing.T) {
			want := strings.NewReplacer(".apps", "", ".batch", "").Replace(c.want)
			check(t, Find(&bundle.Expectation{Objects: problemtest.Objects(t, "c", c.objects)}, Cluster{}), want)
		})
	}
}
