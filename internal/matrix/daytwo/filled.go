package daytwo

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/wait"
)

// Heals is a lane whose deployer writes back what others change, some time after it has reported
// everything as ready.
type Heals interface{ HealsWithin() time.Duration }

// placeholder stands for what an operator would write.
const placeholder = "written by an operator"

// placeholderKey is the key for it in a Secret that has none.
const placeholderKey = "operator"

// Filled is what Secrets and ConfigMaps of both bundles have that the one which runs does not
// render: an operator wrote it. A delivery must leave it alone.
type Filled struct {
	bundles Bundles
	objects []*filledObject
	// written says what else this program wrote or deleted.
	written []string
}

type filledObject struct {
	old, now *bundle.Object
	uid      types.UID
	lengths  map[string]int // of the values, by key
	// played: this program filled it, since it is rendered empty and nothing here fills it.
	played bool
	// maker is the custom resource for which this program created it; nil if a bundle had rendered it.
	maker *bundle.Object
}

// Fill notes what operators wrote into objects of both bundles, and fills each Secret that both
// render without any value, as the operator would for which it is there. Jobs that would be gone are deleted.
func Fill(ctx context.Context, env *lane.Env, l lane.Lane, b Bundles) (*Filled, error) {
	all := &Filled{bundles: b}
	for i := range b.Now.Expectation.Objects {
		now := &b.Now.Expectation.Objects[i]
		if kind := now.Object.GetKind(); now.Ephemeral || kind != "Secret" && kind != "ConfigMap" {
			continue
		}
		old := b.Before.Expectation.Object(now.Ref())
		if old == nil {
			continue
		}
		live, err := read(ctx, env, now)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read %s, to see what operators wrote into it: %w", now.Object.GetName(), err)
		}
		f := &filledObject{old: old, now: now, uid: live.GetUID(), lengths: map[string]int{}}
		before, after := rendered(old), rendered(now)
		for key, n := range lengths(live) {
			if n > 0 && before[key] == 0 {
				f.lengths[key] = n
			}
		}
		if len(f.lengths) == 0 && empty(before) && empty(after) && mayFill(live) {
			if err := f.fill(ctx, env, keysToFill(before, after)); err != nil {
				return nil, err
			}
		}
		if len(f.lengths) > 0 {
			all.objects = append(all.objects, f)
		}
	}
	if err := all.make(ctx, env); err != nil {
		return nil, err
	}
	expired, err := expireJobs(ctx, env, l, b.Before, b.Now)
	if err != nil {
		return nil, err
	}
	all.written = append(all.written, expired...)
	return all, all.inject(ctx, env)
}

// Notes names the Secrets that this program has filled.
func (all *Filled) Notes() (lines []string) {
	if all == nil {
		return nil
	}
	for _, f := range all.objects {
		if f.played && f.maker == nil {
			lines = append(lines, fmt.Sprintf("%s is rendered without a value; filled before the second delivery, as its operator would", f.now.Ref()))
		}
	}
	return lines
}

// Played says what else this program has written before the delivery, in the place of simulated operators.
func (all *Filled) Played() []string {
	lines := slices.Clone(all.written)
	for _, f := range all.objects {
		if f.maker != nil {
			lines = append(lines, fmt.Sprintf("%s is what %s makes, whose operator is simulated; created before the second delivery in its place", f.now.Ref(), f.maker.Ref()))
		}
	}
	return lines
}

// Taken compares with what is there after the delivery. What was taken away has the reason code, with
// lengths and without values. What this program wrote is removed again.
func (all *Filled) Taken(ctx context.Context, env *lane.Env, l lane.Lane, what string, code reason.Reason) error {
	if all == nil {
		return nil
	}
	heals, _ := l.(Heals)
	var findings []result.Finding
	for _, f := range all.objects {
		if f.maker != nil { // the new bundle may do with it what it likes
			if err := f.restore(ctx, env); err != nil && !apierrors.IsNotFound(err) {
				return reason.Wrap(reason.ClusterFailed, err)
			}
			continue
		}
		gone, live, err := f.gone(ctx, env)
		if err == nil && len(gone) == 0 && heals != nil && f.overwritten() {
			gone, live, err = f.goneWithin(ctx, env, heals.HealsWithin())
		}
		if err != nil {
			return reason.Wrap(reason.ClusterFailed, err)
		}
		if len(gone) > 0 {
			findings = append(findings, f.finding(what, gone, live, all.bundles))
			continue
		}
		if err := f.restore(ctx, env); err != nil {
			return reason.Wrap(reason.ClusterFailed, err)
		}
	}
	if len(findings) == 0 {
		return nil
	}
	return &reason.Error{Reason: code, Err: &result.Failure{Findings: findings}}
}

// overwritten reports whether the new bundle renders one of the keys without a value.
func (f *filledObject) overwritten() bool {
	after := rendered(f.now)
	for key := range f.lengths {
		if n, has := after[key]; has && n == 0 {
			return true
		}
	}
	return false
}

// gone lists the keys that have no value any more. live is nil if the object is gone, too.
func (f *filledObject) gone(ctx context.Context, env *lane.Env) (keys []string, live *unstructured.Unstructured, err error) {
	live, err = read(ctx, env, f.now)
	if apierrors.IsNotFound(err) {
		return slices.Sorted(maps.Keys(f.lengths)), nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read %s, to see what the delivery left of it: %w", f.now.Ref(), err)
	}
	now, after := lengths(live), rendered(f.now)
	for _, key := range slices.Sorted(maps.Keys(f.lengths)) {
		if now[key] == 0 && after[key] == 0 {
			keys = append(keys, key)
		}
	}
	return keys, live, nil
}

func (f *filledObject) goneWithin(ctx context.Context, env *lane.Env, budget time.Duration) (keys []string, live *unstructured.Unstructured, err error) {
	waited := wait.For(ctx, "the deployer to write "+f.now.Ref().String()+" back", wait.Options{Budget: budget, Interval: time.Second, Changed: env.Tell}, func(ctx context.Context) wait.Result {
		if keys, live, err = f.gone(ctx, env); err == nil && len(keys) == 0 {
			return wait.NotYet("it still has its values")
		}
		return wait.Done()
	})
	if waited != nil && !wait.IsTimeout(waited) {
		err = errors.Join(err, waited)
	}
	return keys, live, err
}

func (f *filledObject) finding(what string, gone []string, live *unstructured.Unstructured, b Bundles) result.Finding {
	ref := f.now.Ref()
	found := result.Finding{Check: emptiedByDelivery.ID, Object: &ref, Component: f.now.Component}
	more := ""
	if n := len(gone) - 1; n > 0 {
		more = fmt.Sprintf(" (and %d more)", n)
	}
	found.Cause = fmt.Sprintf("%s empties %s: data[%s] had %d bytes, which no chart rendered, and has none now%s", what, ref, gone[0], f.lengths[gone[0]], more)
	before, after, back := rendered(f.old), rendered(f.now), isRollback(what)
	for _, key := range gone {
		_, had := before[key]
		_, has := after[key]
		why := "the delivery replaced all of its data"
		switch {
		case live == nil:
			why = "the object is gone"
		case live.GetUID() != f.uid:
			why = "the object was deleted and created again"
		case has:
			why = "the template renders it without a value, and that is what is delivered"
		case had && back:
			why = "the upgrade's template renders it and that of before does not, so that the deployer removes it"
		case had:
			why = "the old template renders it and the new one does not, so that the deployer removes it"
		}
		found.Story = append(found.Story, fmt.Sprintf("%s: data[%s]: %d bytes, then nothing: %s", ref, key, f.lengths[key], why))
	}
	if back { // whose templates nobody changes any more
		found.Story = append(found.Story, fmt.Sprintf("its template is %s (component %s); copy it before the rollback, and write it back afterwards, unless its operator does", place(b.Now, f.now, ""), f.now.Component))
		return found
	}
	line := fmt.Sprintf("leave data out of %s (component %s)", place(b.Now, f.now, ""), f.now.Component)
	if f.now.Hook {
		line = fmt.Sprintf("make %s an ordinary object without data, and no hook (component %s)", place(b.Now, f.now, ""), f.now.Component)
	}
	found.Story = append(found.Story, line+": a key that no template ever rendered stays as its operator wrote it, in Helm, Argo CD and Flux")
	return found
}

func (f *filledObject) fill(ctx context.Context, env *lane.Env, keys []string) error {
	values := map[string]any{}
	for _, key := range keys {
		values[key] = base64.StdEncoding.EncodeToString([]byte(placeholder))
		f.lengths[key] = len(placeholder)
	}
	f.played = true
	return f.patch(ctx, env, values)
}

// restore makes of what this program wrote what the new bundle renders.
func (f *filledObject) restore(ctx context.Context, env *lane.Env) error {
	if !f.played {
		return nil
	}
	after, values := rendered(f.now), map[string]any{}
	for key := range f.lengths {
		switch n, has := after[key]; {
		case !has:
			values[key] = nil
		case n == 0:
			values[key] = ""
		} // else the delivery wrote it
	}
	return f.patch(ctx, env, values)
}

func (f *filledObject) patch(ctx context.Context, env *lane.Env, data map[string]any) error {
	raw, err := json.Marshal(map[string]any{"data": data})
	if err == nil {
		_, err = env.Clients.Dynamic.Resource(infra.ResourceFor(f.now.Object.GroupVersionKind())).Namespace(f.now.Object.GetNamespace()).
			Patch(ctx, f.now.Object.GetName(), types.MergePatchType, raw, metav1.PatchOptions{FieldManager: "operator"})
	}
	if err != nil {
		return fmt.Errorf("write into %s, as its operator would: %w", f.now.Ref(), err)
	}
	return nil
}

func read(ctx context.Context, env *lane.Env, o *bundle.Object) (*unstructured.Unstructured, error) {
	return env.Clients.Dynamic.Resource(infra.ResourceFor(o.Object.GroupVersionKind())).Namespace(o.Object.GetNamespace()).Get(ctx, o.Object.GetName(), metav1.GetOptions{})
}

// rendered has the length of each value in an object's template, by key.
func rendered(o *bundle.Object) map[string]int { return lengths(o.Object) }

// lengths has the length of each value, by key.
func lengths(o *unstructured.Unstructured) map[string]int {
	all := map[string]int{}
	for _, field := range []string{"data", "stringData"} {
		values, _, _ := unstructured.NestedMap(o.Object, field)
		for key, v := range values {
			text, ok := v.(string)
			if raw, err := base64.StdEncoding.DecodeString(text); err == nil && field == "data" && o.GetKind() == "Secret" {
				text = string(raw)
			}
			if all[key] = len(text); !ok && v != nil {
				all[key] = len(fmt.Sprint(v))
			}
		}
	}
	return all
}

func empty(values map[string]int) bool {
	for _, n := range values {
		if n > 0 {
			return false
		}
	}
	return true
}

// mayFill reports whether an operator could fill it: not what a controller of Kubernetes fills, and
// not what must be JSON.
func mayFill(live *unstructured.Unstructured) bool {
	kind, _, _ := unstructured.NestedString(live.Object, "type")
	fixed, _, _ := unstructured.NestedBool(live.Object, "immutable")
	return live.GetKind() == "Secret" && !fixed && !strings.HasPrefix(kind, "kubernetes.io/service-account-token") && !strings.HasPrefix(kind, "kubernetes.io/docker") && empty(lengths(live))
}

func keysToFill(before, after map[string]int) []string {
	keys := map[string]bool{}
	for _, m := range []map[string]int{before, after} {
		for key := range m {
			keys[key] = true
		}
	}
	if len(keys) == 0 {
		return []string{placeholderKey}
	}
	return slices.Sorted(maps.Keys(keys))
}
