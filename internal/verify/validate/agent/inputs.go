package agent

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nvidia/aicr-action/internal/result/reason"
)

// The keys of the input ConfigMaps, and of the one with results.
const (
	snapshotKey = "snapshot.yaml"
	recipeKey   = "recipe.yaml"
	resultKey   = "result.json"
)

// mostMap is what the API server takes in one ConfigMap, in bytes.
const mostMap = 1 << 20

// EnsureInputs writes the ConfigMaps of the configuration that have a name. A ConfigMap of that
// name that is another program's is refused, and so is an input that is too large.
func (d *Deployer) EnsureInputs(ctx context.Context, snapshot, recipe []byte) error {
	for _, in := range []struct {
		name, key string
		data      []byte
	}{{d.config.SnapshotConfigMap, snapshotKey, snapshot}, {d.config.RecipeConfigMap, recipeKey, recipe}} {
		if in.name == "" {
			continue
		}
		if err := d.putMap(ctx, in.name, in.key, in.data); err != nil {
			return err
		}
	}
	return nil
}

// CleanupInputs deletes the ConfigMaps of EnsureInputs.
func (d *Deployer) CleanupInputs(ctx context.Context) error {
	var errs []error
	for _, name := range []string{d.config.SnapshotConfigMap, d.config.RecipeConfigMap} {
		if name != "" {
			errs = append(errs, deleteMap(ctx, d, name))
		}
	}
	return errors.Join(errs...)
}

func deleteMap(ctx context.Context, d *Deployer, name string) error {
	maps := d.clientset.CoreV1().ConfigMaps(d.config.Namespace)
	have, err := maps.Get(ctx, name, metav1.GetOptions{})
	if err == nil && own(have.Labels) {
		err = maps.Delete(ctx, name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &have.UID}})
	}
	if apierrors.IsNotFound(err) {
		return nil
	}
	return failed("delete "+named("ConfigMap", d.config.Namespace, name), d.config.Namespace, err)
}

func (d *Deployer) putMap(ctx context.Context, name, key string, data []byte) error {
	what := "write " + named("ConfigMap", d.config.Namespace, name)
	if len(data) > mostMap {
		return reason.New(reason.Usage, "%s: its %s has %d bytes, and a ConfigMap takes %d", what, key, len(data), mostMap)
	}
	maps := d.clientset.CoreV1().ConfigMaps(d.config.Namespace)
	want := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: d.config.Namespace, Name: name, Labels: labels()}, Data: map[string]string{key: string(data)},
	}
	_, err := maps.Create(ctx, want, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		var have *corev1.ConfigMap
		if have, err = maps.Get(ctx, name, metav1.GetOptions{}); err == nil {
			if !own(have.Labels) {
				return reason.New(reason.Usage, "%s: it is another program's; use another name", what)
			}
			want.ResourceVersion = have.ResourceVersion
			_, err = maps.Update(ctx, want, metav1.UpdateOptions{})
		}
	}
	if apierrors.IsRequestEntityTooLargeError(err) {
		err = fmt.Errorf("it is too large for a ConfigMap: %w", err)
	}
	return failed(what, d.config.Namespace, err)
}
