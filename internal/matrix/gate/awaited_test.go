package gate

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/testkit"
	"github.com/nvidia/aicr-action/internal/testkit/lanetest"
	"github.com/nvidia/aicr-action/internal/util/wait"
)

// Kinds of one name in two API groups have each their own time, and the message says which it is:
// the second starts to be late when the first is done.
func TestAwaited_SameKindInTwoGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		object := func(group, ready string) *unstructured.Unstructured {
			return testkit.Parsed(t, "{apiVersion: "+group+"/v1, kind: Certificate, metadata: {name: tls, namespace: x}, status: {conditions: [{type: Ready, status: '"+ready+"', message: still at it}]}}")
		}
		one, two := object("one.example.com", "False"), object("two.example.com", "True")
		env := lanetest.Env(fake.NewClientset(), bundle.Expectation{})
		client := dynamicfake.NewSimpleDynamicClient(runtime.NewScheme(), one, two)
		env.Clients.Dynamic = client
		g := New(env, &lanetest.Lane{}, lane.Budgets{}, Deadline{}, func(string) {})
		for _, o := range []*unstructured.Unstructured{one, two} {
			g.Awaited = append(g.Awaited, infra.Awaited{Object: bundle.Object{Component: "c", Object: o}, Condition: "Ready"})
		}
		set := func(o *unstructured.Unstructured) {
			if _, err := client.Resource(infra.ResourceFor(o.GroupVersionKind())).Namespace("x").Update(t.Context(), o, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		begun, handedOver := time.Now(), false
		err := wait.For(t.Context(), "the operators", wait.Options{Budget: 5 * time.Minute, Interval: time.Second}, func(ctx context.Context) wait.Result {
			if !handedOver && time.Since(begun) >= awaitedFor-2*time.Second {
				handedOver = true
				set(object("one.example.com", "True"))
				set(object("two.example.com", "False"))
			}
			r, _ := g.checkAwaited(ctx)
			return r
		})
		if took := time.Since(begun); took < 2*awaitedFor-3*time.Second || took > 2*awaitedFor+3*time.Second {
			t.Errorf("it ended after %s, want about %s", took, 2*awaitedFor)
		}
		var failed *result.Failure
		if !errors.As(err, &failed) || failed.Findings[0].Object.Group != "two.example.com" || !strings.Contains(err.Error(), "Certificate.two.example.com x/tls is not Ready: still at it") {
			t.Errorf("got %v, want the second, with its group", err)
		}
	})
}

// A deployer that waits for what an operator reports is not waited for longer than one that does not
// look, if nothing else is late; and of what is late the cause is what the others name.
func TestAwaited_DeployerWaits(t *testing.T) {
	issuer := func(ready string) *unstructured.Unstructured {
		return testkit.Parsed(t, "{apiVersion: cert-manager.io/v1, kind: Issuer, metadata: {name: house, namespace: x}, status: {conditions: [{type: Ready, status: '"+ready+"', message: no key}]}}")
	}
	certificate := testkit.Parsed(t, "{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {name: tls, namespace: x}, spec: {issuerRef: {name: house}}, status: {conditions: [{type: Ready, status: 'False', message: still at it}]}}")
	item := func(release string, state lane.ItemState) lane.Item {
		return lane.Item{ID: "HelmRelease " + release, Ref: result.Ref{Group: "helm.toolkit.fluxcd.io", Kind: "HelmRelease", Namespace: "x", Name: release}, State: state, Text: "Progressing"}
	}
	late := observe.WorkloadReport{Waiting: []observe.WaitingWorkload{{Workload: &bundle.Workload{Kind: "Deployment", Name: "d"}}}}
	for name, c := range map[string]struct {
		issuer string
		items  []lane.Item
		report observe.WorkloadReport
		want   string // "": the gate goes on
	}{
		"it waits for the Certificate":  {"True", []lane.Item{item("c", lane.ItemWaiting)}, observe.WorkloadReport{}, "Certificate.cert-manager.io x/tls is not Ready: still at it"},
		"the Issuer is the cause":       {"False", []lane.Item{item("c", lane.ItemWaiting), item("later", lane.ItemBlocked)}, observe.WorkloadReport{}, "Issuer.cert-manager.io x/house is not Ready: no key"},
		"another release is on its way": {"True", []lane.Item{item("c", lane.ItemWaiting), item("other", lane.ItemWaiting)}, observe.WorkloadReport{}, ""},
		"a workload is late":            {"True", []lane.Item{item("c", lane.ItemWaiting)}, late, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				made := issuer(c.issuer)
				env := lanetest.Env(fake.NewClientset(), bundle.Expectation{Releases: []bundle.Release{{Component: "c", Name: "c", Namespace: "x"}, {Component: "other", Name: "other", Namespace: "x"}, {Component: "later", Name: "later", Namespace: "x"}}})
				env.Clients.Dynamic = dynamicfake.NewSimpleDynamicClient(runtime.NewScheme(), made, certificate)
				g := New(env, &lanetest.Lane{}, lane.Budgets{}, Deadline{}, func(string) {})
				for _, o := range []*unstructured.Unstructured{certificate, made} {
					g.Awaited = append(g.Awaited, infra.Awaited{Object: bundle.Object{Component: "c", Object: o}, Condition: "Ready"})
				}
				begun := time.Now()
				err := wait.For(t.Context(), "the operators", wait.Options{Budget: 2 * time.Minute, Interval: time.Second}, func(ctx context.Context) wait.Result {
					r, ok := g.failedAwaited(ctx, lane.State{Items: c.items}, c.report)
					if ok {
						return wait.NotYet("the deployer waits")
					}
					return r
				})
				var failed *result.Failure
				if got := errors.As(err, &failed); got != (c.want != "") || got && failed.Findings[0].Cause != c.want {
					t.Fatalf("got %v, want %q", err, c.want)
				}
				if took := time.Since(begun); c.want != "" && took > awaitedFor+3*time.Second {
					t.Errorf("it ended after %s", took)
				}
			})
		})
	}
}
