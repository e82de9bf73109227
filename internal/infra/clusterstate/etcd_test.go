package clusterstate

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"
)

// deadEndpoint is an address without a listener. With mute it has a listener that never answers, as
// a stopped process does.
func deadEndpoint(t *testing.T, mute bool) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if mute {
		t.Cleanup(func() { _ = l.Close() })
	} else if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return "http://" + l.Addr().String()
}

func TestTake_DeadEtcd(t *testing.T) {
	for name, mute := range map[string]bool{"nobody listens": false, "it does not answer": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			endpoint := deadEndpoint(t, mute)
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			start := time.Now()
			_, err := Take(ctx, endpoint, About{Cluster: "red"})
			if err == nil || !strings.Contains(err.Error(), "cluster red") || !strings.Contains(err.Error(), endpoint) {
				t.Errorf("got %v, want the cluster and the address", err)
			}
			if took := time.Since(start); took > 4*time.Second {
				t.Errorf("it took %s with 2 s to spend", took)
			}
		})
	}
}

func TestLoad_EtcdExits(t *testing.T) {
	died := errors.New("etcd ended")
	if err := someSnapshot().Load(t.Context(), deadEndpoint(t, false), func() error { return died }); !errors.Is(err, died) {
		t.Errorf("got %v, want the death of etcd", err)
	}
}
