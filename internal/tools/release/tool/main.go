// Command tool makes a release: .github/workflows/release.yaml runs it, and docs/contributing/releasing.md says
// how.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/nvidia/aicr-action/internal/tools/release"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command(os.Stdin, os.Stdout, os.Stderr).ExecuteContext(ctx); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "release:", err)
		stop()
		os.Exit(1)
	}
}

func command(stdin io.Reader, stdout, stderr io.Writer) *cobra.Command {
	root := &cobra.Command{Use: "release", Short: "Make a release (docs/contributing/releasing.md)", SilenceUsage: true, SilenceErrors: true}
	var version, dir string
	add := func(use, short string, run func(ctx context.Context) error) *cobra.Command {
		cmd := &cobra.Command{Use: use, Short: short, Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
			if err := release.CheckVersion(version); err != nil {
				return fmt.Errorf("--version: %w", err)
			}
			return run(cmd.Context())
		}}
		root.AddCommand(cmd)
		return cmd
	}
	root.PersistentFlags().StringVar(&version, "version", "", "`version` of the release, vX.Y.Z")
	root.PersistentFlags().StringVar(&dir, "dir", "dist", "`directory` of the release's files")

	var platform string
	var binaryOnly bool
	pack := add("pack", "Make the files of one platform: the programs and the archive of the stack", func(ctx context.Context) error {
		p := release.Pack{Version: version, Dir: dir, BinaryOnly: binaryOnly, Progress: stderr}
		if platform != "" {
			p.Platform.OS, p.Platform.Arch, _ = strings.Cut(platform, "/")
		}
		return p.Run(ctx)
	})
	pack.Flags().StringVar(&platform, "platform", "", "`os/arch` of the programs (default: this machine's)")
	pack.Flags().BoolVar(&binaryOnly, "binary-only", false, "leave out the stack")

	add("checksums", "Write the SHA-256 of every file to checksums.txt", func(context.Context) error { return release.Checksums(dir) })

	add("licenses", "Write the licences of everything that is redistributed to licenses.txt", func(ctx context.Context) error { return release.Licenses(ctx, "", dir) })

	var address, license string
	packages := add("packages", "Make the files for package managers: archives and a manifest for krew, a formula for Homebrew", func(context.Context) error {
		if address == "" {
			address = release.Downloads + "/" + version
		}
		return release.Packages(version, dir, address, license)
	})
	packages.Flags().StringVar(&address, "address", "", "`URL` that the files will be below (default: this repository's releases)")
	packages.Flags().StringVar(&license, "license", "LICENSE", "`file` with the licence, which each archive has too")

	image := release.Image{Progress: stderr}
	imageCommand := add("image", "Push an image for each Linux platform, with the programs and the stack, and print the digest of its index", func(ctx context.Context) error {
		image.Version, image.Dir = version, dir
		digest, err := image.Push(ctx)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(stdout, digest)
		return err
	})
	imageCommand.Flags().StringVar(&image.Ref, "ref", "", "`name` of the image with its tag, e.g. ghcr.io/nvidia/aicr-action:v1.2.3")
	imageCommand.Flags().StringVar(&image.Base, "base", release.BaseImage, "`image` below it, which has the certificates")

	var again string
	compare := add("compare", "Compare the files with those that were made from the same source elsewhere", func(context.Context) error { return release.Compare(dir, again) })
	compare.Flags().StringVar(&again, "with", "again", "`directory` of the other files; all of them have to be among the release's")

	var pins string
	pin := add("pin", "Write the version and the digests of the files into setup/pins", func(context.Context) error { return release.Pin(pins, version, dir) })
	pin.Flags().StringVar(&pins, "file", release.PinsFile, "`file` to write to")

	add("latest", "Print true if the version is the newest, else false; the tags that exist come on stdin, one a line", func(context.Context) error {
		tags, err := io.ReadAll(stdin)
		if err != nil {
			return fmt.Errorf("read the tags: %w", err)
		}
		_, err = fmt.Fprintln(stdout, release.Latest(version, strings.Fields(string(tags))))
		return err
	})

	add("major", "Print the tag that moves to the version, if there is one; the tags that exist come on stdin, one a line", func(context.Context) error {
		tags, err := io.ReadAll(stdin)
		if err != nil {
			return fmt.Errorf("read the tags: %w", err)
		}
		if tag := release.MajorTag(version, strings.Fields(string(tags))); tag != "" {
			_, err = fmt.Fprintln(stdout, tag)
		}
		return err
	})
	return root
}
