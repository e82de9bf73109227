package embedded

import (
	"bytes"
	"os"
	"path/filepath"

	kwokruntime "sigs.k8s.io/kwok/pkg/kwokctl/runtime"

	"github.com/nvidia/aicr-action/internal/infra/podrun"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
)

// addStages appends the extra stages, and KWOK's options, to the configuration that kwokctl wrote,
// which has its default stages. Pods that run are left out of all of them.
func (c *ControlPlane) addStages() error {
	path := filepath.Join(c.dir, kwokruntime.ConfigName)
	have, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	merged, err := simulate.MergeStages(have, bytes.Join([][]byte{c.stages, c.kwokOptions()}, []byte("\n---\n")))
	if err != nil {
		return err
	}
	config, err := podrun.Exclude(merged, c.programs)
	if err != nil {
		return err
	}
	return os.WriteFile(path, config, 0o644)
}

// StageNames are the KWOK stages that the cluster in a directory has, from the file that its kwok
// reads.
func StageNames(dir string) ([]string, error) {
	raw, err := os.ReadFile(filepath.Join(dir, kwokruntime.ConfigName))
	if err != nil {
		return nil, err
	}
	return simulate.StageNames(raw)
}
