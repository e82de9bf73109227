package main

import (
	"github.com/nvidia/aicr-action/internal/cli"
)

const aheadFlag = "ahead"

// checkAhead refuses clusters ahead where there is room for one cluster at a time.
func (f *runFlags) checkAhead(oneRegistryPort bool) error {
	why := ""
	switch {
	case f.ahead < 0:
		return cli.Usagef("--%s %d: want 0 (none) or more", aheadFlag, f.ahead)
	case f.ahead == 0:
		return nil
	case f.platform.reuse:
		why = "--reuse-cluster: all cells run in one cluster"
	case f.platform.kind():
		why = "--cluster " + onKind + ": starting a Kind cluster keeps four cores busy, which the running cells need"
	case oneRegistryPort:
		why = "KWOK_REGISTRY_HOST_PORT: the registry of the running cell has that port"
	default:
		return nil
	}
	return cli.Usagef("--%s %d does not work with %s", aheadFlag, f.ahead, why)
}
