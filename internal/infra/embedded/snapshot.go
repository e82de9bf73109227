package embedded

import (
	"context"
	"fmt"

	"sigs.k8s.io/kwok/pkg/consts"

	"github.com/nvidia/aicr-action/internal/infra/clusterstate"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// etcdEndpoint is where etcd listens for clients; kwokctl's binary runtime has no TLS there, and it
// is loopback only.
func (c *ControlPlane) etcdEndpoint() string { return fmt.Sprintf("http://127.0.0.1:%d", c.taken[0]) }

// Snapshot asks etcd and not the API server, which may be what is broken; and only etcd has
// everything, as it is stored.
func (c *ControlPlane) Snapshot(ctx context.Context, path string, about clusterstate.About) error {
	if c.sup.Process(consts.ComponentEtcd) == nil {
		return fmt.Errorf("snapshot cluster %s: etcd does not run; the end of its log is in %s", c.name, c.log(consts.ComponentEtcd))
	}
	about.Cluster, about.Kubernetes = c.name, c.stack.KubeVersion()
	s, err := clusterstate.Take(ctx, c.etcdEndpoint(), about)
	if err != nil {
		return err
	}
	return s.WriteFile(path)
}

// load fills etcd before the API server starts: with the CRDs of the cell's controllers or, for a
// replay, with everything, since an API server that finds an empty etcd would make objects of its
// own.
func (c *ControlPlane) load(ctx context.Context) error {
	state := c.replay
	if state == nil {
		crds, err := c.preloadRecords()
		if err != nil {
			return reason.Wrap(reason.ClusterFailed, err)
		}
		if len(crds) == 0 {
			return nil
		}
		state = &clusterstate.Snapshot{Info: clusterstate.Info{About: clusterstate.About{Cluster: c.name}}, Records: crds}
	}
	err := state.Load(ctx, c.etcdEndpoint(), func() error {
		if c.sup.Process(consts.ComponentEtcd) == nil {
			return c.startupDeath(consts.ComponentEtcd)
		}
		return nil
	})
	return reason.Wrap(reason.ClusterFailed, err)
}
