package document

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/util/lists"
)

// keys are those of a subtype's readings: any, if there are none.
type keys []string

// readings are what AICR's snapshots have since v1.0, by type and subtype.
func readings() map[string]map[string]keys {
	return map[string]map[string]keys{
		"K8s": {
			"server": {"version", "platform", "goVersion"},
			"node": {
				"source-node", "provider", "provider-id", "container-runtime-id", "container-runtime-name", "container-runtime-version",
				"kubelet-version", "kernel-version", "operating-system", "os-image",
			},
			"aks-gpu-pools": {"gpu-pool-count", "gpu-pools", "gpu-driver"}, "gke-gpu-pools": {"gpu-pool-count", "gpu-pools", "gpu-driver-installation"},
			"oke-addons": {"addon-count", "nvidia-gpu-plugin"}, "oke-legacy-plugin": {"nvidia-gpu-device-plugin", "daemonset"},
			"image": nil, "policy": nil, "slinky-slurm": nil,
			"mariadb-operator": {"collection-state", "api-available", "api-version"}, "percona-server-mongodb": {"collection-state", "api-available", "api-version"},
			"default-storage-class": {"collection-state", "default-count", "default-classes"},
		},
		"GPU":             {"hardware": {"gpu-present", "gpu-count", "driver-loaded", "detection-source", "model"}},
		"OS":              {"release": nil, "sysctl": nil, "grub": nil, "kmod": nil, "extensions": nil},
		"SystemD":         nil, // each unit is a subtype
		"NodeTopology":    {"summary": {"node-count", "taint-count", "label-count"}, "label": nil, "taint": nil, "gpu-nodes": {"label"}},
		"NetworkTopology": {"identity": {"pf-count", "rail-count"}, "capabilities": {"sriov", "rdma", "ib"}, "pfs": nil, "kernel-modules": nil},
	}
}

// CheckReading says what is wrong with the name of a constraint on a snapshot's reading. AICR refuses
// recipes with a name that no snapshot can have (its issue 1783): of such a constraint it cannot be
// said whether it holds. A name that is not known here, and is not near one that is, may be that of
// a newer AICR.
func CheckReading(name string) error {
	kind, rest, _ := strings.Cut(name, ".")
	all := readings()
	subtypes, ok := all[kind]
	if !ok {
		return near(name, kind, slices.Sorted(maps.Keys(all)), "")
	}
	subtype, key, ok := strings.Cut(rest, ".")
	if !ok || subtype == "" || key == "" {
		return fmt.Errorf("%.100q is not TYPE.SUBTYPE.KEY, the name of a reading; correct it", name)
	}
	if subtypes == nil {
		return nil
	}
	subtype, _, _ = strings.Cut(subtype, "[")
	known, ok := subtypes[subtype]
	switch {
	case !ok:
		return near(name, subtype, slices.Sorted(maps.Keys(subtypes)), kind+".")
	case known == nil || slices.Contains(known, key):
		return nil
	}
	return near(name, key, known, kind+"."+subtype+".")
}

// near is an error if a word is probably a misspelt one.
func near(name, word string, known []string, before string) error {
	if hint := lists.Hint(word, known); hint != "" {
		if before != "" {
			hint += " after " + before
		}
		return fmt.Errorf("no snapshot has the reading %.100q: %s", name, hint)
	}
	return nil
}
