package refs

import (
	"strings"
	"testing"

	resourcev1 "k8s.io/api/resource/v1"

	"github.com/nvidia/aicr-action/internal/matrix/problem"
)

// What a node's agent publishes is not believed because a chart says it.
func TestOfAgents(t *testing.T) {
	const (
		slice   = "\napiVersion: resource.k8s.io/v1\nkind: ResourceSlice\nmetadata: {name: fake}\nspec: {driver: fpga.example.com, nodeName: n, pool: {name: n, generation: 1, resourceSliceCount: 1}, devices: [{name: d}]}\n"
		class   = "---\napiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: fpga}\nspec: {selectors: [{cel: {expression: 'device.driver == \"fpga.example.com\"'}}]}\n"
		claim   = "---\napiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplate\nmetadata: {name: one, namespace: x}\nspec: {spec: {devices: {requests: [{name: r, exactly: {deviceClassName: fpga}}]}}}\n"
		driver  = "\napiVersion: storage.k8s.io/v1\nkind: CSIDriver\nmetadata: {name: disks.example.com}\n"
		storage = "---\napiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: disks}\nprovisioner: disks.example.com\n"
		data    = "---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data, namespace: x}\nspec: {storageClassName: disks}\n"
		runtime = "\napiVersion: node.k8s.io/v1\nkind: RuntimeClass\nmetadata: {name: sandbox}\nhandler: %\n"
	)
	user := "---" + pod("{containers: [{name: m}], resourceClaims: [{name: c, resourceClaimTemplateName: one}]}")
	boxed := "---" + pod("{runtimeClassName: sandbox, containers: [{name: m}]}")
	agent := func(spec string) string {
		return "---\napiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: node, namespace: x}\nspec: {template: {spec: {" + spec + "}}}\n"
	}
	const registry = "volumes: [{name: r, hostPath: {path: /var/lib/kubelet/plugins_registry/}}], containers: [{name: m"
	plugin := agent(registry + "}]")
	other := agent(registry + ", args: [--driver=other.example.com]}]")
	operator := "---" + pod("{serviceAccountName: robot, containers: [{name: m}]}") +
		"---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: r}\nrules: [{apiGroups: [apps], resources: [daemonsets], verbs: [create]}]\n" +
		"---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: r}\nroleRef: {kind: ClusterRole, name: r}\nsubjects: [{kind: ServiceAccount, name: robot, namespace: x}]\n"
	second := "---\napiVersion: storage.k8s.io/v1\nkind: CSIDriver\nmetadata: {name: other.example.com}\n"
	for name, c := range map[string]struct{ objects, want string }{
		"devices, none wants them":       {slice, "warning: ResourceSlice fake: lists devices of driver fpga.example.com, which only the driver's plugin on each node may publish; nothing in the recipe runs one"},
		"devices of nobody":              {slice + class + claim + user, "SCHEDULING_FAILED: ResourceSlice fake: lists devices of driver fpga.example.com, which only the driver's plugin on each node may publish; nothing in the recipe runs one, and Deployment x/web has its devices by it"},
		"a claim that no pod has":        {slice + class + claim, "warning: ResourceSlice"},
		"devices beside the plugin":      {slice + class + claim + user + plugin, "warning: ResourceSlice fake: lists devices"},
		"beside another's plugin":        {slice + class + claim + user + second + other, "SCHEDULING_FAILED: ResourceSlice"},
		"beside an operator":             {slice + class + claim + strings.Replace(user, "{containers", "{serviceAccountName: robot, containers", 1) + operator, "note: ResourceSlice fake: lists devices of driver fpga.example.com, which only the driver's plugin on each node may publish, and Deployment x/web may be"},
		"a driver without a plugin":      {driver, "warning: CSIDriver disks.example.com: has no plugin: no pod of the recipe registers the driver with the nodes' kubelets (plugins_registry)"},
		"a claim of such a driver":       {driver + storage + data, "WORKLOAD_FAILED: CSIDriver disks.example.com: has no plugin: no pod of the recipe registers the driver with the nodes' kubelets (plugins_registry), and PersistentVolumeClaim x/data has a volume of it"},
		"a volume of such a driver":      {driver + "---\napiVersion: v1\nkind: PersistentVolume\nmetadata: {name: v}\nspec: {csi: {driver: disks.example.com}}\n", "and PersistentVolume v has a volume of it"},
		"an inline one":                  {driver + "---" + pod("{volumes: [{name: v, csi: {driver: disks.example.com}}], containers: [{name: m}]}"), "and Deployment x/web has a volume of it"},
		"a driver with its plugin":       {driver + storage + data + plugin, ""},
		"a plugin of two drivers":        {driver + second + storage + data + agent(registry+", args: [--drivers=disks.example.com,other.example.com]}]"), ""},
		"a plugin of another driver":     {driver + second + storage + data + other, "WORKLOAD_FAILED: CSIDriver disks.example.com"},
		"a driver of an operator":        {driver + storage + data + operator, "note: CSIDriver disks.example.com: needs a plugin on each node, and whether Deployment x/web is or makes it is not known"},
		"a driver of a provider":         {strings.ReplaceAll(driver+storage+data, "disks.example.com", "ebs.csi.aws.com"), ""},
		"a handler":                      {strings.Replace(runtime, "%", "kata-qemu", 1) + boxed, "note: RuntimeClass sandbox: needs the handler kata-qemu"},
		"a handler that none uses":       {strings.Replace(runtime, "%", "kata-qemu", 1), ""},
		"a handler of a node's agent":    {strings.Replace(runtime, "%", "kata-qemu", 1) + boxed + agent("volumes: [{name: c, hostPath: {path: /etc/containerd}}], containers: [{name: m}]"), ""},
		"NVIDIA's handler":               {strings.Replace(runtime, "%", "nvidia-cdi", 1) + boxed, ""},
		"a CSINode":                      {"\napiVersion: storage.k8s.io/v1\nkind: CSINode\nmetadata: {name: one}\n", "warning: CSINode one: says what a node has, and only the node's kubelet publishes that"},
		"a capacity":                     {"\napiVersion: storage.k8s.io/v1\nkind: CSIStorageCapacity\nmetadata: {name: one, namespace: x}\n", "only the driver's external-provisioner publishes that"},
		"features of a node":             {"\napiVersion: nfd.k8s-sigs.io/v1alpha1\nkind: NodeFeature\nmetadata: {name: one, namespace: x}\n", "only the nfd-worker on the node publishes that"},
		"a node's Lease":                 {"\napiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata: {name: one, namespace: kube-node-lease}\n", "only the node's kubelet publishes that"},
		"a Lease":                        {"\napiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata: {name: one, namespace: x}\n", ""},
		"NVIDIA's driver with its slice": {strings.ReplaceAll(slice, "fpga.example.com", "gpu.nvidia.com") + agent(registry+", command: [gpu-kubelet-plugin]}]"), "warning: ResourceSlice"},
	} {
		t.Run(name, func(t *testing.T) { wantProblems(t, ofAgents(expected(t, c.objects), nil), c.want) })
	}
	// Whatever a class says, a claim that has such a device is proof.
	has := resourcev1.ResourceClaim{}
	has.Namespace, has.Name = "x", "c"
	has.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{{Driver: "fpga.example.com"}}}}
	wantProblems(t, ofAgents(expected(t, slice), []resourcev1.ResourceClaim{has}), "SCHEDULING_FAILED: ResourceSlice fake: lists devices of driver fpga.example.com, which only the driver's plugin on each node may publish; nothing in the recipe runs one, and ResourceClaim x/c has its devices by it")
}

// wantProblems wants one problem with this text; none for "".
func wantProblems(t *testing.T, found []problem.Problem, want string) {
	t.Helper()
	var got []string
	for _, p := range found {
		level := string(p.Reason)
		switch {
		case p.Note:
			level = "note"
		case level == "":
			level = "warning"
		}
		got = append(got, level+": "+p.From.String()+": "+p.Text)
	}
	var all []string
	if want != "" {
		all = []string{want}
	}
	if len(got) != len(all) {
		t.Fatalf("got %q, want %q", got, all)
	}
	for i := range all {
		if !strings.Contains(got[i], all[i]) {
			t.Errorf("got %q, want %q", got[i], all[i])
		}
	}
}
