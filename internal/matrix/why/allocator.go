package why

// allocator.go asks the scheduler's allocator about all claims of a pod at once. It must not say
// what one claim lacks: that is claims.go's.

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
	"k8s.io/dynamic-resource-allocation/structured"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/observe"
)

// allocatorFeatures are those that are on by default in the newest Kubernetes of cells
// (https://kubernetes.io/docs/reference/command-line-tools-reference/feature-gates/).
var allocatorFeatures = structured.Features{AdminAccess: true, ConsumableCapacity: true, DeviceBindingAndStatus: true, DeviceTaints: true, PartitionableDevices: true, PrioritizedList: true}

// classes are those of the devices that were read.
type classes struct{ *observe.Devices }

// List returns all.
func (c classes) List() (all []*resourcev1.DeviceClass, err error) {
	for i := range c.Classes {
		all = append(all, &c.Classes[i])
	}
	return all, nil
}

// Get returns one by its name.
func (c classes) Get(name string) (*resourcev1.DeviceClass, error) {
	if class := c.Class(name); class != nil {
		return class, nil
	}
	return nil, fmt.Errorf("DeviceClass %s does not exist", name)
}

// together says which claims of the pod a node's devices satisfy one by one, and not with their constraints, with the
// capacity that devices share or with each other; nil if it satisfies them. asked is false if the allocator cannot be asked.
func (c *claimChecker) together(n *corev1.Node) (refused *claimRefusal, asked bool) {
	var open []*resourcev1.ResourceClaim
	var names []string
	for i := range c.pod.Spec.ResourceClaims {
		name, _, err := resourceclaim.Name(c.pod, &c.pod.Spec.ResourceClaims[i])
		if err != nil || name == nil {
			continue
		}
		if claim := c.devices.Claim(c.pod.Namespace, *name); claim != nil && claim.Status.Allocation == nil {
			open, names = append(open, claim), append(names, infra.NamespacedName(c.pod.Namespace, *name))
		}
	}
	if len(open) == 0 {
		return nil, true
	}
	var published []*resourcev1.ResourceSlice
	for i := range c.devices.Slices {
		published = append(published, &c.devices.Slices[i])
	}
	ctx := context.Background()
	a, err := structured.NewAllocator(ctx, allocatorFeatures, c.allocated(), classes{c.devices}, published, cel.NewCache(10, cel.Features{EnableConsumableCapacity: true}))
	if err != nil {
		return nil, false
	}
	found, err := a.Allocate(ctx, n, open)
	key := strings.Join(names, ", ")
	switch {
	case err != nil:
		return &claimRefusal{key, fmt.Sprintf("ResourceClaim %s: the scheduler's allocator fails: %v", key, err)}, true
	case found == nil:
		return &claimRefusal{key, fmt.Sprintf("ResourceClaim %s: its devices satisfy no more than each request by itself, and not all at once%s", key, constraints(open))}, true
	}
	return nil, true
}

// allocated is what claims have of the devices.
func (c *claimChecker) allocated() structured.AllocatedState {
	s := structured.AllocatedState{AllocatedDevices: sets.New[structured.DeviceID](), AllocatedSharedDeviceIDs: sets.New[structured.SharedDeviceID](), AggregatedCapacity: structured.NewConsumedCapacityCollection()}
	for i := range c.devices.Claims {
		if c.devices.Claims[i].Status.Allocation == nil {
			continue
		}
		for _, r := range c.devices.Claims[i].Status.Allocation.Devices.Results {
			id := structured.MakeDeviceID(r.Driver, r.Pool, r.Device)
			switch {
			case r.AdminAccess != nil && *r.AdminAccess:
			case r.ShareID != nil:
				s.AllocatedSharedDeviceIDs.Insert(structured.MakeSharedDeviceID(id, r.ShareID))
				s.AggregatedCapacity.Insert(structured.NewDeviceConsumedCapacity(id, r.ConsumedCapacity))
			default:
				s.AllocatedDevices.Insert(id)
			}
		}
	}
	return s
}

// constraints are those of claims, as a text.
func constraints(all []*resourcev1.ResourceClaim) string {
	var parts []string
	for _, claim := range all {
		for _, c := range claim.Spec.Devices.Constraints {
			of := ""
			if len(c.Requests) > 0 {
				of = " of " + strings.Join(c.Requests, ", ")
			}
			switch {
			case c.MatchAttribute != nil:
				parts = append(parts, "matchAttribute "+string(*c.MatchAttribute)+of)
			case c.DistinctAttribute != nil:
				parts = append(parts, "distinctAttribute "+string(*c.DistinctAttribute)+of)
			}
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, "; ") + ")"
}
