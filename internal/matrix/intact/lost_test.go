package intact

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/testkit"
)

func pod(spec string) string {
	return `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, namespace: ns}, spec: {template: {spec: ` + spec + `}}}`
}

// What was rendered and is not live, for each way in which it may be written.
func TestLost(t *testing.T) {
	config := func(data string) string {
		return `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: ns}, data: ` + data + `}`
	}
	widget := func(spec string) string {
		return `{apiVersion: example.com/v1, kind: Widget, metadata: {name: a, namespace: ns}, spec: ` + spec + `}`
	}
	for name, tc := range map[string]struct {
		rendered, live string
		want           string // path: rendered > live, "; " between
	}{
		"a default":                        {widget(`{a: 1}`), widget(`{a: 1, b: 2}`), ""},
		"a field that is dropped":          {pod(`{containers: [{name: m, lifecycle: {stopSignal: SIGTERM}}]}`), pod(`{containers: [{name: m, image: i}]}`), `spec.template.spec.containers[0].lifecycle: map[stopSignal:SIGTERM] > <nil>`},
		"one beside another":               {widget(`{ref: {kind: A, namespace: x}}`), widget(`{ref: {kind: A}}`), "spec.ref.namespace: x > <nil>"},
		"a value that is overwritten":      {widget(`{replicas: 3}`), widget(`{replicas: 1}`), "spec.replicas: 3 > 1"},
		"a number as a text":               {widget(`{port: 80}`), widget(`{port: "80"}`), ""},
		"a whole float":                    {widget(`{n: 1.0}`), widget(`{n: 1}`), ""},
		"quantities":                       {widget(`{cpu: 1000m, memory: 1024Mi, n: 0.5, p: 1e3}`), widget(`{cpu: "1", memory: 1Gi, n: 500m, p: "1000"}`), ""},
		"another quantity":                 {widget(`{cpu: 1000m}`), widget(`{cpu: "2"}`), "spec.cpu: 1000m > 2"},
		"durations":                        {widget(`{d: 60m}`), widget(`{d: 1h0m0s}`), ""},
		"times":                            {widget(`{t: "2026-01-01T00:00:00+00:00"}`), widget(`{t: "2026-01-01T00:00:00Z"}`), ""},
		"base64 with line breaks":          {widget("{b: \"QUJD\\nREVG\\n\"}"), widget(`{b: QUJDREVG}`), ""},
		"a text is no quantity":            {config(`{a: 1000m}`), config(`{a: "1"}`), "data.a: 1000m > 1"},
		"nothing":                          {widget(`{a: null, b: {}, c: [], d: {e: {}}, f: "", g: 0, h: false, i: [{}]}`), widget(`{}`), ""},
		"a zero where something is":        {widget(`{replicas: 0}`), widget(`{replicas: 1}`), "spec.replicas: 0 > 1"},
		"items by name, in another order":  {pod(`{containers: [{name: a, image: x}, {name: b, image: y}]}`), pod(`{containers: [{name: s, image: z}, {name: b, image: y}, {name: a, image: x}]}`), ""},
		"an item that is lost":             {pod(`{containers: [{name: a, env: [{name: X, value: "1"}, {name: Y, value: "2"}]}]}`), pod(`{containers: [{name: a, env: [{name: Y, value: "2"}]}]}`), "spec.template.spec.containers[0].env[0]: map[name:X value:1] > <nil>"},
		"items of one key, one is lost":    {widget(`{e: [{name: X, v: 1}, {name: X, v: 2}]}`), widget(`{e: [{name: X, v: 2}]}`), "spec.e[0]: map[name:X v:1] > <nil>"},
		"ports without a protocol":         {widget(`{ports: [{port: 53}, {port: 53, protocol: UDP}]}`), widget(`{ports: [{port: 53, protocol: UDP}, {port: 53, protocol: TCP}]}`), ""},
		"tolerations that admission adds":  {widget(`{tolerations: [{key: a, operator: Exists}]}`), widget(`{tolerations: [{key: b}, {key: a, operator: Exists, effect: NoSchedule}, {operator: Exists}]}`), ""},
		"a set in another order":           {widget(`{modes: [A, B]}`), widget(`{modes: [B, A]}`), ""},
		"an item of a list of texts":       {widget(`{modes: [A, C]}`), widget(`{modes: [B, A]}`), "spec.modes[1]: C > A"},
		"items without keys, in place":     {widget(`{rules: [{verbs: [get]}, {verbs: [list, watch]}]}`), widget(`{rules: [{verbs: [get]}, {verbs: [list]}]}`), "spec.rules[1].verbs[1]: watch > <nil>"},
		"another type":                     {widget(`{a: {b: 1}}`), widget(`{a: x}`), "spec.a: map[b:1] > x"},
		"keys with dots and slashes":       {`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {a.b/c: x}, labels: {"d.e": z}}}`, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}`, `metadata.annotations["a.b/c"]... metadata.labels["d.e"]`},
		"a document's last line break":     {config("{a: \"x\\ny\"}"), config("{a: \"x\\ny\\n\"}"), ""},
		"several of them":                  {config("{a: \"x\"}"), config("{a: \"x\\n\\n\"}"), ""},
		"a line":                           {config("{a: \"x\\ny\"}"), config("{a: \"x\\nz\\n\"}"), "data.a: x\ny > x\nz\n"},
		"a label":                          {`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {x: "1", y: "2"}}}`, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {y: "2"}}}`, "metadata.labels.x: 1 > <nil>"},
		"stringData is data":               {`{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {p: hidden}}`, `{apiVersion: v1, kind: Secret, metadata: {name: a}, data: {p: aGlkZGVu}}`, ""},
		"stringData wins":                  {`{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {p: hidden}, data: {p: eA==}}`, `{apiVersion: v1, kind: Secret, metadata: {name: a}, data: {p: aGlkZGVu}}`, ""},
		"another value of a Secret":        {`{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {p: hidden}}`, `{apiVersion: v1, kind: Secret, metadata: {name: a}, data: {p: eA==}}`, "data.p: hidden > x"},
		"a token":                          {`{apiVersion: v1, kind: Secret, type: kubernetes.io/service-account-token, metadata: {name: a}, data: {token: eA==}}`, `{apiVersion: v1, kind: Secret, metadata: {name: a}, data: {token: eQ==}}`, "type: kubernetes.io/service-account-token > <nil>"},
		"status, and what is the server's": {`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, uid: x, creationTimestamp: "2020-01-01T00:00:00Z"}, status: {a: 1}}`, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, uid: y}}`, ""},
		"an injected authority":            {`{apiVersion: v1, kind: ValidatingWebhookConfiguration, metadata: {name: a}, webhooks: [{name: w, failurePolicy: Ignore, clientConfig: {caBundle: Cg==}}]}`, `{apiVersion: v1, kind: ValidatingWebhookConfiguration, metadata: {name: a}, webhooks: [{name: w, failurePolicy: Fail, clientConfig: {caBundle: QUJD}}]}`, ""},
		"an authority that is dropped":     {`{apiVersion: v1, kind: ValidatingWebhookConfiguration, metadata: {name: a}, webhooks: [{name: w, clientConfig: {caBundle: QUJD}}]}`, `{apiVersion: v1, kind: ValidatingWebhookConfiguration, metadata: {name: a}, webhooks: [{name: w, clientConfig: {}}]}`, "webhooks[0].clientConfig.caBundle: QUJD > <nil>"},
		"an aggregated role":               {`{apiVersion: v1, kind: ClusterRole, metadata: {name: a}, aggregationRule: {a: b}, rules: [{verbs: [x]}]}`, `{apiVersion: v1, kind: ClusterRole, metadata: {name: a}, aggregationRule: {a: b}, rules: [{verbs: [y]}]}`, ""},
		"the alias of an account":          {pod(`{serviceAccount: a, serviceAccountName: b}`), pod(`{serviceAccount: b, serviceAccountName: b}`), ""},
		"a chart's label with a digest":    {`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {helm.sh/chart: c-1.0.0}}}`, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {helm.sh/chart: c-1.0.0_abc}}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, l := range lost(testkit.Parsed(t, tc.rendered), testkit.Parsed(t, tc.live)) {
				got = append(got, fmt.Sprintf("%s: %v > %v", l.Path, l.Rendered, l.Live))
			}
			want := tc.want
			if name == "keys with dots and slashes" {
				want = `metadata.annotations: map[a.b/c:x] > <nil>; metadata.labels: map[d.e:z] > <nil>`
			}
			if text := strings.Join(got, "; "); text != want {
				t.Errorf("got %q, want %q", text, want)
			}
		})
	}
	inner := lostFields(map[string]any{"metadata": map[string]any{"annotations": map[string]any{"a.b/c": "x", "k": "y"}}}, map[string]any{"metadata": map[string]any{"annotations": map[string]any{"k": "y"}}})
	if len(inner) != 1 || inner[0].Path != `metadata.annotations["a.b/c"]` {
		t.Errorf("a key with a slash: got %+v", inner)
	}
}

// A HorizontalPodAutoscaler owns what it scales. An object is live if one of its renderings is.
func TestLook(t *testing.T) {
	object := func(replicas int) bundle.Object {
		return bundle.Object{Component: "c", Object: testkit.Parsed(t, fmt.Sprintf(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, namespace: ns}, spec: {replicas: %d}}`, replicas))}
	}
	live := object(2).Object
	for name, tc := range map[string]struct {
		renderings []bundle.Object
		scaled     bool
		want       int
	}{
		"overwritten":           {[]bundle.Object{object(3)}, false, 1},
		"scaled":                {[]bundle.Object{object(3)}, true, 0},
		"the other owner's":     {[]bundle.Object{object(3), object(2)}, false, 0},
		"neither owner's":       {[]bundle.Object{object(3), object(4)}, false, 1},
		"nothing is said of it": {nil, false, 0},
	} {
		var l Losses
		if l.Look(tc.renderings, live, tc.scaled); l.Len() != tc.want {
			t.Errorf("%s: got %d losses, want %d", name, l.Len(), tc.want)
		}
	}
}

// What a deployer calls different is said with the place, also where only a default is.
func TestDifference(t *testing.T) {
	rendered := bundle.Object{Object: testkit.Parsed(t, `{apiVersion: example.com/v1, kind: Widget, metadata: {name: a, namespace: ns}, spec: {x: 1}}`)}
	ref := rendered.Ref()
	l := Losses{Differ: []result.Ref{ref}}
	l.Look([]bundle.Object{rendered}, testkit.Parsed(t, `{apiVersion: example.com/v1, kind: Widget, metadata: {name: a, namespace: ns, uid: u}, spec: {x: 1, early: 1, mode: fast}}`), false)
	asked := Answers{of: []answer{{known: true, added: []loss{{Path: "spec.early"}}}}}
	if got, want := l.Difference(ref, asked.defaults([]bundle.Object{rendered}, ref)), `spec.mode: nothing was rendered, and "fast" is live; spec.early: nothing was rendered, and 1 is live`; got != want {
		t.Errorf("got %q, want the default last: %q", got, want)
	}
	l = Losses{Differ: []result.Ref{ref}}
	l.Look([]bundle.Object{rendered}, testkit.Parsed(t, `{apiVersion: example.com/v1, kind: Widget, metadata: {name: a, namespace: ns, uid: u}, spec: {x: 2, mode: fast}, status: {a: 1}}`), false)
	if got, want := l.Difference(ref, nil), `spec.x: 1 was rendered, and 2 is live; spec.mode: nothing was rendered, and "fast" is live`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := l.Difference(result.Ref{Kind: "Widget", Name: "other"}, nil); !strings.Contains(got, "is not among what the charts render") {
		t.Errorf("got %q", got)
	}
}

// What the API server drops is a finding. What was changed since is a warning, which names the
// writer; a zero for which there is a default, and what the chart generates, is nothing. No value of
// a Secret is shown.
func TestReport(t *testing.T) {
	parsed := func(text string) bundle.Object {
		return bundle.Object{Component: "c", Release: "c", Template: "c/templates/a.yaml", Object: testkit.Parsed(t, text)}
	}
	widget := parsed(`{apiVersion: example.com/v1, kind: Widget, metadata: {name: a, namespace: ns}, spec: {gone: x, changed: x, zero: 0, random: x, items: [{name: i, v: 1}]}}`)
	secret := parsed(`{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: ns}, stringData: {p: hidden}}`)
	live := testkit.Parsed(t, `{apiVersion: example.com/v1, kind: Widget, metadata: {name: a, namespace: ns}, spec: {changed: other, zero: 10, random: z, items: [{name: i, v: 2}]}}`)
	live.SetManagedFields(testkit.Parsed(t, `{apiVersion: v1, kind: A, metadata: {name: a, managedFields: [{manager: somebody, fieldsV1: {"f:spec": {"f:changed": {}, "f:items": {'k:{"name":"i"}': {"f:v": {}}}}}}, {manager: other, fieldsV1: {"f:spec": {"f:x": {}}}}]}}`).GetManagedFields())
	var l Losses
	l.Look([]bundle.Object{widget}, live, false)
	l.Look([]bundle.Object{secret}, testkit.Parsed(t, `{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: ns}, data: {p: c2VjcmV0}}`), false)
	stored := testkit.Parsed(t, `{apiVersion: example.com/v1, kind: Widget, metadata: {name: a, namespace: ns}, spec: {changed: x, zero: 10, random: x, items: [{name: i, v: 1}]}}`)
	judge := Judge{
		Objects:   []bundle.Object{widget, secret},
		Answers:   &Answers{of: []answer{{known: true, lost: lost(widget.Object, stored)}, {known: true}}},
		Generated: map[result.Ref][]string{widget.Ref(): {"spec.random"}},
	}
	dropped, warnings := l.Report(judge)
	if len(dropped) != 1 || dropped[0].Cause != `Widget.example.com ns/a (c): the API server dropped field "spec.gone"` || dropped[0].Component != "c" {
		t.Errorf("dropped: got %+v", dropped)
	}
	text := causesOf(warnings)
	testkit.WantText(t, "warnings", text, `Widget.example.com ns/a (c): spec.changed is not live as it was rendered: "x" was rendered, and "other" is live, written by somebody (set in c/templates/a.yaml)`,
		"spec.items[0].v is not live as it was rendered: 1 was rendered, and 2 is live, written by somebody", "Secret ns/s (c): data.p is not live as it was rendered: a value of 6 bytes that is not shown was rendered")
	if len(warnings) != 3 || strings.Contains(text, "hidden") || strings.Contains(text, "secret\"") {
		t.Errorf("got %s", text)
	}
	judge.Mutates = true
	if dropped, warnings = l.Report(judge); len(dropped) != 0 || len(warnings) != 4 {
		t.Errorf("with policies that mutate: got %d findings, %d warnings", len(dropped), len(warnings))
	}
}

// causesOf are the causes of findings, a line each.
func causesOf(found []result.Finding) string {
	var all []string
	for _, f := range found {
		all = append(all, f.Cause)
	}
	return strings.Join(all, "\n")
}

// Hostile input ends soon: long lists without keys, deep nesting, long numbers.
func TestLost_Hostile(t *testing.T) {
	list := func(n, add int) []any {
		var all []any
		for i := range n {
			all = append(all, map[string]any{"a": map[string]any{"v": int64(i + add)}})
		}
		return all
	}
	deep := func(leaf any) map[string]any {
		v := map[string]any{"leaf": leaf}
		for range 5000 {
			v = map[string]any{"a": []any{v}}
		}
		return v
	}
	start := time.Now()
	if got := lostFields(map[string]any{"x": list(20_000, 0)}, map[string]any{"x": list(19_999, 1_000_000)}); len(got) != mostLost {
		t.Errorf("long lists: got %d losses, want the bound of %d", len(got), mostLost)
	}
	if got := lostFields(deep(int64(1)), deep(int64(2))); len(got) != 1 {
		t.Errorf("deep nesting: got %d losses", len(got))
	}
	digits := strings.Repeat("9", 1<<20)
	if got := lostFields(map[string]any{"x": digits}, map[string]any{"x": digits + "9"}); len(got) != 1 {
		t.Errorf("long numbers: got %d losses", len(got))
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("took %s", took)
	}
}

// Every exception has its reason, and a pattern that does not cover everything.
func TestExceptions(t *testing.T) {
	for _, e := range append(exceptions(), scaled()) {
		if e.reason == "" || strings.Trim(e.path, "*") == "" && e.only == nil {
			t.Errorf("exception %q: %q", e.path, e.reason)
		}
	}
}

// A trial has the name's length and none of what only one object can have.
func TestOnTrial(t *testing.T) {
	got := onTrial(testkit.Parsed(t, `{apiVersion: v1, kind: Service, metadata: {name: a, uid: x}, spec: {clusterIP: 10.0.0.1, ports: [{port: 1, nodePort: 30000}]}}`))
	if ports, _, _ := unstructured.NestedSlice(got.Object, "spec", "ports"); got.GetUID() != "" || got.Object["spec"].(map[string]any)["clusterIP"] != nil || ports[0].(map[string]any)["nodePort"] != nil {
		t.Errorf("got %v", got.Object)
	}
	if got := renamed("abc", 'z'); got != "abz" {
		t.Errorf("got %q", got)
	}
}

// Two renderings of a chart differ where it generates values.
func TestGenerated(t *testing.T) {
	one := func(password string) []bundle.Object {
		return []bundle.Object{{Object: testkit.Parsed(t, `{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {user: u, password: `+password+`}}`)}}
	}
	got := Generated(one("x"), one("y"))
	if paths := got[result.Ref{Kind: "Secret", Name: "a"}]; !slices.Equal(paths, []string{"data.password"}) || len(Generated(one("x"), one("x"))) != 0 {
		t.Errorf("got %v", got)
	}
}

// BenchmarkLook is the comparison of a cell of 226 objects.
func BenchmarkLook(b *testing.B) {
	var env []any
	for i := range 50 {
		env = append(env, map[string]any{"name": fmt.Sprint("V", i), "value": "x"})
	}
	obj := &unstructured.Unstructured{Object: map[string]any{"kind": "Deployment", "apiVersion": "apps/v1", "metadata": map[string]any{"name": "a"}, "spec": map[string]any{
		"template": map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "c", "env": env}}}}}}}
	live := obj.DeepCopy()
	for b.Loop() {
		var l Losses
		for range 226 {
			l.Look([]bundle.Object{{Object: obj}}, live, false)
		}
	}
}

// What an operator that runs has made was not rendered: the expectation has what a stand-in makes.
func TestLook_MadeByOperator(t *testing.T) {
	set := func(version, owner string) *unstructured.Unstructured {
		return testkit.Parsed(t, `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: prometheus-p, namespace: ns, ownerReferences: [{apiVersion: monitoring.coreos.com/v1, kind: Prometheus, name: `+owner+`, uid: u}]}, spec: {template: {metadata: {labels: {version: `+version+`}}}}}`)
	}
	runs := infra.Awaited{Object: bundle.Object{Object: testkit.Parsed(t, `{apiVersion: monitoring.coreos.com/v1, kind: Prometheus, metadata: {name: p, namespace: ns}}`)}, Condition: "Available"}
	for owner, want := range map[string]int{"p": 0, "another": 1} {
		l := NewLosses(nil, false)
		l.Operators = []infra.Awaited{runs}
		l.Look([]bundle.Object{{Object: set("v3", owner)}}, set("v4", owner), false)
		if l.Len() != want {
			t.Errorf("of %s: %d objects are not live as they were rendered, want %d", owner, l.Len(), want)
		}
	}
}
