// Package gitserver is the Git server of one cell: git's own programs behind an http.Handler, which
// speaks Git's smart protocol. Everybody who reaches it may read and write, and a push makes the
// repository that it names. It must not know what is in a repository, or who pushes and pulls it.
package gitserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"
)

// maxPush is how many bytes a push may have. AICR's largest bundle has 2 MiB before it is packed.
const maxPush = 64 << 20

// Server is the Git server. Its repositories are directories of its own.
type Server struct {
	git    string
	dir    string
	branch string // the one that a repository has

	making sync.Mutex // of repositories
}

// errNoGit means that this machine lacks git, or git its part that serves HTTP.
var errNoGit = errors.New("no git that can serve")

// Find finds git on this machine, and the directory of its parts.
func Find(ctx context.Context) (git, parts string, err error) {
	if git, err = exec.LookPath("git"); err == nil {
		git, err = filepath.EvalSymlinks(git)
	}
	if err != nil {
		return "", "", fmt.Errorf("%w: %w; install git, or leave out the Git lanes", errNoGit, err)
	}
	parts, err = run(ctx, git, "", "--exec-path")
	if err != nil {
		return "", "", fmt.Errorf("%w: %w", errNoGit, err)
	}
	return git, strings.TrimSpace(parts), nil
}

// New finds git, and keeps the repositories below dir, which is made with the first one. A
// repository has the one branch.
func New(ctx context.Context, dir, branch string) (*Server, error) {
	git, parts, err := Find(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(parts, "git-http-backend")); err != nil {
		return nil, fmt.Errorf("%w: %s has no git-http-backend (%w); install the whole of git, or leave out the Git lanes", errNoGit, git, err)
	}
	return &Server{git: git, dir: dir, branch: branch}, nil
}

// settings are those of every repository. What is pushed is a stranger's text, so that no hook runs,
// whatever a repository's directory has; objects are checked as `git fsck` does; and what was pushed
// stays what was pushed.
func (s *Server) settings() []string {
	var args []string
	for _, setting := range []string{
		"core.hooksPath=" + os.DevNull, "http.receivepack=true", "http.uploadpack=true", "http.getanyfile=false",
		"receive.fsckObjects=true", fmt.Sprintf("receive.maxInputSize=%d", maxPush), "receive.denyDeletes=true", "receive.denyNonFastForwards=true", "receive.autogc=false",
		"receive.hideRefs=refs", "receive.hideRefs=!refs/heads/" + s.branch, "uploadpack.allowFilter=false",
	} {
		args = append(args, "-c", setting)
	}
	return args
}

// environment is what git gets: no settings of this machine or its user.
func environment() []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_SYSTEM=" + os.DevNull,
		"GIT_TERMINAL_PROMPT=0", "GIT_ALLOW_PROTOCOL=none", "LC_ALL=C",
	}
}

// repositoryPath matches a request of the smart protocol: the repository's path and the service.
var repositoryPath = regexp.MustCompile(`^/((?:[a-zA-Z0-9][a-zA-Z0-9._-]*/)*[a-zA-Z0-9][a-zA-Z0-9._-]*\.git)/(info/refs|git-upload-pack|git-receive-pack)$`)

// Serves reports whether a request is one of Git's protocol.
func Serves(r *http.Request) bool { return repositoryPath.MatchString(r.URL.Path) }

// ServeHTTP answers requests of the smart protocol, and no others: repositories have files that a
// client without it would read.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	match := repositoryPath.FindStringSubmatch(r.URL.Path)
	service := r.URL.Query().Get("service")
	if match == nil || match[2] == "info/refs" && service != "git-upload-pack" && service != "git-receive-pack" || strings.Contains(match[1], "..") {
		http.Error(w, "this server speaks Git's smart protocol only, for repositories PATH.git", http.StatusNotFound)
		return
	}
	pushes := service == "git-receive-pack" || match[2] == "git-receive-pack"
	if err := s.repository(r.Context(), match[1], pushes); err != nil {
		code := http.StatusInternalServerError
		if errors.Is(err, os.ErrNotExist) {
			code = http.StatusNotFound
		}
		http.Error(w, err.Error(), code)
		return
	}
	if err := bounded(w, r); err != nil {
		http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
		return
	}
	backend := &cgi.Handler{
		Path: s.git, Args: append(s.settings(), "http-backend"), Dir: s.dir, Stderr: io.Discard,
		Env: append(environment(), "GIT_PROJECT_ROOT="+s.dir, "GIT_HTTP_EXPORT_ALL=1"),
	}
	backend.ServeHTTP(w, r)
}

// bounded limits a request's body, and reads one that is sent in chunks: a CGI program must know
// how long it is.
func bounded(w http.ResponseWriter, r *http.Request) error {
	r.Body = http.MaxBytesReader(w, r.Body, maxPush)
	if len(r.TransferEncoding) == 0 {
		return nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return fmt.Errorf("a push has at most %d MiB: %w", maxPush>>20, err)
	}
	r.Body, r.ContentLength, r.TransferEncoding = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
	return nil
}

// repository makes the repository at a path for a push, if it does not exist; for a fetch that is an
// error.
func (s *Server) repository(ctx context.Context, path string, pushed bool) error {
	s.making.Lock()
	defer s.making.Unlock()
	dir := filepath.Join(s.dir, filepath.FromSlash(path))
	if _, err := os.Stat(filepath.Join(dir, "HEAD")); err == nil || !pushed {
		if err != nil {
			return fmt.Errorf("repository %s: nothing was pushed to it: %w", path, os.ErrNotExist)
		}
		return nil
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return fmt.Errorf("make the repository %s: %w", path, err)
	}
	// An empty template: no hooks, not even examples.
	if _, err := run(ctx, s.git, s.dir, "init", "--quiet", "--bare", "--template=", dir); err != nil {
		return fmt.Errorf("make the repository %s: %w", path, err)
	}
	if _, err := run(ctx, s.git, s.dir, "--git-dir="+dir, "symbolic-ref", "HEAD", "refs/heads/"+s.branch); err != nil {
		return errors.Join(fmt.Errorf("make the repository %s: %w", path, err), os.RemoveAll(dir))
	}
	return nil
}

// run runs git and returns what it prints.
func run(ctx context.Context, git, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, git, args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = dir, environment(), 5*time.Second
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[len(args)-1], err, strings.TrimSpace(stderr.String()))
	}
	return out.String(), nil
}
