package host

import (
	"testing"
	"testing/fstest"
)

func TestMemoryAvailable(t *testing.T) {
	const mib = 1 << 20
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	meminfo := file("MemTotal:       8192000 kB\nMemFree:         102400 kB\nMemAvailable:   2048000 kB\n") // 2000 MiB
	for name, c := range map[string]struct {
		files fstest.MapFS
		want  uint64
	}{
		"no control groups": {fstest.MapFS{}, 2000 * mib},
		"version 2, a limit": {fstest.MapFS{
			"proc/self/cgroup": file("0::/job/step\n"), "sys/fs/cgroup/job/step/memory.max": file("max\n"), "sys/fs/cgroup/job/step/memory.current": file("1\n"),
			"sys/fs/cgroup/job/memory.max": file("1048576000\n"), "sys/fs/cgroup/job/memory.current": file("943718400\n"), // 1000 MiB, of which 900
			"sys/fs/cgroup/job/memory.stat": file("anon 1\ninactive_file 209715200\n"), // 200 MiB
		}, 300 * mib},
		"version 2, in a container": {fstest.MapFS{
			"proc/self/cgroup": file("0::/../../elsewhere\n"), "sys/fs/cgroup/memory.max": file("1048576000\n"), "sys/fs/cgroup/memory.current": file("0\n"),
		}, 1000 * mib},
		"version 1": {fstest.MapFS{
			"proc/self/cgroup": file("9:cpu,cpuacct:/x\n4:memory:/x\n"),
			"sys/fs/cgroup/memory/x/memory.limit_in_bytes": file("1048576000\n"),
			"sys/fs/cgroup/memory/x/memory.usage_in_bytes": file("104857600\n"),
			"sys/fs/cgroup/memory/memory.limit_in_bytes":   file("9223372036854771712\n"),
			"sys/fs/cgroup/memory/memory.usage_in_bytes":   file("5\n"),
		}, 900 * mib},
		"more used than allowed": {fstest.MapFS{
			"proc/self/cgroup": file("0::/\n"), "sys/fs/cgroup/memory.max": file("10\n"), "sys/fs/cgroup/memory.current": file("20\n"),
		}, 0},
		"a larger limit than the machine has": {fstest.MapFS{
			"proc/self/cgroup": file("0::/\n"), "sys/fs/cgroup/memory.max": file("99999999999\n"), "sys/fs/cgroup/memory.current": file("0\n"),
		}, 2000 * mib},
	} {
		c.files["proc/meminfo"] = meminfo
		if got, err := memoryAvailable(c.files); err != nil || got != c.want {
			t.Errorf("%s: got %d MiB, %v; want %d MiB", name, got/mib, err, c.want/mib)
		}
	}
	for name, files := range map[string]fstest.MapFS{"no /proc": {}, "another kernel": {"proc/meminfo": file("MemTotal: 1 kB\n")}} {
		if _, err := memoryAvailable(files); err == nil {
			t.Errorf("%s: want an error", name)
		}
	}
}

func TestCPULimit(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	for name, c := range map[string]struct {
		files fstest.MapFS
		want  float64 // 0 for none
	}{
		"no /proc":          {fstest.MapFS{}, 0},
		"no control groups": {fstest.MapFS{"proc/self/cgroup": file("")}, 0},
		"version 2, no limit": {fstest.MapFS{
			"proc/self/cgroup": file("0::/job\n"), "sys/fs/cgroup/job/cpu.max": file("max 100000\n"),
		}, 0},
		"version 2, a limit above": {fstest.MapFS{
			"proc/self/cgroup": file("0::/job/step\n"), "sys/fs/cgroup/job/step/cpu.max": file("400000 100000\n"), "sys/fs/cgroup/job/cpu.max": file("150000 100000\n"),
		}, 1.5},
		"version 2, in a container": {fstest.MapFS{
			"proc/self/cgroup": file("0::/../../elsewhere\n"), "sys/fs/cgroup/cpu.max": file("50000 50000\n"),
		}, 1},
		"version 1": {fstest.MapFS{
			"proc/self/cgroup":                      file("9:cpu,cpuacct:/x\n4:memory:/x\n3:cpuset:/y\n"),
			"sys/fs/cgroup/cpu/x/cpu.cfs_quota_us":  file("200000\n"),
			"sys/fs/cgroup/cpu/x/cpu.cfs_period_us": file("100000\n"),
			"sys/fs/cgroup/cpu/cpu.cfs_quota_us":    file("-1\n"),
			"sys/fs/cgroup/cpu/cpu.cfs_period_us":   file("100000\n"),
		}, 2},
		"not numbers": {fstest.MapFS{
			"proc/self/cgroup": file("0::/\n"), "sys/fs/cgroup/cpu.max": file("a lot\n"),
		}, 0},
		"no period": {fstest.MapFS{
			"proc/self/cgroup": file("0::/\n"), "sys/fs/cgroup/cpu.max": file("100000 0\n"),
		}, 0},
	} {
		if got, ok := cpuLimit(c.files); got != c.want || ok != (c.want > 0) {
			t.Errorf("%s: got %v, %v; want %v", name, got, ok, c.want)
		}
	}
}
