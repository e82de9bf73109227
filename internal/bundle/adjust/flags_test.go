package adjust

import (
	"reflect"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/recipe"
)

func component(name string, values map[string]any, after ...string) recipe.Component {
	c := recipe.Component{Values: values}
	c.Name, c.DependencyRefs = name, after
	return c
}

func TestSerial(t *testing.T) {
	off := component("off", nil)
	off.Overrides = map[string]any{"enabled": false}
	all := []recipe.Component{component("a", nil), component("b", nil), off, component("c", nil, "a")}
	Serial(all)
	for i, want := range [][]string{nil, {"a"}, nil, {"b"}} {
		if got := all[i].DependencyRefs; !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %v, want %v", all[i].Name, got, want)
		}
	}
}

func TestEvictionLabel(t *testing.T) {
	for text, want := range map[string]string{"a": "is not KEY=VALUE", "a=": "is not KEY=VALUE", "=b": "is not KEY=VALUE", "-a=b": "is no node label", "": ""} {
		if _, err := ParseEvictionLabel(text); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
	label, err := ParseEvictionLabel("example.com/dra=yes")
	if err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{"", "-ocp"} {
		all := []recipe.Component{
			component("gpu-operator"+suffix, map[string]any{"driver": map[string]any{"manager": map[string]any{"env": []any{map[string]any{"name": "A"}, map[string]any{"name": evictionEnv, "value": "old"}}}}}),
			component(labeler, nil, "gpu-operator"),
			component("nvidia-dra-driver-gpu"+suffix, map[string]any{"kubeletPlugin": map[string]any{"nodeSelector": map[string]any{usualKey: "true", "gpu": "yes"}}}, "gpu-operator", labeler),
		}
		result := &recipe.Result{}
		for _, c := range all {
			result.ComponentRefs = append(result.ComponentRefs, c.ComponentRef)
		}
		if label.Labels(result) != (suffix == "") || (EvictionLabel{}).Labels(result) {
			t.Errorf("%q: the labeler has a task, or has none", suffix)
		}
		if suffix != "" { // where it has none it is left out
			all = append(all[:1], all[2])
		}
		lines, err := label.Apply(all)
		if err != nil || len(lines) != map[string]int{"": 3, "-ocp": 2}[suffix] {
			t.Fatalf("%v, %v", lines, err)
		}
		if got := all[len(all)-1].Values["kubeletPlugin"].(map[string]any)["nodeSelector"]; !reflect.DeepEqual(got, map[string]any{"example.com/dra": "yes", "gpu": "yes"}) {
			t.Errorf("got %v", got)
		}
		if got, _ := valueAt(all[0].Values, []string{"driver", "manager", "env"}); !reflect.DeepEqual(got, []any{map[string]any{"name": "A"}, map[string]any{"name": evictionEnv, "value": "example.com/dra"}}) {
			t.Errorf("got %v", got)
		}
		for path, refused := range map[string]bool{"driver.manager": true, "driver.manager.env": true, "driver.version": false} {
			err := label.Refuses([]Dynamic{{text: path, key: all[0].Name, path: strings.Split(path, ".")}}, all)
			if (err != nil) != refused {
				t.Errorf("%s: got %v", path, err)
			}
		}
	}
	for _, c := range []recipe.Component{component("nvidia-dra-driver-gpu", map[string]any{"kubeletPlugin": map[string]any{"nodeSelector": "x"}}), component("nvidia-dra-driver-gpu", nil)} {
		operator := component("gpu-operator", nil)
		if c.Values == nil {
			operator.Values = map[string]any{"driver": map[string]any{"manager": map[string]any{"env": "x"}}}
		}
		if _, err := label.Apply([]recipe.Component{operator, c}); err == nil || !strings.Contains(err.Error(), "must be a ") {
			t.Errorf("got %v", err)
		}
	}
	if lines, err := label.Apply([]recipe.Component{component("gpu-operator", nil)}); lines != nil || err != nil {
		t.Errorf("got %v, %v", lines, err)
	}
}

func TestArgoOptions(t *testing.T) {
	for set, want := range map[string]string{
		"deployer:namePrefix=Tenant":                      "lower-case",
		"deployer:namePrefix=":                            "is empty",
		"deployer:destinationServer=http://a":             "API server",
		"deployer:destinationServer=https://u:p@a":        "API server",
		"deployer:destinationServer=https://a/b'c":        "API server",
		"deployer:project=A":                              "lower case",
		"deployer:project=" + strings.Repeat("a", 64):     "more than 63",
		"deployer:cascadeDelete=perhaps":                  "cascadeDelete=true",
		"deployer:destinationSever=https://a.example.com": "there are cascadeDelete, destinationServer, namePrefix and project",
	} {
		if _, _, err := ParseArgoOptions([]string{set}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", set, err, want)
		}
	}
	o, rest, err := ParseArgoOptions([]string{"a:b=c", "deployer:namePrefix=t-", "deployer:cascadeDelete=0", "deployer:project=p", "deployer:destinationServer=https://prod.example.com:6443"})
	if err != nil || !reflect.DeepEqual(rest, []string{"a:b=c"}) || o != (ArgoOptions{"t-", "https://prod.example.com:6443", "p", "false"}) {
		t.Errorf("got %v, %v, %v", o, rest, err)
	}
	for _, deployer := range []string{bundle.Helm, bundle.FluxOCI, bundle.ArgoCDAppSet} {
		if err := o.Check(deployer); err == nil || !strings.Contains(err.Error(), deployer) {
			t.Errorf("%s: got %v", deployer, err)
		}
	}
	if err := o.Check(bundle.ArgoCDGit); err != nil {
		t.Error(err)
	}
}

func TestPolicy(t *testing.T) {
	for flag, want := range map[string]string{
		"nvidia-dra-driver-gpu:resources.gpus":    "resources.gpus.enabled decides who hands out GPUs",
		"gpu-operator-ocp:devicePlugin.enabled":   "devicePlugin.enabled decides who hands out GPUs",
		"slinky-slurm:accounting":                 "accounting.enabled decides what the recipe says of accounting",
		"slinky-slurm:accounting.storageConfig.a": "",
		"gpu-operator:devicePlugin.version":       "",
	} {
		all, err := ParseDynamic([]string{flag})
		if err != nil {
			t.Fatal(err)
		}
		if err := RefusePolicy(all, true); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", flag, err, want)
		}
	}
	if all, _ := ParseDynamic([]string{"slinky-slurm:accounting"}); RefusePolicy(all, false) != nil {
		t.Error("a recipe that says nothing of accounting decides it")
	}
	set := component("gpu-operator", map[string]any{"devicePlugin": map[string]any{"enabled": false}})
	set.Origins = map[string]recipe.Origin{"devicePlugin.enabled": {File: "--set gpuoperator:devicePlugin.enabled=false"}}
	if lines := PolicyChanged([]recipe.Component{set, component("gpu-operator", nil)}); len(lines) != 1 || !strings.Contains(lines[0], "devicePlugin.enabled decides who hands out GPUs") || !strings.Contains(lines[0], "(--set gpuoperator:") {
		t.Errorf("got %q", lines)
	}
}
