package observe

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/component-helpers/storage/ephemeral"
	"k8s.io/component-helpers/storage/volume"
)

// Volumes is the storage that the scheduler looks at.
type Volumes struct {
	// Read is false if volumes were not read; then nothing is known of them.
	Read    bool
	Claims  []corev1.PersistentVolumeClaim
	Volumes []corev1.PersistentVolume
	Classes []storagev1.StorageClass
}

// ReadScheduling reads what the scheduler looks at besides nodes and pods. Only the explanation of
// a pod needs it.
func (v *View) ReadScheduling(ctx context.Context, kube kubernetes.Interface) error {
	var opts metav1.ListOptions
	namespaces, err := kube.CoreV1().Namespaces().List(ctx, opts)
	if err != nil {
		return fmt.Errorf("list namespaces: %w", err)
	}
	claims, err := kube.CoreV1().PersistentVolumeClaims("").List(ctx, opts)
	if err != nil {
		return fmt.Errorf("list PersistentVolumeClaims: %w", err)
	}
	volumes, err := kube.CoreV1().PersistentVolumes().List(ctx, opts)
	if err != nil {
		return fmt.Errorf("list PersistentVolumes: %w", err)
	}
	classes, err := kube.StorageV1().StorageClasses().List(ctx, opts)
	if err != nil {
		return fmt.Errorf("list StorageClasses: %w", err)
	}
	if v.Devices, err = ReadDevices(ctx, kube); err != nil {
		return err
	}
	ranges, err := kube.CoreV1().LimitRanges("").List(ctx, opts)
	if err != nil {
		return fmt.Errorf("list LimitRanges: %w", err)
	}
	v.Namespaces, v.LimitRanges = namespaces.Items, ranges.Items
	v.Volumes = Volumes{Read: true, Claims: claims.Items, Volumes: volumes.Items, Classes: classes.Items}
	return nil
}

// Claim returns a claim by its name; nil if it does not exist.
func (s *Volumes) Claim(namespace, name string) *corev1.PersistentVolumeClaim {
	for i := range s.Claims {
		if s.Claims[i].Namespace == namespace && s.Claims[i].Name == name {
			return &s.Claims[i]
		}
	}
	return nil
}

// Volume returns a volume by its name; nil if it does not exist.
func (s *Volumes) Volume(name string) *corev1.PersistentVolume {
	for i := range s.Volumes {
		if s.Volumes[i].Name == name {
			return &s.Volumes[i]
		}
	}
	return nil
}

// Class returns the class of a claim; nil if that does not exist.
func (s *Volumes) Class(c *corev1.PersistentVolumeClaim) *storagev1.StorageClass {
	name := volume.GetPersistentVolumeClaimClass(c)
	for i := range s.Classes {
		if s.Classes[i].Name == name {
			return &s.Classes[i]
		}
	}
	return nil
}

// BindsLate reports whether the class binds a claim only once a pod that uses it is placed.
func (s *Volumes) BindsLate(c *corev1.PersistentVolumeClaim) bool {
	k := s.Class(c)
	return k != nil && k.VolumeBindingMode != nil && *k.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer
}

// Unbound reports whether a pod has a claim without a volume that its class, which exists, binds at once.
func (s *Volumes) Unbound(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
		name := ""
		switch {
		case v.PersistentVolumeClaim != nil:
			name = v.PersistentVolumeClaim.ClaimName
		case v.Ephemeral != nil:
			name = ephemeral.VolumeClaimName(pod, &v)
		}
		c := s.Claim(pod.Namespace, name)
		return c != nil && c.Spec.VolumeName == "" && volume.GetPersistentVolumeClaimClass(c) != "" && !s.LacksClass(c) && !s.BindsLate(c)
	})
}

// LacksClass reports whether the claim's class does not exist, so that nothing provisions a volume
// for it.
func (s *Volumes) LacksClass(c *corev1.PersistentVolumeClaim) bool {
	return volume.GetPersistentVolumeClaimClass(c) != "" && s.Class(c) == nil
}
