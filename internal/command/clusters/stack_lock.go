package clusters

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/infra/stack"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/filesys"
	"github.com/nvidia/aicr-action/kwok"
)

func (a *app) stackLockCommand() *cobra.Command {
	var check bool
	cmd := &cobra.Command{
		Use: "lock FILE", Short: "Pin the images of the upstream programs", Args: cobra.ExactArgs(1),
		Long: `Ask the makers' registries for the images of the upstream programs, in the versions of this binary, look for each program in its image for each
platform, and write their digests to FILE, e.g. kwok/stack/images.lock. If one cannot be had, or is not there, nothing is written, and all that is wrong
is listed. With --check nothing is written, and a FILE that would change is an error.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			stacks, err := a.lockedStacks()
			if err != nil {
				return err
			}
			renewed, err := a.Origin.Relock(cmd.Context(), a.Progress, stacks...)
			if err != nil {
				return err
			}
			text, err := renewed.Text()
			if err != nil {
				return err
			}
			have, err := filesys.File(args[0], 1<<20)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return cli.Usagef("read the list of images: %w", err)
			}
			switch {
			case bytes.Equal(have, text):
				_, err = fmt.Fprintf(a.Stdout, "%s is up to date: %d programs\n", args[0], len(renewed.Programs))
				return err
			case check:
				return reason.New(reason.StackBuildFailed, "%s is not what the registries say today: run `matrix stack lock %s` and look at what changed", args[0], args[0])
			}
			if err := filesys.WriteFile(args[0], text, 0o644); err != nil {
				return cli.Usagef("write the list of images: %w", err)
			}
			_, err = fmt.Fprintf(a.Stdout, "%s: %d programs\n", args[0], len(renewed.Programs))
			return err
		},
	}
	cmd.Flags().BoolVar(&check, "check", false, "write nothing, and fail if FILE would change")
	return cmd
}

// lockedStacks are all whose programs the list of images has.
func (a *app) lockedStacks() ([]*stack.Stack, error) {
	minors, err := a.Stack.Minors(kwok.Kubernetes)
	if err != nil {
		return nil, err
	}
	all := []*stack.Stack{a.Stack, a.Helmfile, a.Schedulers}
	for _, minor := range minors {
		s, err := a.Stack.WithKubernetes(a.Paths, kwok.Kubernetes, minor)
		if err != nil {
			return nil, err
		}
		if s != a.Stack {
			all = append(all, s)
		}
	}
	return all, nil
}
