package host

import (
	"io/fs"
	"path"
	"slices"
	"strings"
)

// inGroups calls do for each directory of this program's control groups that can have a limit of a
// controller (cgroups(7)): its own ones, and those above them, whose limits hold for all below.
// version is 1 or 2.
func inGroups(root fs.FS, controller string, do func(dir string, version int)) {
	groups, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return
	}
	for line := range strings.Lines(string(groups)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3) // hierarchy, controllers, path
		if len(parts) != 3 {
			continue
		}
		mounted, version := "sys/fs/cgroup", 2
		switch {
		case slices.Contains(strings.Split(parts[1], ","), controller):
			mounted, version = "sys/fs/cgroup/"+controller, 1 // for cpu,cpuacct a link
		case parts[0] != "0":
			continue
		}
		for at := path.Join("/", parts[2]); ; at = path.Dir(at) { // in a container the path may be the host's
			do(path.Join(mounted, at), version)
			if at == "/" {
				break
			}
		}
	}
}
