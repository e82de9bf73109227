package stack

// change.go compiles a part from a copy of its module in which one statement is another.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/filesys"
)

// change is a statement of a module's file that a part has in another form, because upstream has no
// setting for it. Old must be there once. The part's program does not share the compiled packages of
// its module with matrix.
type change struct {
	File, Old, New string
	// What the program lacks without it, for reports.
	What string
}

// resumedWatches: KWOK asks for every watch from resource version 0, even for one that goes on where
// another ended (Option.setup in its pkg/utils/informer). The API server ends a watch whose client is
// late, which with thousands of pods happens a hundred times, and the next one gets all pods anew:
// of 390,000 events for 17,000 pods 220,000 were such, and a third of the pods was made ready twice.
func resumedWatches() change {
	return change{
		File: "pkg/utils/informer/event.go",
		Old:  `opts.ResourceVersion = "0"`,
		New:  `if opts.ResourceVersion == "" { opts.ResourceVersion = "0" }`,
		What: "the change by which a watch goes on where the last one ended",
	}
}

// own is what a compiled program of the part has and the upstream one lacks; empty for most parts.
func (p Part) own() string {
	if p.Main != "" {
		return "the constant that the harness sets where it compiles one"
	}
	return p.Change.What
}

// changed are the arguments by which the go command compiles a part with its change: from a copy of
// its module below src, which a copy of the parts list names. The module is downloaded, and checked
// against go.sum, like any other.
func (s *Stack) changed(ctx context.Context, goTool, src string, p Part) ([]string, error) {
	if p.Change.File == "" {
		return nil, nil
	}
	out, err := host.RunCommand(ctx, src, buildEnv(), goTool, "list", "-f", "{{.Module.Dir}}", p.Package)
	if err != nil {
		return nil, reason.New(reason.StackBuildFailed, "find the source of %s: %w", p.Name, err)
	}
	if err := copyChanged(strings.TrimSpace(out), changedDir(src, p), p); err != nil {
		return nil, reason.Wrap(infra.DiskReason(err, reason.StackBuildFailed), fmt.Errorf("change the source of %s %s: %w", p.Name, s.versions[p.Module], err))
	}
	list := filepath.Join(src, p.Name+".mod")
	replaced := fmt.Appendf(nil, "%s\nreplace %s => ./changed/%s\n", s.mod, p.Module, p.Name)
	if err := errors.Join(filesys.WriteFile(list, replaced, 0o644), filesys.WriteFile(strings.TrimSuffix(list, "mod")+"sum", s.sum, 0o644)); err != nil {
		return nil, reason.Wrap(infra.DiskReason(err, reason.StackBuildFailed), err)
	}
	return []string{"-modfile", list}, nil
}

// changedDir is where the copy of a part's module is.
func changedDir(src string, p Part) string { return filepath.Join(src, "changed", p.Name) }

// copyChanged copies a module, with the change of a part.
func copyChanged(from, to string, p Part) error {
	if err := errors.Join(os.RemoveAll(to), os.MkdirAll(filepath.Dir(to), 0o755)); err != nil {
		return err
	}
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		return err
	}
	file := filepath.Join(to, filepath.FromSlash(p.Change.File))
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if n := strings.Count(string(content), p.Change.Old); n != 1 {
		return fmt.Errorf("%s has %q %d times; want it once, as in the version that the parts list of matrix names", p.Change.File, p.Change.Old, n)
	}
	return os.WriteFile(file, []byte(strings.Replace(string(content), p.Change.Old, p.Change.New, 1)), 0o644)
}
