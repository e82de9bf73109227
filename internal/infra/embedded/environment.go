package embedded

import (
	"os"

	"sigs.k8s.io/kwok/pkg/apis/internalversion"
	"sigs.k8s.io/kwok/pkg/consts"

	"github.com/nvidia/aicr-action/internal/infra/host"
)

// jobBatches shortens the second for which the controller of Jobs waits after each change of a pod
// (kwok/stack/kube-controller-manager): the pod of a hook completes at once here, and each hook of a
// recipe would cost that second. In a large cluster it saves looking at large Jobs once per pod.
const jobBatches = "JOB_SYNC_BATCH_PERIOD=100ms"

// environment is a component's, besides what every process of a stack has: what KWOK sets, and what
// this platform does.
func (c *ControlPlane) environment(name string, of []internalversion.Env) []string {
	var env []string
	for _, e := range of {
		env = append(env, e.Name+"="+e.Value)
	}
	// Components must not find the caller's cluster by accident.
	env = append(env, "KUBECONFIG="+c.Kubeconfig())
	// The API server dials Services through its egress proxy, and would ask that one for the proxy
	// that refuses. What it dials besides is etcd.
	env = append(env, "NO_PROXY=*")
	if name == consts.ComponentKwokController {
		// KWOK has a controller for each kind with stages. When they start, all of them fill maps
		// that a library shares without a lock (github.com/wzshiming/easycel v0.6.0,
		// native_struct.go). On one processor no two of them write at once. Seen once in some 400
		// cells: "fatal error: concurrent map writes".
		env = append(env, "GOMAXPROCS=1")
	}
	if name == consts.ComponentKubeControllerManager && !c.plain && c.nodes < largeFrom {
		env = append(env, jobBatches)
	}
	if c.nodes >= largeFrom && os.Getenv("GOGC") == "" && (name == consts.ComponentKubeControllerManager || name == consts.ComponentKubeScheduler) {
		env = append(env, largeGOGC)
	}
	if name == consts.ComponentKubeApiserver {
		env = append(env, "SSL_CERT_FILE="+c.authorityFile(), "SSL_CERT_DIR="+c.dir+"/none") // it dials nothing else that the system's authorities vouch for
		env = append(env, c.heapLimit(host.MemoryAvailable, os.Getenv("GOMEMLIMIT"))...)
	}
	return env
}
