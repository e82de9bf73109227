package discover

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Tip returns the full id of the commit that a branch, tag or id names. A branch that only the
// remote "origin" has counts too: CI systems check out a commit without local branches.
func (r *Repo) Tip(ctx context.Context, ref string) (string, error) {
	for _, name := range []string{ref, "refs/remotes/origin/" + ref} {
		id, ok, err := r.commit(ctx, name)
		if err != nil {
			return "", fmt.Errorf("find %s in the git repository %s: %w", ref, r.Top, err)
		}
		if ok {
			return id, nil
		}
	}
	cut, err := r.cutOff(ctx)
	if err != nil {
		return "", fmt.Errorf("see whether the clone %s is shallow: %w", r.Top, err)
	}
	if len(cut) > 0 {
		return "", &missingHistory{Lacks: "the commit " + ref, Shallow: true, Command: "git fetch --tags --unshallow origin"}
	}
	refs, err := r.refs(ctx)
	if err != nil {
		return "", err
	}
	return "", fmt.Errorf("the git repository %s has no branch, tag or commit %q; it has: %s", r.Top, ref, refs)
}

// Head returns the commit that is checked out, and whether files of the directory are not as it has
// them.
func (r *Repo) Head(ctx context.Context, dir string) (commit string, modified bool, err error) {
	if commit, err = r.Tip(ctx, "HEAD"); err != nil {
		return "", false, err
	}
	dir, err = filepath.Abs(dir)
	if err != nil {
		return "", false, err
	}
	changed, err := r.git(ctx, nil, "status", "--porcelain", "--untracked-files=normal", "--", dir)
	if err != nil {
		return "", false, fmt.Errorf("see whether %s is as commit %s has it: %w", dir, commit, err)
	}
	return commit, len(changed) > 0, nil
}

// mostRefs is how many branches and tags a message names.
const mostRefs = 12

// refs lists the branches and tags, the newest first, for a message.
func (r *Repo) refs(ctx context.Context) (string, error) {
	out, err := r.git(ctx, nil, "for-each-ref", "--sort=-creatordate", "--format=%(refname:short)", "refs/heads", "refs/tags", "refs/remotes")
	if err != nil {
		return "", fmt.Errorf("list the branches and tags of %s: %w", r.Top, err)
	}
	names := strings.Fields(string(out))
	if len(names) > mostRefs {
		names = append(names[:mostRefs], fmt.Sprintf("and %d more", len(names)-mostRefs))
	}
	if len(names) == 0 {
		return "none", nil
	}
	return strings.Join(names, ", "), nil
}

// Export writes a directory as the commit has it, with its path in the repository, below into,
// which must exist. It reads git's objects only, so that the working tree and the index stay as
// they are. It returns false if the commit does not have the directory.
func (r *Repo) Export(ctx context.Context, commit, dir, into string) (bool, error) {
	fsys, err := r.tree(ctx, commit, dir)
	if err != nil || fsys == nil {
		return false, err
	}
	root, err := os.OpenRoot(into)
	if err != nil {
		return false, fmt.Errorf("write the files of commit %s: %w", commit, err)
	}
	defer func() { _ = root.Close() }() // it was only a handle
	return true, fs.WalkDir(fsys, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if err := exportOne(root, fsys, dir, name, e); err != nil {
			return fmt.Errorf("write %s%s of commit %s: %w", dir, name, commit, err)
		}
		return nil
	})
}

// ExportAll writes all files of a commit below into, without links: a build needs none, and they may
// lead anywhere. Submodules are left out.
func (r *Repo) ExportAll(ctx context.Context, commit, into string) error {
	fsys, err := r.tree(ctx, commit, "")
	if err != nil || fsys == nil {
		return err
	}
	root, err := os.OpenRoot(into)
	if err != nil {
		return fmt.Errorf("write the files of commit %s: %w", commit, err)
	}
	defer func() { _ = root.Close() }() // it was only a handle
	return fs.WalkDir(fsys, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.Type()&fs.ModeSymlink != 0 {
			return err
		}
		if err := exportOne(root, fsys, "", name, e); err != nil {
			return fmt.Errorf("write %s of commit %s: %w", name, commit, err)
		}
		return nil
	})
}

// Remotes are the addresses of the clone's remotes, as a file of Git's settings has them.
func (r *Repo) Remotes(ctx context.Context) (string, error) {
	out, err := r.git(ctx, nil, "config", "--local", "--get-regexp", `^remote\..*\.url$`)
	if failed := (*gitError)(nil); errors.As(err, &failed) && failed.stderr == "" {
		return "", nil // it has none
	}
	if err != nil {
		return "", fmt.Errorf("read the remotes of %s: %w", r.Top, err)
	}
	text := ""
	for i, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		if _, url, ok := strings.Cut(line, " "); ok {
			text += fmt.Sprintf("[remote \"%d\"]\n\turl = %s\n", i, url)
		}
	}
	return text, nil
}

// exportOne writes one file, directory or link. The root keeps it from leaving the directory; a
// link that leads out of dir is an error, since what it points to is not the commit's.
func exportOne(root *os.Root, fsys fs.FS, dir, name string, e fs.DirEntry) error {
	at := filepath.FromSlash(path.Join(dir, name))
	if e.IsDir() {
		return root.MkdirAll(at, 0o755)
	}
	in, err := fsys.Open(name)
	if err != nil {
		return err
	}
	content, err := io.ReadAll(in)
	if err := errors.Join(err, in.Close()); err != nil {
		return err
	}
	if e.Type()&fs.ModeSymlink == 0 {
		return root.WriteFile(at, content, 0o644)
	}
	target := string(content)
	if path.IsAbs(target) || slices.Contains(strings.Split(path.Join(path.Dir(name), target), "/"), "..") {
		return fmt.Errorf("it is a link to %s, which is outside of %s", target, strings.TrimSuffix(dir, "/"))
	}
	return root.Symlink(target, at)
}
