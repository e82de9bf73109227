package host

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
)

// inherited are the only variables of this program's environment that the processes of a stack get,
// since a recipe is untrusted, and in CI the job's environment has tokens. By RUNNER_TRACKING_ID
// GitHub's runner finds processes that a job left running.
var inherited = []string{"LANG", "LC_ALL", "TZ", "GOGC", "GOMEMLIMIT", "RUNNER_TRACKING_ID"}

// HeapLimit is the soft limit of the heap of every process of a stack (GOMEMLIMIT), in MiB: more
// than twice what the API server keeps with the CRDs of original charts.
const HeapLimit = 1600

const (
	// RenderLimit is what Argo CD's repo-server may have for its data, and each helm that it
	// starts, in bytes: as much as a rendering of the harness's own. A template may take more and
	// more memory once it sees the cluster's APIs.
	RenderLimit = 1536 << 20
	// ControllerLimit is the same for Flux's controllers, which render up to eight charts in one
	// process.
	ControllerLimit = 2560 << 20
)

// refusedProxy is where a process that uses net/http is sent for everything that is not on this
// machine: the reserved port 1, on which no program listens. Go's HTTP client never uses a proxy
// for the loopback interface.
const refusedProxy = "http://127.0.0.1:1"

// baseEnv is the environment that every process of a stack gets: what is inherited, a HOME and a
// TMPDIR of its own under its directory, and its own program's directory as PATH, where the stack's
// helm and kustomize are, but neither a shell nor git.
//
// The garbage collector runs less often: a cell takes a minute, and collecting is a third of the
// CPU time of an API server with large CRDs. The user's settings take precedence.
//
// GOROOT is a directory without Go: a program looks for a time zone in that of the Go that built it,
// which may still be on this machine and which the sandbox hides. An unknown time zone would be
// called "permission denied". A pod may need that of its own image.
func baseEnv(spec ProcessSpec, lookup func(string) (string, bool)) ([]string, error) {
	home := cmp.Or(spec.Dir, filepath.Dir(spec.Log))
	tmp := filepath.Join(home, "tmp")
	if err := os.MkdirAll(tmp, 0o700); err != nil {
		return nil, fmt.Errorf("make the temporary directory of %s: %w", spec.Name, err)
	}
	env := []string{
		"GOGC=300", fmt.Sprintf("GOMEMLIMIT=%dMiB", HeapLimit), "PATH=" + filepath.Dir(spec.Path), "HOME=" + home, "TMPDIR=" + tmp,
		"HTTP_PROXY=" + refusedProxy, "HTTPS_PROXY=" + refusedProxy, "NO_PROXY=127.0.0.1,localhost,::1",
	}
	if !spec.Alone {
		env = append(env, "GOROOT="+home)
	}
	for _, name := range inherited {
		if value, ok := lookup(name); ok && value != "" {
			env = append(env, name+"="+value)
		}
	}
	return env, nil
}
