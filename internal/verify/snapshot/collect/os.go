package collect

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/nvidia/aicr-action/internal/util/filesys"
	"github.com/nvidia/aicr-action/internal/verify/snapshot"
)

// operatingSystem reads what the machine runs: /etc/os-release, the kernel's command line as the
// boot loader gave it, its modules, its settings.
func operatingSystem(ctx context.Context, o Options) ([]snapshot.Subtype, error) {
	var all []snapshot.Subtype
	var problems []error
	for _, part := range []struct {
		name string
		read func(context.Context, Options) (data, error)
	}{{"release", release}, {"grub", commandLine}, {"kmod", modules}, {"sysctl", settings}} {
		found, err := part.read(ctx, o)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", part.name, err))
			continue
		}
		if len(found) == 0 {
			continue
		}
		all = append(all, snapshot.Subtype{Name: part.name, Data: found})
	}
	return all, errors.Join(problems...)
}

// largest is how much of one file of the machine is read, in bytes.
const largest = 1 << 20

// release reads os-release: https://www.freedesktop.org/software/systemd/man/latest/os-release.html
func release(_ context.Context, o Options) (data, error) {
	text, err := filesys.File(o.file("/etc/os-release"), largest)
	if errors.Is(err, fs.ErrNotExist) {
		text, err = filesys.File(o.file("/usr/lib/os-release"), largest)
	}
	if err != nil {
		return nil, err
	}
	found := data{}
	for line := range strings.Lines(string(text)) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		if !ok || strings.HasPrefix(key, "#") {
			continue
		}
		found.set(key, strings.Trim(value, `"'`))
	}
	return found, nil
}

// secret are words in the names of settings whose values must not be in a ConfigMap.
var secret = []string{"password", "passwd", "secret", "token", "_key"}

func isSecret(name string) bool {
	for _, word := range secret {
		if strings.Contains(strings.ToLower(name), word) {
			return true
		}
	}
	return false
}

// commandLine reads what the boot loader gave to the kernel that runs. A parameter without a value
// is true; of one that is there several times all values are kept, with commas.
func commandLine(_ context.Context, o Options) (data, error) {
	text, err := filesys.File(o.file("/proc/cmdline"), largest)
	if err != nil {
		return nil, err
	}
	values := map[string][]string{}
	for _, parameter := range strings.Fields(string(text)) {
		key, value, ok := strings.Cut(parameter, "=")
		switch {
		case isSecret(key):
			value = "(left out)"
		case !ok:
			value = "true"
		}
		values[key] = append(values[key], value)
	}
	found := data{}
	for key, list := range values {
		if len(list) == 1 && list[0] == "true" {
			found.set(key, true)
			continue
		}
		found.set(key, strings.Join(list, ","))
	}
	return found, nil
}

// modules reads which modules the kernel has loaded. A kernel that is built without modules has no
// such file.
func modules(_ context.Context, o Options) (data, error) {
	text, err := filesys.File(o.file("/proc/modules"), largest)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	found := data{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		if name, _, _ := strings.Cut(lines.Text(), " "); name != "" {
			found.set(name, true)
		}
	}
	return found, lines.Err()
}

// passing are directories and files below /proc/sys whose values change all the time, belong to one
// interface, or are private.
var passing = []string{
	"/proc/sys/kernel/random/", "/proc/sys/kernel/ns_last_pid", "/proc/sys/fs/binfmt_misc/", "/proc/sys/net/ipv4/conf/", "/proc/sys/net/ipv6/conf/", "/proc/sys/net/ipv4/neigh/",
	"/proc/sys/net/ipv6/neigh/", "/proc/sys/net/ipv4/route/", "/proc/sys/net/netfilter/", "/proc/sys/dev/cdrom/", "/proc/sys/kernel/sched_domain/",
	"/proc/sys/fs/dentry-state", "/proc/sys/fs/file-nr", "/proc/sys/fs/inode-nr", "/proc/sys/fs/inode-state", "/proc/sys/fs/aio-nr", "/proc/sys/fs/quota/",
	"/proc/sys/kernel/pty/nr", "/proc/sys/user/",
}

// mostSettings is how many kernel settings are kept.
const mostSettings = 5000

// settings reads the kernel's settings. The key is the path, as in AICR:
// /proc/sys/kernel/osrelease. What this user may not read is left out.
func settings(ctx context.Context, o Options) (data, error) {
	found := data{}
	root := o.file("/proc/sys")
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			if path == root {
				return err
			}
			return nil // a directory that this user may not read
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		key := "/proc/sys/" + filepath.ToSlash(rel)
		for _, p := range passing {
			if key == p || strings.HasPrefix(key+"/", p) {
				if entry.IsDir() {
					return fs.SkipDir
				}
				return nil
			}
		}
		if !entry.Type().IsRegular() || isSecret(entry.Name()) {
			return nil
		}
		info, err := entry.Info()
		if err != nil || info.Mode().Perm()&0o444 == 0 { // one that can only be written
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return nil // not for this user
		}
		if len(found) < mostSettings {
			found.set(key, strings.Join(strings.Fields(string(text)), " "))
		}
		return nil
	})
	return found, err
}
