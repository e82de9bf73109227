package addons

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/infra"
)

// admission is a program's part in admission: the Service that its webhooks have, and which of them
// are installed. The webhooks are served by the process itself: the API server dials their Service
// through its egress, which leads to the process's port.
type admission struct {
	namespace, service string
	// prefix is the prefix of the names of its webhook configurations.
	prefix string
	// groups are the API groups whose webhooks are installed; "" is that of pods.
	groups []string
	// podLabel is the label of the pods that its webhooks for pods are about; those of others do
	// not depend on the process.
	podLabel string
	// converted are its kinds that have several versions with different fields, between which it
	// converts.
	converted []string
	// authority is the PEM of the certificate that its webhooks have; nil if the program writes
	// that into the configurations itself.
	authority []byte
}

// serve makes the API server's connections to the program's Service go to a port of this machine.
func (r *Runner) serve(a admission, port int) error {
	if r.Serve == nil {
		return fmt.Errorf("the API server of this cluster calls no webhooks")
	}
	r.mu.Lock()
	r.routes = append(r.routes, route{a, fmt.Sprintf("127.0.0.1:%d", port)})
	first := len(r.routes) == 1
	r.mu.Unlock()
	if !first {
		return nil
	}
	return r.Serve(r.routeOf)
}

// route is where a Service is.
type route struct {
	admission
	to string
}

// routeOf is where an address of a Service leads: by its name, or by the address that the cluster
// has given it.
func (r *Runner) routeOf(address string) (string, bool, error) {
	r.mu.Lock()
	routes := slices.Clone(r.routes)
	r.mu.Unlock()
	host, _, _ := strings.Cut(address, ":")
	for _, to := range routes {
		if strings.HasPrefix(host, to.service+"."+to.namespace) {
			return to.to, true, nil
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for _, to := range routes {
		service, err := r.Clients.Kube.CoreV1().Services(to.namespace).Get(ctx, to.service, metav1.GetOptions{})
		if err == nil && service.Spec.ClusterIP == host {
			return to.to, true, nil
		}
	}
	return "", false, nil
}

// install creates what a program's chart would, without the Deployment and its permissions: the
// process is an administrator.
func (r *Runner) install(ctx context.Context, s Scheduler, a admission, port int) error {
	if r.Only == "" {
		if err := r.makeService(ctx, a); err != nil {
			return err
		}
	}
	objects, err := infra.ReadObjects(s.CRDs)
	if err != nil {
		return err
	}
	var crds []string
	for _, o := range objects {
		resource := infra.CRDResource
		switch kind := o.GetKind(); kind {
		case "CustomResourceDefinition":
			crds = append(crds, o.GetName())
			if r.Only != "" {
				there, err := r.defined(ctx, s, o)
				if err != nil {
					return err
				}
				if there {
					continue
				}
				r.installed = append(r.installed, o.GetName())
			}
			err = a.convert(o)
		default:
			resource = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: strings.ToLower(kind) + "s"}
			if err = a.admit(o); err == nil && r.Only != "" {
				err = dialDirectly(o, port, r.Only)
			}
		}
		if err == nil {
			err = r.Clients.Apply(ctx, resource, o)
		}
		if err != nil {
			return err
		}
	}
	return r.Clients.WaitCRDs(ctx, crds, time.Minute)
}

// makeService makes the Service by which the API server finds a program's webhooks.
func (r *Runner) makeService(ctx context.Context, a admission) error {
	core := r.Clients.Kube.CoreV1()
	_, err := core.Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: a.namespace}}, metav1.CreateOptions{})
	if err == nil || apierrors.IsAlreadyExists(err) {
		_, err = core.Services(a.namespace).Create(ctx, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: a.service}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 443}}}}, metav1.CreateOptions{})
	}
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// dialDirectly has the API server call the webhooks of a configuration at a port of this machine,
// and for one namespace only.
func dialDirectly(o *unstructured.Unstructured, port int, namespace string) error {
	all, _, err := unstructured.NestedSlice(o.Object, "webhooks")
	if err != nil {
		return err
	}
	for _, w := range all {
		webhook, _ := w.(map[string]any) // admit has looked at them
		path, _, err := unstructured.NestedString(webhook, "clientConfig", "service", "path")
		if err != nil {
			return err
		}
		unstructured.RemoveNestedField(webhook, "clientConfig", "service")
		if err := unstructured.SetNestedField(webhook, fmt.Sprintf("https://127.0.0.1:%d%s", port, path), "clientConfig", "url"); err != nil {
			return err
		}
		webhook["namespaceSelector"] = map[string]any{"matchLabels": map[string]any{corev1.LabelMetadataName: namespace}}
	}
	return unstructured.SetNestedSlice(o.Object, all, "webhooks")
}

// convert lets the program convert between the versions of a kind that needs it.
func (a admission) convert(crd *unstructured.Unstructured) error {
	plural, _, _ := strings.Cut(crd.GetName(), ".")
	if !slices.Contains(a.converted, plural) {
		return nil
	}
	return unstructured.SetNestedMap(crd.Object, map[string]any{"strategy": "Webhook", "webhook": map[string]any{
		"clientConfig":             map[string]any{"service": map[string]any{"namespace": a.namespace, "name": a.service, "path": "/convert"}},
		"conversionReviewVersions": []any{"v1"},
	}}, "spec", "conversion")
}

// admit gives a configuration of webhooks the names that the program expects, and keeps those of
// its groups.
func (a admission) admit(o *unstructured.Unstructured) error {
	all, _, err := unstructured.NestedSlice(o.Object, "webhooks")
	if err != nil {
		return err
	}
	var kept []any
	for _, w := range all {
		webhook, ok := w.(map[string]any)
		if !ok {
			return fmt.Errorf("%s %s: a webhook is no mapping", o.GetKind(), o.GetName())
		}
		groups := webhookGroups(webhook)
		if slices.ContainsFunc(groups, func(g string) bool { return !slices.Contains(a.groups, g) }) {
			continue
		}
		for field, value := range map[string]string{"name": a.service, "namespace": a.namespace} {
			if err := unstructured.SetNestedField(webhook, value, "clientConfig", "service", field); err != nil {
				return err
			}
		}
		if a.authority != nil {
			if err := unstructured.SetNestedField(webhook, base64.StdEncoding.EncodeToString(a.authority), "clientConfig", "caBundle"); err != nil {
				return err
			}
		}
		if slices.Contains(groups, "") {
			webhook["objectSelector"] = map[string]any{"matchExpressions": []any{map[string]any{"key": a.podLabel, "operator": "Exists"}}}
		}
		kept = append(kept, webhook)
	}
	if len(kept) == 0 {
		return fmt.Errorf("%s %s: it has no webhook for %q", o.GetKind(), o.GetName(), a.groups)
	}
	o.SetName(a.prefix + o.GetName())
	return unstructured.SetNestedSlice(o.Object, kept, "webhooks")
}

// webhookGroups are the API groups that a webhook is about.
func webhookGroups(webhook map[string]any) []string {
	var all []string
	rules, _, _ := unstructured.NestedSlice(webhook, "rules")
	for _, rule := range rules {
		rule, _ := rule.(map[string]any)
		groups, _, _ := unstructured.NestedStringSlice(rule, "apiGroups")
		all = append(all, groups...)
	}
	return all
}

// writeCertificates puts certificates where a program reads them: the last name is the one that
// shows that all are there.
func writeCertificates(dir string, files map[string][]byte, names ...string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(dir, name), files[name], 0o600); err != nil {
			return err
		}
	}
	return nil
}
