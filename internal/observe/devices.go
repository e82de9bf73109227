package observe

import (
	"context"
	"fmt"

	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Devices is what the scheduler looks at to allocate resource claims.
type Devices struct {
	// Read is false if they were not read, or if this API server has no resource.k8s.io/v1.
	Read      bool
	Claims    []resourcev1.ResourceClaim
	Templates []resourcev1.ResourceClaimTemplate
	Classes   []resourcev1.DeviceClass
	Slices    []resourcev1.ResourceSlice
}

// ReadDevices reads each list once.
func ReadDevices(ctx context.Context, kube kubernetes.Interface) (Devices, error) {
	var opts metav1.ListOptions
	classes, err := kube.ResourceV1().DeviceClasses().List(ctx, opts)
	if apierrors.IsNotFound(err) {
		return Devices{}, nil
	}
	if err != nil {
		return Devices{}, fmt.Errorf("list DeviceClasses: %w", err)
	}
	claims, err := kube.ResourceV1().ResourceClaims("").List(ctx, opts)
	if err != nil {
		return Devices{}, fmt.Errorf("list ResourceClaims: %w", err)
	}
	templates, err := kube.ResourceV1().ResourceClaimTemplates("").List(ctx, opts)
	if err != nil {
		return Devices{}, fmt.Errorf("list ResourceClaimTemplates: %w", err)
	}
	slices, err := kube.ResourceV1().ResourceSlices().List(ctx, opts)
	if err != nil {
		return Devices{}, fmt.Errorf("list ResourceSlices: %w", err)
	}
	return Devices{Read: true, Claims: claims.Items, Templates: templates.Items, Classes: classes.Items, Slices: slices.Items}, nil
}

// Claim returns a claim by its name; nil if it does not exist.
func (d *Devices) Claim(namespace, name string) *resourcev1.ResourceClaim {
	for i := range d.Claims {
		if d.Claims[i].Namespace == namespace && d.Claims[i].Name == name {
			return &d.Claims[i]
		}
	}
	return nil
}

// Template returns a template of claims by its name; nil if it does not exist.
func (d *Devices) Template(namespace, name string) *resourcev1.ResourceClaimTemplate {
	for i := range d.Templates {
		if d.Templates[i].Namespace == namespace && d.Templates[i].Name == name {
			return &d.Templates[i]
		}
	}
	return nil
}

// Class returns a class by its name; nil if it does not exist.
func (d *Devices) Class(name string) *resourcev1.DeviceClass {
	for i := range d.Classes {
		if d.Classes[i].Name == name {
			return &d.Classes[i]
		}
	}
	return nil
}
