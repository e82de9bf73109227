package discover

import (
	"archive/zip"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nvidia/aicr-action/internal/util/filesys"
)

// Repo is a git working tree, read through the git program. go-git cannot do it: it supports
// neither partial clones nor the check of how far a shallow clone can be trusted, and its view of
// the working tree differs from git's with filters (docs/contributing/dependencies.md).
type Repo struct {
	Top string // absolute, links resolved

	safe string // the top, if another user may own it; empty if not
}

// OpenRepo finds the working tree that contains dir. Git rejects one that another user owns, unless
// its top is workspace or below it: in a job with a container, the user outside of it owns the
// checkout. An empty workspace allows none.
func OpenRepo(ctx context.Context, dir, workspace string) (*Repo, error) {
	if _, err := exec.LookPath("git"); err != nil {
		return nil, fmt.Errorf("find the git program, which says what changed: %w; install git and put it on the PATH", err)
	}
	safe := safeTop(dir, workspace)
	out, err := (&Repo{Top: checkout(dir), safe: safe}).git(ctx, nil, "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, fmt.Errorf("find the git repository of %s: %w", dir, err)
	}
	return &Repo{Top: filepath.FromSlash(strings.TrimSuffix(string(out), "\n")), safe: safe}, nil
}

// checkout is dir or the first directory above it that has a .git, which no commit can contain. From
// dir itself git would also take files that a pull request contains (HEAD, config, objects, refs) for
// a repository, and run the programs that its config names.
func checkout(dir string) string {
	at, err := filepath.Abs(dir)
	if err != nil || os.Getenv("GIT_DIR") != "" {
		return dir
	}
	return cmp.Or(filesys.GitTop(at), dir)
}

// safeTop returns the top of the working tree that contains dir, if that is workspace or below it;
// empty if not. Git compares it with links resolved.
func safeTop(dir, workspace string) string {
	if workspace == "" {
		return ""
	}
	workspace, err := filepath.EvalSymlinks(workspace)
	if err != nil {
		return ""
	}
	at, err := filepath.Abs(dir)
	if err != nil {
		return ""
	}
	if at, err = filepath.EvalSymlinks(at); err != nil {
		return ""
	}
	top := filesys.GitTop(at)
	if rel, err := filepath.Rel(workspace, top); err != nil || !filepath.IsLocal(rel) {
		return ""
	}
	return top
}

// Path returns git's name of a directory of the working tree: relative to its top, with slashes,
// and with one at the end; empty for the top itself.
func (r *Repo) Path(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("find directory %s: %w", dir, err)
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		abs = real
	}
	rel, err := filepath.Rel(r.Top, abs)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "", fmt.Errorf("directory %s is not in the git repository %s, so what changed in it cannot be known", dir, r.Top)
	}
	if rel == "." {
		return "", nil
	}
	return filepath.ToSlash(rel) + "/", nil
}

// gitError is git's error output.
type gitError struct {
	args   []string
	stderr string
	err    error
}

func (e *gitError) Error() string {
	text := fmt.Sprintf("git %s: %v", strings.Join(e.args, " "), e.err)
	if e.stderr != "" {
		text += ": " + e.stderr
	}
	return text
}

func (e *gitError) Unwrap() error { return e.err }

// git runs a git command at the top of the working tree, without the programs that a repository can
// configure for watching and comparing, and without a repository among the tree's own files.
func (r *Repo) git(ctx context.Context, stdin io.Reader, args ...string) ([]byte, error) {
	config := []string{"-c", "core.fsmonitor=false", "-c", "core.quotePath=false", "-c", "safe.bareRepository=explicit"}
	if r.safe != "" {
		config = append(config, "-c", "safe.directory="+r.safe)
	}
	cmd := exec.CommandContext(ctx, "git", append(config, args...)...)
	cmd.Dir = r.Top
	// LC_ALL: our messages quote git's. No locks: other programs may use the same tree. No prompt:
	// the run may be unattended.
	cmd.Env = append(os.Environ(), "LC_ALL=C", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_EXTERNAL_DIFF=")
	cmd.Stdin = stdin
	cmd.WaitDelay = 5 * time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("git %s: %w", args[0], context.Cause(ctx))
		}
		return nil, &gitError{args: args, stderr: strings.TrimSpace(stderr.String()), err: err}
	}
	return stdout.Bytes(), nil
}

// commit returns the full id of the commit that rev names; ok is false if the clone lacks it.
func (r *Repo) commit(ctx context.Context, rev string) (id string, ok bool, err error) {
	if strings.HasPrefix(rev, "-") {
		return "", false, fmt.Errorf("%q is not the name of a commit", rev)
	}
	out, err := r.git(ctx, nil, "rev-parse", "--verify", "--quiet", "--end-of-options", rev+"^{commit}")
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return "", false, nil
	}
	return strings.TrimSpace(string(out)), err == nil, err
}

// parents returns HEAD's parents as the commit itself lists them, which a shallow clone's history
// does not show.
func (r *Repo) parents(ctx context.Context) ([]string, error) {
	out, err := r.git(ctx, nil, "cat-file", "commit", "HEAD")
	if err != nil {
		return nil, err
	}
	var parents []string
	for line := range strings.Lines(string(out)) {
		if line == "\n" {
			break // the message follows
		}
		if id, ok := strings.CutPrefix(line, "parent "); ok {
			parents = append(parents, strings.TrimSpace(id))
		}
	}
	return parents, nil
}

// mergeBase returns the full id of the best common ancestor of HEAD and base. It is empty if the
// clone has none, or if the history that a shallow clone lacks could contain a better one.
func (r *Repo) mergeBase(ctx context.Context, base string) (string, error) {
	out, err := r.git(ctx, nil, "merge-base", "HEAD", base)
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	id := strings.TrimSpace(string(out))
	head, _, err := r.commit(ctx, "HEAD")
	if err != nil || id == base || id == head {
		return id, err // one is an ancestor of the other: there cannot be a better one
	}
	cut, err := r.cutOff(ctx)
	if err != nil || len(cut) == 0 {
		return id, err
	}
	// A path to a better one would start at HEAD or base and lead through a commit whose parents
	// are cut off.
	out, err = r.git(ctx, nil, "rev-list", "HEAD", base, "--not", id)
	if err != nil {
		return "", err
	}
	if slices.ContainsFunc(strings.Fields(string(out)), func(c string) bool { return slices.Contains(cut, c) }) {
		return "", nil
	}
	return id, nil
}

// cutOff returns the commits of a shallow clone whose parents are missing; none if the clone is
// complete.
func (r *Repo) cutOff(ctx context.Context) ([]string, error) {
	out, err := r.git(ctx, nil, "rev-parse", "--git-path", "shallow")
	if err != nil {
		return nil, err
	}
	file := strings.TrimSuffix(string(out), "\n")
	if !filepath.IsAbs(file) {
		file = filepath.Join(r.Top, file)
	}
	content, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return strings.Fields(string(content)), err
}

// changed returns the files that differ between the commit and the working tree, including
// uncommitted files and those that git ignores in dirs, since a run reads them too. A renamed file
// counts under both names.
func (r *Repo) changed(ctx context.Context, commit string, dirs ...string) ([]string, error) {
	// git records the time of each file and compares the content of those whose time has changed;
	// that record may be old.
	out, err := r.git(ctx, nil, "diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty", commit, "--")
	if err != nil {
		return nil, err
	}
	names := splitNul(out)
	for _, dir := range dirs {
		out, err := r.git(ctx, nil, "ls-files", "--others", "-z", "--full-name", "--", ":(top,literal)"+dir)
		if err != nil {
			return nil, err
		}
		names = append(names, splitNul(out)...)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// tree returns a directory as the commit has it; nil if it has none.
func (r *Repo) tree(ctx context.Context, commit, dir string) (fs.FS, error) {
	args := []string{"ls-tree", "-r", "-z", "--full-tree", commit}
	if dir != "" {
		args = append(args, "--", dir)
	}
	out, err := r.git(ctx, nil, args...)
	if err != nil {
		return nil, err
	}
	var modes, names, wanted []string
	for _, line := range splitNul(out) {
		// <mode> <type> <id>\t<path>
		head, name, _ := strings.Cut(line, "\t")
		if f := strings.Fields(head); len(f) == 3 && f[1] == "blob" {
			modes, wanted, names = append(modes, f[0]), append(wanted, f[2]), append(names, strings.TrimPrefix(name, dir))
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	content, err := r.git(ctx, strings.NewReader(strings.Join(wanted, "\n")+"\n"), "cat-file", "--batch")
	if err != nil {
		return nil, err
	}
	return zipped(modes, names, content)
}

// zipped returns the output of git cat-file --batch as a file system: a zip archive in memory is
// the format that Go's library can both write and read as an fs.FS.
func zipped(modes, names []string, content []byte) (fs.FS, error) {
	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	for i, name := range names {
		line, rest, _ := bytes.Cut(content, []byte("\n"))
		var id, kind string
		var size int
		if _, err := fmt.Sscanf(string(line), "%s %s %d", &id, &kind, &size); err != nil || len(rest) < size+1 {
			return nil, fmt.Errorf("read %s from git: its content is missing (%s)", name, line)
		}
		header := &zip.FileHeader{Name: name, Method: zip.Store}
		header.SetMode(0o644)
		if modes[i] == "120000" {
			header.SetMode(0o644 | fs.ModeSymlink)
		}
		entry, err := w.CreateHeader(header)
		if err == nil {
			_, err = entry.Write(rest[:size])
		}
		if err != nil {
			return nil, fmt.Errorf("keep %s in memory: %w", name, err)
		}
		content = rest[size+1:]
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("keep the recipes of the merge base in memory: %w", err)
	}
	return zip.NewReader(bytes.NewReader(archive.Bytes()), int64(archive.Len()))
}

func splitNul(out []byte) []string {
	return strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 })
}
