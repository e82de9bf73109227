package host

import (
	"fmt"
	"io/fs"
	"os"
	"path"
)

// CPULimit is how many cores this program's control groups, of either version, let it use; ok is
// false if they set no limit. GOMAXPROCS follows them too, but Go never sets it below two for them.
func CPULimit() (cores float64, ok bool) { return cpuLimit(os.DirFS("/")) }

func cpuLimit(root fs.FS) (cores float64, ok bool) {
	inGroups(root, "cpu", func(dir string, version int) {
		var text string // quota and period in µs
		for _, name := range map[int][]string{1: {"cpu.cfs_quota_us", "cpu.cfs_period_us"}, 2: {"cpu.max"}}[version] {
			raw, err := fs.ReadFile(root, path.Join(dir, name))
			if err != nil {
				return
			}
			text += string(raw) + " "
		}
		var quota, period float64
		if n, err := fmt.Sscan(text, &quota, &period); n != 2 || err != nil || quota <= 0 || period <= 0 { // "max" and -1 are no limit
			return
		}
		if !ok || quota/period < cores {
			cores, ok = quota/period, true
		}
	})
	return cores, ok
}
