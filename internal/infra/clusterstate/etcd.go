package clusterstate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/nvidia/aicr-action/internal/util/wait"
)

// page is the number of keys per request: a cluster with large CRDs has tens of megabytes, which
// etcd would otherwise build in one answer.
const page = 500

func connect(endpoint string) (*clientv3.Client, error) {
	// The client would write about every retry to stderr; its errors are returned.
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, DialTimeout: 5 * time.Second, Logger: zap.NewNop()})
	if err != nil {
		return nil, fmt.Errorf("connect to etcd at %s: %w", endpoint, err)
	}
	return client, nil
}

// Take reads everything that the API server has in the etcd at endpoint (http://host:port), at one
// revision, and replaces the values of Secrets. A Secret that cannot be decoded is left out, and
// named in LeftOut.
func Take(ctx context.Context, endpoint string, about About) (*Snapshot, error) {
	client, err := connect(endpoint)
	if err != nil {
		return nil, err
	}
	defer func() { _ = client.Close() }()
	s := &Snapshot{Info: Info{Format: Format, About: about, Harness: harness(), Taken: time.Now().UTC()}}
	all, err := s.readAll(ctx, client)
	if err != nil {
		return nil, fmt.Errorf("read the state of cluster %s from etcd at %s: %w", about.Cluster, endpoint, err)
	}
	if err := s.add(all); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Snapshot) readAll(ctx context.Context, client *clientv3.Client) ([]Record, error) {
	var all []Record
	from, end := prefix, clientv3.GetPrefixRangeEnd(prefix)
	for {
		options := []clientv3.OpOption{clientv3.WithRange(end), clientv3.WithLimit(page), clientv3.WithSort(clientv3.SortByKey, clientv3.SortAscend)}
		if s.Revision > 0 {
			options = append(options, clientv3.WithRev(s.Revision))
		}
		got, err := client.Get(ctx, from, options...)
		if err != nil {
			return nil, err
		}
		if s.Revision == 0 {
			s.Revision = got.Header.Revision
		}
		for _, kv := range got.Kvs {
			all = append(all, Record{Key: string(kv.Key), Value: kv.Value, written: kv.ModRevision})
		}
		if !got.More || len(got.Kvs) == 0 {
			return all, nil
		}
		from = all[len(all)-1].Key + "\x00"
	}
}

// add makes records of what was read, in the order in which it was written.
func (s *Snapshot) add(all []Record) error {
	r, err := newRedactor()
	if err != nil {
		return err
	}
	slices.SortStableFunc(all, func(a, b Record) int { return cmp.Compare(a.written, b.written) })
	for _, record := range all {
		if strings.HasPrefix(record.Key, secrets) {
			if record.Value, err = r.redact(record.Value); err != nil {
				s.LeftOut = append(s.LeftOut, record.Key)
				continue
			}
			s.Secrets++
		}
		s.Records = append(s.Records, record)
	}
	s.Keys = len(s.Records)
	return nil
}

// Load writes the snapshot into the etcd at endpoint, which must be empty, and waits up to 30 s for
// etcd to start. Each key gets its own revision, in the old order. Load does not restore leases, so
// that Events do not expire.
func (s *Snapshot) Load(ctx context.Context, endpoint string, alive func() error) error {
	client, err := connect(endpoint)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	err = wait.For(ctx, "etcd at "+endpoint, wait.Options{Budget: 30 * time.Second, Interval: 50 * time.Millisecond}, func(ctx context.Context) wait.Result {
		if err := alive(); err != nil {
			return wait.Never(err)
		}
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		got, err := client.Get(ctx, prefix, clientv3.WithPrefix(), clientv3.WithCountOnly())
		if err != nil {
			return wait.NotYet("%v", err)
		}
		if got.Count > 0 {
			return wait.Never(fmt.Errorf("load the snapshot of cluster %s: etcd at %s has %d keys already", s.Cluster, endpoint, got.Count))
		}
		return wait.Done()
	})
	if err != nil {
		return err
	}
	for _, r := range s.Records {
		if _, err := client.Put(ctx, r.Key, string(r.Value)); err != nil {
			return fmt.Errorf("load %s of cluster %s into etcd at %s: %w", r.Key, s.Cluster, endpoint, err)
		}
	}
	return nil
}
