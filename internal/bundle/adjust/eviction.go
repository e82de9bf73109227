package adjust

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/recipe/document"
)

// The components that --dra-eviction-node-label is about, the value paths that it sets in each, and the
// variable by which the driver manager of the GPU operator knows which pods hold GPUs: it takes the label
// away from a node before it replaces the driver, and gives it back afterwards.
const (
	evictionFlag = "--dra-eviction-node-label"
	labeler      = "dra-node-labeler"
	pluginPath   = "kubeletPlugin.nodeSelector"
	managerPath  = "driver.manager.env"
	evictionEnv  = "NODE_LABEL_FOR_GPU_POD_EVICTION"
	// usualKey is the label that AICR's own recipes have for this.
	usualKey = "nvidia.com/dra-kubelet-plugin"
)

// EvictionLabel is the label of nodes by which the driver manager makes the DRA driver's plugin leave a node.
type EvictionLabel struct{ Key, Value string }

// ParseEvictionLabel reads KEY=VALUE; an empty text is no label.
func ParseEvictionLabel(text string) (EvictionLabel, error) {
	if text == "" {
		return EvictionLabel{}, nil
	}
	key, value, ok := strings.Cut(text, "=")
	if !ok || key == "" || value == "" {
		return EvictionLabel{}, fmt.Errorf("%s %q is not KEY=VALUE, e.g. %s=true", evictionFlag, text, usualKey)
	}
	if problems := append(validation.IsQualifiedName(key), validation.IsValidLabelValue(value)...); len(problems) > 0 {
		return EvictionLabel{}, fmt.Errorf("%s %q is no node label: %s", evictionFlag, text, strings.Join(problems, "; "))
	}
	return EvictionLabel{key, value}, nil
}

// pair finds the DRA driver and the GPU operator among the components of the bundle; nil, nil unless both are there.
func pair(components []recipe.Component) (driver, operator *recipe.Component) {
	for _, suffix := range []string{"", "-ocp"} {
		driver, operator = nil, nil
		for i := range components {
			switch c := &components[i]; {
			case c.Overrides[enabled] == false:
			case c.Name == "nvidia-dra-driver-gpu"+suffix:
				driver = c
			case c.Name == "gpu-operator"+suffix:
				operator = c
			}
		}
		if driver != nil && operator != nil {
			return driver, operator
		}
	}
	return nil, nil
}

// Apply puts the label where the DRA driver's plugin selects its nodes, and its key where the driver manager looks for
// it; without one of the two components it does nothing. A component that only gives nodes this label gets it too.
func (l EvictionLabel) Apply(components []recipe.Component) (lines []string, err error) {
	driver, operator := pair(components)
	if driver == nil || l.Key == "" {
		return nil, nil
	}
	flag := fmt.Sprintf("%s %s=%s", evictionFlag, l.Key, l.Value)
	v, _ := valueAt(driver.Values, strings.Split(pluginPath, "."))
	selector, ok := document.CopyValue(v).(map[string]any)
	if v != nil && !ok {
		return nil, fmt.Errorf("%s: %s of %s must be a map of node labels, not %v", flag, pluginPath, driver.Name, v)
	}
	if selector == nil {
		selector = map[string]any{}
	}
	delete(selector, usualKey)
	selector[l.Key] = l.Value
	if err := put(driver, pluginPath, selector, flag); err != nil {
		return nil, err
	}
	v, _ = valueAt(operator.Values, strings.Split(managerPath, "."))
	env, ok := document.CopyValue(v).([]any)
	if v != nil && !ok {
		return nil, fmt.Errorf("%s: %s of %s must be a list of variables, not %v", flag, managerPath, operator.Name, v)
	}
	env = slices.DeleteFunc(env, func(v any) bool {
		m, _ := v.(map[string]any)
		return m["name"] == evictionEnv
	})
	if err := put(operator, managerPath, append(env, map[string]any{"name": evictionEnv, "value": l.Key}), flag); err != nil {
		return nil, err
	}
	lines = []string{
		fmt.Sprintf("%s: %s at %s", driver.Name, flag, pluginPath),
		fmt.Sprintf("%s: %s at %s", operator.Name, flag, managerPath),
	}
	if i := slices.IndexFunc(components, func(c recipe.Component) bool { return c.Name == labeler && c.Overrides[enabled] != false }); i >= 0 {
		for path, value := range map[string]string{"labelKey": l.Key, "labelValue": l.Value} {
			if err := put(&components[i], path, value, flag); err != nil {
				return nil, err
			}
		}
		lines = append(lines, fmt.Sprintf("%s: %s at labelKey and labelValue", labeler, flag))
	}
	return lines, nil
}

// Labels reports whether the component that gives nodes the label has a task in the recipe's bundle.
func (l EvictionLabel) Labels(result *recipe.Result) bool {
	has := func(name string) bool {
		return slices.ContainsFunc(result.ComponentRefs, func(ref recipe.ComponentRef) bool { return ref.Name == name && ref.Overrides[enabled] != false })
	}
	return l.Key != "" && has("nvidia-dra-driver-gpu") && has("gpu-operator")
}

// Refuses says which of the dynamic values the label decides: where they are filled in later, its two halves could be
// about different labels.
func (l EvictionLabel) Refuses(dynamic []Dynamic, components []recipe.Component) error {
	driver, operator := pair(components)
	if driver == nil || l.Key == "" {
		return nil
	}
	decided := map[string][]string{driver.Name: {pluginPath}, operator.Name: {managerPath}, labeler: {"labelKey", "labelValue"}}
	var all []error
	for _, d := range dynamic {
		for _, path := range decided[d.key] {
			if a, b := path+".", strings.Join(d.path, ".")+"."; strings.HasPrefix(a, b) || strings.HasPrefix(b, a) {
				all = append(all, fmt.Errorf("--dynamic %q: %s decides the value %s; remove one of the two flags", d.text, evictionFlag, path))
			}
		}
	}
	return errors.Join(all...)
}
