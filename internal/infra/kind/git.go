package kind

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra/gitserver"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/wait"
)

// gitPort is the Git server's port on this machine, or the first one to try, as that of the Gitea in
// AICR's own Kind clusters.
const gitPort = 3300

// gitHost is the Git server as pods reach it.
const gitHost = "git." + registryNamespace + ".svc.cluster.local:3000"

// gitServer is the Git server of a cell: a part of this program, which pods reach through a Service
// whose one endpoint is this machine's address in the network of the node.
type gitServer struct {
	cluster *cluster
	port    int // on this machine; 0 until it is started
	servers []*http.Server
	budget  time.Duration // to be reached from the node; 0 is the usual one
}

// GitHosts of an infra.Registry.
func (r *registry) GitHosts() (push, pull string) {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(r.cluster.git.port)), gitHost
}

// start serves, makes the Service and checks both ways to it, and that the repository at a URL of
// the controllers may be pushed to. Reasons: GIT_NOT_READY, GIT_UNREACHABLE, GIT_NOT_WRITABLE.
func (g *gitServer) start(ctx context.Context, repository string) error {
	if g.port != 0 {
		return nil
	}
	gateway, err := g.cluster.gateway(ctx)
	if err != nil {
		return reason.New(reason.GitNotReady, "start the Git server: %w", err)
	}
	handler, err := gitserver.New(ctx, filepath.Join(g.cluster.spec.Dir, "git"), bundle.GitBranch)
	if err != nil {
		return reason.New(reason.GitNotReady, "start the Git server: %w", err)
	}
	if err := g.listen(handler, "127.0.0.1", gateway); err != nil {
		return reason.New(reason.GitNotReady, "start the Git server: %w", err)
	}
	objs, err := decode(strings.NewReplacer("NAMESPACE", registryNamespace, "ADDRESS", gateway, "PORT", strconv.Itoa(g.port)).Replace(gitObjects))
	if err == nil {
		err = g.cluster.applyAll(ctx, objs)
	}
	if err == nil {
		err = g.cluster.platform.Engine.leaveAsNode(ctx, g.cluster.node.String(), gateway)
	}
	if err != nil {
		return reason.New(reason.GitNotReady, "start the Git server: %w", err)
	}
	if err := g.reachable(ctx, gateway); err != nil {
		return err
	}
	return g.writable(ctx, strings.Replace(repository, gitHost, net.JoinHostPort("127.0.0.1", strconv.Itoa(g.port)), 1))
}

// gitObjects: a Service without pods, since the server is none.
const gitObjects = `
apiVersion: v1
kind: Service
metadata: {name: git, namespace: NAMESPACE}
spec:
  ports: [{name: http, port: 3000, targetPort: PORT}]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: git, namespace: NAMESPACE, labels: {kubernetes.io/service-name: git}}
addressType: IPv4
ports: [{name: http, port: PORT, protocol: TCP}]
endpoints: [{addresses: [ADDRESS], conditions: {ready: true}}]
`

// listen serves on one port of all these addresses: the usual one if it is free, else another.
func (g *gitServer) listen(handler http.Handler, addresses ...string) error {
	ports, port := g.cluster.platform.Ports, cmp.Or(g.cluster.platform.GitPort, gitPort)
	err := ports.TakeExact(port)
	for range portsToTry {
		var listeners []net.Listener
		if err == nil {
			g.cluster.taken = append(g.cluster.taken, port)
			if listeners, err = listenAll(port, addresses); err == nil {
				g.port = port
				g.serve(handler, listeners)
				return nil
			}
		}
		free, none := ports.Take(1)
		if none != nil {
			return none
		}
		port, err = free[0], nil
	}
	return fmt.Errorf("listen on one port of %s: %w", strings.Join(addresses, " and "), err)
}

// portsToTry bounds the search for a port that is free on every address.
const portsToTry = 10

func (g *gitServer) serve(handler http.Handler, listeners []net.Listener) {
	for _, l := range listeners {
		server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
		g.servers = append(g.servers, server)
		go func() {
			if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				g.cluster.spec.Log.Error("the Git server ended", "address", l.Addr(), "err", err)
			}
		}()
	}
}

// listenAll listens on a port of every address, or on none.
func listenAll(port int, addresses []string) ([]net.Listener, error) {
	var all []net.Listener
	for _, address := range addresses {
		l, err := net.Listen("tcp", net.JoinHostPort(address, strconv.Itoa(port)))
		if err != nil {
			for _, l := range all {
				_ = l.Close() // nothing was served on it
			}
			return nil, err
		}
		all = append(all, l)
	}
	return all, nil
}

// stop ends the server at once; connections are cut.
func (g *gitServer) stop() {
	for _, s := range g.servers {
		_ = s.Close() // the listeners of a server that ended are closed
	}
	g.servers = nil
}

// gateway is this machine's address in the network that the node is in.
func (c *cluster) gateway(ctx context.Context) (string, error) {
	out, err := c.platform.Engine.Run(ctx, "inspect", "--format", "{{range .NetworkSettings.Networks}}{{println .Gateway}}{{end}}", c.node.String())
	if err != nil {
		return "", fmt.Errorf("look for this machine's address in the network of node %s: %w", c.node, err)
	}
	for _, address := range strings.Fields(out) {
		if ip := net.ParseIP(address); ip != nil && ip.To4() != nil {
			return address, nil
		}
	}
	return "", fmt.Errorf("this machine has no IPv4 address in the Docker network of node %s: Docker names the gateway %q", c.node, strings.TrimSpace(out))
}

// leaveAsNode has what pods send to an address outside of the cluster come from the node, whose
// address this machine can answer. Most CNI plugins do that themselves.
func (e *Engine) leaveAsNode(ctx context.Context, node, address string) error {
	rule := []string{"POSTROUTING", "--destination", address, "--jump", "MASQUERADE"}
	if _, err := e.inNode(ctx, node, append([]string{"iptables", "--table", "nat", "--check"}, rule...)...); err == nil {
		return nil // of a cell before, in a cluster that is reused
	}
	if _, err := e.inNode(ctx, node, append([]string{"iptables", "--table", "nat", "--append"}, rule...)...); err != nil {
		return fmt.Errorf("let pods reach this machine: %w", err)
	}
	return nil
}

// reachable waits until the server's port answers in the node. Reason: GIT_UNREACHABLE.
func (g *gitServer) reachable(ctx context.Context, gateway string) error {
	node, dial := g.cluster.node.String(), fmt.Sprintf("exec 3<>/dev/tcp/%s/%d", gateway, g.port)
	err := wait.For(ctx, fmt.Sprintf("the Git server on port %d of this machine to be reached from node %s", g.port, node), wait.Options{Budget: cmp.Or(g.budget, 60*time.Second)}, func(ctx context.Context) wait.Result {
		if _, err := g.cluster.platform.Engine.inNode(ctx, node, "timeout", "5", "bash", "-c", dial); err != nil {
			return wait.NotYet("%v", err)
		}
		return wait.Done()
	})
	if err != nil {
		return reason.New(reason.GitUnreachable, "%w. The server listens on %s, so that a firewall of this machine is in between: let containers of Docker's network in (e.g. sudo ufw allow from %s/16), or leave out the Git lanes", err, net.JoinHostPort(gateway, strconv.Itoa(g.port)), gateway)
	}
	return nil
}

// writable asks for the rights to push to a repository, which makes it. Reason: GIT_NOT_WRITABLE.
func (g *gitServer) writable(ctx context.Context, repository string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, repository+"/info/refs?service=git-receive-pack", nil)
	if err != nil {
		return reason.Wrap(reason.Internal, err)
	}
	resp, err := (&http.Transport{}).RoundTrip(req) // no proxy is between this program and itself
	if err != nil {
		return reason.New(reason.GitUnreachable, "ask the Git server for the right to push to %s: %w", repository, err)
	}
	defer func() { _ = resp.Body.Close() }() // it was read
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 4<<10)) // the status says enough without it
		return reason.New(reason.GitNotWritable, "the Git server allows no push to %s: %s: %s", repository, resp.Status, strings.TrimSpace(string(text)))
	}
	return nil
}
