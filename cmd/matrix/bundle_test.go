package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What a bundle has of scheduling is what was asked for: nothing, what flags say, or what the cells
// of matrix run have. Each is shown.
func TestBundleScheduling(t *testing.T) {
	for _, c := range []struct {
		name          string
		args          []string
		stderr        string
		has, lacksAll []string
	}{
		{"none", nil, "injected scheduling: none; the bundle has what the recipe sets", nil, []string{"kwok.x-k8s.io", "aicr.nvidia.com/node-type"}},
		{"flags", []string{"--system-node-selector", "pool=system", "--accelerated-node-toleration", "nvidia.com/gpu=present:NoSchedule"},
			"injected scheduling for system components: nodeSelector pool=system\n", []string{"pool: system", "key: nvidia.com/gpu"}, []string{"kwok.x-k8s.io", "aicr.nvidia.com/node-type"}},
		{"simulated nodes", []string{"--simulated-nodes"},
			"injected scheduling for system components: nodeSelector aicr.nvidia.com/node-type=system; tolerations kwok.x-k8s.io/node=fake:NoSchedule\n",
			[]string{"kwok.x-k8s.io/node", "aicr.nvidia.com/node-type: accelerated"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "bundle")
			invoke(t, nil, append([]string{"bundle", "eks", "-o", out}, c.args...)...).want(t, 0, c.stderr)
			var all strings.Builder
			err := filepath.WalkDir(out, func(file string, d os.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return err
				}
				data, err := os.ReadFile(file)
				all.Write(data)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, text := range c.has {
				if !strings.Contains(all.String(), text) {
					t.Errorf("the bundle lacks %q", text)
				}
			}
			for _, text := range c.lacksAll {
				if strings.Contains(all.String(), text) {
					t.Errorf("the bundle has %q", text)
				}
			}
		})
	}
}
