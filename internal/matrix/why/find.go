package why

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/recipe/document"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

// Provenance is what a run knows of a cluster's workloads and the cluster does not: the value
// paths, files and lines behind them.
type Provenance struct {
	result.Cell
	Workloads []bundle.Workload `json:"workloads"`
	// Groups are those of which the run's Karpenter made nodes; it ended with the run.
	Groups []infra.NodeGroup `json:"groups,omitempty"`
}

// ProvenanceFile is its name among the files of a kept cluster.
const ProvenanceFile = "aicr-provenance.json"

// Encode returns the content of ProvenanceFile.
func (p Provenance) Encode() ([]byte, error) {
	raw, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("save which values made the cluster's workloads: %w", err)
	}
	return raw, nil
}

// ReadProvenance reads what Encode returned.
func ReadProvenance(raw []byte) (Provenance, error) {
	var p Provenance
	if err := json.Unmarshal(raw, &p); err != nil {
		return p, fmt.Errorf("read which values made the cluster's workloads: %w", err)
	}
	return p, nil
}

// Why explains a pod, NAMESPACE/POD, or the pods of a workload, NAMESPACE/KIND/NAME; pods in the
// same position share an explanation. known may be zero; sources and edits then have no value
// paths. Reasons: USAGE for a name that does not exist, with similar names; CLUSTER_FAILED if the
// cluster does not answer.
func Why(ctx context.Context, c *infra.Clients, known *Provenance, name string) ([]Explanation, error) {
	parts := strings.Split(name, "/")
	if len(parts) < 2 || len(parts) > 3 || slices.Contains(parts, "") {
		return nil, reason.New(reason.Usage, "%q: want NAMESPACE/POD, or NAMESPACE/KIND/NAME for a workload", name)
	}
	s, err := observe.Poll(ctx, c.Kube)
	if err != nil {
		return nil, reason.Wrap(reason.ClusterFailed, err)
	}
	if err := s.ReadScheduling(ctx, c.Kube); err != nil {
		return nil, reason.Wrap(reason.ClusterFailed, err)
	}
	if s.Growth, err = observe.ReadGrowth(ctx, c, known.Groups); err != nil {
		return nil, reason.Wrap(reason.ClusterFailed, err)
	}
	s.Growth.Ended = true
	if len(parts) == 2 {
		for i := range s.Pods {
			if p := &s.Pods[i]; p.Namespace == parts[0] && p.Name == parts[1] {
				return []Explanation{explain(s, []observe.PodFacts{observe.FactsOf(p)}, known.Workloads)}, nil
			}
		}
		return nil, noSuchPod(s, parts[0], parts[1])
	}
	return whyWorkload(s, parts[0], parts[1], parts[2], known.Workloads)
}

// explain explains pods whose workload it finds first.
func explain(s *observe.View, pods []observe.PodFacts, expected []bundle.Workload) Explanation {
	key := workloadOf(s, pods[0].Pod)
	e := explainPods(pods, findWorkload(expected, key), s)
	if e.Workload == "" && !strings.HasPrefix(key, "Pod ") {
		e.Workload = key
	}
	return e
}

// workloadOf returns the key of a pod's topmost owner.
func workloadOf(s *observe.View, p *corev1.Pod) string {
	top := s.TopOwner(p)
	for key, w := range s.Live {
		if w.UID == top {
			return key
		}
	}
	return observe.WorkloadKey("Pod", p.Namespace, p.Name)
}

func findWorkload(expected []bundle.Workload, key string) *bundle.Workload {
	for i := range expected {
		if w := &expected[i]; observe.WorkloadKey(w.Kind, w.Namespace, w.Name) == key {
			return w
		}
	}
	return nil
}

func whyWorkload(s *observe.View, namespace, kind, name string, expected []bundle.Workload) ([]Explanation, error) {
	full, ok := workloadKinds()[strings.TrimSuffix(strings.ToLower(kind), "s")]
	if !ok {
		return nil, reason.New(reason.Usage, "kind %q: want Deployment, StatefulSet, DaemonSet, Job or CronJob", kind)
	}
	key := observe.WorkloadKey(full, namespace, name)
	live, ok := s.Live[key]
	if !ok {
		var others []string
		for _, k := range result.SortedKeys(s.Live) {
			others = append(others, strings.TrimPrefix(k, full+" "))
		}
		return nil, reason.New(reason.Usage, "the cluster has no %s%s", key, near(namespace+"/"+name, others))
	}
	pods := podsUnder(s, live.UID)
	if len(pods) == 0 {
		w := findWorkload(expected, key)
		if w == nil || full != "DaemonSet" {
			return nil, reason.New(reason.Usage, "%s has no pods to explain", key)
		}
		return []Explanation{explainTemplate(w, s)}, nil
	}
	return explainAlike(s, pods, expected), nil
}

// explainAlike returns one explanation for pods in the same position; pods without a node come
// first.
func explainAlike(s *observe.View, pods []*corev1.Pod, expected []bundle.Workload) []Explanation {
	var order []string
	alike := map[string][]observe.PodFacts{}
	for _, p := range pods {
		facts := observe.FactsOf(p)
		position := "1" + p.Name
		switch {
		case p.Spec.NodeName == "" && facts.Unschedulable:
			position = "0" + facts.Scheduler
		case p.Spec.NodeName == "":
			position = "0"
		case pinnedTo(&p.Spec) != "":
			position = "1" + string(p.Status.Phase)
		}
		if alike[position] == nil {
			order = append(order, position)
		}
		alike[position] = append(alike[position], facts)
	}
	slices.SortStableFunc(order, func(a, b string) int { return strings.Compare(a[:1], b[:1]) })
	var all []Explanation
	for _, position := range order {
		e := explain(s, alike[position], expected)
		if i := len(all) - 1; i >= 0 && len(e.On) > 0 && len(all[i].On) > 0 && e.Phase == all[i].Phase && slices.Equal(e.lines(), all[i].lines()) {
			all[i].Pods, all[i].On = append(all[i].Pods, e.Pods...), append(all[i].On, e.On...)
			continue
		}
		all = append(all, e)
	}
	return all
}

// podsUnder returns the pods of a workload; for a CronJob, those of its Jobs.
func podsUnder(s *observe.View, uid types.UID) []*corev1.Pod {
	var pods []*corev1.Pod
	for i := range s.Pods {
		if p := &s.Pods[i]; s.TopOwner(p) == uid {
			pods = append(pods, p)
		}
	}
	return pods
}

// workloadKinds returns the accepted kinds with kubectl's short names, both without a plural's s.
func workloadKinds() map[string]string {
	return map[string]string{
		"deployment": "Deployment", "deploy": "Deployment", "statefulset": "StatefulSet", "st": "StatefulSet", "daemonset": "DaemonSet", "d": "DaemonSet",
		"replicaset": "ReplicaSet", "r": "ReplicaSet", "replicationcontroller": "ReplicationController", "rc": "ReplicationController",
		"job": "Job", "cronjob": "CronJob", "cj": "CronJob",
	}
}

func noSuchPod(s *observe.View, namespace, name string) error {
	var here, all []string
	for i := range s.Pods {
		full := infra.NamespacedName(s.Pods[i].Namespace, s.Pods[i].Name)
		all = append(all, full)
		if s.Pods[i].Namespace == namespace {
			here = append(here, full)
		}
	}
	text := near(namespace+"/"+name, here)
	if text == "" {
		text = near(namespace+"/"+name, all)
	}
	if text == "" && len(here) > 0 {
		text = "; in " + namespace + " there are: " + strings.Join(lists.AtMost(here, mostNames), ", ")
	}
	if text == "" && len(here) == 0 && len(all) > 0 {
		spaces := map[string]bool{}
		for _, p := range all {
			space, _, _ := strings.Cut(p, "/")
			spaces[space] = true
		}
		text = "; namespaces with pods: " + strings.Join(result.SortedKeys(spaces), ", ")
	}
	return reason.New(reason.Usage, "the cluster has no pod %s/%s%s", namespace, name, text)
}

// mostNames is how many names a message lists.
const mostNames = 5

// near returns the candidates, namespace/name, whose names contain the name, or else the most
// similar one.
func near(name string, candidates []string) string {
	_, short, _ := strings.Cut(name, "/")
	var found []string
	for _, c := range candidates {
		if _, have, _ := strings.Cut(c, "/"); len(short) > 2 && strings.Contains(have, short) {
			found = append(found, c)
		}
	}
	if len(found) == 0 {
		if c := document.Similar(name, candidates); c != "" {
			found = []string{c}
		}
	}
	if len(found) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(lists.AtMost(found, mostNames), ", ") + "?"
}
