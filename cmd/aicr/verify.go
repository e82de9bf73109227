package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"slices"

	"github.com/spf13/cobra"

	"github.com/nvidia/aicr-action/internal/bundle/publish"
	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/util/httpstatus"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

func verifyFormats() []string { return []string{"text", "json"} }

// verified is what aicr verify prints as JSON.
type verified struct {
	Bundle   string   `json:"bundle"`
	Verified bool     `json:"verified"`
	Files    int      `json:"files"`
	Problems []string `json:"problems"`
	// Attestations that are there, and that nothing here verifies.
	Attestations []string `json:"attestationsNotVerified"`
	// Unlisted files are of older releases of AICR's CLI, which did not list them; they deploy nothing.
	Unlisted []string `json:"notListed,omitempty"`
}

func (a *app) verifyCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use: "verify DIRECTORY", Short: "Say whether a bundle is what was made", Args: cobra.ExactArgs(1),
		Long: `Compare a bundle's directory with its checksums.txt: every file is listed with its SHA-256, and nothing else is there, no other file, no
link and no empty directory. A bundle of AICR's own CLI can be verified too; the recipe.yaml of one before 1.0 is not in its list.

Signatures are not verified: whoever can change the bundle can change checksums.txt as well. AICR's own CLI verifies them.`,
		Example: `  aicr verify ./bundles
  aicr verify ./bundles --format json`,
		RunE: func(_ *cobra.Command, args []string) error {
			if !slices.Contains(verifyFormats(), format) {
				return cli.Usagef("--format %q: want text or json", format)
			}
			report, err := publish.Check(args[0])
			if errors.Is(err, fs.ErrNotExist) {
				err = httpstatus.With(http.StatusNotFound, err)
			}
			if err != nil {
				return cli.WrapUsage(err)
			}
			if err := a.printVerified(args[0], report, format); err != nil {
				return err
			}
			if n := len(report.Problems); n > 0 {
				return &cli.Reported{Err: cli.Usagef("bundle %s is not what was made: %s", args[0], lists.Count(n, "problem"))}
			}
			return nil
		},
	}
	cmd.Flags().StringVarP(&format, "format", "t", "text", "output format: text or json")
	return cmd
}

func (a *app) printVerified(dir string, report publish.ChecksumReport, format string) error {
	v := verified{Bundle: dir, Verified: len(report.Problems) == 0, Files: report.Files, Problems: []string{}, Attestations: append([]string{}, report.Attestations...), Unlisted: report.Unlisted}
	for _, p := range report.Problems {
		v.Problems = append(v.Problems, p.Error())
	}
	if format == "json" {
		text, err := cli.DocumentJSON(v)
		if err == nil {
			_, err = a.Stdout.Write(text)
		}
		return err
	}
	text := fmt.Sprintf("%s is what was made: %s as %s has them, and nothing else\n", dir, lists.Count(v.Files, "file"), publish.ChecksumsFile)
	if !v.Verified {
		text = fmt.Sprintf("%s is not what was made: %s\n", dir, lists.Count(len(v.Problems), "problem"))
		for _, p := range v.Problems {
			text += "  " + p + "\n"
		}
	}
	for _, name := range v.Attestations {
		text += "not verified: " + name + "; AICR's own CLI verifies signatures\n"
	}
	for _, name := range v.Unlisted {
		text += "not verified: " + name + "; AICR's CLI before 1.0 did not list it, and nothing is deployed from it\n"
	}
	_, err := fmt.Fprint(a.Stdout, cli.Inert(text))
	return err
}
