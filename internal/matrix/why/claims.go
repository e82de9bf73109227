package why

// claims.go says which resource claims of a pod a node's devices do not satisfy, and why. It
// evaluates the selectors with the scheduler's own library. It must not decide what is allocated:
// that is the scheduler's allocator, see allocator.go.

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/resourceclaim"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

// claimRefusal is a claim that a node does not satisfy.
type claimRefusal struct {
	// Claim is how the pod's owner knows it: a ResourceClaim, or the template of one.
	Claim string
	// Text says what it asks for and what the node has instead.
	Text string
}

// claimChecker checks the claims of one pod. It is for one goroutine.
type claimChecker struct {
	devices *observe.Devices
	pod     *corev1.Pod
	taken   map[device]string // the claim that has a device
	known   map[string]cel.CompilationResult
	// satisfied is what the scheduler's allocator says of the node: then no request is looked at by itself.
	satisfied bool
}

type device struct{ driver, pool, name string }

// newClaimChecker returns a Checker, which reads nothing but its arguments.
func newClaimChecker(d *observe.Devices, pod *corev1.Pod) *claimChecker {
	c := &claimChecker{devices: d, pod: pod, taken: map[device]string{}, known: map[string]cel.CompilationResult{}}
	for i := range d.Claims {
		claim := &d.Claims[i]
		if claim.Status.Allocation == nil {
			continue
		}
		for _, r := range claim.Status.Allocation.Devices.Results {
			if r.AdminAccess == nil || !*r.AdminAccess {
				c.taken[device{r.Driver, r.Pool, r.Device}] = infra.NamespacedName(claim.Namespace, claim.Name)
			}
		}
	}
	return c
}

// Refusals are the pod's claims that a node does not satisfy; none if the devices were not read.
func (c *claimChecker) Refusals(n *corev1.Node) []claimRefusal {
	if !c.devices.Read {
		return nil
	}
	var all []claimRefusal
	whole, asked := c.together(n)
	c.satisfied = asked && whole == nil
	for i := range c.pod.Spec.ResourceClaims {
		if r := c.claim(&c.pod.Spec.ResourceClaims[i], n); r != nil {
			all = append(all, *r)
		}
	}
	if len(all) == 0 && whole != nil {
		all = append(all, *whole)
	}
	return all
}

func (c *claimChecker) claim(of *corev1.PodResourceClaim, n *corev1.Node) *claimRefusal {
	ns := c.pod.Namespace
	name, _, err := resourceclaim.Name(c.pod, of)
	if t := of.ResourceClaimTemplateName; t != nil {
		full := infra.NamespacedName(ns, *t)
		if err != nil || name == nil {
			if c.devices.Template(ns, *t) == nil {
				return &claimRefusal{full, "ResourceClaimTemplate " + full + " does not exist"}
			}
			return &claimRefusal{full, "the claim of ResourceClaimTemplate " + full + " is not made yet"}
		}
		return c.existing("claim "+of.Name+" of ResourceClaimTemplate "+full, full, *name, n)
	}
	if err != nil || name == nil {
		return nil // no claim is named: the API server rejects that
	}
	full := infra.NamespacedName(ns, *name)
	return c.existing("ResourceClaim "+full, full, *name, n)
}

func (c *claimChecker) existing(what, key, name string, n *corev1.Node) *claimRefusal {
	claim := c.devices.Claim(c.pod.Namespace, name)
	switch {
	case claim == nil:
		return &claimRefusal{key, what + " does not exist"}
	case claim.DeletionTimestamp != nil:
		return &claimRefusal{key, what + " is being deleted"}
	case claim.Status.Allocation != nil:
		selector := claim.Status.Allocation.NodeSelector
		if selector == nil {
			return nil
		}
		if ok, err := nodeaffinity.NewLazyErrorNodeSelector(selector).Match(n); ok || err != nil {
			return nil
		}
		return &claimRefusal{key, what + " has devices of another node"}
	}
	if c.satisfied {
		return nil
	}
	asked := map[string]int64{} // by class and selectors: requests that ask for the same share the devices
	for i := range claim.Spec.Devices.Requests {
		if why := c.request(&claim.Spec.Devices.Requests[i], n, asked); why != "" {
			return &claimRefusal{key, what + ": " + why}
		}
	}
	return nil
}

// request says why a node does not satisfy a request; empty if it does.
func (c *claimChecker) request(r *resourcev1.DeviceRequest, n *corev1.Node, asked map[string]int64) string {
	if e := r.Exactly; e != nil {
		if e.AdminAccess != nil && *e.AdminAccess {
			return ""
		}
		return c.exactly(e.DeviceClassName, e.Selectors, e.AllocationMode, e.Count, n, asked)
	}
	var whys []string
	for i := range r.FirstAvailable {
		s := &r.FirstAvailable[i]
		why := c.exactly(s.DeviceClassName, s.Selectors, s.AllocationMode, s.Count, n, asked)
		if why == "" {
			return ""
		}
		whys = append(whys, why)
	}
	return strings.Join(whys, ", or ")
}

func (c *claimChecker) exactly(className string, selectors []resourcev1.DeviceSelector, mode resourcev1.DeviceAllocationMode, count int64, n *corev1.Node, asked map[string]int64) string {
	class := c.devices.Class(className)
	if class == nil {
		return "DeviceClass " + className + " does not exist"
	}
	all := c.of(n)
	if len(all) == 0 {
		return "DeviceClass " + className + ": has no devices, since no DRA driver publishes any there"
	}
	ofClass, why := c.matching(all, class.Spec.Selectors)
	if why != "" {
		return "DeviceClass " + className + why
	}
	if len(ofClass) == 0 {
		return fmt.Sprintf("DeviceClass %s (%s): none of its %s is of it (%s)", className, expressions(class.Spec.Selectors), lists.Count(len(all), "device"), drivers(all))
	}
	wanted, why := c.matching(ofClass, selectors)
	if why != "" {
		return "DeviceClass " + className + why
	}
	if len(wanted) == 0 {
		return fmt.Sprintf("DeviceClass %s: none of its %s has %s%s", className, lists.Count(len(ofClass), "device"), expressions(selectors), having(ofClass, expressions(selectors)))
	}
	if mode == resourcev1.DeviceAllocationModeAll {
		count = int64(len(wanted))
	}
	with := ""
	if len(selectors) > 0 {
		with = " with " + expressions(selectors)
	}
	key := className + with
	asked[key] += max(count, 1)
	var holders []string
	for _, d := range wanted {
		if by, ok := c.taken[d.id]; ok && !slices.Contains(holders, by) {
			holders = append(holders, by)
		}
	}
	free := len(wanted) - c.held(wanted)
	switch {
	case asked[key] <= int64(free):
		return ""
	case free == len(wanted):
		return fmt.Sprintf("DeviceClass %s: asks for %s%s, has %d", className, lists.Count(int(asked[key]), "device"), with, len(wanted))
	}
	return fmt.Sprintf("DeviceClass %s: asks for %s%s, has %d, of which %d free (claims %s)", className, lists.Count(int(asked[key]), "device"), with, len(wanted), free, strings.Join(lists.AtMost(holders, 2), ", "))
}

func (c *claimChecker) held(all []published) int {
	held := 0
	for _, d := range all {
		if _, ok := c.taken[d.id]; ok {
			held++
		}
	}
	return held
}

// published is a device of a node.
type published struct {
	id     device
	device *resourcev1.Device
}

// of returns a node's devices.
func (c *claimChecker) of(n *corev1.Node) []published {
	var all []published
	for i := range c.devices.Slices {
		s := &c.devices.Slices[i].Spec
		there := s.NodeName != nil && *s.NodeName == n.Name || s.AllNodes != nil && *s.AllNodes
		if !there && s.NodeSelector != nil {
			there, _ = nodeaffinity.NewLazyErrorNodeSelector(s.NodeSelector).Match(n) // the API server has checked it
		}
		for j := range s.Devices {
			if there {
				all = append(all, published{device{s.Driver, s.Pool.Name, s.Devices[j].Name}, &s.Devices[j]})
			}
		}
	}
	return all
}

// matching returns the devices that all selectors match. A selector that fails for one device, e.g.
// since it lacks the attribute, fails for the scheduler as a whole: then matching says so.
func (c *claimChecker) matching(all []published, selectors []resourcev1.DeviceSelector) ([]published, string) {
	for _, s := range selectors {
		if s.CEL == nil {
			continue
		}
		program, ok := c.known[s.CEL.Expression]
		if !ok {
			program = cel.GetCompiler(cel.Features{}).CompileCELExpression(s.CEL.Expression, cel.Options{DisableCostEstimation: true})
			c.known[s.CEL.Expression] = program
		}
		if program.Error != nil {
			return nil, fmt.Sprintf(": %s does not compile: %v", quoted(s.CEL.Expression), program.Error)
		}
		var matched []published
		for _, d := range all {
			is, _, err := program.DeviceMatches(context.Background(), cel.Device{Driver: d.id.driver, AllowMultipleAllocations: d.device.AllowMultipleAllocations, Attributes: d.device.Attributes, Capacity: d.device.Capacity})
			if err != nil {
				return nil, fmt.Sprintf(": %s cannot be evaluated for device %s: %v", quoted(s.CEL.Expression), d.id.name, err)
			}
			if is {
				matched = append(matched, d)
			}
		}
		all = matched
	}
	return all, ""
}

// longest is how much of an expression a line shows.
const longest = 200

func quoted(expression string) string {
	text := strings.Join(strings.Fields(expression), " ")
	if len(text) > longest {
		text = text[:longest] + "…"
	}
	return text
}

func expressions(selectors []resourcev1.DeviceSelector) string {
	var all []string
	for _, s := range selectors {
		if s.CEL != nil {
			all = append(all, quoted(s.CEL.Expression))
		}
	}
	return strings.Join(all, " && ")
}

func drivers(all []published) string {
	var names []string
	for _, d := range all {
		if !slices.Contains(names, d.id.driver) {
			names = append(names, d.id.driver)
		}
	}
	return strings.Join(names, ", ")
}

var word = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*`)

// having says what devices have of the attributes and capacity that an expression names.
func having(all []published, expression string) string {
	var parts []string
	for _, name := range word.FindAllString(expression, -1) {
		var values []string
		for _, d := range all {
			if v := value(d.device, resourcev1.QualifiedName(name)); v != "" && !slices.Contains(values, v) {
				values = append(values, v)
			}
		}
		if part := name + " " + strings.Join(lists.AtMost(values, 3), ", "); len(values) > 0 && !slices.Contains(parts, part) {
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return " (has " + strings.Join(parts, "; ") + ")"
}

func value(d *resourcev1.Device, name resourcev1.QualifiedName) string {
	if c, ok := d.Capacity[name]; ok {
		return c.Value.String()
	}
	switch a := d.Attributes[name]; {
	case a.StringValue != nil:
		return *a.StringValue
	case a.VersionValue != nil:
		return *a.VersionValue
	case a.IntValue != nil:
		return fmt.Sprint(*a.IntValue)
	case a.BoolValue != nil:
		return fmt.Sprint(*a.BoolValue)
	}
	return ""
}
