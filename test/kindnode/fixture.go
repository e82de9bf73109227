package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/infra/stack"
	"github.com/nvidia/aicr-action/kwok"
)

// layout is part of the key: raise it when the way of building changes the result.
const layout = "1"

// nodeFiles are laid over the node's file system: what this fixture brings in place of kind's own
// network and storage.
//
//go:embed all:files
var nodeFiles embed.FS

// fixture is one version of the images, and where they are kept.
type fixture struct {
	root   string // <cache directory>/kindnode
	source string // this program's directory in the working tree
	key    string
	stack  *stack.Stack
	kind   module
	choice choice // of choose; until then the assembled images
}

func newFixture(ctx context.Context) (*fixture, error) {
	if runtime.GOOS != "linux" || multiarch[runtime.GOARCH] == "" {
		return nil, fmt.Errorf("the fixture is made of Debian packages for linux/amd64 and linux/arm64; this is %s/%s", runtime.GOOS, runtime.GOARCH)
	}
	if os.Geteuid() != 0 {
		return nil, errors.New("debootstrap and dockerd need root; run it as root, or with sudo -E")
	}
	paths, err := host.DefaultPaths(os.Getenv)
	if err != nil {
		return nil, err
	}
	s, err := stack.NewStack(paths, kwok.StackMod, kwok.StackSum, kwok.StackSources)
	if err != nil {
		return nil, err
	}
	dir, err := program{}.run(ctx, "go", "list", "-f", "{{.Dir}}", "github.com/nvidia/aicr-action/test/kindnode")
	if err != nil {
		return nil, fmt.Errorf("find the sources of this program; run it inside the repository: %w", err)
	}
	f := &fixture{root: filepath.Join(paths.Root, "kindnode"), source: strings.TrimSpace(dir), stack: s}
	if f.kind, err = downloaded(ctx, f.source, "sigs.k8s.io/kind"); err != nil {
		return nil, err
	}
	inputs, err := f.inputs()
	if err != nil {
		return nil, err
	}
	f.key = keyOf(inputs)
	return f, nil
}

// inputs are all that a build depends on, by name.
func (f *fixture) inputs() (map[string][]byte, error) {
	inputs := map[string][]byte{
		"layout": []byte(layout), "platform": []byte(runtime.GOARCH), "suite": []byte(suite), "kind": []byte(f.kind.Version),
		"packages": []byte(filepath.Base(f.debianTar())), "toolchain": []byte(runtime.Version()),
		"stack": []byte(f.stack.Name()), "stack.mod": kwok.StackMod, "stack.sum": kwok.StackSum,
	}
	for _, i := range f.controllers() {
		inputs["image "+i.name] = []byte(fmt.Sprintf("%+v", i))
	}
	err := fs.WalkDir(nodeFiles, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		inputs[path], err = nodeFiles.ReadFile(path)
		return err
	})
	if err != nil {
		return nil, err
	}
	err = filepath.WalkDir(filepath.Join(f.source, "parts"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(f.source, path)
		if err != nil {
			return err
		}
		inputs[name], err = os.ReadFile(path)
		return err
	})
	return inputs, err
}

// keyOf is the same for the same inputs, and another one when any of them changes, comes or goes.
func keyOf(inputs map[string][]byte) string {
	sum := sha256.New()
	for _, name := range sortedKeys(inputs) {
		_, _ = fmt.Fprintf(sum, "%q %d\n", name, len(inputs[name])) // a hash does not fail
		_, _ = sum.Write(inputs[name])
	}
	return hex.EncodeToString(sum.Sum(nil))[:16]
}

// dir keeps what one key stands for: node.tar and images.tar, and bin/ while they are made; of the
// pinned images images.tar alone, with the node image.
func (f *fixture) dir() string {
	if len(f.choice.pinned) > 0 {
		return filepath.Join(f.root, pinnedKey(f.choice.pinned))
	}
	return filepath.Join(f.root, f.key)
}

// nodeImage is the name of the node image in the engine.
func (f *fixture) nodeImage() string {
	if len(f.choice.pinned) > 0 {
		return f.choice.pinned[0].byDigest()
	}
	return "localhost/aicr-action/kindnode:" + f.stack.KubeVersion() + "-" + f.key
}

func (f *fixture) nodeTar() string   { return filepath.Join(f.dir(), "node.tar") }
func (f *fixture) imagesTar() string { return filepath.Join(f.dir(), "images.tar") }

// debianTar is shared by all keys that have the same packages.
func (f *fixture) debianTar() string {
	return filepath.Join(f.root, "debian-"+keyOf(map[string][]byte{"suite": []byte(suite), "packages": []byte(strings.Join(packages, " ")), "unwanted": []byte(strings.Join(unwanted, " "))})+".tar")
}

func (f *fixture) engine() *engine { return &engine{dir: filepath.Join(f.root, "engine")} }

// lock keeps two runs from building, starting or stopping at the same time.
func (f *fixture) lock(ctx context.Context) (unlock func(), err error) {
	if err := os.MkdirAll(f.root, 0o755); err != nil {
		return nil, err
	}
	lock := flock.New(filepath.Join(f.root, "lock"))
	if _, err := lock.TryLockContext(ctx, lockEvery); err != nil {
		return nil, fmt.Errorf("wait for another run that uses %s: %w", f.root, err)
	}
	return func() { _ = lock.Unlock() }, nil // the kernel unlocks it with the process at the latest
}

// make makes or gets what is missing, for whoever has the lock.
func (f *fixture) make(ctx context.Context) error {
	if len(f.choice.pinned) > 0 {
		return f.buildPinned(ctx)
	}
	if err := installMissing(ctx); err != nil {
		return err
	}
	if err := f.build(ctx); err != nil {
		return err
	}
	return f.prune()
}

func (f *fixture) prune() error {
	return prune(f.root, filepath.Base(f.dir()), time.Now().Add(-keepUnused))
}

// up makes or gets what is missing and has an engine with the node image. started says that the
// engine is one that this call started.
func (f *fixture) up(ctx context.Context) (started bool, err error) {
	unlock, err := f.lock(ctx)
	if err != nil {
		return false, err
	}
	defer unlock()
	if len(f.choice.pinned) > 0 {
		return f.upPinned(ctx)
	}
	if err := f.make(ctx); err != nil {
		return false, err
	}
	e := f.engine()
	if started, err = e.up(ctx); err != nil {
		return false, err
	}
	return started, e.loadAssembled(ctx, f, started)
}

// test runs go test in the environment of an engine that is up, and leaves the machine as it was.
func (f *fixture) test(ctx context.Context, args []string) error {
	started, err := f.up(ctx)
	if started {
		defer func() {
			if err := f.engine().down(context.WithoutCancel(ctx)); err != nil {
				fmt.Fprintln(os.Stderr, "kindnode:", err)
			}
		}()
	}
	if err != nil {
		return err
	}
	var env bytes.Buffer
	if err := f.printEnv(ctx, &env); err != nil {
		return err
	}
	name := fmt.Sprintf("kindnode-test-%d", os.Getpid())
	// One package at a time, since each makes clusters, and with its lines as they come, since each
	// takes minutes.
	cmd := exec.Command("go", append([]string{"test", "-tags", "kind", "-count=1", "-v", "-p", "1", "-timeout", "90m"}, args...)...)
	cmd.Env = append(append(os.Environ(), strings.Fields(env.String())...), testClusterEnv+"="+name)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	failed := runGroup(ctx, cmd)
	// A test that was interrupted has not deleted its cluster, and the engine may be one that
	// stays.
	return errors.Join(failed, f.engine().removeCluster(context.WithoutCancel(ctx), name))
}

// testClusterEnv names the cluster of the fixture's own test, so that whoever started the test can
// remove it.
const testClusterEnv = "KINDNODE_TEST_CLUSTER"

// keepUnused is how long images of other inputs stay in the cache after their last use. They take
// 1.5 GB each.
const keepUnused = 7 * 24 * time.Hour

var keyName = regexp.MustCompile(`^[0-9a-f]{16}$`)

// prune marks a key as used now, and removes other keys that were last used before a time.
func prune(root, key string, before time.Time) error {
	now := time.Now()
	if err := os.Chtimes(filepath.Join(root, key), now, now); err != nil {
		return err
	}
	entries, err := os.ReadDir(root)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || !entry.IsDir() || !keyName.MatchString(entry.Name()) || entry.Name() == key || !info.ModTime().Before(before) {
			continue
		}
		if err := os.RemoveAll(filepath.Join(root, entry.Name())); err != nil {
			return err
		}
	}
	return nil
}

// printEnv prints what a run of the platform's tests needs, one assignment a line.
func (f *fixture) printEnv(ctx context.Context, w io.Writer) error {
	address, err := f.engine().address(ctx)
	if err != nil {
		return err
	}
	if !f.built() {
		return fmt.Errorf("the images are not in %s; run: go run ./test/kindnode up", f.dir())
	}
	_, err = fmt.Fprintf(w, "DOCKER_HOST=%s\nAICR_ACTION_KIND_NODE_IMAGE=%s\nAICR_ACTION_KIND_IMAGES=%s\n", address, f.nodeImage(), f.imagesTar())
	return err
}
