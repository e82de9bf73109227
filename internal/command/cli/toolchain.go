package cli

import (
	"os/exec"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/nvidia/aicr-action/internal/infra/stack"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// CheckGo returns an error if parts of s, the stack or the second schedulers, have to be compiled, as far as no image has them,
// and there is no Go that can do it: a toolchain that is too old is said before it fails in the
// middle of a module's source.
func (a *App) CheckGo(s *stack.Stack, groups ...stack.Group) error {
	if !s.NeedsGo(groups...) {
		return nil
	}
	out, err := exec.Command("go", "env", "GOVERSION").Output()
	if err != nil {
		return reason.New(reason.ToolchainMissing, "find the go command, which compiles the stack: %w; install Go %s or newer from https://go.dev/dl and put it on the PATH", err, a.Settings.Go.Minimum)
	}
	have := strings.TrimPrefix(strings.TrimSpace(string(out)), "go")
	minimum, err := semver.NewVersion(a.Settings.Go.Minimum)
	if err != nil {
		return reason.New(reason.SettingsInvalid, ".settings.yaml: go.minimum %q is not a version: %w", a.Settings.Go.Minimum, err)
	}
	if v, err := semver.NewVersion(strings.Fields(have + " ")[0]); err == nil && v.LessThan(minimum) {
		return reason.New(reason.ToolchainMissing, "the stack needs Go %s or newer to compile, and `go` is %s; install a newer one from https://go.dev/dl", a.Settings.Go.Minimum, have)
	}
	return nil
}
