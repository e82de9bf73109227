package clusters

import (
	"encoding/hex"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/infra/stack"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

func (a *app) stackArchiveCommand() *cobra.Command {
	var to, output string
	cmd := &cobra.Command{
		Use: "archive", Short: "Pack the compiled stack into one file", Args: cobra.NoArgs,
		Long: `Pack the stack, which has to be complete, into one file (` + stack.ArchiveSuffix + `) that ` + "`matrix stack install`" + ` takes on another machine of the same
operating system and architecture. Prints the file's SHA-256 as sha256sum does.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if to == "" {
				return cli.Usagef("--to: name a file for the archive")
			}
			digest, err := a.Stack.Archive(cmd.Context(), a.Progress, to)
			if err != nil {
				return err
			}
			if output == cli.AsJSON {
				return cli.PrintJSON(a.Stdout, map[string]string{"file": to, "sha256": digest})
			}
			_, err = fmt.Fprintf(a.Stdout, "%s  %s\n", digest, to)
			return err
		},
	}
	cli.ToFlag(cmd, &to, &output, "`file` to write; one of the same name is replaced")
	return cmd
}

func (a *app) stackInstallCommand() *cobra.Command {
	var digest string
	cmd := &cobra.Command{
		Use: "install FILE", Short: "Unpack an archive of the stack, so that nothing has to be compiled", Args: cobra.ExactArgs(1),
		Long: `Unpack a file that ` + "`matrix stack archive`" + ` made, or one of a release, into the cache. It has to be of the stack and platform that this
program needs. A stack that is complete is left as it is. Prints the stack's directory.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if raw, err := hex.DecodeString(digest); cmd.Flags().Changed("sha256") && (err != nil || len(raw) != 32) {
				return cli.Usagef("--sha256 %.80q: want 64 hexadecimal digits", digest)
			}
			if err := a.Stack.Install(cmd.Context(), a.Progress, args[0], digest); err != nil {
				return err
			}
			_, err := fmt.Fprintln(a.Stdout, a.Stack.Dir)
			return err
		},
	}
	cmd.Flags().StringVar(&digest, "sha256", "", "install nothing unless the file has this SHA-256, in `hex`")
	return cmd
}

func (a *app) stackPathCommand() *cobra.Command {
	var complete bool
	cmd := &cobra.Command{
		Use: "path", Short: "Print the stack's directory", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if complete && !a.Stack.Complete() {
				return reason.New(reason.StackBuildFailed, "the stack in %s is not complete: run `matrix stack build` or `matrix stack install`", a.Stack.Dir)
			}
			_, err := fmt.Fprintln(a.Stdout, a.Stack.Dir)
			return err
		},
	}
	cmd.Flags().BoolVar(&complete, "complete", false, "fail unless everything is there")
	return cmd
}
