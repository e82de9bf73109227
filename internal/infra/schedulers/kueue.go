package schedulers

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/infra"
)

// Kueue decides when a Job may start, and the default scheduler places its pods. Its webhooks are served by the process itself: the API server dials
// their Service through its egress, which leads to the process's port. Kueue makes their certificates, and writes them into a Secret, as in any cluster;
// what a kubelet would do, put the Secret into a directory of the process, is done here.
const (
	kueueNamespace = "kueue-system"
	kueueService   = "kueue-webhook-service"
	kueueSecret    = "kueue-webhook-server-cert" // of the name that its configuration has
)

// kueueWebhooks are the API groups whose webhooks are installed: those of the objects that it works on here.
var kueueWebhooks = []string{"batch", "kueue.x-k8s.io"}

// kueueConverted are its kinds that have several versions with different fields.
var kueueConverted = []string{"localqueues", "clusterqueues", "workloads", "cohorts", "multikueueclusters"}

func (r *Runner) launchKueue(ctx context.Context, s Scheduler, dir, _ string) (*launch, error) {
	if r.Serve == nil {
		return nil, fmt.Errorf("the API server of this cluster calls no webhooks")
	}
	ports, err := r.Ports.Take(2)
	if err != nil {
		return nil, err
	}
	r.taken = append(r.taken, ports...)
	webhooks, health := ports[0], ports[1]
	if err := r.Serve(func(address string) (string, bool) {
		return "127.0.0.1:" + strconv.Itoa(webhooks), r.isKueue(ctx, address)
	}); err != nil {
		return nil, err
	}
	if err := r.installKueue(ctx, s); err != nil {
		return nil, err
	}
	certificates := filepath.Join(dir, "certificates")
	config := map[string]any{
		"health": map[string]any{"healthProbeBindAddress": "127.0.0.1:" + strconv.Itoa(health)},
		// It dials its own webhooks before it says that it is ready.
		"webhook": map[string]any{"host": "127.0.0.1", "port": webhooks, "certDir": certificates},
	}
	maps.Copy(config, s.config)
	raw, err := yaml.Marshal(config)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		return nil, err
	}
	return &launch{
		args: []string{"--config=" + file}, bind: ports, connect: ports[:1], ready: "http://127.0.0.1:" + strconv.Itoa(health) + "/readyz",
		meanwhile: func(ctx context.Context) error { return r.mountCertificates(ctx, certificates) },
	}, nil
}

// isKueue reports whether an address is that of the webhooks' Service: by its name, or by the address that the cluster has given it.
func (r *Runner) isKueue(ctx context.Context, address string) bool {
	host, _, _ := strings.Cut(address, ":")
	if strings.HasPrefix(host, kueueService+"."+kueueNamespace) {
		return true
	}
	service, err := r.Clients.Kube.CoreV1().Services(kueueNamespace).Get(ctx, kueueService, metav1.GetOptions{})
	return err == nil && service.Spec.ClusterIP == host
}

// installKueue creates what its chart would, without the Deployment and its permissions: the process is an administrator.
func (r *Runner) installKueue(ctx context.Context, s Scheduler) error {
	core := r.Clients.Kube.CoreV1()
	_, err := core.Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: kueueNamespace}}, metav1.CreateOptions{})
	if err == nil || apierrors.IsAlreadyExists(err) {
		_, err = core.Secrets(kueueNamespace).Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: kueueSecret}}, metav1.CreateOptions{})
	}
	if err == nil || apierrors.IsAlreadyExists(err) {
		_, err = core.Services(kueueNamespace).Create(ctx, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: kueueService}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 443}}}}, metav1.CreateOptions{})
	}
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return err
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
			err = convertKueue(o)
		default:
			resource = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: strings.ToLower(kind) + "s"}
			err = serveKueue(o)
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

// convertKueue lets Kueue convert between the versions of a kind that needs it.
func convertKueue(crd *unstructured.Unstructured) error {
	plural, _, _ := strings.Cut(crd.GetName(), ".")
	if !slices.Contains(kueueConverted, plural) {
		return nil
	}
	return unstructured.SetNestedMap(crd.Object, map[string]any{"strategy": "Webhook", "webhook": map[string]any{
		"clientConfig":             map[string]any{"service": map[string]any{"namespace": kueueNamespace, "name": kueueService, "path": "/convert"}},
		"conversionReviewVersions": []any{"v1"},
	}}, "spec", "conversion")
}

// serveKueue gives a configuration of webhooks the names that Kueue expects, and keeps those of kueueWebhooks.
func serveKueue(o *unstructured.Unstructured) error {
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
		rules, _, _ := unstructured.NestedSlice(webhook, "rules")
		if slices.ContainsFunc(rules, func(r any) bool {
			rule, _ := r.(map[string]any)
			groups, _, _ := unstructured.NestedStringSlice(rule, "apiGroups")
			return !slices.ContainsFunc(groups, func(g string) bool { return slices.Contains(kueueWebhooks, g) })
		}) {
			continue
		}
		for field, value := range map[string]string{"name": kueueService, "namespace": kueueNamespace} {
			if err := unstructured.SetNestedField(webhook, value, "clientConfig", "service", field); err != nil {
				return err
			}
		}
		kept = append(kept, webhook)
	}
	if len(kept) == 0 {
		return fmt.Errorf("%s %s: it has no webhook for %v", o.GetKind(), o.GetName(), kueueWebhooks)
	}
	o.SetName("kueue-" + o.GetName())
	return unstructured.SetNestedSlice(o.Object, kept, "webhooks")
}

// mountCertificates puts what is in Kueue's Secret into its directory, once it is there.
func (r *Runner) mountCertificates(ctx context.Context, dir string) error {
	if _, err := os.Stat(filepath.Join(dir, corev1.TLSCertKey)); err == nil {
		return nil
	}
	secret, err := r.Clients.Kube.CoreV1().Secrets(kueueNamespace).Get(ctx, kueueSecret, metav1.GetOptions{})
	if err != nil || len(secret.Data[corev1.TLSCertKey]) == 0 {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, name := range []string{"ca.crt", corev1.TLSPrivateKeyKey, corev1.TLSCertKey} { // the last is what is waited for
		if err := os.WriteFile(filepath.Join(dir, name), secret.Data[name], 0o600); err != nil {
			return err
		}
	}
	return nil
}
