package embedded

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/kwok/pkg/apis/internalversion"
	kwokconfig "sigs.k8s.io/kwok/pkg/config"
	"sigs.k8s.io/kwok/pkg/consts"
	"sigs.k8s.io/kwok/pkg/kwokctl/runtime/binary"
	kwoklog "sigs.k8s.io/kwok/pkg/log"
)

// install writes everything that the cluster's processes read, before one of them starts: its
// directory, kwokctl's configuration with the ports, certificates, and the kubeconfig.
func (c *ControlPlane) install(ctx context.Context) error {
	// kwokctl warns about every default that it falls back to; its errors are returned.
	ctx = kwoklog.NewContext(ctx, kwoklog.NewLogger(io.Discard, kwoklog.LevelError))
	if err := os.MkdirAll(filepath.Dir(c.dir), 0o755); err != nil {
		return err
	}
	if err := os.Mkdir(c.dir, 0o700); err != nil {
		if errors.Is(err, os.ErrExist) {
			return fmt.Errorf("a cluster of that name exists already in %s; remove it with `matrix cluster down --name %s`, or use another name", c.dir, c.name)
		}
		return err
	}
	c.state = newState(c.name, c.dir)
	c.state.Purpose = c.purpose
	if err := c.state.own(); err != nil {
		return err
	}
	if err := c.state.save(); err != nil {
		return err
	}
	ports, err := c.ports.Take(6)
	if err != nil {
		return err
	}
	c.taken = ports
	rt, err := binary.NewCluster(c.name, c.dir)
	if err != nil {
		return err
	}
	c.rt = rt
	conf := c.config(ctx, ports)
	if conf.Options.KubeSchedulerConfig, err = c.writeSchedulerConfig(); err != nil {
		return err
	}
	if err := rt.SetConfig(ctx, conf); err != nil {
		return err
	}
	if err := c.writePKI(); err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{rt.Save, rt.Install} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	if err := c.tuneKubeconfig(); err != nil {
		return err
	}
	if err := c.writeEgressConfig(); err != nil {
		return err
	}
	if err := c.writeAdmission(); err != nil {
		return err
	}
	if err := c.writeAudit(); err != nil {
		return err
	}
	return c.addStages()
}

// config is kwokctl's configuration for this cluster.
func (c *ControlPlane) config(ctx context.Context, ports []int) *internalversion.KwokctlConfiguration {
	conf := kwokconfig.GetKwokctlConfiguration(ctx)
	o := &conf.Options
	o.Runtime = consts.RuntimeTypeBinary
	o.KubeVersion = c.stack.KubeVersion()
	o.EtcdBinary = c.stack.Bin("etcd")
	o.KubeApiserverBinary = c.stack.Bin("kube-apiserver")
	o.KubeControllerManagerBinary = c.stack.Bin("kube-controller-manager")
	o.KubeSchedulerBinary = c.stack.Bin("kube-scheduler")
	o.KwokControllerBinary = c.stack.Bin("kwok")
	o.BindAddress = "127.0.0.1"
	o.SecurePort, o.KubeAuthorization, o.KubeAdmission = true, true, true
	o.DisableQPSLimits = true
	o.EtcdPort, o.EtcdPeerPort, o.KubeApiserverPort = uint32(ports[0]), uint32(ports[1]), uint32(ports[2])
	o.KubeControllerManagerPort, o.KubeSchedulerPort, o.KwokControllerPort = uint32(ports[3]), uint32(ports[4]), uint32(ports[5])
	o.Components = c.components()
	c.sizeLeases(o)
	o.EnableCRDs = nil
	extra := func(component string, args ...internalversion.ExtraArgs) internalversion.ComponentPatches {
		return internalversion.ComponentPatches{Name: component, ExtraArgs: args}
	}
	arg := func(key, value string) internalversion.ExtraArgs {
		return internalversion.ExtraArgs{Key: key, Value: value}
	}
	apiServer := []internalversion.ExtraArgs{
		arg("egress-selector-config-file", c.egressConfig()),
		arg("advertise-address", "127.0.0.1"),
		// The kubernetes Service's endpoint would be 127.0.0.1, which an EndpointSlice may not
		// contain; nothing here runs in a pod.
		arg("endpoint-reconciler-type", "none"),
		arg("token-auth-file", c.pkiFile(tokenFile)),
	}
	apiServer = append(append(apiServer, c.admissionArgs()...), c.auditArgs()...)
	if !c.webhooks {
		// Admission webhooks are off. A webhook's Service points at simulated pods without a
		// process, so the API server would wait for a timeout at every write of its kinds, and
		// reject the write: a failure that is never the recipe's (faults F20; NVIDIA/aicr#948,
		// #2520). The configurations are applied and checked like any other object, and the result
		// lists them.
		apiServer = append(apiServer, arg("disable-admission-plugins", "MutatingAdmissionWebhook,ValidatingAdmissionWebhook"))
	}
	if len(c.admission) > 0 {
		apiServer = append(apiServer, arg("enable-admission-plugins", strings.Join(c.admission, ",")))
	}
	alone := []internalversion.ExtraArgs{
		arg("leader-elect", "false"),
		// Without a certificate each component would generate its own, with an RSA key.
		arg("tls-cert-file", c.pkiFile("admin.crt")), arg("tls-private-key-file", c.pkiFile("admin.key")),
	}
	conf.ComponentsPatches = []internalversion.ComponentPatches{
		// A throwaway cluster need not survive a power cut; fsync is most of what etcd costs.
		extra(consts.ComponentEtcd, arg("unsafe-no-fsync", "true")),
		extra(consts.ComponentKubeApiserver, apiServer...),
		extra(consts.ComponentKubeControllerManager, slices.Concat(alone, c.managerArgs())...),
		extra(consts.ComponentKubeScheduler, alone...),
	}
	return conf
}

// tuneKubeconfig takes compression off: over the loopback interface it only costs, a sixth of the
// API server's CPU time in a lane with large CRDs. Its user has a token in place of a certificate (writeToken).
func (c *ControlPlane) tuneKubeconfig() error {
	cfg, err := clientcmd.LoadFromFile(c.Kubeconfig())
	if err != nil {
		return err
	}
	for _, cluster := range cfg.Clusters {
		cluster.DisableCompression = true
	}
	for _, user := range cfg.AuthInfos {
		user.Token, user.ClientCertificate, user.ClientKey = c.token, "", ""
	}
	if err := clientcmd.WriteToFile(*cfg, c.Kubeconfig()); err != nil {
		return err
	}
	return os.Chmod(c.Kubeconfig(), 0o600) // kwokctl made it readable for its group, without a secret
}
