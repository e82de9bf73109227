package simulate

import (
	"context"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

// storageAnnotation has the StorageClasses of a simulated node's provider, separated by commas.
const storageAnnotation = "aicr.nvidia.com/storage-classes"

// DefaultClass is the annotation of the StorageClass for claims that name none.
const DefaultClass = "storageclass.kubernetes.io/is-default-class"

// DefaultClassName is the default StorageClass of a cell, called as that of Kind.
const DefaultClassName = "standard"

// Provisioner is the one of all classes that EnsureStorage creates.
const Provisioner = "aicr.nvidia.com/simulated"

// StorageClasses are those of a node's provider.
func StorageClasses(n *corev1.Node) []string {
	return strings.FieldsFunc(n.Annotations[storageAnnotation], func(r rune) bool { return r == ',' })
}

// EnsureStorage creates the default StorageClass, "standard" as on Kind, and those of the nodes'
// provider. The KWOK stage pvc-provision creates the volumes for their claims: it simulates the
// provisioner of every existing class.
func EnsureStorage(ctx context.Context, c *infra.Clients, nodes []*corev1.Node) error {
	classes := []string{DefaultClassName}
	for _, n := range nodes {
		classes = append(classes, StorageClasses(n)...)
	}
	for i, name := range lists.Unique(classes) {
		reclaim, binding := corev1.PersistentVolumeReclaimDelete, storagev1.VolumeBindingWaitForFirstConsumer
		_, err := c.Kube.StorageV1().StorageClasses().Create(ctx, &storagev1.StorageClass{
			ObjectMeta:        metav1.ObjectMeta{Name: name, Annotations: map[string]string{DefaultClass: strconv.FormatBool(i == 0)}},
			Provisioner:       Provisioner,
			ReclaimPolicy:     &reclaim,
			VolumeBindingMode: &binding,
		}, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return reason.New(reason.ClusterFailed, "create the StorageClass %s: %w", name, err)
		}
	}
	return nil
}
