package main

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
)

func TestEndpoint(t *testing.T) {
	for _, test := range []struct {
		args, environ string
		name, address string
	}{
		{args: "/c/bin/kube-apiserver --etcd-prefix=/registry --secure-port=27319", name: "kube-apiserver", address: "127.0.0.1:27319"},
		{args: "/s/bin/argocd --port 1 --metrics-port 27325", environ: "HOME=/ ARGOCD_BINARY_NAME=argocd-repo-server", name: "argocd-repo-server", address: "127.0.0.1:27325"},
		{args: "/s/bin/helm-controller --metrics-addr=127.0.0.1:99", name: "helm-controller", address: "127.0.0.1:99"},
		{args: "/c/bin/kube-apiserver --etcd-prefix=/registry"}, // the sandbox has not started its program yet
		{args: "/s/bin/argocd --metrics-port nine"},
		{args: "/s/bin/helm-controller"},
		{args: "/c/bin/etcd --listen-client-urls=http://127.0.0.1:1"},
		{args: ""},
	} {
		name, address, ok := endpoint(strings.Split(test.args, " "), strings.Split(test.environ, " "))
		if ok != (test.address != "") || ok && (name != test.name || address != test.address) {
			t.Errorf("%q: got %q at %q, %v; want %q at %q", test.args, name, address, ok, test.name, test.address)
		}
	}
}

func TestRequests(t *testing.T) {
	got := requests([]byte(`# TYPE apiserver_request_total counter
apiserver_request_total{code="200",resource="pods",subresource="status",verb="PATCH"} 3
apiserver_request_total{code="409",resource="pods",subresource="status",verb="PATCH"} 1
apiserver_request_total{code="200",resource="",subresource="",verb="GET"} 2
`))
	if want := map[string]float64{"patch pods/status": 4, "get no resource": 2}; !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if row, want := requestsRow("helm", got), "| helm | 6 | 4 patch pods/status, 2 get no resource |\n"; row != want {
		t.Errorf("got %q, want %q", row, want)
	}
}

// sampled is a profile with a sample for each stack, whose functions are given from the innermost
// on, and its CPU time.
func sampled(stacks map[string]time.Duration) *profile.Profile {
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "samples"}, {Type: "cpu", Unit: "nanoseconds"}}}
	for _, stack := range slices.Sorted(maps.Keys(stacks)) {
		var at []*profile.Location
		for name := range strings.SplitSeq(stack, " ") {
			at = append(at, &profile.Location{Line: []profile.Line{{Function: &profile.Function{Name: name}}}})
		}
		p.Sample = append(p.Sample, &profile.Sample{Location: at, Value: []int64{1, int64(stacks[stack])}})
	}
	return p
}

// The time of a function counts for the request that calls it: allocating memory for a write counts
// for the write. Collecting the memory does not.
func TestSpent(t *testing.T) {
	of := &profiled{name: "kube-apiserver", profiles: []*profile.Profile{
		sampled(map[string]time.Duration{
			"runtime.mallocgc k8s.io/apiserver/pkg/registry/generic/registry.(*Store).Update net/http.HandlerFunc.ServeHTTP":   3 * time.Second,
			"runtime.gcAssistAlloc runtime.mallocgc k8s.io/apiserver/pkg/registry/generic/registry.(*Store).Update net/http.x": time.Second,
			"encoding/json.Marshal k8s.io/kube-openapi/pkg/handler.ToProtoBinary net/http.HandlerFunc.ServeHTTP":               4 * time.Second,
			"crypto/tls.(*Conn).Read net/http.(*conn).serve":                                                                   500 * time.Millisecond,
		}),
		sampled(map[string]time.Duration{"strings.Index main.other": 1500 * time.Millisecond}),
	}}
	want := "| helm | kube-apiserver | 10.0 s | OpenAPI documents 40 %, patches and updates 30 %, the rest 15 %, collecting garbage 10 %, HTTP, TLS and authentication of requests 5 % |\n"
	if got := spentRow("helm", of); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	of.profiles = of.profiles[:0]
	if got := spentRow("helm", of); got != "" {
		t.Errorf("a process without a second of CPU time has the row %q", got)
	}
}

// A process of another program below the one that is watched is left alone.
func TestProfiler_OtherProcesses(t *testing.T) {
	if _, err := os.Stat(filepath.Join("/proc", "self", "stat")); err != nil {
		return // not Linux: no process is found
	}
	child := exec.Command("sleep", "1000")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = child.Process.Kill(); _ = child.Wait() }()
	if !slices.Contains(processesOf(os.Getpid()), child.Process.Pid) {
		t.Fatal("the child is not found")
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if got := new(profiler).watch(ctx, os.Getpid()); len(got) != 0 {
		t.Errorf("got %d profiled processes", len(got))
	}
}
