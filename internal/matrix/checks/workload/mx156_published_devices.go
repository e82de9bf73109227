package workload

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

var slicesOfDevices = judge.KindsOf(resourcev1.GroupName, "ResourceSlice")

const (
	sliceSays = "lists devices of driver %s, which only the driver's plugin on each node may publish"
	sliceThen = "a kubelet asks that plugin to prepare a claim, so that pods with one never start"
)

var publishedDevices = judge.Check{
	ID: "MX156", Name: "devices-of-no-plugin", Needs: judge.Rendered, Until: judge.Settled, Kinds: slicesOfDevices, Gives: reason.SchedulingFailed,
	Title: "No recipe lists the devices of nodes",
	Why: "A kubelet asks the driver's plugin on its node to prepare each claim, and waits for it for ever (https://kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/#resourceslice). " +
		"The scheduler believes a ResourceSlice, whoever wrote it, and a simulated kubelet runs what it places. A warning where nothing claims them; a claim of the cluster that has such a device is proof, whatever its class says.",
	Fix:  "Leave the ResourceSlice out, and install the driver.",
	Says: sliceSays + "; nothing in the recipe runs one, and %s has its devices by it", Then: sliceThen,
	Others: map[string]judge.Message{
		"removed":   {Says: sliceSays, Then: "the plugin of %[2]s removes what it did not publish itself: leave it out"},
		"may be":    {Says: sliceSays + ", and %s may be", Then: sliceThen},
		"unclaimed": {Says: sliceSays + "; nothing in the recipe runs one", Then: sliceThen},
	},
	Run: func(s *judge.Scope) {
		for _, o := range s.Rendered(slicesOfDevices...) {
			driver := facts.Text(o.Object, "spec.driver")
			who, sure := s.PluginOf(driver, o.Release)
			const path = "spec.driver"
			switch user := claimsDevices(s, driver); {
			case sure:
				s.ReportAs("removed", o, path, driver, who.Ref()).OneCause(driver).Warning()
			case who != nil:
				s.ReportAs("may be", o, path, driver, who.Ref()).Note()
			case user != "":
				s.Report(o, path, driver, user).OneCause(driver)
			default:
				s.ReportAs("unclaimed", o, path, driver).OneCause(driver).Warning()
			}
		}
	},
}

// claimsDevices names what of the bundle wants devices of a driver; empty if nothing does, as far as its classes and
// requests say it, and no claim of the cluster has one.
func claimsDevices(s *judge.Scope, driver string) string {
	classes := map[string]bool{}
	for _, o := range s.Rendered(judge.KindsOf(resourcev1.GroupName, "DeviceClass")...) {
		if slices.ContainsFunc(facts.Leaves(o.Object.Object["spec"]), func(text string) bool { return strings.Contains(text, driver) }) {
			classes[o.Object.GetName()] = true
		}
	}
	for _, o := range s.Rendered(deviceClaims...) {
		if !slices.ContainsFunc(facts.Leaves(o.Object.Object["spec"]), func(text string) bool { return classes[text] || strings.Contains(text, driver) }) {
			continue
		}
		if p := claimant(s, o); p != nil {
			return fmt.Sprint(p.Ref())
		}
	}
	if s.Live != nil {
		for _, c := range s.Live.Devices.Claims {
			if at := c.Status.Allocation; at != nil && slices.ContainsFunc(at.Devices.Results, func(r resourcev1.DeviceRequestAllocationResult) bool { return r.Driver == driver }) {
				return fmt.Sprintf("ResourceClaim %s/%s", c.Namespace, c.Name)
			}
		}
	}
	return ""
}

// claimant is what has pods with a claim; nil if nothing does.
func claimant(s *judge.Scope, claim *bundle.Object) *bundle.Object {
	is := func(name *string) bool { return name != nil && *name == claim.Object.GetName() }
	for _, p := range s.Pods() {
		if p.Object.Object.GetNamespace() == claim.Object.GetNamespace() && slices.ContainsFunc(p.Template.Spec.ResourceClaims, func(c corev1.PodResourceClaim) bool {
			return is(c.ResourceClaimName) || is(c.ResourceClaimTemplateName)
		}) {
			return p.Object
		}
	}
	return nil
}
