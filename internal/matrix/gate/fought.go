package gate

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

const (
	// foughtTurns is from how many turns on an object that programs write in turns is watched, for
	// foughtFor, and again after as many.
	foughtTurns = 6
	foughtFor   = 6 * time.Second
	// foughtQuiet is how long nobody may have taken a turn before a cell passes.
	foughtQuiet = 3 * time.Second
	// foughtReturns is how often one field must go back to a value that it had: writers that come to
	// an agreement do not undo each other's work again and again.
	foughtReturns = 3
)

// failedFights is the failure of an object whose fields programs that run set in turns, and never
// agree on; nil if there is none. Between two turns such an object may be as expected, and its pods
// ready. What is contested and not watched yet is in g.contested. Reason: NEVER_SETTLES.
func (g *Gate) failedFights(ctx context.Context) error {
	if g.Contested == nil {
		return nil
	}
	all, err := g.Contested()
	if err != nil {
		if ctx.Err() == nil {
			g.tell(err.Error())
		}
		return nil
	}
	g.contested = ""
	slices.SortStableFunc(all, func(a, b infra.Contest) int { return cmp.Compare(btoi(a.Status), btoi(b.Status)) }) // a status follows from the rest
	for _, c := range all {
		if c.Turns > 1 && time.Since(c.Last) < foughtQuiet && g.contested == "" {
			g.contested = fmt.Sprintf("%s %s is written by %s in turns", c.Resource.Resource, infra.NamespacedName(c.Namespace, c.Name), strings.Join(c.Writers, " and "))
		}
		key := fmt.Sprintf("%s %s/%s %t", c.Resource, c.Namespace, c.Name, c.Status)
		if c.Turns < g.watchedAt[key]+foughtTurns {
			continue
		}
		if g.watchedAt == nil {
			g.watchedAt = map[string]int{}
		}
		g.watchedAt[key] = c.Turns
		if f := g.watchFight(ctx, c); f != nil {
			if cause := g.causeOf(ctx, c); cause != nil {
				f = cause
			}
			return &reason.Error{Reason: reason.NeverSettles, Err: result.NewFailure(*f)}
		}
	}
	return nil
}

// causeOf is the fight that the one for a status follows from: the same writers' for an object itself,
// which may have begun after it. It is nil if there is none.
func (g *Gate) causeOf(ctx context.Context, c infra.Contest) *result.Finding {
	if !c.Status {
		return nil
	}
	all, err := g.Contested()
	if err != nil {
		return nil // the status shows it too
	}
	writers := slices.Sorted(slices.Values(c.Writers))
	for _, other := range all {
		if !other.Status && other.Turns > 1 && slices.Equal(slices.Sorted(slices.Values(other.Writers)), writers) {
			if f := g.watchFight(ctx, other); f != nil {
				return f
			}
		}
	}
	return nil
}

// watchFight watches an object until one of its fields has gone back and forth, and says which; nil
// if none did.
func (g *Gate) watchFight(ctx context.Context, c infra.Contest) *result.Finding {
	ctx, cancel := context.WithTimeout(ctx, foughtFor)
	defer cancel()
	w, err := g.Env.Clients.Dynamic.Resource(c.Resource).Namespace(c.Namespace).Watch(ctx, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", c.Name).String()})
	if err != nil {
		return nil // the next turns start another one
	}
	defer w.Stop()
	seen := history{}
	for {
		select {
		case <-ctx.Done():
			return nil
		case e, ok := <-w.ResultChan():
			if !ok {
				return nil
			}
			o, isObject := e.Object.(*unstructured.Unstructured)
			if !isObject || e.Type == watch.Deleted || o.GetName() != c.Name {
				continue
			}
			if seen.add(fought(o, c.Status)) {
				return g.fightFinding(c, o, seen)
			}
		}
	}
}

func (g *Gate) fightFinding(c infra.Contest, o *unstructured.Unstructured, seen history) *result.Finding {
	ref := result.Ref{Group: o.GroupVersionKind().Group, Kind: o.GetKind(), Namespace: c.Namespace, Name: c.Name}
	f := &result.Finding{Object: &ref}
	var writers []string
	for _, account := range c.Writers {
		text, component := g.writer(account)
		writers = append(writers, text)
		f.Component = cmp.Or(f.Component, component)
	}
	f.Cause = fmt.Sprintf("%s never settles: %s write it in turns, each undoing what the other one did", ref, strings.Join(writers, " and "))
	paths := slices.DeleteFunc(slices.Sorted(maps.Keys(seen)), func(path string) bool { return seen[path].returns == 0 })
	slices.SortStableFunc(paths, func(a, b string) int { // a checksum in an annotation follows from the rest
		return cmp.Compare(btoi(strings.HasPrefix(a, "metadata.")), btoi(strings.HasPrefix(b, "metadata.")))
	})
	const most = 5
	for _, path := range paths[:min(most, len(paths))] {
		line := path + " changes back and forth"
		if o.GetKind() != "Secret" {
			line += ": " + shown(seen[path].values[0]) + ", then " + shown(seen[path].values[1])
		}
		f.Story = append(f.Story, line)
	}
	if more := len(paths) - most; more > 0 {
		f.Story = append(f.Story, fmt.Sprintf("and %d more fields", more))
	}
	f.Story = append(f.Story, fmt.Sprintf("They took %d turns. Let only one of them own the object: give each its own namespaces or selectors, or leave one out.", c.Turns))
	return f
}

// shown is a value, shortened.
func shown(value string) string {
	const most = 100
	if len(value) > most {
		return strings.ToValidUTF8(value[:most], "") + "..."
	}
	return value
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// writer is an account, with the workload that has it, and its component.
func (g *Gate) writer(account string) (text, component string) {
	namespace, name, _ := strings.Cut(account, "/")
	text = "ServiceAccount " + account
	i := slices.IndexFunc(g.Env.Bundle.Expectation.Workloads, func(w bundle.Workload) bool {
		return w.Namespace == namespace && cmp.Or(w.PodSpec.ServiceAccountName, "default") == name && w.Kind != "Job"
	})
	if i < 0 {
		return text, ""
	}
	w := &g.Env.Bundle.Expectation.Workloads[i]
	return fmt.Sprintf("%s %s/%s (component %s, as %s)", w.Kind, w.Namespace, w.Name, w.Component, text), w.Component
}

// history is what was seen of an object, by the path of each field.
type history map[string]*past

type past struct {
	last    string
	values  []string // each once
	known   map[string]bool
	returns int // to a value that it had before
}

// add takes the next state of the object, and reports whether a field has gone back and forth.
func (h history) add(state map[string]string) bool {
	first, fight := len(h) == 0, false
	for path := range state {
		if h[path] != nil {
			continue
		}
		h[path] = &past{known: map[string]bool{}}
		if !first {
			h[path].took(absent)
		}
	}
	for path, p := range h {
		value, ok := state[path]
		if !ok {
			value = absent
		}
		p.took(value)
		fight = fight || p.returns >= foughtReturns
	}
	return fight
}

func (p *past) took(value string) {
	if value == p.last {
		return
	}
	if p.known[value] {
		p.returns++
	} else {
		p.values = append(p.values, value)
	}
	p.last, p.known[value] = value, true
}

const absent = "nothing"

// fought are the fields that writers may fight for: of an object or of its status. What the API
// server writes is nobody's.
func fought(o *unstructured.Unstructured, status bool) map[string]string {
	all := map[string]string{}
	for field, value := range o.Object {
		switch {
		case (field == "status") != status, slices.Contains([]string{"apiVersion", "kind"}, field):
		case field == "metadata":
			m, _ := value.(map[string]any)
			for _, part := range []string{"labels", "annotations", "ownerReferences", "finalizers"} {
				if m[part] != nil {
					flatten("metadata."+part, m[part], all)
				}
			}
		default:
			flatten(field, value, all)
		}
	}
	return all
}

func flatten(path string, value any, into map[string]string) {
	switch v := value.(type) {
	case map[string]any:
		for key, item := range v {
			flatten(path+"."+key, item, into)
		}
	case []any:
		for i, item := range v {
			flatten(path+"["+strconv.Itoa(i)+"]", item, into)
		}
	default:
		text, err := json.Marshal(v)
		if err != nil {
			text = fmt.Append(nil, v)
		}
		if at, ok := v.(string); ok {
			if _, err := time.Parse(time.RFC3339, at); err == nil {
				return // writers that agree may each have their own time
			}
		}
		into[path] = string(text)
	}
}
