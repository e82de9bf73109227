package embedded

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/infra/gitops"
	"github.com/nvidia/aicr-action/internal/util/sandbox"
)

// confine is what a deployer's controllers may do besides their own directory and ports; nil if the
// sandbox is left out. Of the cluster's directory they read what the kubeconfig names.
func (c *cluster) confine() *sandbox.Profile {
	if c.platform.Without.Sandbox {
		return nil
	}
	return &sandbox.Profile{
		Read:    []string{c.Kubeconfig(), filepath.Join(filepath.Dir(c.Kubeconfig()), "pki")},
		Connect: append([]int{c.control.apiServerPort(), c.registry.port}, c.wayOut.ports()...),
	}
}

// confinePods is what every pod that runs may do: reach the API server. It has the token of its
// ServiceAccount, and reads nothing of the cluster's directory.
func (c *cluster) confinePods() *sandbox.Profile {
	if c.platform.Without.Sandbox {
		return nil
	}
	return &sandbox.Profile{Connect: []int{c.control.apiServerPort()}}
}

// apiServerPort is 0 before Up.
func (c *ControlPlane) apiServerPort() int {
	if len(c.taken) < 3 {
		return 0
	}
	return c.taken[2]
}

func (c *cluster) policy(p *gitops.Policy) *gitops.Policy {
	if c.platform.Without.Policy {
		return nil
	}
	return p
}

// withPorts adds a deployer's own ports, which its processes reach each other through, and
// directories that they share.
func withPorts(p *sandbox.Profile, ports []int, shared ...string) *sandbox.Profile {
	if p == nil {
		return nil
	}
	all := *p
	all.ReadWrite = slices.Concat(p.ReadWrite, shared)
	all.Connect, all.Bind = slices.Concat(p.Connect, ports), slices.Concat(p.Bind, ports)
	return &all
}

// running lets a process run the programs of these directories.
func running(p *sandbox.Profile, dirs ...string) *sandbox.Profile {
	if p == nil {
		return nil
	}
	all := *p
	all.Execute = slices.Concat(p.Execute, dirs)
	return &all
}

// withUnixSockets lets a process create Unix sockets. The repo-server always listens on one, for
// Git's passwords, and has no setting to turn that off.
func withUnixSockets(p *sandbox.Profile) *sandbox.Profile {
	if p == nil {
		return nil
	}
	all := *p
	all.Unix = true
	return &all
}

// Sandbox says what of the protections is in force, for the result.
func (c *cluster) Sandbox() []string {
	lines := []string{"off"}
	if !c.platform.Without.Sandbox {
		lines[0] = sandbox.Support()
	}
	if e := c.spec.Egress; e != nil {
		lines = append(lines, "open for the controllers, to pull charts: "+strings.Join(e.Hosts, ", "))
	}
	return lines
}
