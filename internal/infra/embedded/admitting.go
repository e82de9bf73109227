package embedded

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/kwok/pkg/consts"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/sandbox"
)

// The API server of a cell calls no webhooks, since those that charts install lead to simulated
// pods. A controller that runs for real needs its own webhooks to be called, and only these. So a
// second API server runs beside the first, on the same state. It keeps only the configurations of
// webhooks in a separate etcd. So it neither calls nor changes those of the charts, and the first
// API server does not see those of the programs.
const (
	admittingServer = "kube-apiserver-webhooks"
	admittingEtcd   = "etcd-webhooks"
)

// startAdmitting starts the second API server, which may dial these ports for webhooks, and gives
// its kubeconfig. Reasons: CLUSTER_FAILED, PORT_TAKEN, NO_SPACE.
func (c *ControlPlane) startAdmitting(ctx context.Context, webhooks []int) (kubeconfig string, err error) {
	ports, err := c.ports.Take(3)
	if err != nil {
		return "", err
	}
	c.released = append(c.released, ports...)
	first, err := c.rt.GetComponent(ctx, consts.ComponentKubeApiserver)
	if err != nil {
		return "", reason.New(reason.ClusterFailed, "find component %s of cluster %s: %w", consts.ComponentKubeApiserver, c.name, err)
	}
	if kubeconfig, err = c.writeAdmittingKubeconfig(ports[0]); err != nil {
		return "", reason.Wrap(infra.DiskReason(err, reason.ClusterFailed), fmt.Errorf("write the kubeconfig of %s: %w", admittingServer, err))
	}
	allowed := slices.Concat(c.taken, ports, webhooks)
	processes := []host.ProcessSpec{
		{Name: admittingEtcd, Path: c.stack.Bin("etcd"), Args: admittingEtcdArgs(filepath.Join(c.dir, admittingEtcd), ports[1], ports[2])},
		{Name: admittingServer, Path: first.Binary, Args: admittingServerArgs(first.Args, ports[0], ports[1]), Env: c.environment(consts.ComponentKubeApiserver, first.Envs)},
	}
	for _, p := range processes {
		p.Dir, p.Log = c.dir, c.log(p.Name)
		if !c.open {
			p.Sandbox = &sandbox.Profile{Connect: allowed, Bind: ports, Unix: p.Name == admittingServer}
		}
		if _, err := c.sup.Start(p); err != nil {
			return "", reason.Wrap(infra.DiskReason(err, reason.ClusterFailed), err)
		}
		c.beside = append(c.beside, p.Name)
	}
	return kubeconfig, c.waitServer(ctx, kubeconfig, admittingEtcd, admittingServer)
}

// admittingServerArgs are the first API server's arguments, except for its port and the settings of
// webhooks.
func admittingServerArgs(first []string, port, etcd int) []string {
	args := slices.DeleteFunc(slices.Clone(first), func(arg string) bool {
		flag, _, _ := strings.Cut(arg, "=")
		return flag == "--secure-port" || flag == "--disable-admission-plugins"
	})
	var overrides []string
	for _, resource := range []string{"mutatingwebhookconfigurations", "validatingwebhookconfigurations"} {
		overrides = append(overrides, "admissionregistration.k8s.io/"+resource+"#http://127.0.0.1:"+strconv.Itoa(etcd))
	}
	return append(args, "--secure-port="+strconv.Itoa(port), "--etcd-servers-overrides="+strings.Join(overrides, ","))
}

func admittingEtcdArgs(dir string, client, peer int) []string {
	at := func(port int) string { return "http://127.0.0.1:" + strconv.Itoa(port) }
	return []string{
		"--name=node0", "--data-dir=" + dir, "--unsafe-no-fsync=true", "--listen-client-urls=" + at(client), "--advertise-client-urls=" + at(client),
		"--listen-peer-urls=" + at(peer), "--initial-advertise-peer-urls=" + at(peer), "--initial-cluster=node0=" + at(peer),
	}
}

func (c *ControlPlane) writeAdmittingKubeconfig(port int) (string, error) {
	cfg, err := clientcmd.LoadFromFile(c.Kubeconfig())
	if err != nil {
		return "", err
	}
	for _, cluster := range cfg.Clusters {
		cluster.Server = "https://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	}
	file := filepath.Join(c.dir, "kubeconfig-webhooks.yaml")
	return file, clientcmd.WriteToFile(*cfg, file)
}

// stopAdmitting ends what startAdmitting started.
func (c *ControlPlane) stopAdmitting() { c.end(c.beside) }
