package preconditions

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/recipe"
)

func with(name string, values map[string]any, checks ...recipe.Validation) recipe.Component {
	c := recipe.Component{Values: values, Validations: checks}
	c.Name = name
	return c
}

func declared(function, severity string) recipe.Validation {
	return recipe.Validation{Function: function, Severity: severity, Origin: recipe.Origin{File: "registry.yaml", Line: 7}}
}

func m(pairs ...any) map[string]any {
	out := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i].(string)] = pairs[i+1]
	}
	return out
}

func TestCheck(t *testing.T) {
	keyed := []corev1.Toleration{{Key: "nvidia.com/gpu", Operator: corev1.TolerationOpExists}}
	driver := func(pairs ...any) recipe.Component { return with("nvidia-dra-driver-gpu", m(pairs...)) }
	for name, c := range map[string]struct {
		function string
		asked    Asked
		values   map[string]any
		others   []recipe.Component
		want     string // "" if nothing is wrong
	}{
		"workload selector":       {"CheckWorkloadSelectorMissing", Asked{}, nil, nil, "no --workload-selector"},
		"a workload selector":     {"CheckWorkloadSelectorMissing", Asked{WorkloadSelector: true}, nil, nil, ""},
		"accelerated selector":    {"CheckAcceleratedSelectorMissing", Asked{}, nil, nil, "no --accelerated-node-selector"},
		"an accelerated selector": {"CheckAcceleratedSelectorMissing", Asked{AcceleratedSelector: true}, nil, nil, ""},
		"no toleration":           {"CheckWildcardAcceleratedToleration", Asked{}, nil, nil, "tolerate every taint"},
		"a star":                  {"CheckWildcardAcceleratedToleration", Asked{AcceleratedTolerations: append(keyed, corev1.Toleration{Operator: corev1.TolerationOpExists})}, nil, nil, "tolerate every taint"},
		"a key":                   {"CheckWildcardAcceleratedToleration", Asked{AcceleratedTolerations: keyed}, nil, nil, ""},
		"host drivers":            {"CheckHostMofedWithoutNetworkOperator", Asked{}, m("driver", m("rdma", m("useHostMofed", true))), nil, "driver.rdma.useHostMofed is true"},
		"no host drivers":         {"CheckHostMofedWithoutNetworkOperator", Asked{}, m("driver", m("rdma", m("useHostMofed", false))), nil, ""},
		"network operator":        {"CheckHostMofedWithoutNetworkOperator", Asked{}, m("driver", m("rdma", m("useHostMofed", true))), []recipe.Component{with("network-operator", nil)}, ""},
		"no DRA driver":           {"CheckDriverOwnershipCoherence", Asked{}, m(), nil, ""},
		"managed, at home":        {"CheckDriverOwnershipCoherence", Asked{}, m(), []recipe.Component{driver("nvidiaDriverRoot", "/run/nvidia/driver/")}, ""},
		"managed, elsewhere":      {"CheckDriverOwnershipCoherence", Asked{}, m("driver", m("enabled", true)), []recipe.Component{driver("nvidiaDriverRoot", "/")}, "set nvidia-dra-driver-gpu:nvidiaDriverRoot=/run/nvidia/driver"},
		"managed, not said":       {"CheckDriverOwnershipCoherence", Asked{}, m("hostPaths", m("driverInstallDir", "/a")), []recipe.Component{driver()}, "set nvidia-dra-driver-gpu:nvidiaDriverRoot=/a"},
		"managed, both moved":     {"CheckDriverOwnershipCoherence", Asked{}, m("hostPaths", m("driverInstallDir", "/a")), []recipe.Component{driver("nvidiaDriverRoot", "/a")}, ""},
		"not managed":             {"CheckDriverOwnershipCoherence", Asked{}, m("driver", m("enabled", false)), []recipe.Component{driver("nvidiaDriverRoot", "/run/nvidia/driver")}, "driver.enabled is false"},
		"not managed, at /":       {"CheckDriverOwnershipCoherence", Asked{}, m("driver", m("enabled", false)), []recipe.Component{driver("nvidiaDriverRoot", "/")}, ""},
		"not a bool":              {"CheckDriverOwnershipCoherence", Asked{}, m("driver", m("enabled", "false")), nil, "without quotes"},
		"a relative path":         {"CheckDriverOwnershipCoherence", Asked{}, m(), []recipe.Component{driver("nvidiaDriverRoot", "run")}, "write an absolute path"},
		"the root as directory":   {"CheckDriverOwnershipCoherence", Asked{}, m("hostPaths", m("driverInstallDir", "//")), nil, "below /"},
	} {
		for _, severity := range []string{"error", "warning", "info"} {
			all := append([]recipe.Component{with("gpu-operator", c.values, declared(c.function, severity))}, c.others...)
			err := Check(&recipe.Result{}, all, c.asked)
			text := strings.Join(all[0].Undone, "\n")
			if err != nil {
				text = err.Error()
			}
			switch {
			case c.want == "" || severity == "info":
				if text != "" {
					t.Errorf("%s, %s: got %q", name, severity, text)
				}
			case !strings.Contains(text, c.want) || !strings.Contains(text, "registry.yaml:7") || (err != nil) != (severity == "error"):
				t.Errorf("%s, %s: got %q, %v; want %q", name, severity, text, err, c.want)
			}
		}
	}
}

func TestCheckWhere(t *testing.T) {
	check := declared("CheckWorkloadSelectorMissing", "info")
	check.Conditions = m("intent", []any{"training"})
	result := &recipe.Result{}
	for intent, advised := range map[string]bool{"training": true, "inference": false} {
		result.Criteria.Intent = intent
		all := []recipe.Component{with("a", nil, check)}
		if err := Check(result, all, Asked{Advice: true}); err != nil || (len(all[0].Undone) == 1) != advised {
			t.Errorf("%s: got %v, %v", intent, all[0].Undone, err)
		}
	}
	// One that is not known is said if it could refuse; one of a component that is left out is not made.
	for severity, said := range map[string]bool{"error": true, "warning": false} {
		all := []recipe.Component{with("a", nil, declared("CheckSomething", severity))}
		if err := Check(result, all, Asked{}); err != nil || (len(all[0].Undone) == 1 && strings.Contains(all[0].Undone[0], "It was not made here")) != said {
			t.Errorf("%s: got %v, %v", severity, all[0].Undone, err)
		}
	}
	off := with("a", nil, declared("CheckWorkloadSelectorMissing", "error"))
	off.Overrides = m("enabled", false)
	if err := Check(result, []recipe.Component{off}, Asked{}); err != nil {
		t.Error(err)
	}
	if err := Simulated(result, []recipe.Component{with("a", nil, declared("CheckWorkloadSelectorMissing", "error"))}, false); err != nil {
		t.Error(err)
	}
	if err := Simulated(result, []recipe.Component{with("a", nil, declared("CheckWorkloadSelectorMissing", "error"))}, true); err == nil {
		t.Error("a recipe that AICR's bundler refuses is bundled")
	}
}

func TestSharedStorage(t *testing.T) {
	volume := func(name, class, size string) map[string]any {
		return m("storage", m("enabled", true, "home", m("name", name, "storageClassName", class, "size", size)))
	}
	for want, values := range map[string]map[string]any{
		"name it with --shared-storage-class": volume("a", "", "1Gi"),
		"no name of a StorageClass":           volume("a", "A", "1Gi"),
		"no name of a PersistentVolumeClaim":  volume("A", "a", "1Gi"),
		"write a size":                        volume("a", "a", "-1"),
		"":                                    volume("a", "a", "1Gi"),
	} {
		err := Check(&recipe.Result{}, []recipe.Component{with("slinky-slurm", values)}, Asked{})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	values := volume("a", "", "1Gi")
	values["storage"].(map[string]any)["enabled"] = false
	if err := Check(&recipe.Result{}, []recipe.Component{with("slinky-slurm", values)}, Asked{}); err != nil {
		t.Error(err)
	}
}

func TestApplies(t *testing.T) {
	for name, test := range map[string]struct {
		conditions map[string]any
		want       bool
	}{
		"none":                    {nil, true},
		"one of the values":       {map[string]any{"service": []any{"gke", "aks"}}, true},
		"none of the values":      {map[string]any{"service": []any{"gke"}}, false},
		"one of two criteria":     {map[string]any{"service": []any{"aks"}, "intent": []any{"training"}}, false},
		"a criterion not known":   {map[string]any{"region": []any{"west"}}, true},
		"not a list":              {map[string]any{"service": "gke"}, true},
		"a value that is no word": {map[string]any{"service": []any{map[string]any{}}}, false},
	} {
		if got := applies(recipe.Validation{Conditions: test.conditions}, recipe.Criteria{Service: "aks", Intent: "inference"}); got != test.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

func TestSelectors(t *testing.T) {
	paths := func(string) []string { return []string{"disk.class"} }
	needs := recipe.SchedulingPaths{NodeSelectorPaths: []string{"nodes.selector"}, RequireNodeSelector: true}
	volumes := recipe.SchedulingPaths{NodeSelectorPaths: []string{"nodes.selector"}, RequireNodeSelectorIfStorageClassSet: true}
	for name, c := range map[string]struct {
		system, accelerated recipe.SchedulingPaths
		values              map[string]any
		asked               Asked
		want                string
	}{
		"none":                       {needs, recipe.SchedulingPaths{}, nil, Asked{}, "nodes.selector, and the registry requires one; name the nodes with --system-node-selector KEY=VALUE"},
		"none for accelerated nodes": {recipe.SchedulingPaths{}, needs, nil, Asked{SystemSelector: true}, "--accelerated-node-selector"},
		"a flag":                     {needs, needs, nil, Asked{SystemSelector: true, AcceleratedSelector: true}, ""},
		"a value":                    {needs, recipe.SchedulingPaths{}, m("nodes", m("selector", m("a", "b"))), Asked{}, ""},
		"no volumes":                 {volumes, recipe.SchedulingPaths{}, nil, Asked{StorageClassPaths: paths}, ""},
		"volumes":                    {volumes, recipe.SchedulingPaths{}, m("disk", m("class", "gp3")), Asked{StorageClassPaths: paths}, "where there is a StorageClass"},
	} {
		one := with("a", c.values)
		one.NodeScheduling.System, one.NodeScheduling.Accelerated = c.system, c.accelerated
		one.Registered = recipe.Origin{File: "registry.yaml", Line: 3}
		err := Check(&recipe.Result{}, []recipe.Component{one}, c.asked)
		if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "registry.yaml:3: a: ")) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

func TestAccounting(t *testing.T) {
	storage := func(pairs ...any) map[string]any {
		s := m("host", "mariadb", "port", int64(3306), "database", "acct", "username", "slurm", "passwordKeyRef", m("name", "secret", "key", "password"))
		for i := 0; i < len(pairs); i += 2 {
			s[pairs[i].(string)] = pairs[i+1]
		}
		return s
	}
	provided := func(pairs ...any) map[string]any {
		db := m("username", "slurm", "database", "acct", "passwordSecretKeyRef", m("name", "secret", "key", "password", "generate", true))
		for i := 0; i < len(pairs); i += 2 {
			db[pairs[i].(string)] = pairs[i+1]
		}
		return m("fullnameOverride", "mariadb", "mariadb", db)
	}
	users := provided()
	users["users"] = []any{m("name", "a")}
	for name, c := range map[string]struct {
		mode    string
		enabled any
		storage map[string]any
		db      map[string]any
		want    string
	}{
		"none":                  {"", true, nil, nil, ""},
		"disabled":              {recipe.AccountingDisabled, false, nil, nil, ""},
		"disabled by the mode":  {recipe.AccountingDisabled, true, nil, nil, "accounting.enabled is true, and the recipe has the accounting disabled"},
		"disabled by a value":   {recipe.CustomerManaged, false, storage(), nil, "accounting.enabled is false"},
		"customer":              {recipe.CustomerManaged, true, storage(), nil, ""},
		"a number of JSON":      {recipe.CustomerManaged, true, storage("port", 3306.0), nil, ""},
		"no host":               {recipe.CustomerManaged, true, storage("host", ""), nil, "accounting.storageConfig.host is ; write which database"},
		"no key":                {recipe.CustomerManaged, true, storage("passwordKeyRef", m("name", "a")), nil, "passwordKeyRef.key is <nil>"},
		"a port in quotes":      {recipe.CustomerManaged, true, storage("port", "3306"), nil, `port is "3306"`},
		"half a port":           {recipe.CustomerManaged, true, storage("port", 3306.5), nil, "port is 3306.5"},
		"provided":              {recipe.ConfigurationProvided, true, storage(), provided(), ""},
		"no database":           {recipe.ConfigurationProvided, true, storage(), nil, "component slurm-accounting-mariadb is left out"},
		"another host":          {recipe.ConfigurationProvided, true, storage("host", "db"), provided(), "host is db, and fullnameOverride of slurm-accounting-mariadb is mariadb"},
		"another user":          {recipe.ConfigurationProvided, true, storage(), provided("username", "root"), "username is slurm, and mariadb.username"},
		"another secret":        {recipe.ConfigurationProvided, true, storage("passwordKeyRef", m("name", "other", "key", "password")), provided(), "passwordKeyRef.name is other"},
		"a password of nobody":  {recipe.ConfigurationProvided, true, storage(), provided("passwordSecretKeyRef", m("name", "secret", "key", "password", "generate", "true")), `generate of slurm-accounting-mariadb is "true"`},
		"users of another kind": {recipe.ConfigurationProvided, true, storage(), users, "has values at users"},
	} {
		result := &recipe.Result{}
		if c.mode != "" {
			result.Configuration = &recipe.Configuration{Slurm: &recipe.ConfigurationSlurm{Accounting: &recipe.ConfigurationMode{Mode: c.mode}}}
		}
		all := []recipe.Component{with("mariadb-operator-crds", nil), with("mariadb-operator", nil), with("slinky-slurm", m("accounting", m("enabled", c.enabled, "storageConfig", c.storage)))}
		if c.db != nil {
			all = append(all, with("slurm-accounting-mariadb", c.db))
		}
		err := Check(result, all, Asked{})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}
