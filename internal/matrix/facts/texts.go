package facts

// texts.go finds the manifests that ConfigMaps and Secrets of a bundle hold as text, for a program of
// the bundle to apply at run time: Longhorn's StorageClass, say. Simulated pods apply nothing. The package
// compares only what is rendered. It must not say what follows from that.

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/problem"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// TextManifest is an object that a program of the bundle makes of a text.
type TextManifest struct {
	Object *unstructured.Unstructured
	// By holds the text.
	By *bundle.Object
}

// FindManifests lists the manifests of one kind, with no name for any name. They count if something in the namespace
// of the text may create such objects, and if the bundle does not deliver the object itself.
func FindManifests(e *bundle.Expectation, kind, name string) (all []TextManifest) {
	for i := range e.Objects {
		by := &e.Objects[i]
		if k := by.Object.GetKind(); k != "ConfigMap" && k != "Secret" {
			continue
		}
		for _, text := range textsOf(by.Object) {
			if !strings.Contains(text, kind) || !strings.Contains(text, name) || !strings.Contains(text, "apiVersion") {
				continue
			}
			for _, o := range manifests(text) {
				if o.GetKind() != kind || name != "" && o.GetName() != name || !applies(e, by.Object.GetNamespace(), o) {
					continue
				}
				if !observe.Makes(e, kind, o.GetNamespace(), o.GetName()) {
					all = append(all, TextManifest{o, by})
				}
			}
		}
	}
	return all
}

// textsOf lists the texts of a ConfigMap or a Secret.
func textsOf(o *unstructured.Unstructured) (all []string) {
	for _, field := range []string{"data", "stringData"} {
		texts, _, _ := unstructured.NestedStringMap(o.Object, field)
		for _, text := range texts {
			if o.GetKind() == "Secret" && field == "data" {
				plain, err := base64.StdEncoding.DecodeString(text)
				if err != nil {
					continue
				}
				text = string(plain)
			}
			all = append(all, text)
		}
	}
	return all
}

// manifests reads the objects of a text: YAML or JSON, or a script that has them in here-documents.
func manifests(text string) (all []*unstructured.Unstructured) {
	for _, part := range append(hereDocuments(text), text) {
		for _, doc := range strings.Split("\n"+part, "\n---") {
			var o unstructured.Unstructured
			if yaml.Unmarshal([]byte(doc), &o.Object) == nil && o.GetAPIVersion() != "" && o.GetKind() != "" && o.GetName() != "" {
				all = append(all, &o)
			}
		}
	}
	return all
}

func hereDocuments(text string) (all []string) {
	end, doc := "", []string{}
	for line := range strings.Lines(text) {
		if end != "" {
			if strings.TrimSpace(line) == end {
				all, end, doc = append(all, strings.Join(doc, "")), "", nil
			} else {
				doc = append(doc, line)
			}
			continue
		}
		if _, after, ok := strings.Cut(line, "<<"); ok {
			if words := strings.Fields(strings.TrimPrefix(after, "-")); len(words) > 0 {
				end = strings.Trim(words[0], `'"`)
			}
		}
	}
	return all
}

// applies reports whether pods of a namespace may create an object.
func applies(e *bundle.Expectation, namespace string, o *unstructured.Unstructured) bool {
	gvk := o.GroupVersionKind()
	resource, _ := meta.UnsafeGuessKindToResource(gvk)
	return slices.ContainsFunc(e.Workloads, func(w bundle.Workload) bool {
		return w.Namespace == namespace && TextMay(e, namespace, w.PodSpec.ServiceAccountName, gvk.Group, resource.Resource, "create", "update")
	})
}

// TextMay reports whether the bundle lets a service account do one of these to a resource.
func TextMay(e *bundle.Expectation, namespace, account, group, resource string, verbs ...string) bool {
	return slices.ContainsFunc(rulesOf(e, namespace, account), func(rule rbacv1.PolicyRule) bool {
		return allows(rule, schema.GroupResource{Group: group, Resource: resource}, verbs...)
	})
}

// rulesOf are the rules that the bundle binds to a service account.
func rulesOf(e *bundle.Expectation, namespace, account string) []rbacv1.PolicyRule {
	if account == "" {
		return nil
	}
	roles := map[string]bool{}
	for i := range e.Objects {
		o := &e.Objects[i]
		var b rbacv1.RoleBinding // the fields of a ClusterRoleBinding too
		if k := o.Object.GetKind(); k != "RoleBinding" && k != "ClusterRoleBinding" || !problem.Read(o, &b) {
			continue
		}
		if slices.ContainsFunc(b.Subjects, func(s rbacv1.Subject) bool {
			return s.Kind == "ServiceAccount" && s.Name == account && (s.Namespace == namespace || s.Namespace == "")
		}) {
			roles[b.RoleRef.Kind+"/"+b.RoleRef.Name] = true
		}
	}
	var rules []rbacv1.PolicyRule
	if roles["ClusterRole/cluster-admin"] {
		every := []string{"*"}
		rules = append(rules, rbacv1.PolicyRule{APIGroups: every, Resources: every, Verbs: every})
	}
	for i := range e.Objects {
		o := &e.Objects[i]
		var r rbacv1.Role
		if roles[o.Object.GetKind()+"/"+o.Object.GetName()] && problem.Read(o, &r) {
			rules = append(rules, r.Rules...)
		}
	}
	return rules
}

// classes are the kinds of no namespace that the API server or the scheduler looks up for a pod.
var classes = []schema.GroupVersionResource{
	{Group: "storage.k8s.io", Version: "v1", Resource: "storageclasses"},
	{Group: "scheduling.k8s.io", Version: "v1", Resource: "priorityclasses"},
	{Group: "node.k8s.io", Version: "v1", Resource: "runtimeclasses"},
}

// CreateClasses creates the classes that programs of the bundle would make of texts, and returns a line for
// each: without it, simulated programs would leave the pods that name it behind. A cluster whose class of that
// name exists keeps it. Reasons: CLUSTER_FAILED.
func CreateClasses(ctx context.Context, e *bundle.Expectation, cluster dynamic.Interface) (lines []string, err error) {
	for i, kind := range []string{"StorageClass", "PriorityClass", "RuntimeClass"} {
		for _, m := range FindManifests(e, kind, "") {
			_, err := cluster.Resource(classes[i]).Create(ctx, m.Object, metav1.CreateOptions{})
			if apierrors.IsAlreadyExists(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) {
				continue
			}
			if err != nil {
				return lines, reason.New(reason.ClusterFailed, "create %s %s: %w", kind, m.Object.GetName(), err)
			}
			lines = append(lines, fmt.Sprintf("%s %s: created as the text of %s (%s) has it, which a program there may apply; whether it does is not verified", kind, m.Object.GetName(), m.By.Ref(), m.By.Component))
		}
	}
	return lines, nil
}
