package why

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/nvidia/aicr-action/internal/observe"
)

// driverOf finds the driver that an expression of a DeviceClass names.
var driverOf = regexp.MustCompile(`device\.driver\s*==\s*["']([^"']+)["']`)

// asked says what devices a pod's claims ask for, and what the drivers of their classes offer: a line for each
// request.
func asked(pod *corev1.Pod, devices *observe.Devices) (lines []string) {
	for _, c := range pod.Spec.ResourceClaims {
		var spec *resourcev1.ResourceClaimSpec
		what := ""
		if c.ResourceClaimName != nil {
			what = "ResourceClaim " + *c.ResourceClaimName
			if claim := devices.Claim(pod.Namespace, *c.ResourceClaimName); claim != nil {
				spec = &claim.Spec
			}
		} else if c.ResourceClaimTemplateName != nil {
			what = "ResourceClaimTemplate " + *c.ResourceClaimTemplateName
			if template := devices.Template(pod.Namespace, *c.ResourceClaimTemplateName); template != nil {
				spec = &template.Spec.Spec
			}
		}
		if spec == nil {
			continue
		}
		for _, r := range spec.Devices.Requests {
			var classes []string
			if r.Exactly != nil {
				classes = append(classes, r.Exactly.DeviceClassName)
			}
			for _, sub := range r.FirstAvailable {
				classes = append(classes, sub.DeviceClassName)
			}
			for _, class := range classes {
				lines = append(lines, fmt.Sprintf("%s, request %s: of DeviceClass %s, %s", what, r.Name, class, offered(class, devices)))
			}
		}
	}
	return lines
}

// offered says what there is of a class.
func offered(name string, devices *observe.Devices) string {
	class := devices.Class(name)
	if class == nil {
		return "which does not exist"
	}
	var drivers, other []string
	for _, s := range class.Spec.Selectors {
		if s.CEL == nil {
			continue
		}
		for _, m := range driverOf.FindAllStringSubmatch(s.CEL.Expression, -1) {
			drivers = append(drivers, m[1])
		}
	}
	of, count := 0, 0
	for i := range devices.Slices {
		s := &devices.Slices[i].Spec
		if slices.Contains(drivers, s.Driver) {
			of++
			count += len(s.Devices)
		} else if !slices.Contains(other, s.Driver) {
			other = append(other, s.Driver)
		}
	}
	slices.Sort(other)
	has := cmp.Or(strings.Join(other, ", "), "no driver")
	switch {
	case len(drivers) == 0:
		return fmt.Sprintf("whose expressions name no driver; ResourceSlices are from %s", has)
	case of == 0:
		return fmt.Sprintf("whose driver %s has published no ResourceSlice; there are some of %s: see whether a value of the driver's component turns these devices off, or its pods do not run on these nodes", strings.Join(drivers, " or "), has)
	}
	return fmt.Sprintf("of whose driver %s there are %d devices in %d ResourceSlices", strings.Join(drivers, " or "), count, of)
}
