package simulate

import (
	"context"
	"slices"
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

// defaultClassAnnotation has the default StorageClass of a simulated node's provider, or noDefaultClass; assumedClassAnnotation
// says that the cell has one which the provider's clusters lack.
const (
	defaultClassAnnotation = "aicr.nvidia.com/default-storage-class"
	assumedClassAnnotation = "aicr.nvidia.com/assumed-storage-class"
)

// noDefaultClass is what a profile has in place of the name of a default StorageClass where there is none.
const noDefaultClass = "none"

// DefaultClass is the annotation of the StorageClass for claims that name none.
const DefaultClass = "storageclass.kubernetes.io/is-default-class"

// DefaultClassName is the default StorageClass of a cell whose provider's is not known, called as that of Kind.
const DefaultClassName = "standard"

// Provisioner is the one of all classes that EnsureStorage creates.
const Provisioner = "aicr.nvidia.com/simulated"

// StorageClasses are those of a node's provider.
func StorageClasses(n *corev1.Node) []string {
	return strings.FieldsFunc(n.Annotations[storageAnnotation], func(r rune) bool { return r == ',' })
}

// DefaultClassOf is the default StorageClass of a cluster with these nodes; empty if it has none.
func DefaultClassOf(nodes []*corev1.Node) string {
	for _, n := range nodes {
		switch class := n.Annotations[defaultClassAnnotation]; class {
		case "":
		case noDefaultClass:
			return ""
		default:
			return class
		}
	}
	return DefaultClassName
}

// Made reports whether a StorageClass of a cluster with these nodes is the harness's own: no provider is known to have it.
func Made(nodes []*corev1.Node, class string) bool {
	for _, n := range nodes {
		if n.Annotations[defaultClassAnnotation] == class || slices.Contains(StorageClasses(n), class) {
			return false
		}
	}
	return class == DefaultClassOf(nodes)
}

// AssumesClass reports whether a cluster with these nodes has a default StorageClass that a new one of its provider lacks.
func AssumesClass(nodes []*corev1.Node) bool {
	return slices.ContainsFunc(nodes, func(n *corev1.Node) bool { return n.Annotations[assumedClassAnnotation] != "" })
}

// Assume gives profiles what recipes leave to the cluster and its owner may have added: AssumeClass, AssumeLoadBalancer.
func Assume(profiles []Profile) []Profile { return AssumeLoadBalancer(assumeClass(profiles)) }

// assumeClass gives profiles with a default StorageClass where the provider's clusters have none. Recipes leave that to the
// cluster, and its owner may have made one.
func assumeClass(profiles []Profile) []Profile {
	profiles = slices.Clone(profiles)
	for i := range profiles {
		if s := &profiles[i].Spec; s.DefaultStorageClass == noDefaultClass {
			s.DefaultStorageClass, s.AssumedClass = "", true
		}
	}
	return profiles
}

// EnsureStorage creates the default StorageClass of the nodes' provider, if it has one, and its others. The KWOK
// stage pvc-provision creates the volumes for their claims: it simulates the provisioner of every existing class.
func EnsureStorage(ctx context.Context, c *infra.Clients, nodes []*corev1.Node) error {
	first := DefaultClassOf(nodes)
	var classes []string
	if first != "" {
		classes = append(classes, first)
	}
	for _, n := range nodes {
		classes = append(classes, StorageClasses(n)...)
	}
	for _, name := range lists.Unique(classes) {
		reclaim, binding := corev1.PersistentVolumeReclaimDelete, storagev1.VolumeBindingWaitForFirstConsumer
		_, err := c.Kube.StorageV1().StorageClasses().Create(ctx, &storagev1.StorageClass{
			ObjectMeta:        metav1.ObjectMeta{Name: name, Annotations: map[string]string{DefaultClass: strconv.FormatBool(name == first)}},
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
