package host

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
)

// MemoryAvailable is how many bytes this program may still use without swapping or being killed:
// what the kernel calls available, or what its control groups, of either version, have left if that
// is less. An error where there is no /proc, as on macOS.
func MemoryAvailable() (uint64, error) { return memoryAvailable(os.DirFS("/")) }

func memoryAvailable(root fs.FS) (uint64, error) {
	meminfo, err := fs.ReadFile(root, "proc/meminfo")
	if err != nil {
		return 0, fmt.Errorf("read how much memory is available: %w", err)
	}
	kib, ok := field(meminfo, "MemAvailable:")
	if !ok {
		return 0, errors.New("read how much memory is available: /proc/meminfo has no MemAvailable")
	}
	free := kib << 10
	inGroups(root, "memory", func(dir string, version int) {
		if left, ok := cgroups[version].left(root, dir); ok {
			free = min(free, left)
		}
	})
	return free, nil
}

// cgroup names the files of a version of control groups.
type cgroup struct{ limit, usage, cache string }

// cgroups are those of versions 1 and 2.
var cgroups = map[int]cgroup{
	1: {"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"},
	2: {"memory.max", "memory.current", "inactive_file"},
}

// left is what a group has left of its limit, if it has one. Cached files count as used there,
// though the kernel drops them first.
func (c cgroup) left(root fs.FS, dir string) (uint64, bool) {
	number := func(name string) (uint64, bool) {
		raw, err := fs.ReadFile(root, path.Join(dir, name))
		if err != nil {
			return 0, false
		}
		n, err := strconv.ParseUint(strings.TrimSpace(string(raw)), 10, 64)
		return n, err == nil // version 2 says "max" where there is no limit
	}
	limit, ok := number(c.limit)
	if !ok {
		return 0, false
	}
	used, ok := number(c.usage)
	if !ok {
		return 0, false
	}
	if stat, err := fs.ReadFile(root, path.Join(dir, "memory.stat")); err == nil {
		cache, _ := field(stat, c.cache)
		used -= min(used, cache)
	}
	return limit - min(limit, used), true
}

// field is the number after a name at the beginning of a line.
func field(text []byte, name string) (uint64, bool) {
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		words := strings.Fields(lines.Text())
		if len(words) < 2 || words[0] != name {
			continue
		}
		n, err := strconv.ParseUint(words[1], 10, 64)
		return n, err == nil
	}
	return 0, false
}
