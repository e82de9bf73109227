package compare

import (
	"context"
	"fmt"
	"strings"
)

// templates are what the charts of before and of now render, by key: made once, and only if a
// difference needs them. What cannot be rendered again explains nothing.
type templates struct {
	reference, live *Captured
	before, now     map[string]map[string]any
	made            bool
}

// ranAndWent reports whether a missing object is a Job that became a hook, which has done its work.
func (t *templates) ranAndWent(key string, d objectDifference) bool {
	if t.live.Before == nil || d.object.GVK.Kind != "Job" || !t.reference.objects[key].hook {
		return false
	}
	before, had := t.live.Before.objects[key]
	return had && !before.hook
}

func (t *templates) make(ctx context.Context) {
	if t.made {
		return
	}
	t.made = true
	for _, side := range []struct {
		of *Captured
		to *map[string]map[string]any
	}{{t.live.Before, &t.before}, {t.live, &t.now}} {
		if side.of == nil || side.of.Render == nil {
			continue
		}
		objects, err := side.of.Render(ctx)
		if err != nil {
			continue
		}
		*side.to = map[string]map[string]any{}
		for _, o := range objects {
			(*side.to)[renderedKey(o.Object.GroupVersionKind(), o.Object.GetNamespace(), o.Object.GetName())] = o.Object.Object
		}
	}
}

// stays says why an apply did not take away what the new template does not set, "" if it is not that.
// An apply removes only what it has set itself, under the name that it has set.
func (t *templates) stays(ctx context.Context, key string, d objectDifference) string {
	t.make(ctx)
	old, now := t.before[key], t.now[key]
	if old == nil || now == nil || setsAt(now, d.path) {
		return ""
	}
	name := d.path[strings.LastIndex(d.path, ".")+1:]
	switch {
	case d.object.GVK.Kind == "Secret" && setsAt(old, "stringData"+strings.TrimPrefix(d.path, "data")):
		return "the old template has the key in stringData, which the API server copies to data, and no apply takes it away there; use data in place of stringData, or give the Secret another name"
	case name == "serviceAccountName" || name == "serviceAccount":
		return "the API server copies serviceAccountName to serviceAccount, its older name, which no apply takes away, and reads it from there; set serviceAccountName: default"
	case !setsAt(old, d.path):
		return "neither template sets it: the API server filled it in for the old one, and no apply takes away what it has not set; set it in the template, or delete the object before the upgrade"
	}
	return ""
}

// merged says why a port is gone that the new template has, "" if it is not that: a patch that is made of
// the template of before and that of now finds ports by their number alone, and one number is there twice.
// See https://github.com/kubernetes/kubernetes/issues/39188.
func (t *templates) merged(ctx context.Context, key string, d objectDifference) string {
	list := strings.LastIndex(d.path, "ports[")
	if list < 0 {
		if list = strings.LastIndex(d.path, "ports (order)"); list < 0 {
			return ""
		}
	}
	t.make(ctx)
	why := ""
	ports := d.path[:list] + "ports"
	walk("", t.now[key], func(at string, v any) {
		if at != ports {
			return
		}
		all, _ := v.([]any)
		seen := map[string]bool{}
		for _, p := range all {
			one, _ := p.(map[string]any)
			number := one["port"]
			if number == nil {
				number = one["containerPort"]
			}
			if text := fmt.Sprint(number); number != nil && seen[text] {
				why = "port " + text + " is there twice, with two protocols, and a client-side apply tells ports apart by their number alone, so that it loses one; delete the object before the upgrade, or apply it with kubectl apply --server-side"
			} else {
				seen[text] = true
			}
		}
	})
	return why
}

// twice says why a variable is gone that the new template has, "" if it is not that: the old template has its
// name twice, and a client-side apply tells variables apart by their name.
func (t *templates) twice(ctx context.Context, key string, d objectDifference) string {
	list := strings.LastIndex(d.path, ".env")
	if list < 0 {
		return ""
	}
	t.make(ctx)
	why := ""
	walk("", t.before[key], func(at string, v any) {
		if at != d.path[:list]+".env" {
			return
		}
		all, _ := v.([]any)
		seen := map[any]bool{}
		for _, e := range all {
			one, _ := e.(map[string]any)
			if name := one["name"]; seen[name] {
				why = fmt.Sprintf("the old template has the variable %v twice, and a client-side apply tells variables apart by their name alone, so that its patch removes both; delete the object before the upgrade, or apply it with kubectl apply --server-side", name)
			} else {
				seen[name] = true
			}
		}
	})
	return why
}

// setsAt reports whether an object has a value at a path of a difference, or below it.
func setsAt(object map[string]any, path string) bool {
	found := false
	walk("", object, func(at string, _ any) {
		rest, ok := strings.CutPrefix(at, path)
		found = found || ok && (rest == "" || strings.ContainsAny(rest[:1], ".["))
	})
	return found
}

// walk passes every path of a value, as differences name them.
func walk(path string, v any, visit func(string, any)) {
	if path != "" {
		visit(path, v)
	}
	switch x := v.(type) {
	case map[string]any:
		for key, child := range x {
			walk(join(path, key), child, visit)
		}
	case []any:
		key := ItemKey(x)
		for i, child := range x {
			at := index(path, i)
			if key != nil {
				at = path + "[" + key(child) + "]"
			}
			walk(at, child, visit)
		}
	}
}
