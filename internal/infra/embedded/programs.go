package embedded

import (
	"os"
	"os/exec"
	"path/filepath"

	"sigs.k8s.io/kwok/pkg/consts"
)

// program is the file of the stack that a component is.
func (c *ControlPlane) program(component string) string {
	if component == consts.ComponentKwokController {
		return c.stack.Bin("kwok")
	}
	return c.stack.Bin(component)
}

// silenceVersions keeps kwokctl from starting each program to ask for its version: half a second of CPU time, for the start of 370 MB of programs.
// kwokctl wants to know because old ones take other flags. In its directory of programs it finds `true` under each name, whose answer it does not
// understand, and then takes the newest version. The command lines are the same (TestCommandLines). Without that it asks.
func (c *ControlPlane) silenceVersions() {
	silent, err := exec.LookPath("true")
	dir := filepath.Join(c.dir, "bin")
	if os.Mkdir(dir, 0o750) != nil || err != nil {
		return
	}
	for _, component := range c.components() {
		if os.Symlink(silent, filepath.Join(dir, component)) != nil {
			return
		}
	}
}
