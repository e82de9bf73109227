package refs

import (
	"testing"

	"github.com/nvidia/aicr-action/internal/result/reason"
)

// Claims of devices by pods that no scheduler judges, and the classes of the bundle's own claims.
func TestDeviceClasses(t *testing.T) {
	const why = reason.SchedulingFailed
	claim := func(request string) string {
		return "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: mine, namespace: x}\nspec: {devices: {requests: [{name: r, " + request + "}]}}\n"
	}
	template := "apiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplate\nmetadata: {name: mine, namespace: x}\nspec: {spec: {devices: {requests: [{name: r, exactly: {deviceClassName: nope.example.com}}]}}}\n"
	domain := "\n---\napiVersion: resource.nvidia.com/v1beta1\nkind: ComputeDomain\nmetadata: {name: d, namespace: x}\nspec: {channel: {resourceClaimTemplate: {name: nope}}}\n"
	runAll(t, map[string]refCase{
		"class there":       {objects: claim("exactly: {deviceClassName: gpu.nvidia.com}")},
		"no class":          {objects: claim("exactly: {deviceClassName: nope.example.com}"), reason: why, fault: "ResourceClaim x/mine (x): claims a device of DeviceClass nope.example.com, which does not exist, and nothing in the recipe installs it"},
		"a template's":      {objects: template, reason: why, fault: "ResourceClaimTemplate x/mine (x): claims a device of DeviceClass nope.example.com"},
		"of alternatives":   {objects: claim("firstAvailable: [{name: a, deviceClassName: nope.example.com}, {name: b, deviceClassName: gpu.nvidia.com}]")},
		"one alternative":   {objects: claim("firstAvailable: [{name: a, deviceClassName: nope.example.com}]"), reason: why, fault: "DeviceClass nope.example.com"},
		"no template":       {objects: pod("{resourceClaims: [{name: gpu, resourceClaimTemplateName: nope}]}"), reason: why, fault: "Deployment x/web (x): claims devices by ResourceClaimTemplate x/nope, which does not exist"},
		"a CronJob's":       {objects: cronJob("{resourceClaims: [{name: gpu, resourceClaimName: nope}]}"), reason: why, fault: "CronJob x/nightly (x): claims devices by ResourceClaim x/nope, which does not exist"},
		"a domain makes it": {objects: pod("{resourceClaims: [{name: gpu, resourceClaimTemplateName: nope}]}") + domain, note: "ResourceClaimTemplate x/nope, by which Deployment x/web (x) claims devices, is made at run time by ComputeDomain.resource.nvidia.com x/d (x)"},
	})
}
