package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

const (
	suite  = "bookworm"
	mirror = "http://deb.debian.org/debian"
)

// packages are the node's: what kind's own base image has, as far as a cluster without NFS, iSCSI
// and fuse needs it, and Debian's containerd and runc. The second line is for images only; node.go
// leaves it out of the node.
var packages = append(strings.Fields(`systemd dbus conntrack iptables nftables iproute2 ethtool util-linux mount kmod libseccomp2 pigz
	ca-certificates jq procps socat runc containerd`), imagePackages...)

// imagePackages are what upstream's images of Argo CD and Redis hold beside their own programs.
var imagePackages = strings.Fields("git gpg gpg-agent gpgconf tini openssh-client redis-server")

// hostTools are what this machine must have: program -> Debian package.
var hostTools = map[string]string{"dockerd": "docker.io", "debootstrap": "debootstrap", "iptables": "iptables", "tar": "tar"}

// installMissing installs from Debian what this machine lacks, and no more. The services of these
// packages are not started.
func installMissing(ctx context.Context) error {
	var missing []string
	for _, tool := range sortedKeys(hostTools) {
		if _, err := exec.LookPath(tool); err != nil {
			missing = append(missing, hostTools[tool])
		}
	}
	if len(missing) == 0 {
		return nil
	}
	if _, err := exec.LookPath("apt-get"); err != nil {
		return fmt.Errorf("this machine lacks %s and has no apt-get to install it with", strings.Join(missing, ", "))
	}
	return step("Installing "+strings.Join(missing, ", "), func() error {
		noStart, err := forbidServices()
		if err != nil {
			return err
		}
		defer noStart()
		quiet := program{env: []string{"DEBIAN_FRONTEND=noninteractive"}}
		if _, err := quiet.run(ctx, "apt-get", "update", "-qq"); err != nil {
			return err
		}
		_, err = quiet.run(ctx, "apt-get", append([]string{"install", "-y", "-qq", "--no-install-recommends"}, missing...)...)
		return err
	})
}

// forbidServices keeps packages from starting their services while they are installed, and returns
// what allows it again.
func forbidServices() (func(), error) {
	const policy = "/usr/sbin/policy-rc.d"
	f, err := os.OpenFile(policy, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if os.IsExist(err) {
		return func() {}, nil // this machine has a policy of its own
	}
	if err != nil {
		return nil, err
	}
	remove := func() { _ = os.Remove(policy) }
	_, err = f.WriteString("#!/bin/sh\nexit 101\n")
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err != nil {
		remove()
		return nil, err
	}
	return remove, nil
}

// bootstrap makes a Debian system in a directory. It takes minutes, and what it makes depends on
// the packages alone: it is kept in a file.
func bootstrap(ctx context.Context, kept, dir string) error {
	if _, err := os.Stat(kept); err != nil {
		if _, err := (program{}).run(ctx, "debootstrap", "--variant=minbase", "--include="+strings.Join(packages, ","), suite, dir, mirror); err != nil {
			return err
		}
		if err := removeAll(dir, unwanted); err != nil {
			return err
		}
		if err := pack(ctx, dir, kept+".partial"); err != nil {
			return err
		}
		return os.Rename(kept+".partial", kept)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	_, err := program{}.run(ctx, "tar", "--numeric-owner", "-C", dir, "-xpf", kept)
	return err
}

// pack writes a directory into a tar file that depends on nothing but the files.
func pack(ctx context.Context, dir, file string) error {
	_, err := program{}.run(ctx, "tar", "--numeric-owner", "--sort=name", "--mtime=@0", "--one-file-system", "-C", dir, "-cf", file, ".")
	return err
}

// unwanted is taken out of the system once it is installed: nothing in a cluster reads it, and
// units that a container must not start.
var unwanted = []string{
	"var/cache/apt", "var/lib/apt/lists", "usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/info", "var/log/*",
	"etc/systemd/system/*.wants/*", "lib/systemd/system/multi-user.target.wants/*", "lib/systemd/system/local-fs.target.wants/*",
	"lib/systemd/system/sockets.target.wants/*udev*", "lib/systemd/system/sockets.target.wants/*initctl*",
	"lib/systemd/system/basic.target.wants/*", "lib/systemd/system/sysinit.target.wants/systemd-tmpfiles-setup.service",
}

// imageOnly are the files of imagePackages that the node does not get.
var imageOnly = []string{"usr/lib/git-core", "usr/share/perl", "usr/share/perl5", "usr/lib/*/perl", "usr/lib/*/perl-base", "usr/bin/git*", "usr/bin/redis*", "usr/bin/perl*", "usr/bin/ssh*", "usr/bin/gpg*"}

func removeAll(root string, patterns []string) error {
	for _, pattern := range patterns {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			return err
		}
		for _, path := range found {
			if err := os.RemoveAll(path); err != nil {
				return err
			}
		}
	}
	return nil
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
