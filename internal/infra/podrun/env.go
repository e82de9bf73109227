package podrun

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubectl/pkg/util/fieldpath"
	"k8s.io/kubectl/pkg/util/resource"

	"github.com/nvidia/aicr-action/internal/bundle/podspec"
)

// environment is the container's: where the API server is, envFrom, env. Of Services there are no
// variables.
func (w *worker) environment(ctx context.Context, c *corev1.Container) (map[string]string, error) {
	host, port, err := net.SplitHostPort(w.r.server.Host)
	if err != nil {
		return nil, fmt.Errorf("the address of the API server: %w", err)
	}
	env := map[string]string{"HOSTNAME": w.pod.Name, "KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port}
	for _, from := range c.EnvFrom {
		if err := w.envFrom(ctx, env, from); err != nil {
			return nil, err
		}
	}
	for _, e := range c.Env {
		if e.ValueFrom == nil {
			env[e.Name] = expand(e.Value, env)
			continue
		}
		value, ok, err := w.valueFrom(ctx, e.ValueFrom, c)
		if err != nil {
			return nil, fmt.Errorf("variable %s: %w", e.Name, err)
		}
		if ok {
			env[e.Name] = value
		}
	}
	return env, nil
}

func (w *worker) envFrom(ctx context.Context, env map[string]string, from corev1.EnvFromSource) error {
	values := map[string]string{}
	switch {
	case from.ConfigMapRef != nil:
		m, err := w.configMap(ctx, from.ConfigMapRef.Name, from.ConfigMapRef.Optional)
		if err != nil || m == nil {
			return err
		}
		values = m.Data
	case from.SecretRef != nil:
		s, err := w.secret(ctx, from.SecretRef.Name, from.SecretRef.Optional)
		if err != nil || s == nil {
			return err
		}
		for k, v := range s.Data {
			values[k] = string(v)
		}
	}
	for k, v := range values {
		if name := from.Prefix + k; !loader(name) && !strings.ContainsAny(name, "=\x00") {
			env[name] = v
		}
	}
	return nil
}

// valueFrom is false for an optional source that does not exist.
func (w *worker) valueFrom(ctx context.Context, from *corev1.EnvVarSource, c *corev1.Container) (string, bool, error) {
	switch {
	case from.FieldRef != nil:
		v, err := w.field(from.FieldRef.FieldPath)
		return v, true, err
	case from.ResourceFieldRef != nil:
		v, err := resource.ExtractContainerResourceValue(from.ResourceFieldRef, c)
		return v, true, err
	case from.ConfigMapKeyRef != nil:
		ref := from.ConfigMapKeyRef
		m, err := w.configMap(ctx, ref.Name, ref.Optional)
		if err != nil || m == nil {
			return "", false, err
		}
		if v, ok := m.Data[ref.Key]; ok {
			return v, true, nil
		}
		return "", false, missingKey("ConfigMap", ref.Name, ref.Key, ref.Optional)
	case from.SecretKeyRef != nil:
		ref := from.SecretKeyRef
		s, err := w.secret(ctx, ref.Name, ref.Optional)
		if err != nil || s == nil {
			return "", false, err
		}
		if v, ok := s.Data[ref.Key]; ok {
			return string(v), true, nil
		}
		return "", false, missingKey("Secret", ref.Name, ref.Key, ref.Optional)
	}
	return "", false, fmt.Errorf("its source is not known here")
}

// field is a field of the pod. A process has its machine's address.
func (w *worker) field(path string) (string, error) {
	switch path {
	case "status.hostIP", "status.podIP", "status.hostIPs", "status.podIPs":
		return "127.0.0.1", nil
	case "spec.nodeName":
		return w.pod.Spec.NodeName, nil
	case "spec.serviceAccountName":
		return w.pod.Spec.ServiceAccountName, nil
	}
	return fieldpath.ExtractFieldPathAsString(w.pod, path)
}

func missingKey(kind, name, key string, optional *bool) error {
	if optional != nil && *optional {
		return nil
	}
	return fmt.Errorf("%s %s has no key %s", kind, name, key)
}

// configMap is nil if an optional one does not exist.
func (w *worker) configMap(ctx context.Context, name string, optional *bool) (*corev1.ConfigMap, error) {
	m, err := w.r.Clients.Kube.CoreV1().ConfigMaps(w.pod.Namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) && optional != nil && *optional {
		return nil, nil
	}
	return m, err
}

func (w *worker) secret(ctx context.Context, name string, optional *bool) (*corev1.Secret, error) {
	s, err := w.r.Clients.Kube.CoreV1().Secrets(w.pod.Namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) && optional != nil && *optional {
		return nil, nil
	}
	return s, err
}

// expand replaces variables; what is not known stays (Container.args in the API reference).
func expand(text string, env map[string]string) string {
	return podspec.Expand(text, func(name string) string {
		if value, ok := env[name]; ok {
			return value
		}
		return "$(" + name + ")"
	})
}

// list is a process's environment, sorted.
func list(env map[string]string) []string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(env)) {
		all = append(all, name+"="+env[name])
	}
	return all
}
