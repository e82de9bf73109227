package publish

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/nvidia/aicr-action/internal/bundle"
)

// digestPrefix is in front of a commit where Flux names one, as a digest's algorithm is.
const digestPrefix = "sha1:"

// GitCommit is the commit that a published digest stands for, as Git and Argo CD write it. Another
// digest stays as it is.
func GitCommit(digest string) string { return strings.TrimPrefix(digest, digestPrefix) }

// PublishGit pushes the bundle's files as the one commit of the branch to url, with git itself. The
// same bundle always has the same commit. dir is a directory for what git needs meanwhile. What
// Check refuses is not pushed.
func PublishGit(ctx context.Context, b *bundle.Bundle, url, branch, dir string) (p Published, err error) {
	return publish(ctx, b, url, branch, dir, false)
}

// PublishNext pushes the bundle's files as the next commit of a branch that exists, as a change of a
// recipe is. Without a difference to what the branch has, its last commit stays the last one.
func PublishNext(ctx context.Context, b *bundle.Bundle, url, branch, dir string) (Published, error) {
	return publish(ctx, b, url, branch, dir, true)
}

func publish(ctx context.Context, b *bundle.Bundle, url, branch, dir string, next bool) (p Published, err error) {
	if err := CheckGit(b.Files); err != nil {
		return p, fmt.Errorf("publishing the %s bundle: %w", b.Deployer, err)
	}
	work, err := os.MkdirTemp(dir, "push-")
	if err != nil {
		return p, fmt.Errorf("publishing the %s bundle: %w", b.Deployer, err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	repo := filepath.Join(work, "bundle.git")
	if _, err := git(ctx, nil, "init", "--quiet", "--bare", "--template=", repo); err != nil {
		return p, err
	}
	ref, last := "refs/heads/"+branch, ""
	if next {
		if _, err := git(ctx, nil, "--git-dir="+repo, "fetch", "--quiet", url, ref); err != nil {
			return p, fmt.Errorf("read branch %s of %s: %w", branch, url, err)
		}
		if last, err = git(ctx, nil, "--git-dir="+repo, "rev-parse", "--verify", "FETCH_HEAD"); err != nil {
			return p, err
		}
		last = strings.TrimSpace(last)
	}
	// fast-import takes the files as they are: no filter, attribute or setting changes them.
	if _, err := git(ctx, stream(b, ref, last), "--git-dir="+repo, "fast-import", "--quiet"); err != nil {
		return p, err
	}
	if next {
		if same, err := sameTree(ctx, repo, ref, last); err != nil || same {
			return Published{URL: url, Tag: branch, Digest: digestPrefix + last}, err
		}
	}
	commit, err := git(ctx, nil, "--git-dir="+repo, "rev-parse", "--verify", ref)
	if err != nil {
		return p, err
	}
	// With the buffer a pack is sent in one piece, as small ones are.
	if _, err := git(ctx, nil, "--git-dir="+repo, "-c", "http.postBuffer=67108864", "push", "--quiet", url, ref+":"+ref); err != nil {
		said := "refused"
		if strings.Contains(err.Error(), "Operation too slow") {
			said = "does not answer"
		}
		return p, fmt.Errorf("the Git server %s the push to %s: %w", said, url, err)
	}
	return Published{URL: url, Tag: branch, Digest: digestPrefix + strings.TrimSpace(commit)}, nil
}

// sameTree reports whether two commits have the same files.
func sameTree(ctx context.Context, repo, a, b string) (bool, error) {
	x, err := git(ctx, nil, "--git-dir="+repo, "rev-parse", "--verify", a+"^{tree}")
	if err != nil {
		return false, err
	}
	y, err := git(ctx, nil, "--git-dir="+repo, "rev-parse", "--verify", b+"^{tree}")
	return x == y, err
}

// stream is the commit for `git fast-import` (https://git-scm.com/docs/git-fast-import). Author and
// time are always the same. parent, if any, is the commit before it, of which no file stays.
func stream(b *bundle.Bundle, ref, parent string) *bytes.Buffer {
	var out bytes.Buffer
	message := "The " + b.Deployer + " bundle\n"
	fmt.Fprintf(&out, "commit %s\ncommitter aicr-action <aicr-action@localhost> 0 +0000\ndata %d\n%s\n", ref, len(message), message)
	if parent != "" {
		fmt.Fprintf(&out, "from %s\ndeleteall\n", parent)
	}
	for _, f := range b.Files {
		mode := "100644"
		if f.Mode&0o100 != 0 {
			mode = "100755"
		}
		fmt.Fprintf(&out, "M %s inline \"%s\"\ndata %d\n", mode, f.Path, len(f.Content))
		out.Write(f.Content)
		out.WriteByte('\n')
	}
	return &out
}

// silence is how long a Git server may say nothing before the request has failed.
var silence = 2 * time.Minute

// git runs the program without the settings of this machine and its user, and returns what it
// prints. The error has what it says.
func git(ctx context.Context, stdin *bytes.Buffer, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_SYSTEM=" + os.DevNull,
		"GIT_TERMINAL_PROMPT=0", "GIT_ALLOW_PROTOCOL=http:https", "LC_ALL=C", "GIT_ASKPASS=", "GIT_HTTP_LOW_SPEED_LIMIT=1", "GIT_HTTP_LOW_SPEED_TIME=" + strconv.Itoa(int(silence.Seconds())), "NO_PROXY=127.0.0.1,localhost", "no_proxy=127.0.0.1,localhost",
	}
	cmd.WaitDelay = 5 * time.Second
	if stdin != nil {
		cmd.Stdin = stdin
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return "", fmt.Errorf("git: %w", context.Cause(ctx))
		}
		return "", fmt.Errorf("git %s: %w: %s", verb(args), err, strings.TrimSpace(stderr.String()))
	}
	return stdout.String(), nil
}

// verb is the subcommand among git's arguments.
func verb(args []string) string {
	for i := 0; i < len(args); i++ {
		switch {
		case args[i] == "-c":
			i++
		case !strings.HasPrefix(args[i], "-"):
			return args[i]
		}
	}
	return ""
}
