package daytwo

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/chart"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/compare"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit"
	"github.com/nvidia/aicr-action/internal/testkit/lanetest"
)

// twice is a lane whose second delivery does something.
type twice struct {
	lanetest.Lane
	do func() error
}

func (l *twice) Again(context.Context, *lane.Env, time.Duration) error { return l.do() }

// A second delivery must change nothing. One that fails is NEVER_SETTLES, unless the failure is the
// machine's.
func TestDrift(t *testing.T) {
	secret := func(password, annotation string) []*unstructured.Unstructured {
		return []*unstructured.Unstructured{
			testkit.Parsed(t, `{apiVersion: v1, kind: Secret, metadata: {namespace: b, name: token}, stringData: {password: `+password+`}}`),
			testkit.Parsed(t, `{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: b, name: web}, spec: {template: {metadata: {annotations: {sum: `+annotation+`}}}}}`),
		}
	}
	env := &lane.Env{Clients: &infra.Clients{Kube: fake.NewClientset()}, Bundle: &bundle.Bundle{
		Expectation: bundle.Expectation{Objects: []bundle.Object{{Release: "b", Template: "b/templates/secret.yaml", Object: secret("x", "x")[0]}}},
		Installs:    []bundle.Install{{Release: bundle.Release{Name: "b"}, Chart: &chart.Chart{Metadata: &chart.Metadata{Name: "b"}, Templates: []*chart.File{{Name: "templates/secret.yaml", Data: []byte("{{ randAlphaNum 8 }}")}}}}},
	}}
	for name, test := range map[string]struct {
		after       []*unstructured.Unstructured
		again, gate error
		want        reason.Reason
		texts       []string
	}{
		"settles": {after: secret("one", "one")},
		"changes": {
			after: secret("two", "two"), want: reason.NeverSettles,
			texts: []string{"Secret b/token differs: data.password: \"a value of 3 bytes that is not shown\", then another", "Deployment b/web rolls", "likely cause: b/templates/secret.yaml:1 uses randAlphaNum"},
		},
		"is refused":      {after: secret("one", "one"), again: reason.New(reason.DeployFailed, "field is immutable"), want: reason.NeverSettles, texts: []string{"the second delivery of the same bundle fails", "field is immutable"}},
		"never ready":     {after: secret("one", "one"), gate: &reason.Error{Reason: reason.SyncTimeout, Err: result.NewFailure(result.Finding{Cause: "not ready"})}, want: reason.NeverSettles, texts: []string{"fails, and the first did not: not ready"}},
		"the machine's":   {after: secret("one", "one"), again: reason.New(reason.ClusterFailed, "no answer"), want: reason.ClusterFailed},
		"gate's machine":  {after: secret("two", "two"), gate: reason.New(reason.MachineTooSlow, "slow"), want: reason.NeverSettles}, // changed before the gate
		"machine is slow": {after: secret("one", "one"), gate: reason.New(reason.MachineTooSlow, "slow"), want: reason.MachineTooSlow},
	} {
		objects := secret("one", "one")
		l := &twice{do: func() error { objects = test.after; return test.again }}
		run := SecondDelivery{Env: env, Lane: l, Budget: time.Second, Gate: func(context.Context) error { return test.gate }, Capture: func(context.Context) (*compare.Captured, error) {
			taken := compare.New()
			for _, o := range objects {
				if err := taken.Add(o, "b", false); err != nil {
					return nil, err
				}
			}
			return taken, nil
		}}
		note, err := run.Do(t.Context())
		if reason.Of(err) != test.want || (note != "") != (test.want == "") {
			t.Errorf("%s: got %q, %s %v; want %s", name, note, reason.Of(err), err, test.want)
			continue
		}
		if err == nil {
			continue
		}
		text := err.Error()
		if f := (*result.Failure)(nil); errors.As(err, &f) {
			text += "\n" + f.Cause() + "\n" + strings.Join(f.Findings[0].Story, "\n")
		}
		testkit.WantText(t, name, text, test.texts...)
	}
}

// A Job that its time to live deletes is gone, new or about to go, by chance: that is no change, and a
// warning says that it runs again.
func TestDrift_Expiring(t *testing.T) {
	job := func(more string) *unstructured.Unstructured {
		return testkit.Parsed(t, `{apiVersion: batch/v1, kind: Job, metadata: {namespace: b, name: once`+more+`}, spec: {ttlSecondsAfterFinished: 3}}`)
	}
	b := &bundle.Bundle{Expectation: bundle.Expectation{Objects: []bundle.Object{{Component: "b", Release: "b", Template: "b/templates/job.yaml", Object: job("")}}}}
	capture := func(all ...*unstructured.Unstructured) *compare.Captured {
		taken := compare.New()
		for _, o := range all {
			if err := taken.Add(o, "b", false); err != nil {
				t.Fatal(err)
			}
		}
		return taken
	}
	run := SecondDelivery{Env: &lane.Env{Bundle: b}, Lane: &lanetest.Lane{}}
	for name, after := range map[string]*compare.Captured{"gone": capture(), "new": capture(job(", uid: other")), "about to go": capture(job(", finalizers: [foregroundDeletion]"))} {
		if found, err := run.compare(t.Context(), state{objects: capture(job(", uid: u"))}, state{objects: after}); err != nil || found != nil {
			t.Errorf("%s: got %v, %v", name, found, err)
		}
	}
}

// Pods that were replaced are a roll, and more pods or fewer are not.
func TestRolled(t *testing.T) {
	web, db := result.Ref{Kind: "Deployment", Name: "web"}, result.Ref{Kind: "StatefulSet", Name: "db"}
	all := func(of map[types.UID]result.Ref) pods { return of }
	before := all(map[types.UID]result.Ref{"1": web, "2": web, "3": db})
	for name, test := range map[string]struct {
		after pods
		want  map[result.Ref]int
	}{
		"same":     {before, nil},
		"more":     {all(map[types.UID]result.Ref{"1": web, "2": web, "3": db, "4": db}), nil},
		"fewer":    {all(map[types.UID]result.Ref{"1": web, "3": db}), nil},
		"replaced": {all(map[types.UID]result.Ref{"1": web, "2": web, "9": db}), map[result.Ref]int{db: 1}},
	} {
		if got := rolled(before, test.after); len(got) != len(test.want) || got[db] != test.want[db] {
			t.Errorf("%s: got %v, want %v", name, got, test.want)
		}
	}
}

// What a template uses so that it renders something else: in actions, not in comments or texts.
func TestUses(t *testing.T) {
	in := &bundle.Install{Chart: &chart.Chart{Metadata: &chart.Metadata{Name: "b"}, Templates: []*chart.File{
		{Name: "templates/secret.yaml", Data: []byte("# now and lookup\n{{/* randAlphaNum */}}\na: {{ .Values.now2 }}\nb: {{ randAlphaNum 8 | b64enc }}\nc: {{ .Release.Revision }}\n")},
		{Name: "templates/ca.yaml", Data: []byte("{{- $ca := genCA \"x\" 1 }}")},
	}}}
	own := []string{"b/templates/secret.yaml:4 uses randAlphaNum", "b/templates/secret.yaml:5 uses .Release.Revision"}
	if got := usesOf(in, "b/templates/secret.yaml"); !slices.Equal(got, own) {
		t.Errorf("of a template: got %q, want %q", got, own)
	}
	if got, want := usesOf(in, "b/templates/web.yaml"), append(own, "b/templates/ca.yaml:1 uses genCA"); !slices.Equal(got, want) {
		t.Errorf("of a template without any: got %q, want %q", got, want)
	}
	in.Sources = map[string]*recipe.Manifest{"b/templates/secret.yaml": {File: "recipes/components/b/manifests/secret.yaml"}}
	if got := usesOf(in, "recipes/components/b/manifests/secret.yaml"); len(got) != 2 || got[0] != "recipes/components/b/manifests/secret.yaml:4 uses randAlphaNum" {
		t.Errorf("of a manifest: got %q", got)
	}
}
