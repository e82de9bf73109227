package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/kubernetes"

	"github.com/nvidia/aicr-action/internal/result/reason"
)

// SnapshotConfig is how `aicr snapshot` runs as a Job.
type SnapshotConfig struct {
	// Namespace is where the Job runs. It must exist.
	Namespace string
	// Image has the program aicr on its PATH.
	Image string
	// ImagePullSecrets are names of Secrets in Namespace.
	ImagePullSecrets []string
	// NodeSelector chooses the node. Nil is nodes with GPUs (GPUPresentLabel is true).
	NodeSelector map[string]string
	// Tolerations of the pod. Nil tolerates every taint, since nodes with GPUs have some.
	Tolerations []corev1.Toleration
	// Rules are what the collectors read of the cluster.
	Rules []rbacv1.PolicyRule
	// Args are further arguments of aicr snapshot.
	Args []string
	// Timeout for the whole Job; default 5 minutes.
	Timeout time.Duration
}

// Snapshot takes a snapshot in the cluster: a Job on a node with GPUs runs `aicr snapshot` and
// writes to a ConfigMap, which is read back. The ServiceAccount may read and write ConfigMaps of
// its namespace, and read what Rules say. Snapshot always removes what it created. Errors are a
// *JobError, or the API server's.
func Snapshot(ctx context.Context, clientset kubernetes.Interface, c SnapshotConfig) (data []byte, err error) {
	if c.Image == "" {
		return nil, reason.New(reason.Usage, "the snapshot agent has no image; name one that contains aicr")
	}
	if wrong := validation.IsDNS1123Label(c.Namespace); len(wrong) > 0 {
		return nil, reason.New(reason.Usage, "the namespace of the snapshot agent cannot be %q: %s", c.Namespace, wrong[0])
	}
	if c.Timeout <= 0 {
		c.Timeout = defaultTimeout
	}
	// A unique name, so that no object of another program or another run has it.
	name := "aicr-snapshot-" + rand.String(5)
	access := rbac{clientset: clientset, namespace: c.Namespace, account: name, inner: []rbacv1.PolicyRule{{
		APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "list", "create", "update", "patch"},
	}}, outer: c.Rules}
	j := job{clientset: clientset, namespace: c.Namespace, name: name}
	defer func() {
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupBudget)
		defer cancel()
		gone := clientset.CoreV1().ConfigMaps(c.Namespace).Delete(clean, name, metav1.DeleteOptions{})
		if apierrors.IsNotFound(gone) {
			gone = nil
		}
		err = errors.Join(err, j.cleanup(clean), access.cleanup(clean), failed("delete "+named("ConfigMap", c.Namespace, name), c.Namespace, gone))
	}()
	if err := access.ensure(ctx); err != nil {
		return nil, err
	}
	if err := j.create(ctx, snapshotJob(c, name)); err != nil {
		return nil, err
	}
	if err := j.waitDone(ctx, c.Timeout); err != nil {
		var job *JobError
		if errors.As(err, &job) && job.Failure == Exited {
			if log, lerr := j.log(ctx); lerr == nil && log != "" {
				err = fmt.Errorf("%w. Its log ends with:\n%s", err, tail(log))
			}
		}
		return nil, err
	}
	return j.readSnapshot(ctx, name)
}

func (j job) readSnapshot(ctx context.Context, name string) ([]byte, error) {
	m, err := j.clientset.CoreV1().ConfigMaps(j.namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		text := "completed, and wrote no snapshot"
		if log, err := j.log(ctx); err != nil {
			text += ": " + err.Error()
		} else {
			text += ". Its log ends with:\n" + tail(log)
		}
		return nil, j.fail(noResult, "%s", text)
	case err != nil:
		return nil, failed("read "+named("ConfigMap", j.namespace, name), j.namespace, err)
	case m.Data[snapshotKey] == "":
		return nil, j.fail(noResult, "completed, and its ConfigMap %s/%s has no key %s; is the image of another version?", j.namespace, name, snapshotKey)
	}
	return []byte(m.Data[snapshotKey]), nil
}

func snapshotJob(c SnapshotConfig, name string) *batchv1.Job {
	args := append([]string{"snapshot", "--output", "cm://" + c.Namespace + "/" + name, "--format", "yaml"}, c.Args...)
	j := newJob(c.Namespace, name, name, c.Image, args, c.Timeout)
	pod := &j.Spec.Template.Spec
	pod.NodeSelector = c.NodeSelector
	if pod.NodeSelector == nil {
		pod.NodeSelector = map[string]string{GPUPresentLabel: "true"}
	}
	pod.Tolerations = c.Tolerations
	if pod.Tolerations == nil {
		pod.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	}
	for _, secret := range c.ImagePullSecrets {
		pod.ImagePullSecrets = append(pod.ImagePullSecrets, corev1.LocalObjectReference{Name: secret})
	}
	return j
}
