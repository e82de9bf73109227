package reports

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/mod/semver"

	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/command/platform"
	"github.com/nvidia/aicr-action/internal/infra/clusterstate"
	"github.com/nvidia/aicr-action/internal/infra/embedded"
	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/infra/stack"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/kwok"
)

// ReplayCommand is `matrix replay`.
func ReplayCommand(shared *cli.App) *cobra.Command {
	a := &app{App: shared}
	var name, minor string
	var detach bool
	cmd := &cobra.Command{
		Use:   "replay DIR|FILE",
		Short: "Start a failed cell's cluster again, to inspect it",
		Long: `Boot a cluster from the snapshot that a failed cell left in its directory of debug artifacts (kwok-debug-…, see ` + "`matrix run --artifacts`" + `)
and print the line that points kubectl and helm at it. DIR may also be the directory above, if only one cell in it failed.

The cluster is etcd and the API server, of the version that the cell had (compiled, if it is another than the stack's): no controller manager, no scheduler, no KWOK, no Argo CD, no Flux.
Nothing changes unless you change it. Values of Secrets read ` + clusterstate.Redacted + `, and resourceVersions are not the old ones.

It runs until Ctrl-C, and leaves nothing behind. With --detach it stays until ` + "`matrix cluster down --name NAME`" + `.

Exit codes: 0 when it was ended with Ctrl-C or SIGTERM, or is up and detached; 2 for a snapshot that is missing, cut off, damaged, or of
a minor version of Kubernetes that does not exist; 13 when the control plane did not become ready; 14 when one of its processes ended by itself;
130, 143 when it was interrupted before it was up. ` + "`matrix explain`" + ` has the others.`,
		Example: `  matrix replay out/kwok-debug-eks-training-flux-oci-1a2b3c4d
  eval "$(matrix replay --detach ~/Downloads/kwok-debug-eks-training-flux-oci-1a2b3c4d)"
  kubectl get events -A --sort-by=.lastTimestamp`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.replay(cmd.Context(), args[0], name, minor, detach)
		},
	}
	cmd.Flags().StringVar(&name, "name", "", "`name` of the cluster (default: replay-, and the name that it had)")
	cmd.Flags().StringVar(&minor, platform.KubernetesFlag, "", "serve the snapshot by the API server of another `minor` version, e.g. 1.37, to see what that makes of its objects (default: the cell's)")
	cmd.Flags().BoolVar(&detach, "detach", false, "return once it is up; remove it with matrix cluster down")
	return cmd
}

func (a *app) replay(ctx context.Context, path, name, minor string, detach bool) (err error) {
	snap, err := a.readSnapshot(path, minor)
	if err != nil {
		return reason.Wrap(reason.Usage, err)
	}
	if name, err = a.ClusterName(cli.FirstOf(name, "replay-"+snap.Cluster)); err != nil {
		return err
	}
	if _, err := embedded.FindCluster(a.Paths, name); err == nil {
		return cli.Usagef("a cluster named %s exists already; remove it with `matrix cluster down --name %s`, or choose another name with --name", name, name)
	}
	if err := a.CheckGo(a.Stack, stack.GroupControlPlane); err != nil {
		return err
	}
	if err := a.Stack.Build(ctx, a.Progress, stack.GroupControlPlane); err != nil {
		return err
	}
	sup := host.NewSupervisor()
	defer sup.Close(0) // it leaves detached processes alone
	c := embedded.NewControlPlane(embedded.ControlPlaneOptions{
		Name: name, Purpose: strings.TrimSpace("replay of " + cli.FirstOf(snap.Cell, snap.Cluster)), Paths: a.Paths, Stack: a.Stack, Ports: a.Ports, Sup: sup,
		Detach: detach, Replay: snap,
	})
	task := a.Progress.Begin(fmt.Sprintf("Booting %s from its snapshot of %s", cli.FirstOf(snap.Cell, snap.Cluster), snap.Taken.Format("2006-01-02 15:04:05 MST")))
	stop, err := a.bootReplay(ctx, c, sup, detach)
	task.End(fmt.Sprintf("%d keys", snap.Keys), err)
	if err != nil || !detach {
		defer func() {
			if downErr := c.Down(context.WithoutCancel(ctx)); err == nil {
				err = downErr
			}
		}()
	}
	if err != nil {
		return err
	}
	defer stop()
	if err := a.sayReplay(snap, c, detach); err != nil || detach {
		return err
	}
	select {
	case <-ctx.Done(): // how a person ends it; no failure
		return nil
	case death := <-sup.Died():
		return &reason.Error{Reason: reason.ComponentDied, Component: death.Name, Err: death}
	}
}

// bootReplay starts the cluster, and the stand-in for its aggregated APIs. Without the stand-in
// every discovery of kubectl would be partial, unlike in the cell. The stand-in is a separate
// process if the cluster is to outlive this program.
func (a *app) bootReplay(ctx context.Context, c *embedded.ControlPlane, sup *host.Supervisor, detach bool) (stop func(), err error) {
	if err := c.Up(ctx); err != nil {
		return nil, err
	}
	if !detach {
		apis, err := c.ServeAPIs()
		if err != nil {
			return nil, reason.Wrap(reason.ClusterFailed, err)
		}
		return apis.Close, nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program's own file: %w", err)
	}
	return func() {}, embedded.StartStandIns(sup, a.Paths, c.Name(), self, "cluster", "stand-ins", "--apis-only", "--name", c.Name())
}

// readSnapshot finds, reads and checks a snapshot, before anything is started or built. It puts the
// control plane of the cell's version, or of the minor one that is given, in the place of the stack's.
func (a *app) readSnapshot(path, minor string) (*clusterstate.Snapshot, error) {
	file, err := findSnapshot(path)
	if err != nil {
		return nil, err
	}
	snap, err := clusterstate.ReadFile(file)
	if err != nil {
		return nil, err
	}
	theirs := strings.TrimPrefix(semver.MajorMinor(snap.Kubernetes), "v")
	chosen, err := a.Stack.WithKubernetes(a.Paths, kwok.Kubernetes, cli.FirstOf(minor, theirs))
	switch {
	case err == nil:
		a.Stack = chosen
	case minor != "":
		return nil, fmt.Errorf("--%s: %w", platform.KubernetesFlag, err)
	}
	warning, err := snap.CheckKubernetes(a.Stack.KubeVersion()) // of a version that there is not, it says so
	if err != nil && minor != "" && minor != theirs {
		warning, err = fmt.Sprintf("the snapshot is of Kubernetes %s, and %s serves it: kinds and fields may be missing", snap.Kubernetes, a.Stack.KubeVersion()), nil
	}
	if err != nil {
		return nil, fmt.Errorf("replay %s: %w", file, err)
	}
	if warning != "" {
		_, _ = fmt.Fprintln(a.Stderr, "warning:", warning)
	}
	return snap, nil
}

// findSnapshot returns the snapshot in a directory of debug artifacts, or in the only such
// directory below path.
func findSnapshot(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("find the snapshot: %w", err)
	}
	if !info.IsDir() {
		return path, nil
	}
	var found []string
	for _, pattern := range []string{"*", "*/*"} {
		more, err := fsGlob(path, pattern+clusterstate.FileSuffix)
		if err != nil {
			return "", err
		}
		found = append(found, more...)
	}
	switch len(found) {
	case 0:
		return "", fmt.Errorf("no snapshot (*%s) in %s or a directory in it: snapshots are saved only for failed cells whose cluster started, and never with --no-snapshot; see summary.md",
			clusterstate.FileSuffix, path)
	case 1:
		return found[0], nil
	}
	return "", fmt.Errorf("%d snapshots in %s; name one: %s", len(found), path, strings.Join(found, ", "))
}

// HowToReplay boots the snapshot in a cell's directory of debug artifacts; "" without a snapshot.
func HowToReplay(artifacts string) string {
	if files, err := fsGlob(artifacts, "*"+clusterstate.FileSuffix); err != nil || len(files) != 1 {
		return ""
	}
	return cli.Invocation() + " replay " + artifacts
}

// fsGlob matches the pattern in dir. Special characters in dir have no meaning.
func fsGlob(dir, pattern string) ([]string, error) {
	names, err := fs.Glob(os.DirFS(dir), pattern)
	if err != nil {
		return nil, fmt.Errorf("look for %s in %s: %w", pattern, dir, err)
	}
	for i, n := range names {
		names[i] = filepath.Join(dir, n)
	}
	return names, nil
}

func (a *app) sayReplay(snap *clusterstate.Snapshot, c *embedded.ControlPlane, detach bool) error {
	var b strings.Builder
	if snap.Verdict != "" {
		fmt.Fprintf(&b, "%s: %s\n", snap.Cell, snap.Verdict)
	}
	fmt.Fprintf(&b, "Nothing moves: etcd and the API server (%s) run, and no controllers. Values of Secrets read %s.\n", a.Stack.KubeVersion(), clusterstate.Redacted)
	if len(snap.LeftOut) > 0 {
		fmt.Fprintf(&b, "Not in the snapshot, since they could not be redacted: %s\n", strings.Join(snap.LeftOut, ", "))
	}
	if detach {
		fmt.Fprintf(&b, "It stays; `matrix cluster down --name %s` removes it.\n", c.Name())
	} else {
		b.WriteString("Ctrl-C ends it. In another terminal:\n")
	}
	if _, err := io.WriteString(a.Stderr, b.String()); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.Stdout, "export KUBECONFIG=%s\n", c.Kubeconfig())
	return err
}
