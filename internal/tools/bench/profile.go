package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/pprof/profile"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// slice is how long one CPU profile takes. A process that ends takes its last one with it, so that
// up to this much is missed at its end.
const slice = 2 * time.Second

// profiled is what was seen of one process.
type profiled struct {
	name     string
	profiles []*profile.Profile
	requests map[string]float64 // of an API server: how many, by verb and resource
}

// profiler asks the processes below another for CPU profiles, one after the other, until they end.
type profiler struct {
	seen map[int]*profiled
	wg   sync.WaitGroup
}

// watch profiles the descendants of root until ctx ends, and returns those that have profiles.
func (p *profiler) watch(ctx context.Context, root int) []*profiled {
	p.seen = map[int]*profiled{}
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		for _, pid := range processesOf(root) {
			p.look(ctx, pid)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			p.wg.Wait()
			var all []*profiled
			for _, of := range p.seen {
				if len(of.profiles) > 0 {
					all = append(all, of)
				}
			}
			slices.SortFunc(all, func(a, b *profiled) int { return strings.Compare(a.name, b.name) })
			return all
		}
	}
}

func (p *profiler) look(ctx context.Context, pid int) {
	if p.seen[pid] != nil {
		return
	}
	name, dir, url, client, ok := reach(pid)
	if !ok {
		return // not one of the stack, or not its program yet
	}
	if name == "argocd-application-controller" || name == "argocd-repo-server" {
		// Argo CD serves profiles while this file says so (util/profile in its source).
		if os.WriteFile(filepath.Join(dir, "profiler.enabled"), []byte("true"), 0o600) != nil {
			return
		}
	}
	of := &profiled{name: name}
	p.seen[pid] = of
	p.wg.Go(func() { of.take(ctx, client, url, pid) })
}

// reach gives a process's name and directory, and how to ask it; ok is false if it is not one of the stack that can be asked, or not
// its program yet.
func reach(pid int) (name, dir, url string, client *http.Client, ok bool) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	dir, err2 := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
	environ, err3 := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil || err2 != nil || err3 != nil {
		return "", "", "", nil, false // it has ended
	}
	name, address, ok := endpoint(strings.Split(string(raw), "\x00"), strings.Split(string(environ), "\x00"))
	if !ok {
		return "", "", "", nil, false
	}
	client, url = &http.Client{Timeout: time.Minute}, "http://"+address
	if name == "kube-apiserver" {
		cert, err := tls.LoadX509KeyPair(filepath.Join(dir, "pki", "admin.crt"), filepath.Join(dir, "pki", "admin.key"))
		if err != nil {
			return "", "", "", nil, false
		}
		// The server's own certificate authority is that of a cluster which this run made on this
		// machine.
		client.Transport = &http.Transport{TLSClientConfig: &tls.Config{Certificates: []tls.Certificate{cert}, InsecureSkipVerify: true}}
		url = "https://" + address
	}
	return name, dir, url, client, true
}

// take adds profiles until the process or ctx ends.
func (of *profiled) take(ctx context.Context, client *http.Client, url string, pid int) {
	for ctx.Err() == nil {
		if _, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); err != nil {
			return
		}
		raw, err := get(ctx, client, fmt.Sprintf("%s/debug/pprof/profile?seconds=%d", url, int(slice.Seconds())))
		if err != nil {
			select { // it does not listen yet, or has ended
			case <-time.After(100 * time.Millisecond):
			case <-ctx.Done():
			}
			continue
		}
		if one, err := profile.ParseData(raw); err == nil {
			of.profiles = append(of.profiles, one)
		}
		if of.name == "kube-apiserver" {
			if raw, err := get(ctx, client, url+"/metrics"); err == nil {
				of.requests = requests(raw)
			}
		}
	}
}

func get(ctx context.Context, client *http.Client, url string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", url, resp.Status)
	}
	return io.ReadAll(resp.Body)
}

// requests are the sums of apiserver_request_total by verb and resource.
func requests(metrics []byte) map[string]float64 {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(metrics))
	if err != nil {
		return nil
	}
	sums := map[string]float64{}
	for _, m := range families["apiserver_request_total"].GetMetric() {
		var verb, resource string
		for _, l := range m.GetLabel() {
			switch l.GetName() {
			case "verb":
				verb = l.GetValue()
			case "resource":
				resource = l.GetValue()
			case "subresource":
				if l.GetValue() != "" {
					resource += "/" + l.GetValue()
				}
			}
		}
		if resource == "" {
			resource = "no resource" // discovery, OpenAPI and health
		}
		sums[strings.ToLower(verb)+" "+resource] += m.GetCounter().GetValue()
	}
	return sums
}

// endpoint is the name of a process of the stack, and the address at which it serves profiles:
// those that have one which this program may read. The controller manager, the scheduler, KWOK and
// etcd, which together take a tenth of a cell's time, have none.
func endpoint(args, environ []string) (name, address string, ok bool) {
	flag := func(name string) string {
		for i, a := range args {
			if value, found := strings.CutPrefix(a, name+"="); found {
				return value
			}
			if a == name && i+1 < len(args) {
				return args[i+1]
			}
		}
		return ""
	}
	local := func(port string) (string, bool) {
		_, err := strconv.ParseUint(port, 10, 16)
		return net.JoinHostPort("127.0.0.1", port), err == nil
	}
	name = filepath.Base(args[0])
	switch name {
	case "kube-apiserver":
		address, ok = local(flag("--secure-port"))
	case "argocd":
		for _, e := range environ {
			if value, found := strings.CutPrefix(e, "ARGOCD_BINARY_NAME="); found {
				name = value
			}
		}
		address, ok = local(flag("--metrics-port"))
	case "helm-controller", "source-controller", "kustomize-controller", "source-watcher":
		address = flag("--metrics-addr")
		ok = address != ""
	}
	return name, address, ok
}
