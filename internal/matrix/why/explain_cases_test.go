package why

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// otherPod is a pod that runs on a node.
func otherPod(name, on string, change ...func(*corev1.Pod)) corev1.Pod {
	return *testkit.Pod(name, "", "", on, append([]func(*corev1.Pod){func(p *corev1.Pod) { p.Spec.Containers = []corev1.Container{{Name: "c"}} }}, change...)...)
}

// selectorCases are about nodes that a selector or an affinity rules out.
func selectorCases() map[string]explainCase {
	return map[string]explainCase{
		"selector, no such label: change it to the label that tells the nodes apart": {
			pod:    wanting(selecting("role", "gpu")),
			groups: []string{"2 system nodes: nodeSelector role=gpu (no such label)", "2 accelerated nodes: nodeSelector role=gpu (no such label)"},
			edits: []string{
				"change `role: gpu` to `aicr.nvidia.com/node-type: system` in its pod template", "change `role: gpu` to `aicr.nvidia.com/node-type: accelerated` in its pod template",
			},
		},
		"selector beside one that steers: remove it": {
			pod: wanting(selecting("role", "gpu", bundle.NodeTypeLabel, "accelerated")),
			groups: []string{
				"2 accelerated nodes: nodeSelector role=gpu (no such label)", "2 system nodes: nodeSelector aicr.nvidia.com/node-type=accelerated (has system); nodeSelector role=gpu (no such label)",
			},
			edits: []string{"remove `role: gpu` in its pod template"},
		},
		"selector with another value": {
			pod:    wanting(selecting(corev1.LabelOSStable, "windows")),
			groups: []string{"2 system nodes: nodeSelector kubernetes.io/os=windows (has linux)", "2 accelerated nodes: nodeSelector kubernetes.io/os=windows (has linux)"},
			edits:  []string{"change `kubernetes.io/os: windows` to `kubernetes.io/os: linux` in its pod template"},
		},
		"two wrong selectors: no single edit": {
			pod:    wanting(selecting("disktype", "ssd", "role", "gpu")),
			groups: []string{"2 system nodes: nodeSelector disktype=ssd (no such label); nodeSelector role=gpu (no such label)", "2 accelerated nodes: nodeSelector disktype=ssd"},
		},
		"values differ within a group": {
			pod:    wanting(selecting(corev1.LabelTopologyZone, "c", bundle.NodeTypeLabel, "system")),
			groups: []string{"2 system nodes: nodeSelector topology.kubernetes.io/zone=c (has a, b)", "2 accelerated nodes: nodeSelector aicr"},
			edits:  []string{"remove `topology.kubernetes.io/zone: c` in its pod template"},
		},
		"affinity, In": {
			pod:    wanting(preferring(in(bundle.NodeTypeLabel, "gpu", "h100"))),
			groups: []string{"2 system nodes: node affinity aicr.nvidia.com/node-type In [gpu, h100] (has system)", "2 accelerated nodes: node affinity aicr.nvidia.com/node-type In [gpu, h100] (has accelerated)"},
			edits: []string{
				"change the node affinity `aicr.nvidia.com/node-type In [gpu, h100]` to `aicr.nvidia.com/node-type In [system]` in its pod template",
				"change the node affinity `aicr.nvidia.com/node-type In [gpu, h100]` to `aicr.nvidia.com/node-type In [accelerated]` in its pod template",
			},
		},
		"affinity, Exists": {
			pod: wanting(preferring(corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{
				{Key: "node-role.kubernetes.io/control-plane", Operator: corev1.NodeSelectorOpExists}, {Key: bundle.NodeTypeLabel, Operator: corev1.NodeSelectorOpIn, Values: []string{"system"}},
			}})),
			groups: []string{"2 system nodes: node affinity node-role.kubernetes.io/control-plane Exists (no such label)", "2 accelerated nodes: node affinity node-role.kubernetes.io/control-plane Exists (no such label); node affinity aicr.nvidia.com/node-type In [system] (has accelerated)"},
			edits:  []string{"remove the required node affinity `node-role.kubernetes.io/control-plane Exists` in its pod template"},
		},
		"affinity, alternatives": {
			pod:    wanting(preferring(in("x", "1"), in("y", "2"))),
			groups: []string{"2 system nodes: node affinity x In [1], or y In [2]", "2 accelerated nodes: node affinity x In [1], or y In [2]"},
			edits:  []string{"remove the required node affinity in its pod template"},
		},
	}
}

// roomCases are about taints, resources and cordons.
func roomCases() map[string]explainCase {
	kwok := bundle.KwokScheduling().SystemTolerations
	return map[string]explainCase{
		"taints": {
			pod:    wanting(tolerating()),
			groups: []string{"2 system nodes: taint kwok.x-k8s.io/node=fake:NoSchedule not tolerated", "2 accelerated nodes: taint kwok.x-k8s.io/node=fake:NoSchedule not tolerated; taint nvidia.com/gpu=present:NoSchedule not tolerated"},
			edits:  []string{"tolerate every taint (`operator: Exists`) in its pod template"},
		},
		"taints on the nodes that it chose": {
			pod:    wanting(tolerating(), selecting(bundle.NodeTypeLabel, "accelerated")),
			groups: []string{"2 system nodes: taint kwok.x-k8s.io/node=fake:NoSchedule not tolerated; nodeSelector", "2 accelerated nodes: taint kwok"},
			edits:  []string{"tolerate every taint (`operator: Exists`) in its pod template"},
		},
		"taint and selector: no single edit": {
			pod:    wanting(tolerating(kwok...), selecting(bundle.NodeTypeLabel, "accelerated", "disktype", "ssd")),
			groups: []string{"2 system nodes: nodeSelector aicr", "2 accelerated nodes: taint nvidia.com/gpu=present:NoSchedule not tolerated; nodeSelector disktype=ssd (no such label)"},
		},
		"more of a resource than a node has": {
			pod:    wanting(requests("nvidia.com/gpu", "16")),
			groups: []string{"2 accelerated nodes: asks for 16 nvidia.com/gpu, has 8", "2 system nodes: asks for 16 nvidia.com/gpu, has none"},
			edits:  []string{"ask for at most 8 nvidia.com/gpu in its pod template"},
		},
		"a resource that the chosen nodes do not have": {
			pod:    wanting(requests("nvidia.com/gpu", "1"), selecting(bundle.NodeTypeLabel, "system"), func(p *corev1.Pod) {}),
			groups: []string{"2 accelerated nodes: nodeSelector", "2 system nodes: asks for 1 nvidia.com/gpu, has none"},
			edits:  []string{"do not ask for nvidia.com/gpu, which these nodes do not have, in its pod template"},
		},
		"more than is left": {
			pod:    wanting(requests("nvidia.com/gpu", "4")),
			others: []corev1.Pod{otherPod("one", "a0", requests("nvidia.com/gpu", "5")), otherPod("two", "a1", requests("nvidia.com/gpu", "6"))},
			groups: []string{"2 accelerated nodes: asks for 4 nvidia.com/gpu, has 8, of which 3 free (ns/one has 5)", "2 system nodes: asks for 4 nvidia.com/gpu, has none"},
			edits:  []string{"ask for at most 3 nvidia.com/gpu (3 of 8 are free) in its pod template"},
		},
		"the overhead of a runtime class": {
			pod: wanting(requests("nvidia.com/gpu", "4"), func(p *corev1.Pod) {
				heavy := "heavy"
				p.Spec.RuntimeClassName, p.Spec.Overhead = &heavy, corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("12")}
			}),
			groups: []string{"2 accelerated nodes: asks for 16 nvidia.com/gpu, of which 12 are the overhead of RuntimeClass heavy, has 8", "2 system nodes: asks for 16 nvidia.com/gpu, of which 12 are the overhead of RuntimeClass heavy, has none"},
		},
		"nothing left: no edit of this pod would do": {
			pod:    wanting(requests("nvidia.com/gpu", "1")),
			others: []corev1.Pod{otherPod("one", "a0", requests("nvidia.com/gpu", "8")), otherPod("two", "a1", requests("nvidia.com/gpu", "8"))},
			groups: []string{"2 accelerated nodes: asks for 1 nvidia.com/gpu, has 8, of which 0 free (ns/one has 8)", "2 system nodes: asks for 1 nvidia.com/gpu, has none"},
		},
		"pods that have ended hold nothing": {
			pod:    wanting(requests("nvidia.com/gpu", "8")),
			others: []corev1.Pod{otherPod("one", "a0", requests("nvidia.com/gpu", "8"), testkit.Phase(corev1.PodSucceeded)), otherPod("two", "a1", requests("nvidia.com/gpu", "8"))},
			groups: []string{"1 of 2 accelerated nodes (a0): nothing that is checked here rules them out", "1 of 2 accelerated nodes (a1): asks for 8", "2 system nodes: asks for 8"},
			notes:  []string{"none of these checks explains why the scheduler cannot place it"},
		},
		"no place for another pod": {
			pod:    wanting(),
			change: func(nodes []corev1.Node) { full(nodes, "pods", "0") },
			groups: []string{"2 system nodes: each of its 0 places for pods is taken", "2 accelerated nodes: each of its 0"},
		},
		"cordoned": {
			pod:    wanting(tolerating(kwok...)),
			change: func(nodes []corev1.Node) { nodes[0].Spec.Unschedulable, nodes[1].Spec.Unschedulable = true, true },
			groups: []string{"2 system nodes: cordoned (spec.unschedulable)", "2 accelerated nodes: taint nvidia.com/gpu=present:NoSchedule not tolerated"},
			edits:  []string{"kubectl uncordon s0", "add a toleration for nvidia.com/gpu=present:NoSchedule in its pod template"},
		},
	}
}

// volumeCases are about host ports and claims.
func volumeCases() map[string]explainCase {
	return map[string]explainCase{
		"host port": {
			pod:    wanting(port, selecting(corev1.LabelHostname, "s0")),
			others: []corev1.Pod{otherPod("exporter", "s0", port)},
			groups: []string{"1 of 2 system nodes (s0): host port 9100/TCP is taken by ns/exporter", "1 of 2 system nodes (s1): nodeSelector kubernetes.io/hostname=s0 (has s1)", "2 accelerated nodes: nodeSelector kubernetes.io/hostname=s0 (has a0, a1)"},
		},
		"claim that is not there": {
			pod: wanting(claiming("none")), groups: []string{"2 system nodes: claim none does not exist", "2 accelerated nodes: claim none does not exist"},
		},
		"claim that is not bound": {
			pod: wanting(claiming("unbound")), groups: []string{`2 system nodes: claim unbound is not bound (storage class "now")`, "2 accelerated nodes: claim unbound is not bound"},
		},
		"claim of no class": {
			pod: wanting(claiming("classless")), groups: []string{"2 system nodes: claim classless is not bound: it names no StorageClass, and the cluster has no default one: name one, there is now, later", "2 accelerated nodes: claim classless is not bound"},
		},
		"claim whose volume is gone": {
			pod: wanting(claiming("dangling")), groups: []string{"2 system nodes: claim dangling is bound to volume pv-x, which does not exist", "2 accelerated nodes"},
		},
		"claim that waits for the pod": {
			pod: wanting(claiming("waits")), groups: []string{"2 system nodes: nothing that is checked here rules them out", "2 accelerated nodes: nothing that is checked here rules them out"}, notes: []string{"none of these checks explains why the scheduler cannot place it"},
		},
		"volume in another zone": {
			pod:    wanting(claiming("in-b"), selecting(corev1.LabelTopologyZone, "a")),
			groups: []string{"1 of 2 system nodes (s0): claim in-b has volume pv-b, which is for nodes with topology.kubernetes.io/zone In [b]", "1 of 2 system nodes (s1): nodeSelector", "1 of 2 accelerated nodes (a0): claim in-b", "1 of 2 accelerated nodes (a1): nodeSelector"},
		},
	}
}

// neighbourCases are about other pods: affinity, anti-affinity and topology spread.
func neighbourCases() map[string]explainCase {
	return map[string]explainCase{
		"pod affinity": {
			pod: wanting(near1("db", corev1.LabelTopologyZone)), others: []corev1.Pod{otherPod("db", "s0", labelled("db"))},
			groups: []string{"1 of 2 system nodes (s0): nothing that is checked here rules them out", "1 of 2 accelerated nodes (a0): nothing that is checked here rules them out", "1 of 2 system nodes (s1): pod affinity: no pod with app=db in the same topology.kubernetes.io/zone", "1 of 2 accelerated nodes (a1): pod affinity"},
			notes:  []string{"none of these checks explains why the scheduler cannot place it"},
		},
		"pod affinity to itself": {
			pod: wanting(labelled("db"), near1("db", corev1.LabelTopologyZone)), groups: []string{"2 system nodes: nothing that is checked here rules them out", "2 accelerated nodes: nothing that is checked here rules them out"}, notes: []string{"none of these checks explains why the scheduler cannot place it"},
		},
		"pod affinity to nobody": {
			pod: wanting(near1("db", corev1.LabelTopologyZone)), groups: []string{"2 system nodes: pod affinity: no pod with app=db", "2 accelerated nodes: pod affinity: no pod with app=db"},
		},
		"pod anti-affinity": {
			pod:    wanting(labelled("db"), apart("db", corev1.LabelTopologyZone)),
			others: []corev1.Pod{otherPod("db-0", "s0", labelled("db"), apart("db", corev1.LabelTopologyZone)), otherPod("db-1", "a1", labelled("db"))},
			groups: []string{"2 system nodes: pod anti-affinity: wants no pod with app=db in the same topology.kubernetes.io/zone; ns/db-0 is there", "2 accelerated nodes: pod anti-affinity"},
		},
		"another pod's anti-affinity": {
			pod: wanting(labelled("web")), others: []corev1.Pod{otherPod("db-0", "s0", apart("web", bundle.NodeTypeLabel)), otherPod("db-1", "a0", apart("web", bundle.NodeTypeLabel))},
			groups: []string{"2 system nodes: the anti-affinity of ns/db-0 keeps it out of the same aicr.nvidia.com/node-type", "2 accelerated nodes: the anti-affinity of ns/db-1"},
		},
		"anti-affinity is about its own namespace": {
			pod:    wanting(apart("db", corev1.LabelTopologyZone)),
			others: []corev1.Pod{otherPod("db-0", "s0", labelled("db"), func(p *corev1.Pod) { p.Namespace = "elsewhere" })},
			groups: []string{"2 system nodes: nothing that is checked here rules them out", "2 accelerated nodes: nothing that is checked here rules them out"}, notes: []string{"none of these checks explains why the scheduler cannot place it"},
		},
		"topology spread": {
			pod:    wanting(labelled("web"), spread("web", corev1.LabelTopologyZone, 0), selecting(corev1.LabelTopologyZone, "a")),
			others: []corev1.Pod{otherPod("web-0", "s0", labelled("web")), otherPod("web-1", "s1", labelled("web"))},
			groups: []string{"1 of 2 system nodes (s0): nothing that is checked here rules them out", "1 of 2 accelerated nodes (a0): nothing that is checked here rules them out", "1 of 2 system nodes (s1): nodeSelector", "1 of 2 accelerated nodes (a1): nodeSelector"},
			notes:  []string{"none of these checks explains why the scheduler cannot place it"}, // nodes that the selector leaves out are no domains
		},
		"topology spread, too many here": {
			pod:    wanting(labelled("web"), spread("web", corev1.LabelTopologyZone, 0)),
			others: []corev1.Pod{otherPod("web-0", "s0", labelled("web"))},
			groups: []string{"1 of 2 system nodes (s1): nothing that is checked here rules them out", "1 of 2 accelerated nodes (a1): nothing that is checked here rules them out", "1 of 2 system nodes (s0): topology spread by topology.kubernetes.io/zone: a would have 2 pods where the emptiest has 0; maxSkew is 1", "1 of 2 accelerated nodes (a0): topology spread"},
			notes:  []string{"none of these checks explains why the scheduler cannot place it"},
		},
		"topology spread, too few domains": {
			pod:    wanting(labelled("web"), spread("web", bundle.NodeTypeLabel, 3)),
			others: []corev1.Pod{otherPod("web-0", "s0", labelled("web")), otherPod("web-1", "a0", labelled("web"))},
			groups: []string{"2 system nodes: topology spread by aicr.nvidia.com/node-type: system would have 2 pods where the emptiest has 0; maxSkew is 1; of at least 3 domains (minDomains) there are 2", "2 accelerated nodes: topology spread"},
		},
		"topology spread, no such label": {
			pod: wanting(spread("web", "rack", 0)), groups: []string{"2 system nodes: topology spread: no label rack", "2 accelerated nodes: topology spread: no label rack"},
		},
	}
}

// specialCases are about pods that the scheduler treats in a way of their own.
func specialCases() map[string]explainCase {
	kwok := bundle.KwokScheduling().SystemTolerations
	return map[string]explainCase{
		"a DaemonSet's pod is about its own node": {
			pod:    wanting(tolerating(kwok...), preferring(corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{"a1"}}}})),
			groups: []string{"1 accelerated node: taint nvidia.com/gpu=present:NoSchedule not tolerated"},
			edits:  []string{"add a toleration for nvidia.com/gpu=present:NoSchedule in its pod template"},
		},
		"a DaemonSet's pod for a node that is gone": {
			pod:   wanting(preferring(corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{"a7"}}}})),
			notes: []string{"it is for node a7 alone, which does not exist"},
		},
		"nodeName of no node": {
			pod: wanting(func(p *corev1.Pod) { p.Spec.NodeName = "a7" }), groups: []string{"2 system nodes: fits", "2 accelerated nodes: fits"}, notes: []string{"it names node a7, which does not exist"},
		},
		"gated": {
			pod:    wanting(func(p *corev1.Pod) { p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/quota"}} }),
			groups: []string{"2 system nodes: nothing that is checked here rules them out", "2 accelerated nodes: nothing that is checked here rules them out"}, notes: []string{"scheduling gate example.com/quota"},
			edits: []string{"remove `example.com/quota` from schedulingGates in its pod template, or add the component that removes it"},
		},
		"another scheduler": {
			pod:    wanting(testkit.Phase(corev1.PodPending), func(p *corev1.Pod) { p.Spec.SchedulerName = "kai-scheduler" }),
			groups: []string{"2 system nodes: fits", "2 accelerated nodes: fits"}, notes: []string{"it asks for the scheduler kai-scheduler, which has said nothing"},
			edits: []string{"remove `schedulerName: kai-scheduler` in its pod template, or add the component that runs it"},
		},
		"resource claims": {
			pod:    wanting(func(p *corev1.Pod) { p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu"}} }),
			groups: []string{"2 system nodes: nothing that is checked here rules them out", "2 accelerated nodes: nothing that is checked here rules them out"}, notes: []string{"it has resource claims, which are not checked"},
		},
		"nobody has looked yet": {
			pod: wanting(testkit.Phase(corev1.PodPending)), groups: []string{"2 system nodes: fits", "2 accelerated nodes: fits"}, notes: []string{"the scheduler has not reported on this pod yet"},
		},
		"running: where it fits and why not elsewhere": {
			pod:    wanting(func(p *corev1.Pod) { *p = *testkit.Pod("p", "", "", "s0"); p.Spec.Tolerations = kwok }),
			groups: []string{"2 system nodes: fits", "2 accelerated nodes: taint nvidia.com/gpu=present:NoSchedule not tolerated"},
		},
	}
}
