package compare

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// What a second delivery changed: values, objects, and those that were replaced or written for
// nothing. A hook may be replaced, and a scaled workload written.
func TestChangedTo(t *testing.T) {
	object := func(name string, mark func(*capturedObject)) (string, capturedObject) {
		obj := testkit.Parsed(t, `{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: ns, name: `+name+`}}`)
		ref := lane.Object{GVK: obj.GroupVersionKind(), Namespace: "ns", Name: name}
		one := capturedObject{ref: ref, json: []byte(`{"spec":{"a":1}}`), uid: "u", generation: 1}
		if mark != nil {
			mark(&one)
		}
		return ref.Key(), one
	}
	for name, test := range map[string]struct {
		before, after func(*capturedObject)
		want          []string
	}{
		"nothing":         {},
		"value":           {after: func(o *capturedObject) { o.json, o.generation = []byte(`{"spec":{"a":2}}`), 2 }, want: []string{"spec.a: 1, then 2"}},
		"replaced":        {after: func(o *capturedObject) { o.uid = "v" }, want: []string{"was deleted and created again"}},
		"hook":            {before: func(o *capturedObject) { o.hook = true }, after: func(o *capturedObject) { o.uid, o.hook = "v", true }},
		"changed back":    {after: func(o *capturedObject) { o.generation = 3 }, want: []string{"was changed and changed back: its generation rose, so that its controller worked on it again"}},
		"scaled":          {before: func(o *capturedObject) { o.scaled = true }, after: func(o *capturedObject) { o.generation, o.scaled = 3, true }},
		"hook, new value": {before: func(o *capturedObject) { o.hook = true }, after: func(o *capturedObject) { o.uid, o.hook, o.json = "v", true, []byte(`{}`) }, want: []string{`spec: {"a":1}, then nothing`}},
	} {
		a, b := New(), New()
		key, one := object("web", test.before)
		a.objects[key] = one
		_, b.objects[key] = object("web", test.after)
		changes, err := a.ChangedTo(b)
		var got []string
		for _, c := range changes {
			got = append(got, c.Text)
		}
		if err != nil || !slices.Equal(got, test.want) {
			t.Errorf("%s: got %q, %v; want %q", name, got, err, test.want)
		}
	}
	a, b := New(), New()
	key, one := object("old", nil)
	a.objects[key] = one
	key, one = object("new", nil)
	b.objects[key] = one
	key, one = object("once", func(o *capturedObject) { o.mayBeGone = true })
	a.objects[key] = one
	changes, err := a.ChangedTo(b)
	if err != nil || len(changes) != 2 || changes[0].Text != "is new" || changes[1].Text != "was deleted" || changes[1].Object.Name != "old" {
		t.Errorf("got %+v, %v; want one new and one deleted object", changes, err)
	}
}

// Hooks that were replaced and that last are listed; Jobs and what serves them are not.
func TestHooksReplaced(t *testing.T) {
	a, b := New(), New()
	for _, kind := range []string{"x.y/v1 Widget", "batch/v1 Job", "rbac.authorization.k8s.io/v1 ClusterRole", "apps/v1 Deployment"} {
		version, name, _ := strings.Cut(kind, " ")
		ref := lane.Object{GVK: schema.FromAPIVersionAndKind(version, name), Namespace: "ns", Name: "one"}
		a.objects[ref.Key()], b.objects[ref.Key()] = capturedObject{ref: ref, hook: true, uid: "u"}, capturedObject{ref: ref, hook: true, uid: "v"}
	}
	got := a.HooksReplaced(b)
	if len(got) != 2 || len(a.HooksReplaced(a)) != 0 || !slices.ContainsFunc(got, func(r result.Ref) bool { return r.Kind == "Widget" }) || !slices.ContainsFunc(got, func(r result.Ref) bool { return r.Kind == "Deployment" }) {
		t.Errorf("got %v, want the Widget and the Deployment", got)
	}
}
