package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/sync/errgroup"
)

// build makes what the key stands for, unless it is there. An interrupted build is taken up at the
// programs that it had compiled.
func (f *fixture) build(ctx context.Context) error {
	if f.built() {
		fmt.Fprintf(os.Stderr, "==> Images are kept from an earlier build in %s\n", f.dir())
		return nil
	}
	bin, work := filepath.Join(f.dir(), "bin"), filepath.Join(f.dir(), "work")
	if err := os.RemoveAll(work); err != nil {
		return err
	}
	if err := os.MkdirAll(work, 0o755); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }() // only disk space is lost
	root := filepath.Join(work, "rootfs")
	// One waits for the network and the disk, the other for the processors.
	group, gctx := errgroup.WithContext(ctx)
	group.Go(func() error { return f.buildParts(gctx, bin) })
	group.Go(func() error {
		return step("Installing Debian "+suite+" into a directory", func() error { return bootstrap(gctx, f.debianTar(), root) })
	})
	if err := group.Wait(); err != nil {
		return err
	}
	if err := step("Making the images of controllers", func() error { return f.buildControllers(ctx, work, tree(root)) }); err != nil {
		return err
	}
	if err := step("Making the images of Kubernetes", func() error { return f.buildKubernetes(ctx, work, tree(root)) }); err != nil {
		return err
	}
	if err := step("Making the node image", func() error { return f.buildNode(ctx, work, root) }); err != nil {
		return err
	}
	return os.RemoveAll(bin)
}

func (f *fixture) built() bool {
	files := []string{f.imagesTar()}
	if len(f.choice.pinned) == 0 {
		files = append(files, f.nodeTar())
	}
	for _, file := range files {
		if _, err := os.Stat(file); err != nil {
			return false
		}
	}
	return true
}

func (f *fixture) buildControllers(ctx context.Context, work string, debian tree) error {
	name, err := f.redisName(ctx)
	if err != nil {
		return err
	}
	return f.archive(f.imagesTar(), work, debian, append(f.controllers(), redis(name)))
}

// kubeImages is the archive that becomes the node's content store. It lies in the node's file
// system, where its containerd reads it.
const kubeImages = "kube-images.tar"

func (f *fixture) buildKubernetes(ctx context.Context, work string, debian tree) error {
	list, err := program{}.run(ctx, f.binary("kubeadm"), "config", "images", "list", "--kubernetes-version", f.stack.KubeVersion())
	if err != nil {
		return err
	}
	recipes, err := nodeRecipes(list + "\n" + sandboxImage)
	if err != nil {
		return err
	}
	return f.archive(filepath.Join(string(debian), kubeImages), work, debian, recipes)
}

func (f *fixture) archive(file, work string, debian tree, recipes []recipe) error {
	images := map[string]v1.Image{}
	for n, r := range recipes {
		c, err := f.content(debian, r)
		if err != nil {
			return err
		}
		if images[r.name], err = image(filepath.Join(work, fmt.Sprintf("%s-%d.tar", filepath.Base(file), n)), c, r); err != nil {
			return fmt.Errorf("image %s: %w", r.name, err)
		}
	}
	return writeArchive(file, images)
}

// sandboxImage is the one that kind's configuration of containerd names.
const sandboxImage = "registry.k8s.io/pause:3.10"

func (f *fixture) buildNode(ctx context.Context, work, root string) error {
	if err := importImages(ctx, root); err != nil {
		return err
	}
	if err := removeAll(root, imageOnly); err != nil {
		return err
	}
	if err := f.layFiles(root); err != nil {
		return err
	}
	if err := configure(ctx, root); err != nil {
		return err
	}
	layer := filepath.Join(work, "node-layer.tar")
	if err := pack(ctx, root, layer); err != nil {
		return err
	}
	i, err := imageOf(layer, v1.Config{Env: []string{searchPath, "container=docker"}, StopSignal: "SIGRTMIN+3", Entrypoint: []string{"/usr/local/bin/entrypoint", "/sbin/init"}})
	if err != nil {
		return err
	}
	return writeArchive(f.nodeTar(), map[string]v1.Image{f.nodeImage(): i})
}

// layFiles lays kind's files, then the fixture's own, then the programs.
func (f *fixture) layFiles(root string) error {
	kindFiles := os.DirFS(filepath.Join(f.kind.Dir, "images", "base", "files"))
	own, err := fs.Sub(nodeFiles, "files")
	if err != nil {
		return err
	}
	for _, files := range []fs.FS{kindFiles, own} {
		if err := copyTree(root, files); err != nil {
			return err
		}
	}
	programs := map[string]string{}
	for _, name := range []string{"kubeadm", "kubelet", "kubectl"} {
		programs["usr/bin/"+name] = f.binary(name)
	}
	for _, name := range cniPlugins {
		programs["opt/cni/bin/"+name] = f.binary(name)
	}
	for path, file := range programs {
		if err := copyFile(filepath.Join(root, path), file); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(root, "kind", "version"), []byte(f.stack.KubeVersion()), 0o644)
}

func copyTree(root string, files fs.FS) error {
	return fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		target := filepath.Join(root, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		content, err := fs.ReadFile(files, path)
		if err != nil {
			return err
		}
		mode := fs.FileMode(0o644)
		if strings.HasPrefix(string(content), "#!") {
			mode = 0o755
		}
		return os.WriteFile(target, content, mode)
	})
}

func copyFile(target, source string) error {
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	content, err := os.ReadFile(source)
	if err != nil {
		return err
	}
	return os.WriteFile(target, content, 0o755)
}

// configure does what the Dockerfile of kind's base image does with commands, and the two changes
// that this kind of machine needs.
func configure(ctx context.Context, root string) error {
	if err := edit(root, "etc/containerd/config.toml", "restrict_oom_score_adj = false", "restrict_oom_score_adj = true"); err != nil {
		return err
	}
	config, err := os.ReadFile(filepath.Join(root, "etc/containerd/config.toml"))
	if err != nil {
		return err
	}
	if !strings.Contains(string(config), `"`+sandboxImage+`"`) {
		return fmt.Errorf("kind's /etc/containerd/config.toml does not name %s", sandboxImage)
	}
	for link, target := range map[string]string{
		"usr/local/bin/containerd": "/usr/bin/containerd", "sbin/init": "/usr/lib/systemd/systemd",
		"etc/systemd/system/systemd-binfmt.service":                           "/dev/null", // binfmt_misc is the kernel's, not the node's
		"etc/systemd/system/multi-user.target.wants/kubelet.service":          "/etc/systemd/system/kubelet.service",
		"etc/systemd/system/multi-user.target.wants/containerd.service":       "/etc/systemd/system/containerd.service",
		"etc/systemd/system/multi-user.target.wants/undo-mount-hacks.service": "/etc/systemd/system/undo-mount-hacks.service",
	} {
		if err := symlink(filepath.Join(root, link), target); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Join(root, "etc/kubernetes/manifests"), 0o755); err != nil {
		return err
	}
	if err := appendTo(filepath.Join(root, "etc/systemd/journald.conf"), "ReadKMsg=no\n"); err != nil {
		return err
	}
	spec, err := program{}.run(ctx, "chroot", root, "ctr", "oci", "spec")
	if err != nil {
		return err
	}
	base, err := baseSpec([]byte(spec))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, "etc/containerd/cri-base.json"), base, 0o644)
}

// importImages fills the node's content store. containerd runs in a mount namespace of its own, so
// that nothing stays mounted.
func importImages(ctx context.Context, root string) error {
	const config, socket = "import.toml", "/run/import.sock"
	text := "version = 2\ndisabled_plugins = [\"io.containerd.grpc.v1.cri\"]\n[grpc]\n  address = \"" + socket + "\"\n"
	if err := os.WriteFile(filepath.Join(root, config), []byte(text), 0o644); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	daemon := exec.CommandContext(ctx, "unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc="+filepath.Join(root, "proc"), "chroot", root, "containerd", "--config", "/"+config)
	log, err := os.Create(filepath.Join(filepath.Dir(root), "import.log"))
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // written by the daemon
	daemon.Stdout, daemon.Stderr = log, log
	if err := daemon.Start(); err != nil {
		return err
	}
	defer func() {
		_ = daemon.Process.Kill() // the only way in which it ends
		_ = daemon.Wait()
	}()
	ctr := func(args ...string) error {
		_, err := program{}.run(ctx, "chroot", append([]string{root, "ctr", "--address", socket, "--namespace", "k8s.io"}, args...)...)
		return err
	}
	if err := poll(ctx, 30*time.Second, func() error { return ctr("version") }); err != nil {
		return fmt.Errorf("containerd does not answer: %w", err)
	}
	if err := ctr("images", "import", "--all-platforms", "--no-unpack", "/"+kubeImages); err != nil {
		return err
	}
	return removeAll(root, []string{config, kubeImages, "run/*"})
}
