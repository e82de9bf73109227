// Package problem is what checks find, before it is made a finding.
package problem

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/podspec"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// Problem is a reference that leads nowhere.
type Problem struct {
	From                result.Ref
	Component, Template string
	// Text says what is wrong, as the end of a sentence that begins with From, and Then what comes of
	// it. Name is what the recipe sets, and Cause distinguishes problems of different causes.
	Text, Then, Name, Cause string
	// Lead is what the cause of a fault begins with, e.g. "the upgrade from v1: ".
	Lead string
	// Reason is that of a fault. Without one it is a warning, or a note: what could not be verified.
	Reason reason.Reason
	// At is the place that says it, if that is no template of a component.
	At result.Place
	// Check is the ID of the check that found it, e.g. MX118. Path is the field
	// of the object, and Arguments are what the text was made with.
	Check, Path string
	Arguments   []string
	// More are further lines for people.
	More []string
	// Note: it is neither a fault nor a warning. Ignored is the reason for which the user has it ignored.
	Note    bool
	Ignored string
	// Known: it was reported at an earlier stage.
	Known bool
	// Unverified is set where nothing is wrong, and something could not be looked at.
	Unverified *Unverified
	// Missing is what does not exist; zero if that is not the matter. Something may make it at run
	// time.
	Missing result.Ref
}

// Unverified is what an object needs and exists only if operators and Jobs do their work.
type Unverified struct {
	// What it is and How it comes to be are the beginning of a sentence. One and Many say what an object, or several,
	// do without it.
	What, How, One, Many string
}

// Read reads an object as a type of Kubernetes, and reports whether it is one.
func Read(o *bundle.Object, into any) bool {
	return runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object.Object, into) == nil
}

// Template is the pod template of a workload; nil for an object that makes no pods.
func Template(o *bundle.Object) *corev1.PodTemplateSpec {
	m, ok := podspec.Template(o.Object)
	if !ok {
		return nil
	}
	template, err := podspec.Read(m)
	if err != nil {
		return nil
	}
	return template
}

// Covers reports whether a list of a rule, of a role or a webhook, has an item or is for all.
func Covers(list []string, item string) bool {
	return slices.Contains(list, item) || slices.Contains(list, "*")
}

// Selector is the selector for labels in a field of an object; nil if there is none, or one that selects
// everything or cannot be read.
func Selector(o *bundle.Object, path ...string) labels.Selector {
	raw, _, _ := unstructured.NestedMap(o.Object.Object, path...)
	var s metav1.LabelSelector
	if runtime.DefaultUnstructuredConverter.FromUnstructured(raw, &s) != nil {
		return nil
	}
	selector, err := metav1.LabelSelectorAsSelector(&s)
	if err != nil || selector.Empty() {
		return nil
	}
	return selector
}

// Of is a problem of an object.
func Of(o *bundle.Object) Problem {
	return Problem{From: o.Ref(), Component: o.Component, Template: o.Template}
}
