package infra

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"time"

	apiextv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"

	"github.com/nvidia/aicr-action/internal/util/wait"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// FieldManager of everything that this program applies itself.
const FieldManager = "aicr-action"

// Apply server-side applies an object to the resource.
func (c *Clients) Apply(ctx context.Context, gvr schema.GroupVersionResource, obj *unstructured.Unstructured) error {
	var ri dynamic.ResourceInterface = c.Dynamic.Resource(gvr)
	if obj.GetNamespace() != "" {
		ri = c.Dynamic.Resource(gvr).Namespace(obj.GetNamespace())
	}
	_, err := ri.Apply(ctx, obj.GetName(), obj, metav1.ApplyOptions{FieldManager: FieldManager, Force: true})
	if err != nil {
		return fmt.Errorf("apply %s %s: %w", obj.GetKind(), NamespacedName(obj.GetNamespace(), obj.GetName()), err)
	}
	return nil
}

// Mapper asks the API server which kinds it serves now: an earlier answer lacks later definitions.
func (c *Clients) Mapper() (meta.RESTMapper, error) {
	groups, err := restmapper.GetAPIGroupResources(c.Discovery)
	if err != nil {
		return nil, fmt.Errorf("discover the cluster's kinds: %w", err)
	}
	return restmapper.NewDiscoveryRESTMapper(groups), nil
}

// Scoped is the client of a kind: in a namespace, or in none if the kind has no namespaces, whatever
// an object of it says.
func (c *Clients) Scoped(mapping *meta.RESTMapping, namespace string) dynamic.ResourceInterface {
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		return c.Dynamic.Resource(mapping.Resource)
	}
	return c.Dynamic.Resource(mapping.Resource).Namespace(namespace)
}

// NamespacedName is how a person names an object: namespace/name, or name.
func NamespacedName(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

// toUnstructured turns a typed object with its TypeMeta set into an unstructured one.
func toUnstructured(obj any) (*unstructured.Unstructured, error) {
	m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil, fmt.Errorf("convert %T: %w", obj, err)
	}
	return &unstructured.Unstructured{Object: m}, nil
}

// ReadObjects reads every document of every *.yaml file in dir, in the order of the file names.
func ReadObjects(dir string) ([]*unstructured.Unstructured, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("no *.yaml in %s", dir)
	}
	sort.Strings(files)
	var all []*unstructured.Unstructured
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			return nil, err
		}
		objs, err := DecodeObjects(raw)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", f, err)
		}
		all = append(all, objs...)
	}
	return all, nil
}

// DecodeObjects decodes a stream of YAML documents; empty ones are left out. One that yamlx.Check
// refuses is an error.
func DecodeObjects(raw []byte) ([]*unstructured.Unstructured, error) {
	if err := yamlx.Check(raw); err != nil {
		return nil, err
	}
	var all []*unstructured.Unstructured
	dec := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(raw), 4096)
	for {
		obj := &unstructured.Unstructured{}
		err := dec.Decode(&obj.Object)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		if len(obj.Object) > 0 {
			all = append(all, obj)
		}
	}
}

// CRDResource is the resource of CustomResourceDefinitions.
var CRDResource = schema.GroupVersionResource{Group: apiextv1.GroupName, Version: "v1", Resource: "customresourcedefinitions"}

// ApplyCRDs applies the CRDs in dir; it returns their names. WaitCRDs waits for them.
func (c *Clients) ApplyCRDs(ctx context.Context, dir string) ([]string, error) {
	objs, err := ReadObjects(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, o := range objs {
		if err := c.Apply(ctx, CRDResource, o); err != nil {
			return nil, err
		}
		names = append(names, o.GetName())
	}
	return names, nil
}

// WaitCRDs waits until each CRD is Established.
func (c *Clients) WaitCRDs(ctx context.Context, names []string, budget time.Duration) error {
	for _, name := range names {
		err := wait.For(ctx, "CRD "+name+" to be Established", wait.Options{Budget: budget, Interval: 50 * time.Millisecond}, func(ctx context.Context) wait.Result {
			obj, err := c.Dynamic.Resource(CRDResource).Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return wait.NotYet("%v", err)
			}
			status, message := Condition(obj, "Established")
			if status != "True" {
				return wait.NotYet("Established is %q %s", status, message)
			}
			return wait.Done()
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Condition returns the status and message of a condition of an object; "" if it has none of that
// type.
func Condition(obj *unstructured.Unstructured, conditionType string) (status, message string) {
	c := meta.FindStatusCondition(Conditions(obj), conditionType)
	if c == nil {
		return "", ""
	}
	return string(c.Status), c.Message
}

// Conditions are the status.conditions of an object, except for those that do not follow
// Kubernetes' convention.
func Conditions(obj *unstructured.Unstructured) []metav1.Condition {
	list, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	var all []metav1.Condition
	for _, c := range list {
		m, ok := c.(map[string]any)
		if !ok {
			continue
		}
		var one metav1.Condition
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(m, &one); err == nil {
			all = append(all, one)
		}
	}
	return all
}

// ResourceFor is the resource of a kind, by Kubernetes' rule for plural names. Right for every kind
// that this program applies.
func ResourceFor(gvk schema.GroupVersionKind) schema.GroupVersionResource {
	plural, _ := meta.UnsafeGuessKindToResource(gvk)
	return plural
}
