package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	schedulinghelpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
)

const (
	// gpuResource is what the device plugin reports as a node's GPUs.
	gpuResource corev1.ResourceName = "nvidia.com/gpu"
	// visibleDevices is the variable by which CUDA sees the GPUs that the map gives a pod, and no
	// others.
	visibleDevices = "CUDA_VISIBLE_DEVICES"
	// indexOfJob is the label of the pods of an indexed Job
	// (https://kubernetes.io/docs/concepts/workloads/controllers/job/#completion-mode).
	indexOfJob = batchv1.JobCompletionIndexAnnotation // the label has the same name
)

// indexOf is the pod's index, which its controller gives it as a label.
func indexOf(labels map[string]string) (int, error) {
	for _, label := range []string{appsv1.PodIndexLabel, indexOfJob} {
		text, ok := labels[label]
		if !ok {
			continue
		}
		index, err := strconv.Atoi(text)
		if err != nil {
			return 0, fmt.Errorf("the label %s is %q, which is no number", label, text)
		}
		return index, nil
	}
	return 0, fmt.Errorf("the pod has no index: neither the label %s of a StatefulSet's pods nor %s of an indexed Job's", appsv1.PodIndexLabel, indexOfJob)
}

// state is what the scheduler knows of the cluster when it places a pod.
type state struct {
	scheduler string // its name
	m         Map
	nodes     map[string]*corev1.Node
	// bound are the pods that have a node and have not ended.
	bound []*corev1.Pod
}

// place finds the entry of a pod and says whether it can be followed now. The error is for people:
// what is wrong, and what to do.
func (s *state) place(pod *corev1.Pod) (Entry, error) {
	index, err := indexOf(pod.Labels)
	if err != nil {
		return Entry{}, err
	}
	e, ok := s.m.Find(index)
	if !ok {
		return Entry{}, fmt.Errorf("podIndex %d has no entry in the scheduling map, which has %s", index, s.m.indexes())
	}
	if err := seesDevices(pod, e); err != nil {
		return Entry{}, err
	}
	node := s.nodes[e.NodeName]
	if node == nil {
		return Entry{}, fmt.Errorf("podIndex %d is for node %s, which does not exist; nodes with GPUs: %s", index, e.NodeName, s.withGPUs())
	}
	if why := unfit(pod, node); why != "" {
		return Entry{}, fmt.Errorf("podIndex %d is for node %s, which %s", index, e.NodeName, why)
	}
	return e, s.free(pod, e, gpus(node))
}

// seesDevices: the variable cannot be changed in a pod that exists, so a pod without it is not
// placed.
func seesDevices(pod *corev1.Pod, e Entry) error {
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		at := slices.IndexFunc(c.Env, func(v corev1.EnvVar) bool { return v.Name == visibleDevices })
		if at < 0 {
			return fmt.Errorf("%s is not set in container %s: the pod was made when the MutatingAdmissionPolicy of this scheduler was not in force. Delete the pod; "+
				"its controller creates it again", visibleDevices, c.Name)
		}
		if got := c.Env[at].Value; got != e.Visible() {
			return fmt.Errorf("%s is %q in container %s, and the scheduling map gives podIndex %d %q: the pod was made by another map. Delete the pod; its controller creates it again",
				visibleDevices, got, c.Name, e.PodIndex, e.Visible())
		}
	}
	return nil
}

// unfit says why a pod may not run on a node, by the rules of Kubernetes that do not depend on
// other pods; empty if it may.
func unfit(pod *corev1.Pod, node *corev1.Node) string {
	if node.Spec.Unschedulable {
		return "is cordoned"
	}
	if fits, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(node); err != nil || !fits {
		return "the pod's node selector or node affinity rules out"
	}
	taint, untolerated := schedulinghelpers.FindMatchingUntoleratedTaint(klog.Background(), node.Spec.Taints, pod.Spec.Tolerations, func(t *corev1.Taint) bool {
		return t.Effect == corev1.TaintEffectNoSchedule || t.Effect == corev1.TaintEffectNoExecute
	}, false)
	if untolerated {
		return fmt.Sprintf("has the taint %s, which the pod does not tolerate", taint.ToString())
	}
	return ""
}

// free returns an error unless the devices exist and no pod has one of them. GPUs that pods of
// other schedulers request count too, although their indexes are unknown.
func (s *state) free(pod *corev1.Pod, e Entry, has int) error {
	for _, d := range e.Devices {
		if d >= has {
			return fmt.Errorf("podIndex %d is for GPU %d of node %s, which has %s", e.PodIndex, d, e.NodeName, numbered(has))
		}
	}
	mapped, requested := 0, 0
	for _, other := range s.bound {
		if other.Spec.NodeName != e.NodeName || other.UID == pod.UID {
			continue
		}
		if other.Spec.SchedulerName != s.scheduler {
			requested += requests(other)
			continue
		}
		theirs := devicesOf(other)
		for _, d := range e.Devices {
			if slices.Contains(theirs, d) {
				return fmt.Errorf("podIndex %d is for GPU %d of node %s, which the pod %s/%s has", e.PodIndex, d, e.NodeName, other.Namespace, other.Name)
			}
		}
		mapped += len(theirs)
	}
	if left := has - mapped - requested; left < len(e.Devices) {
		return fmt.Errorf("podIndex %d is for %d of the %d GPUs of node %s, of which pods of other schedulers request %d, and pods of this one have %d",
			e.PodIndex, len(e.Devices), has, e.NodeName, requested, mapped)
	}
	return nil
}

// devicesOf are the GPUs of a pod that this scheduler has placed: what it was bound by. A variable
// that is no list of devices gives none.
func devicesOf(pod *corev1.Pod) []int {
	for i := range pod.Spec.Containers {
		for _, v := range pod.Spec.Containers[i].Env {
			if v.Name == visibleDevices {
				devices, _ := parseDevices(v.Value)
				return devices
			}
		}
	}
	return nil
}

func gpus(node *corev1.Node) int {
	q := node.Status.Allocatable[gpuResource]
	return int(q.Value())
}

func requests(pod *corev1.Pod) int {
	n := int64(0)
	for i := range pod.Spec.Containers {
		q := pod.Spec.Containers[i].Resources.Requests[gpuResource]
		n += q.Value()
	}
	return int(n)
}

// numbered says how many GPUs a node has, and their numbers.
func numbered(n int) string {
	switch n {
	case 0:
		return "no GPUs (" + string(gpuResource) + ")"
	case 1:
		return "1 GPU: 0"
	}
	return fmt.Sprintf("%d GPUs: 0 to %d", n, n-1)
}

// withGPUs are the names of the nodes that have GPUs, for people.
func (s *state) withGPUs() string {
	const most = 8
	var names []string
	for _, name := range slices.Sorted(maps.Keys(s.nodes)) {
		if gpus(s.nodes[name]) > 0 {
			names = append(names, name)
		}
	}
	switch {
	case len(names) == 0:
		return "none"
	case len(names) > most:
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}
