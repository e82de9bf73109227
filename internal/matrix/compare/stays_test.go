package compare

import (
	"context"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/result"
)

// What an apply leaves, or loses, has its cause: what the old template set under another name, what the
// API server filled in, and a port whose number is there twice.
func TestUpgraded_Stays(t *testing.T) {
	secret := func(data string) string {
		return `{apiVersion: v1, kind: Secret, metadata: {namespace: ns, name: s}, ` + data + `}`
	}
	pods := func(spec string) string {
		return `{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: ns, name: web}, spec: {template: {spec: {` + spec + `}}}}`
	}
	service := func(ports string) string {
		return `{apiVersion: v1, kind: Service, metadata: {namespace: ns, name: dns}, spec: {ports: [` + ports + `]}}`
	}
	const tcp, udp = "{name: t, port: 53, protocol: TCP}", "{name: u, port: 53, protocol: UDP}"
	for name, tc := range map[string]struct {
		old, now             string // templates
		first, before, after string // objects
		want                 string
	}{
		"stringData":        {secret(`stringData: {a: x, b: y}`), secret(`stringData: {a: x}`), secret(`data: {a: eA==}`), secret(`data: {a: eA==, b: eQ==}`), secret(`data: {a: eA==, b: eQ==}`), "the old template has the key in stringData"},
		"stringData of now": {secret(`stringData: {a: x, b: y}`), secret(`stringData: {a: x}`), secret(`data: {a: eA==}`), secret(`data: {a: eA==, b: eQ==}`), secret(`data: {a: eA==, b: eQ==}`), "the old template has the key in stringData"},
		"data":              {secret(`data: {a: eA==, b: eQ==}`), secret(`data: {a: eA==}`), secret(`data: {a: eA==}`), secret(`data: {a: eA==, b: eQ==}`), secret(`data: {a: eA==, b: eQ==}`), "still the value of before"},
		"serviceAccount":    {pods(`serviceAccountName: x`), pods(`image: y`), pods(`image: y`), pods(`serviceAccountName: x, serviceAccount: x, image: y`), pods(`serviceAccountName: x, serviceAccount: x, image: y`), "set serviceAccountName: default"},
		"filled in":         {pods(`image: x`), pods(`image: y`), pods(`image: y`), pods(`image: x, hostPort: 1`), pods(`image: y, hostPort: 1`), "neither template sets it"},
		"set":               {pods(`image: x`), pods(`image: y`), pods(`image: y`), pods(`image: x`), pods(`image: x`), "still the value of before"},
		"a port lost":       {service(tcp), service(udp + ", " + tcp), service(udp + ", " + tcp), service(tcp), service(udp), "port 53 is there twice"},
		"a port not added":  {service(udp), service(udp + ", " + tcp), service(udp + ", " + tcp), service(udp), service(udp), "port 53 is there twice"},
		"a variable lost":   {pods(`containers: [{name: m, env: [{name: A, value: x}, {name: A, value: y}]}]`), pods(`containers: [{name: m, env: [{name: A, value: y}]}]`), pods(`containers: [{name: m, env: [{name: A, value: y}]}]`), pods(`containers: [{name: m, env: [{name: A, value: x}, {name: A, value: y}]}]`), pods(`containers: [{name: m}]`), "the old template has the variable A twice"},
		"another port":      {service(tcp), service("{name: u, port: 54}, " + tcp), service("{name: u, port: 54}, " + tcp), service(tcp), service("{name: u, port: 54}"), "after the upgrade: nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			first, upgraded := lanePassed("a", "helm", taken(t, tc.first)), lanePassed("a", "helm", taken(t, tc.after))
			upgraded.From, upgraded.Live.Before = "main", taken(t, tc.before)
			if name == "stringData of now" { // what nothing renders now is no digest
				for key, o := range upgraded.Live.objects {
					o.json = []byte(strings.ReplaceAll(string(o.json), digestOf([]byte("y")), madeInCluster))
					upgraded.Live.objects[key] = o
				}
			}
			upgraded.Live.Render, upgraded.Live.Before.Render = renders(t, tc.now), renders(t, tc.old)
			Upgraded(t.Context(), first, upgraded, BenignRules())
			if !strings.Contains(upgraded.Cause, tc.want) {
				t.Errorf("got %q, want it to have %q", upgraded.Cause, tc.want)
			}
			if tc.want != "port 53 is there twice" && strings.Contains(upgraded.Cause, "is there twice") {
				t.Errorf("got %q: no port is there twice", upgraded.Cause)
			}
		})
	}
}

// A custom resource lacks what the new definition in crds/ fills in: Helm keeps the old definition.
func TestUpgraded_OldDefault(t *testing.T) {
	const (
		old, filled = `{apiVersion: x.y/v1, kind: Queue, metadata: {namespace: ns, name: q}, spec: {size: 1}}`, `{apiVersion: x.y/v1, kind: Queue, metadata: {namespace: ns, name: q}, spec: {size: 1, mode: fast}}`
		definition  = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: queues.x.y}, spec: {group: x.y, names: {kind: Queue}}}`
	)
	for template, want := range map[string]string{"b/crds/q.yaml": "its definition is in the chart's crds/ and fills in a value", "b/templates/q.yaml": "neither template sets it"} {
		first, upgraded := lanePassed("a", "helm", taken(t, filled, definition)), lanePassed("a", "helm", taken(t, old, definition))
		upgraded.From, upgraded.Live.Before = "main", taken(t, old, definition)
		for key, o := range upgraded.Live.objects {
			if o.ref.GVK.Kind == "CustomResourceDefinition" {
				o.template = template
				upgraded.Live.objects[key] = o
			}
		}
		upgraded.Live.Render, upgraded.Live.Before.Render = renders(t, old), renders(t, old)
		Upgraded(t.Context(), first, upgraded, BenignRules())
		if !strings.Contains(upgraded.Cause, want) {
			t.Errorf("%s: got %q, want %q", template, upgraded.Cause, want)
		}
	}
}

// A Job that became a hook has run when Helm removes it; one that was a hook before should be there.
func TestUpgraded_RanAndWent(t *testing.T) {
	const job = `{apiVersion: batch/v1, kind: Job, metadata: {namespace: ns, name: once}}`
	for before, red := range map[bool]bool{false: false, true: true} {
		first, upgraded := lanePassed("a", "helm", taken(t, job)), lanePassed("a", "helm", taken(t))
		upgraded.From, upgraded.Live.Before = "main", taken(t, job)
		for _, c := range []*Captured{first.Live, upgraded.Live.Before} {
			for key, o := range c.objects {
				o.hook = c == first.Live || before
				c.objects[key] = o
			}
		}
		Upgraded(t.Context(), first, upgraded, BenignRules())
		if got := upgraded.Status != result.Passed; got != red || !red && !strings.Contains(strings.Join(upgraded.Notes, "\n"), "Helm ran it, and then removed") {
			t.Errorf("a hook before: %t: got %s, notes %q", before, upgraded.Cause, upgraded.Notes)
		}
	}
}

// renders is a chart that renders this.
func renders(t *testing.T, text string) func(context.Context) ([]bundle.Object, error) {
	t.Helper()
	var o unstructured.Unstructured
	if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
		t.Fatal(err)
	}
	return func(context.Context) ([]bundle.Object, error) { return []bundle.Object{{Object: &o}}, nil }
}
