package matrix

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/wait"
)

// sharedFault is a fault of the recipe that has the same verdict in every lane: the reason follows
// from the fault, whichever deployer reports it.
type sharedFault struct {
	name string
	// with is the set of faults that one cell has together; alone is a cell of its own.
	with   faultSet
	recipe func(*tinyRecipe)
	reason reason.Reason
	cause  []string
	screen []string // further parts of what the cell prints
	// except are lanes in which the deployer differs, and what their verdict is. why says why.
	except map[string]outcomeWanted
	why    string
}

// faultSet is a set of faults that do not disturb each other.
type faultSet string

const (
	alone    faultSet = ""
	rejected faultSet = "pods that the API server rejects"
	missing  faultSet = "names of what nothing makes" // red before anything is delivered
	kept     faultSet = "pods that are kept from the scheduler"
	late     faultSet = "pods that are late" // the fault may go away, so that the cell uses its whole budget
	lateHook faultSet = "a hook that is late"
)

// waits reports whether the cell uses its whole budget.
func (f sharedFault) waits() bool { return f.with == late || f.with == lateHook }

// web is the tiny recipe's Deployment under another name; changes are pairs of a text and its
// replacement.
func web(name string, changes ...string) string {
	text := strings.ReplaceAll(webTemplate, "{{ .Release.Name }}", name)
	for i := 0; i < len(changes); i += 2 {
		changed := strings.Replace(text, changes[i], changes[i+1], 1)
		if changed == text {
			panic(fmt.Sprintf("the tiny recipe's Deployment has no %q: fix this test", changes[i]))
		}
		text = changed
	}
	return text
}

// adds puts a template into the chart of b.
func adds(name, text string) func(*tinyRecipe) {
	return func(r *tinyRecipe) { r.part("b").add(name+".yaml", text) }
}

// specWith is a Deployment with one more field in the pods' spec.
func specWith(name, field string) func(*tinyRecipe) {
	return adds(name, web(name, "      containers:", "      "+field+"\n      containers:"))
}

// inNamespace is a Deployment in a namespace of its own, which has the object too.
func inNamespace(name, labels, object string, changes ...string) func(*tinyRecipe) {
	text := fmt.Sprintf("apiVersion: v1\nkind: Namespace\nmetadata: {name: %s-only, labels: {%s}}\n---\n", name, labels)
	if object != "" {
		text += object + "---\n"
	}
	meta := fmt.Sprintf("  name: %s\n", name)
	return adds(name, text+web(name, append(changes, meta, meta+fmt.Sprintf("  namespace: %s-only\n", name))...))
}

func sharedFaults() []sharedFault {
	rejects := func(name, ns, cause string) []string {
		return []string{fmt.Sprintf("Deployment %s/%s (b): the API server rejects its pods: ", ns, name), cause}
	}
	names := func(name, what string) []string {
		return []string{fmt.Sprintf("Deployment b/%s (b): names %s, which does not exist, and nothing in the recipe makes it", name, what), "the API server rejects its pods"}
	}
	return []sharedFault{
		{name: "a ServiceAccount that does not exist", with: missing, recipe: specWith("account", "serviceAccountName: none"),
			reason: reason.WorkloadFailed, cause: names("account", "ServiceAccount b/none")},
		{name: "a PriorityClass that does not exist", with: missing, recipe: specWith("priority", "priorityClassName: urgent"),
			reason: reason.WorkloadFailed, cause: names("priority", "PriorityClass urgent")},
		{name: "a RuntimeClass that does not exist", with: missing, recipe: specWith("runtime", "runtimeClassName: gvisor"),
			reason: reason.WorkloadFailed, cause: names("runtime", "RuntimeClass gvisor")},
		{name: "a ResourceQuota without room", with: rejected,
			recipe: inNamespace("quota", "", "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: none, namespace: quota-only}\nspec: {hard: {pods: \"0\"}}\n"),
			reason: reason.WorkloadFailed, cause: rejects("quota", "quota-only", "exceeded quota: none")},
		{name: "a LimitRange that is exceeded", with: rejected,
			recipe: inNamespace("limits", "", "apiVersion: v1\nkind: LimitRange\nmetadata: {name: small, namespace: limits-only}\nspec: {limits: [{type: Container, max: {cpu: 100m}}]}\n",
				`image: "example.com/web:1"`, `image: "example.com/web:1", resources: {limits: {cpu: 1}}`),
			reason: reason.WorkloadFailed, cause: rejects("limits", "limits-only", "maximum cpu usage per Container is 100m")},
		{name: "pod security", with: rejected, recipe: inNamespace("security", "pod-security.kubernetes.io/enforce: restricted", ""),
			reason: reason.WorkloadFailed, cause: rejects("security", "security-only", "violates PodSecurity")},
		{name: "a Deployment that is paused", with: kept, recipe: adds("paused", web("paused", "  replicas: 1\n", "  replicas: 1\n  paused: true\n")), reason: reason.WorkloadFailed,
			cause: []string{"Deployment b/paused (b): it is paused (spec.paused), and nothing here resumes it"}},
		{name: "a scheduling gate", with: kept, recipe: specWith("gated", "schedulingGates: [{name: example.com/later}]"), reason: reason.SchedulingFailed,
			cause: []string{"Deployment b/gated (b): scheduling gate example.com/later keeps its pods from the scheduler"}},
		{name: "a scheduler that is not there", recipe: specWith("elsewhere", "schedulerName: volcano"), reason: reason.SchedulingFailed,
			cause: []string{"Deployment b/elsewhere (b): is for the scheduler volcano, which nothing in the recipe runs"}, screen: []string{"b/templates/elsewhere.yaml:2"}},
		{name: "an object in a namespace that does not exist", reason: reason.DeployFailed, cause: []string{`namespaces "nowhere" not found`},
			recipe: adds("elsewhere", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: nowhere}\n")},
		{name: "a hook Job that never completes", with: lateHook, reason: reason.WorkloadFailed, cause: []string{"Job b/b-hook"},
			recipe: adds("hook", strings.Replace(strings.ReplaceAll(jobTemplate, "LABEL", "never-completes"),
				"metadata: {name: {{ .Release.Name }}-job}", "metadata: {name: {{ .Release.Name }}-hook, annotations: {helm.sh/hook: pre-install}}", 1))},
		{name: "a pod that never runs", with: late, reason: reason.WorkloadFailed, cause: []string{"Deployment b/stays: 0 of 1 pods as expected"}, screen: []string{"is Pending"},
			recipe: adds("stays", web("stays", "labels: {app: stays}}\n    spec:", "labels: {app: stays, faults: never-runs}}\n    spec:"))},
		{name: "two objects of one name in a chart", reason: reason.DeployFailed, cause: []string{`"twice" already exists`},
			recipe: adds("twice", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: twice}\ndata: {a: \"1\"}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: twice}\ndata: {a: \"2\"}\n"),
			why:    "Argo CD applies both, one after the other, and the last one stays. Flux says it in other words",
			except: map[string]outcomeWanted{
				bundle.ArgoCDOCI: {check: warning("b makes ConfigMap b/twice twice: Argo CD keeps the last one, and Helm and Flux reject the chart")},
				bundle.FluxOCI:   red(reason.DeployFailed, "HelmRelease b: ", "already registered id: ConfigMap", "twice"),
			}},
	}
}

// seedOf is one cell with all faults of a set, or with one that is alone.
func seedOf(through string, faults ...sharedFault) seed {
	if len(faults) == 1 {
		f := faults[0]
		s := seed{recipe: f.recipe, want: red(f.reason, f.cause...).and(f.screen...)}
		if other, ok := f.except[through]; ok {
			s.want = other
		}
		return s
	}
	return seed{
		recipe: func(r *tinyRecipe) {
			for _, f := range faults {
				f.recipe(r)
			}
		},
		deployed: troubleOf(faults[0].with),
		want: outcomeWanted{reason: faults[0].reason, check: func(t *testing.T, r result.Result) {
			t.Helper()
			want := len(faults)
			if faults[0].with == late {
				want = 1 // a deadline is one finding, with all that it waited for
			}
			if len(r.Findings) != want {
				t.Errorf("got %d findings, want %d", len(r.Findings), want)
			}
			for _, f := range faults {
				wantFinding(t, r, f)
			}
		}},
	}
}

// wantFinding fails unless one finding has every part of the fault's cause.
func wantFinding(t *testing.T, r result.Result, f sharedFault) {
	t.Helper()
	for i := range r.Findings {
		story := r.Findings[i].Cause + "\n" + strings.Join(r.Findings[i].Story, "\n")
		if !slices.ContainsFunc(append(f.cause, f.screen...), func(part string) bool { return !strings.Contains(story, part) }) {
			return
		}
	}
	t.Errorf("%s: no finding has %q and %q", f.name, f.cause, f.screen)
}

// troubleOf waits until every fault of a set shows, so that the gate sees them in one poll.
func troubleOf(set faultSet) func(context.Context, *lane.Env) error {
	var shows func(ctx context.Context, env *lane.Env) (int, error)
	want := 0
	switch set {
	case rejected:
		want, shows = 3, func(ctx context.Context, env *lane.Env) (n int, err error) {
			list, err := env.Clients.Kube.AppsV1().Deployments("").List(ctx, metav1.ListOptions{})
			if err != nil {
				return 0, err
			}
			for _, d := range list.Items {
				for _, c := range d.Status.Conditions {
					if c.Type == "ReplicaFailure" && c.Status == corev1.ConditionTrue {
						n++
					}
				}
			}
			return n, nil
		}
	case kept:
		want, shows = 2, func(ctx context.Context, env *lane.Env) (int, error) {
			pods, err := env.Clients.Kube.CoreV1().Pods("b").List(ctx, metav1.ListOptions{LabelSelector: "app=gated"})
			paused, pausedErr := env.Clients.Kube.AppsV1().Deployments("b").List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=paused"})
			if err := errors.Join(err, pausedErr); err != nil {
				return 0, err
			}
			return len(pods.Items) + len(paused.Items), nil
		}
	default:
		return nil
	}
	return func(ctx context.Context, env *lane.Env) error {
		return wait.For(ctx, string(set), wait.Options{Budget: 90 * time.Second, Interval: 100 * time.Millisecond}, func(ctx context.Context) wait.Result {
			n, err := shows(ctx, env)
			if err != nil || n < want {
				return wait.NotYet("%d of %d show (%v)", n, want, err)
			}
			return wait.Done()
		})
	}
}

// TestOneVerdictPerFault: a fault has one reason and one code in every lane, and a cell ends early
// if waiting cannot help. Faults that do not disturb each other share a cell, which names each of
// them. TestNightlyOneVerdictPerFault has the others: those that use their whole budget, and those
// that TestFaultInjection sees in one lane.
func TestOneVerdictPerFault(t *testing.T) {
	t.Parallel()
	oneVerdict(t, func(set faultSet) bool { return set == rejected || set == missing || set == kept })
}

func oneVerdict(t *testing.T, chosen func(faultSet) bool) {
	t.Helper()
	base := stackRunner(t)
	sets := map[string][]sharedFault{}
	for _, f := range sharedFaults() {
		name := string(f.with)
		if f.with == alone {
			name = f.name
		}
		if chosen(f.with) {
			sets[name] = append(sets[name], f)
		}
	}
	for name, faults := range sets {
		for _, lane := range families {
			t.Run(strings.ReplaceAll(name, " ", "-")+"/"+lane, func(t *testing.T) {
				t.Parallel()
				s := seedOf(lane, faults...)
				if faults[0].waits() {
					s.sync, s.runner = 20*time.Second, stage(neverCompletes+neverRuns)
				}
				s.run(t, *base, lane)
			})
		}
	}
}
