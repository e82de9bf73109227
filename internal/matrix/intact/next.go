package intact

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result"
)

// refusal is what a policy would deny the next delivery.
type refusal struct {
	of        result.Ref
	component string
	what, why string
	then      string // what comes of it; empty if no later delivery can change the object
	check     *judge.Check
}

// What comes of a report that is denied, and of a creation. The deployer was faster than what denies it.
const (
	unreported = "that it is ready was reported before the policy was in force: what becomes of it, nobody learns"
	tooEarly   = "it was created before that was in force, though it comes later: the next installation may take longer"
)

// refusedNext finds what a policy of the recipe would deny the next delivery: an update of an object
// that is live, and, of Helm's, the record of the next release. Each is tried in a dry run that
// changes nothing, so that a policy which allows an object to stay as it is allows it. Hooks and what
// is in crds/ are left out: they are not updated.
// What a policy would take away then is a warning.
func refusedNext(ctx context.Context, clients *infra.Clients, e *bundle.Expectation) (warnings, found []result.Finding, err error) {
	asking, mapper, err := asker(clients, rest.NoWarnings{})
	if err != nil {
		return nil, nil, err
	}
	steers := steered(e)
	answers, lines := make([]string, len(e.Objects)), make([][]result.Finding, len(e.Objects))
	var group errgroup.Group
	group.SetLimit(asksAtATime)
	for i := range e.Objects {
		o := &e.Objects[i]
		mapping, err := mapper.RESTMapping(o.Object.GroupVersionKind().GroupKind(), o.Object.GroupVersionKind().Version)
		if err != nil || o.Hook || o.Object.GetName() == "" || o.InCRDs() {
			continue
		}
		group.Go(func() error {
			client := asking.Scoped(mapping, o.Object.GetNamespace())
			next, err := client.Patch(ctx, o.Object.GetName(), types.MergePatchType, []byte("{}"), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
			answers[i] = reasonOf(err)
			if err == nil && steers && len(lost(o.Object, next)) > 0 {
				if now, err := client.Get(ctx, o.Object.GetName(), metav1.GetOptions{}); err == nil {
					lines[i] = strippedObject(e, o, now, next)
				}
			}
			return nil
		})
	}
	_ = group.Wait() // none returns an error
	var all []refusal
	for i, why := range answers {
		if why != "" {
			all = append(all, refusal{e.Objects[i].Ref(), e.Objects[i].Component, "its next update", why, "", &updateDenied})
		}
	}
	records, err := refusedRecords(ctx, clients.Kube, e)
	if err != nil {
		return nil, nil, err
	}
	reports, err := refusedStatus(ctx, clients, e)
	return slices.Concat(lines...), refusalFindings(e, slices.Concat(all, records, reports)), err
}

// refusedRecords tries the Secrets in which Helm keeps the next state of each release: without one,
// it installs and upgrades nothing.
func refusedRecords(ctx context.Context, kube kubernetes.Interface, e *bundle.Expectation) (all []refusal, err error) {
	secrets, err := kube.CoreV1().Secrets(metav1.NamespaceAll).List(ctx, metav1.ListOptions{LabelSelector: "owner=helm"})
	if err != nil {
		return nil, fmt.Errorf("list the records of releases: %w", err)
	}
	tried := map[string]bool{}
	for i := range secrets.Items {
		s := &secrets.Items[i]
		of := s.Namespace + "/" + s.Labels["name"]
		if s.Type != "helm.sh/release.v1" || tried[of] {
			continue
		}
		tried[of] = true
		next := corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: renamed(s.Name, 'z'), Labels: s.Labels}, Type: s.Type, Data: map[string][]byte{"release": []byte("x")}}
		_, err := kube.CoreV1().Secrets(s.Namespace).Create(ctx, &next, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if why := reasonOf(err); why != "" {
			component := ""
			if at := slices.IndexFunc(e.Releases, func(r bundle.Release) bool { return r.InHelm() == s.Labels["name"] && r.Namespace == s.Namespace }); at >= 0 {
				component = e.Releases[at].Component
			}
			all = append(all, refusal{result.Ref{Kind: "Secret", Namespace: s.Namespace, Name: s.Name}, component, "the next one, without which Helm delivers nothing", why, "", &updateDenied})
		}
	}
	return all, nil
}

// refusalFindings makes one finding of what a policy denies for one reason.
func refusalFindings(e *bundle.Expectation, all []refusal) (found []result.Finding) {
	at := map[string]int{}
	for _, r := range all {
		if i, ok := at[r.why]; ok {
			if others := found[i].Others; r.of != *found[i].Object && !slices.Contains(others, r.of) { // a workload and its pod are one
				found[i].Others = append(others, r.of)
			}
			continue
		}
		at[r.why] = len(found)
		f := result.Finding{Check: r.check.ID, Object: &r.of, Component: r.component, Cause: fmt.Sprintf("%s (%s): the API server would reject %s: %s", r.of, r.component, r.what, r.why)}
		f.Story = []string{f.Cause, "  " + cmp.Or(r.then, "it was delivered before the policy was in force: no later delivery can change it")}
		if o := blamed(e, r.of.Namespace, r.why); o != nil {
			blame(&f, o)
		}
		found = append(found, f)
	}
	for i := range found {
		if n := len(found[i].Others); n > 0 {
			found[i].Cause += fmt.Sprintf(" (and of %d more objects)", n)
			found[i].Story = append(found[i].Story, fmt.Sprintf("  the same of %d more objects, the first of which is %s", n, found[i].Others[0]))
		}
	}
	return found
}
