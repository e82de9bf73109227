package stack

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/filesys"
)

// Build builds what the groups need and is not there yet. Concurrent builds of one stack, by any
// number of processes, wait for each other. A binary appears under its name only when it is whole.
func (s *Stack) Build(ctx context.Context, progress infra.Progress, groups ...Group) error {
	if s.complete(groups) {
		return nil
	}
	if s.kubernetes != nil && slices.Contains(groups, GroupControlPlane) {
		if err := s.kubernetes.Build(ctx, progress, GroupKubernetes); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Join(s.Dir, "bin"), 0o755); err != nil {
		return host.CacheError(reason.StackBuildFailed, fmt.Errorf("make the stack's directory: %w", err))
	}
	unlock, err := s.lock(ctx, progress)
	if err != nil {
		return err
	}
	defer unlock()
	missing, err := s.pull(ctx, progress, s.Missing(groups...)) // again: another process may have built it while this one waited
	if err != nil {
		return err
	}
	if err := s.ownCRDs(groups); err != nil {
		return err
	}
	if len(missing) == 0 && s.complete(groups) {
		return nil
	}
	goTool, err := goToolchain()
	if err != nil {
		return err
	}
	src, err := s.writeModule()
	if err != nil {
		return err
	}
	defer s.work.begin()()
	if len(missing) > 0 { // the first one is compiled meanwhile
		fetching, stop := context.WithCancel(ctx)
		var fetched sync.WaitGroup
		defer fetched.Wait()
		defer stop()
		fetched.Go(func() { s.fetch(fetching, goTool, src, missing) })
	}
	for i, p := range missing {
		task := progress.Begin(fmt.Sprintf("Building %s %s (%d of %d)", p.Name, s.versions[p.Module], i+1, len(missing)))
		detail, err := s.buildPart(ctx, goTool, src, p, task)
		task.End(detail, err)
		if err != nil {
			return err
		}
	}
	for _, g := range groups {
		if err := s.copyCRDs(ctx, goTool, src, g); err != nil {
			return err
		}
	}
	return nil
}

func (s *Stack) complete(groups []Group) bool {
	if len(s.Missing(groups...)) > 0 {
		return false
	}
	for _, g := range groups {
		if len(crdSets(g)) > 0 {
			if _, err := os.Stat(s.CRDs(g)); err != nil {
				return false
			}
		}
	}
	return true
}

func (s *Stack) lock(ctx context.Context, progress infra.Progress) (func(), error) {
	lock := flock.New(filepath.Join(s.Dir, "build.lock"))
	ok, err := lock.TryLock()
	if err == nil && !ok {
		task := progress.Begin("Waiting for another build of the stack")
		_, err = lock.TryLockContext(ctx, 200*time.Millisecond)
		task.End("", err)
	}
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx) // the interrupt, which flock does not report
		}
		return nil, fmt.Errorf("lock %s: %w", lock.Path(), err)
	}
	return func() { _ = lock.Unlock() }, nil
}

func goToolchain() (string, error) {
	path, err := exec.LookPath("go")
	if err != nil {
		return "", reason.New(reason.ToolchainMissing, "find the go command, which compiles the stack: %w; install Go from https://go.dev/dl and put it on the PATH", err)
	}
	return path, nil
}

// writeModule lays the parts list where the go command finds it. The copy is the whole source of
// the stack.
func (s *Stack) writeModule() (string, error) {
	src := filepath.Join(s.Dir, "src")
	if err := os.MkdirAll(src, 0o755); err != nil {
		return "", reason.Wrap(infra.DiskReason(err, reason.StackBuildFailed), err)
	}
	files := map[string][]byte{"go.mod": s.mod, "go.sum": s.sum}
	maps.Copy(files, s.sources)
	for name, content := range files {
		file := filepath.Join(src, filepath.FromSlash(name))
		err := os.MkdirAll(filepath.Dir(file), 0o755)
		if err == nil {
			err = filesys.WriteFile(file, content, 0o644) // Fetch may read it
		}
		if err != nil {
			return "", reason.Wrap(infra.DiskReason(err, reason.StackBuildFailed), err)
		}
	}
	return src, nil
}

// buildEnv: static binaries, so that every build shares one cache, and nothing from the caller's
// workspace or flags.
func buildEnv() []string {
	env := []string{"CGO_ENABLED=0", "GOFLAGS=-mod=readonly", "GOWORK=off", "GO111MODULE=on"}
	if os.Getenv("GOGC") == "" {
		// The compiler collects less garbage: the API server in 231 s instead of 246 s on two cores.
		env = append(env, "GOGC=400")
	}
	return env
}

// Fetch downloads the modules that the groups' missing parts are compiled from, for a Build that
// comes later. It tells no error: a module that cannot be had fails the build, with its reason.
func (s *Stack) Fetch(ctx context.Context, groups ...Group) {
	missing := slices.DeleteFunc(s.Missing(groups...), func(p Part) bool { image, _ := s.plan(p); return image != nil })
	goTool, err := goToolchain()
	if err != nil || len(missing) == 0 {
		return
	}
	if src, err := s.writeModule(); err == nil {
		s.fetch(ctx, goTool, src, missing)
	}
}

// fetch lists the packages of the parts that are not in Go's cache: for that the go command downloads
// what it compiles them from, and nothing else, as GOPROXY and the like say.
func (s *Stack) fetch(ctx context.Context, goTool, src string, parts []Part) {
	before := s.work.soFar()
	args := slices.Concat([]string{"list", "-deps", "-f", "{{if .StaleReason}}{{.ImportPath}}{{end}}"}, likeBuild())
	for _, p := range parts {
		args = append(args, p.source())
	}
	out, err := host.RunCommand(ctx, src, buildEnv(), goTool, args...)
	if err == nil {
		s.work.found(before + len(strings.Fields(out)) + perLink*len(parts))
	}
}

// yielding is the command at a lower priority, where there is nice: cells that run meanwhile have
// deadlines, and a build has none.
func yielding(name string, args ...string) (string, []string) {
	nice, err := exec.LookPath("nice")
	if err != nil {
		return name, args
	}
	return nice, append([]string{"-n", "10", name}, args...)
}

// trimmed says whether this program was compiled with -trimpath, as a release is. The stack then is
// too, so that its archive has no paths of the machine. Otherwise it must not be: Go's build cache
// keeps packages with and without -trimpath apart, and of the 1,700 packages of matrix the stack
// needs 1,400 (TestSharedPackages). They are compiled once if CGO_ENABLED is 0 for matrix as well.
func trimmed() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-trimpath", Value: "true"})
}

// Apart are the larger modules that the stack needs and matrix does not. TestSharedPackages holds it.
func Apart() []string {
	return []string{
		"github.com/argoproj/argo-cd/gitops-engine", "github.com/argoproj/argo-cd/v3", "github.com/aws/aws-sdk-go-v2", "github.com/envoyproxy/go-control-plane/envoy",
		"github.com/fluxcd/helm-controller", "github.com/fluxcd/kustomize-controller", "github.com/fluxcd/source-controller", "github.com/fluxcd/source-watcher/v2",
		"github.com/getsops/sops/v3", "github.com/go-git/go-git/v5", "github.com/google/cadvisor", "github.com/sigstore/cosign/v3", "github.com/sigstore/rekor",
		"go.etcd.io/etcd/server/v3", "k8s.io/kube-aggregator", "k8s.io/kubernetes",
	}
}

// CompilerFlags are arguments of go build: the packages of those modules are compiled without DWARF,
// which the linker would drop. Packages that matrix has, too, must have its flags, or they would be
// compiled twice; whatever shares a build cache with the stack should have these flags.
func CompilerFlags() []string {
	var args []string
	for _, module := range Apart() {
		args = append(args, "-gcflags", module+"/...=-dwarf=false")
	}
	return args
}

// likeBuild are the flags by which packages are compiled.
func likeBuild() []string {
	if trimmed() {
		return append([]string{"-trimpath"}, CompilerFlags()...)
	}
	return CompilerFlags()
}

// leftText says how long all compiling takes from now on, if that is known.
func (s *Stack) leftText() string {
	left, _, known := s.left(time.Now())
	if !known {
		return ""
	}
	return fmt.Sprintf(", about %d min left, once", max(1, int(left.Round(time.Minute).Minutes())))
}

func (s *Stack) buildPart(ctx context.Context, goTool, src string, p Part, task infra.Task) (string, error) {
	tmp := s.compiled("." + p.Name + ".partial")
	defer func() { _ = os.Remove(tmp) }() // a success has renamed it
	changed, err := s.changed(ctx, goTool, src, p)
	defer func() { _ = os.RemoveAll(changedDir(src, p)) }() // a copy, which only this build needs
	if err != nil {
		return "", err
	}
	args := slices.Concat([]string{"build", "-v", "-ldflags", s.ldflags(), "-o", tmp}, likeBuild(), changed)
	name, args := yielding(goTool, append(args, p.source())...)
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = src
	cmd.Env = append(os.Environ(), buildEnv()...)
	cmd.SysProcAttr = host.ProcessAttributes(false)
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 10 * time.Second
	out, in := io.Pipe()
	cmd.Stdout, cmd.Stderr = in, in
	var packages, downloads atomic.Int64
	var tail []string
	read := make(chan struct{})
	go func() {
		defer close(read)
		scanner := bufio.NewScanner(out)
		scanner.Buffer(nil, 1<<20)
		for scanner.Scan() {
			line := scanner.Text()
			switch {
			case strings.HasPrefix(line, "go: downloading "):
				task.Update(fmt.Sprintf("%d modules downloaded", downloads.Add(1)))
			case !strings.ContainsAny(line, " :"): // -v prints the import path of each package that it compiles
				s.work.did(1)
				task.Update(fmt.Sprintf("%d packages compiled%s", packages.Add(1), s.leftText()))
			default:
				if tail = append(tail, line); len(tail) > 20 {
					tail = tail[1:]
				}
			}
		}
		_, _ = io.Copy(io.Discard, out) // a line over 1 MiB ends the scanner; the build must not block on it
	}()
	err = cmd.Run()
	_ = in.Close()
	<-read
	detail := fmt.Sprintf("%d packages compiled", packages.Load())
	if err != nil {
		if ctx.Err() != nil {
			return detail, fmt.Errorf("build %s: %w", p.Name, context.Cause(ctx))
		}
		text := strings.Join(tail, "\n")
		r := reason.StackBuildFailed
		if strings.Contains(text, "no space left on device") {
			r = reason.NoSpace
		}
		return detail, reason.New(r, "build %s from %s: go build: %w\n%s", p.Name, p.source(), err, text)
	}
	s.work.did(perLink)
	if err := os.Rename(tmp, s.compiled(p.Name)); err != nil {
		return detail, reason.Wrap(reason.StackBuildFailed, err)
	}
	return detail, nil
}

// ldflags gives the binaries the version that they were built from. Without it the API server calls
// itself v0.0.0-master, and every chart with a kubeVersion constraint is refused.
func (s *Stack) ldflags() string {
	flags := []string{"-s", "-w"}
	set := func(pkg, name, value string) { flags = append(flags, "-X", pkg+"."+name+"="+value) }
	if kube := s.versions[kubernetesModule]; kube != "" {
		parts := strings.SplitN(strings.TrimPrefix(kube, "v"), ".", 3)
		const kv = "k8s.io/component-base/version"
		set(kv, "gitVersion", kube)
		set(kv, "gitMajor", parts[0])
		set(kv, "gitMinor", parts[1])
		set(kv, "gitTreeState", "clean")
		set(kv, "buildDate", "1970-01-01T00:00:00Z")
	}
	set("github.com/argoproj/argo-cd/v3/common", "version", strings.TrimPrefix(s.versions["github.com/argoproj/argo-cd/v3"], "v"))
	set("helm.sh/helm/v3/internal/version", "version", s.versions["helm.sh/helm/v3"])
	set("helm.sh/helm/v4/internal/version", "version", s.versions["helm.sh/helm/v4"])
	set("github.com/prometheus/common/version", "Version", strings.TrimPrefix(s.versions["github.com/prometheus-operator/prometheus-operator"], "v"))
	set(certManagerModule+"/pkg/util", "AppVersion", s.versions[certManagerModule])
	set("go.szostok.io/version", "version", strings.TrimPrefix(s.versions[helmfileModule], "v"))
	return strings.Join(flags, " ")
}

func (s *Stack) copyCRDs(ctx context.Context, goTool, src string, g Group) error {
	sets := crdSets(g)
	if len(sets) == 0 {
		return nil
	}
	if _, err := os.Stat(s.CRDs(g)); err == nil {
		return nil
	}
	tmp := s.CRDs(g) + ".partial"
	if err := os.RemoveAll(tmp); err != nil {
		return reason.Wrap(reason.StackBuildFailed, err)
	}
	if err := os.MkdirAll(tmp, 0o755); err != nil {
		return reason.Wrap(infra.DiskReason(err, reason.StackBuildFailed), err)
	}
	for _, set := range sets {
		dir, err := s.crdDir(ctx, goTool, src, set.module)
		if err != nil {
			return reason.New(reason.StackBuildFailed, "find the source of %s: %w", set.module, err)
		}
		files, err := filepath.Glob(filepath.Join(dir, set.dir, cmp.Or(set.name, "*.yaml")))
		if err != nil || len(files) == 0 {
			return reason.New(reason.StackBuildFailed, "module %s has no CRDs in %s", set.module, set.dir)
		}
		for _, f := range files {
			if filepath.Base(f) == "kustomization.yaml" {
				continue
			}
			content, err := os.ReadFile(f)
			if err != nil {
				return reason.Wrap(reason.StackBuildFailed, err)
			}
			if err := os.WriteFile(filepath.Join(tmp, filepath.Base(f)), content, 0o644); err != nil {
				return reason.Wrap(infra.DiskReason(err, reason.StackBuildFailed), err)
			}
		}
	}
	if err := os.Rename(tmp, s.CRDs(g)); err != nil {
		return reason.Wrap(reason.StackBuildFailed, err)
	}
	return nil
}
