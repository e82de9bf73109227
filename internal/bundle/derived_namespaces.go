package bundle

import (
	"fmt"
	"net"

	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/recipe/document"
)

const (
	driver     = "nvidia-dra-driver-gpu"
	operator   = "gpu-operator"
	gateway    = "agentgateway"
	annotation = "aicr.run/gpu-operator-chart-version"

	// sourceRanges is the value that says which networks reach agentgateway.
	sourceRanges = "allowedSourceRanges"
)

// postprocess puts the values into a component's that AICR's bundler derives from the whole recipe since July,
// over those that anybody has set, and gives a line for each. An error is about sourceRanges.
func postprocess(r *recipe.Result, c *recipe.Component, values map[string]any) ([]string, error) {
	if document.GenerationOf(r.APIVersion) == recipe.March {
		return nil, nil
	}
	switch c.Name {
	case driver:
		return operatorVersion(r, values), nil
	case gateway:
		return privateNetworks(values)
	}
	return nil, nil
}

// operatorVersion: the pods of the DRA driver have the GPU operator's version in an annotation, so that
// they start anew with another one (AICR's issue 973).
func operatorVersion(r *recipe.Result, values map[string]any) []string {
	version := ""
	for i := range r.ComponentRefs {
		ref := &r.ComponentRefs[i]
		if ref.Name == operator && !ref.LeftOut() {
			version = ref.Version
		}
	}
	if version == "" {
		return nil
	}
	for _, pods := range []string{"controller", "kubeletPlugin"} {
		within(within(values, pods), "podAnnotations")[annotation] = version
	}
	return []string{fmt.Sprintf("%s: the version of %s, %s, at controller.podAnnotations and kubeletPlugin.podAnnotations", driver, operator, version)}
}

// within is the map at a key, made if there is none.
func within(values map[string]any, key string) map[string]any {
	m, ok := values[key].(map[string]any)
	if !ok {
		m = map[string]any{}
		values[key] = m
	}
	return m
}

// privateNetworks: unless the recipe or a flag says otherwise, the gateway's load balancer is for private
// networks only, as none at all would mean all (AICR's issue 1373).
func privateNetworks(values map[string]any) ([]string, error) {
	list, ok := values[sourceRanges].([]any)
	if !ok && values[sourceRanges] != nil {
		return nil, fmt.Errorf("%s must be a list of networks, e.g. [\"10.0.0.0/8\"], not %v (--set gives no list, --set-json does)", sourceRanges, values[sourceRanges])
	}
	for _, v := range list {
		text, _ := v.(string)
		if _, _, err := net.ParseCIDR(text); err != nil {
			return nil, fmt.Errorf("%s has %v, which is not a network like 10.0.0.0/8", sourceRanges, v)
		}
	}
	if len(list) > 0 {
		return nil, nil
	}
	private := []any{"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"}
	values[sourceRanges] = private
	return []string{fmt.Sprintf("%s: private networks %v at %s, which is empty", gateway, private, sourceRanges)}, nil
}
