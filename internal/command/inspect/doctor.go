package inspect

import (
	"context"
	"errors"
	"fmt"
	"go/version"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/command/platform"
	"github.com/nvidia/aicr-action/internal/infra/embedded"
	"github.com/nvidia/aicr-action/internal/infra/stack"
	"github.com/nvidia/aicr-action/internal/intake/aicrcli"
	"github.com/nvidia/aicr-action/internal/matrix/schedule"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/lists"
	"github.com/nvidia/aicr-action/internal/util/sandbox"
)

// Sizes in bytes of what a run takes (docs/contributing/figures.md and the help of NO_SPACE).
const (
	gib        = 1 << 30
	stackSpace = 5 * gib // the stack, and Go's build cache while compiling it
	runSpace   = gib     // a run with a stack that is there
)

// check is one thing that a run needs of the machine.
type check struct {
	Name   string        `json:"name"`
	Status string        `json:"status"` // ok; note: a run works, with less; missing: a run cannot work
	Detail string        `json:"detail"`
	Fix    string        `json:"fix,omitempty"`
	reason reason.Reason // what a run would end with
}

// DoctorCommand is `matrix doctor`.
func DoctorCommand(shared *cli.App) *cobra.Command {
	a := &app{App: shared}
	var output string
	cmd := &cobra.Command{
		Use: "doctor", Short: "Check what this machine has, and what it lacks for a run", Args: cobra.NoArgs,
		Long: `Look at what a run needs of the machine: the compiled stack or a Go toolchain to compile it, space, memory, ports, git; in a checkout
of AICR also what its CLI is built from. No cluster is started, and nothing is downloaded or changed. The exit code is 0, or the one that a run would end with.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.doctor(cmd.Context(), output)
		},
	}
	cli.OutputFlag(cmd, &output)
	return cmd
}

func (a *app) doctor(ctx context.Context, output string) error {
	missing := a.Stack.Missing(stack.Groups()...)
	machine, each := platform.ThisMachine(), schedule.FootprintOf(a.Settings.NodeGroups())
	checks := []check{
		{Name: "platform", Status: "ok", Detail: fmt.Sprintf("%s/%s, %s: %s at a time", runtime.GOOS, runtime.GOARCH, lists.Count(machine.Cores, "core"), lists.Count(machine.Cells(platform.Default().Limits, each), "cell"))},
		a.checkStack(missing), a.checkSpace(len(missing) > 0), checkMemory(machine, each), a.checkPort(), checkGit(ctx), checkSandbox(sandbox.Support()), a.checkLeftovers(),
	}
	if c, ok := a.checkAICR(ctx); ok {
		checks = append(checks, c)
	}
	if c, ok := checkPages(os.DirFS("/")); ok {
		checks = append(checks, c)
	}
	var err error
	for _, c := range checks {
		if c.Status == "missing" {
			err = errors.Join(err, reason.New(c.reason, "%s: %s", c.Name, c.Detail))
		}
	}
	if err != nil {
		err = &cli.Reported{Err: err}
	}
	if output == "json" {
		return errors.Join(cli.PrintJSON(a.Stdout, checks), err)
	}
	var rows [][]string
	for _, c := range checks {
		rows = append(rows, []string{c.Status, c.Name, c.Detail})
		if c.Fix != "" {
			rows = append(rows, []string{"", "", "→ " + c.Fix})
		}
	}
	_, printed := io.WriteString(a.Stdout, cli.Inert(cli.Table(rows)))
	return errors.Join(printed, err)
}

// checkStack: either every binary is there, or a toolchain that can compile it.
func (a *app) checkStack(missing []stack.Part) check {
	c := check{Name: "stack", Status: "ok", Detail: fmt.Sprintf("Kubernetes %s and the rest, compiled, in %s", a.Stack.KubeVersion(), a.Stack.Dir)}
	if len(missing) == 0 {
		return c
	}
	if err := a.CheckGo(a.Stack, stack.Groups()...); err != nil {
		c.Status, c.reason, c.Detail = "missing", reason.Of(err), err.Error()
		c.Fix = "install Go from https://go.dev/dl"
		return c
	}
	c.Status, c.Detail = "note", fmt.Sprintf("%d binaries are not compiled yet; the first run does that, which takes minutes", len(missing))
	c.Fix = "matrix stack build"
	return c
}

// checkAICR says what a run in a checkout of AICR builds, and which release its recipes are of; false elsewhere.
func (a *app) checkAICR(ctx context.Context) (check, bool) {
	dir := a.RecipesDirectory("")
	root, ok := "", false
	if dir != "" {
		root, ok = aicrcli.FindCheckout(dir)
	}
	if !ok {
		return check{}, false
	}
	c := check{Name: "AICR", Status: "ok", reason: reason.Usage}
	found, err := aicrcli.Describe(ctx, root, a.Paths.Root)
	if err != nil {
		c.Status, c.Detail, c.Fix = "missing", fmt.Sprintf("its CLI cannot be built: %v", err), "correct go.mod, or run with --bundler builtin"
		return c, true
	}
	c.Detail = found.String()
	store, err := a.OpenHeaders(dir)
	switch {
	case err != nil:
		first, _, _ := strings.Cut(err.Error(), "\n")
		c.Status, c.Detail, c.Fix = "missing", c.Detail+"; its recipes cannot be read: "+first, "matrix list recipes names each problem"
		return c, true
	default:
		c.Detail += fmt.Sprintf("; %s of %s", lists.Count(len(store.Names()), "overlay"), store.Newest())
	}
	switch {
	case found.Have == "":
		c.Status, c.Detail, c.Fix = "missing", c.Detail+"; PATH has no go", "install Go "+found.Go+" from https://go.dev/dl, or run with --bundler builtin"
	case found.Go != "" && version.Compare("go"+found.Have, "go"+found.Go) < 0:
		c.Status, c.Detail, c.Fix = "note", c.Detail+"; PATH has go "+found.Have+", which must download that version", "install Go "+found.Go
	case found.Missing > 0 && !found.Kept:
		c.Status, c.Fix = "note", "go mod download, in "+root
	}
	return c, true
}

// canWrite makes a directory in dir and removes it: permissions alone do not say whether a file system
// takes files.
func canWrite(dir string) error {
	made, err := os.MkdirTemp(dir, ".matrix-doctor-")
	if err != nil {
		return err
	}
	return os.Remove(made)
}

func (a *app) checkSpace(build bool) check {
	c := check{Name: "space", Status: "ok", reason: reason.NoSpace}
	// The cache directory may not be there yet; what decides is the file system that it will be on.
	dir := a.Paths.Root
	for {
		_, err := os.Stat(dir)
		if parent := filepath.Dir(dir); errors.Is(err, fs.ErrNotExist) && parent != dir {
			dir = parent
			continue
		}
		break
	}
	var fsys syscall.Statfs_t
	if err := syscall.Statfs(dir, &fsys); err != nil {
		c.Status, c.Detail = "missing", fmt.Sprintf("look at the file system of %s: %v", a.Paths.Root, err)
		c.Fix = "set AICR_ACTION_CACHE to a directory that you can write to"
		return c
	}
	if prefix, err := a.ClusterName(""); err == nil {
		if err := embedded.CheckCache(a.Paths, prefix, 1); err != nil {
			c.Status, c.reason, c.Detail = "missing", reason.Usage, err.Error()
			c.Fix = "set AICR_ACTION_CACHE to a shorter path"
			return c
		}
	}
	if err := canWrite(dir); err != nil {
		c.Status, c.Detail = "missing", fmt.Sprintf("the cache %s cannot be written to: %v", a.Paths.Root, err)
		c.Fix = "set AICR_ACTION_CACHE to a directory that you can write to"
		return c
	}
	free, need := uint64(fsys.Bavail)*uint64(fsys.Bsize), uint64(runSpace)
	if build {
		need = stackSpace
	}
	c.Detail = fmt.Sprintf("%s free for %s, %s needed", size(free), a.Paths.Root, size(need))
	if free < need {
		c.Status, c.Fix = "missing", "free some, or set AICR_ACTION_CACHE to a directory on another file system"
	}
	return c
}

// checkMemory compares it with what as many cells take as there are cores for, of so many bytes
// each.
func checkMemory(m platform.Capacity, each uint64) check {
	c := check{Name: "memory", Status: "note"}
	if !m.Known {
		c.Detail = fmt.Sprintf("unknown on this system, so that at most 2 cells run at a time; a cell takes up to %s", size(each))
		return c
	}
	cells := m.Memory / each
	c.Status, c.Detail = "ok", fmt.Sprintf("%s available, enough for %s at a time", size(m.Memory), lists.Count(int(cells), "cell"))
	if want := m.ByCores(platform.Default().Limits); cells < uint64(want) {
		c.Status, c.Detail = "note", fmt.Sprintf("%s; there are cores for %d", c.Detail, want)
		if cells == 0 {
			c.Fix = "free some, or raise the limit of the container: one cell runs all the same, and may be killed"
		}
	}
	return c
}

func (a *app) checkPort() check {
	c := check{Name: "registry port", Status: "ok", reason: reason.PortTaken}
	port, exact, err := a.RegistryPort()
	if err != nil {
		c.Status, c.reason, c.Detail = "missing", reason.Of(err), err.Error()
		return c
	}
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err == nil {
		err = l.Close()
	}
	switch {
	case err == nil:
		c.Detail = fmt.Sprintf("%d is free", port)
	case exact:
		c.Status, c.Detail = "missing", fmt.Sprintf("%d, which KWOK_REGISTRY_HOST_PORT asks for, is taken: %v", port, err)
		c.Fix = "unset KWOK_REGISTRY_HOST_PORT to let a free one be chosen"
	default:
		c.Status, c.Detail = "note", fmt.Sprintf("%d is taken; another one will be chosen", port)
	}
	return c
}

// checkGit: only discover asks git, about what changed.
func checkGit(ctx context.Context) check {
	out, err := exec.CommandContext(ctx, "git", "--version").Output()
	if err != nil {
		return check{Name: "git", Status: "note", Detail: fmt.Sprintf("%v; only tier 2 of `matrix discover` needs it", err), Fix: "install git"}
	}
	return check{Name: "git", Status: "ok", Detail: strings.TrimSpace(string(out))}
}

// checkSandbox: a run works without one, but then only the other protections of docs/security.md
// are in force.
func checkSandbox(support string) check {
	c := check{Name: "sandbox", Status: "ok", Detail: support}
	if strings.HasPrefix(support, "none") {
		c.Status, c.Fix = "note", "run recipes of people whom you do not trust on Linux 6.7 or later with Landlock"
	}
	return c
}

// hugePages is the setting for transparent huge pages (Linux,
// Documentation/admin-guide/mm/transhuge.rst), with the one in force in brackets.
const hugePages = "sys/kernel/mm/transparent_hugepage/enabled"

// checkPages: a Go program asks for no huge pages itself, and half a cell's page faults are those
// of heaps that grow. It is not there on other systems.
func checkPages(root fs.FS) (check, bool) {
	raw, err := fs.ReadFile(root, hugePages)
	if err != nil {
		return check{}, false
	}
	_, rest, _ := strings.Cut(string(raw), "[")
	setting, _, ok := strings.Cut(rest, "]")
	if !ok {
		return check{}, false
	}
	c := check{Name: "huge pages", Status: "ok", Detail: "transparent_hugepage is " + setting}
	if setting != "always" {
		c.Status, c.Detail = "note", c.Detail+"; with always, a run takes less CPU time on virtual machines whose page faults are slow (docs/contributing/figures.md)"
		c.Fix = "as root: echo always > /" + hugePages
	}
	return c, true
}

func (a *app) checkLeftovers() check {
	c := check{Name: "leftovers", Status: "ok", Detail: "none"}
	clusters, err := embedded.Clusters(a.Paths)
	if err != nil {
		return check{Name: "leftovers", Status: "note", Detail: err.Error()}
	}
	stale := 0
	for _, s := range clusters {
		if s.Stale() {
			stale++
		}
	}
	if stale > 0 {
		c.Status, c.Detail, c.Fix = "note", fmt.Sprintf("%d clusters of runs that were killed", stale), "matrix cluster down --stale"
	}
	return c
}

func size(bytes uint64) string { return fmt.Sprintf("%.1f GiB", float64(bytes)/gib) }
