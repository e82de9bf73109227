package embedded

// contested_writes.go reads from an API server's audit log which ServiceAccounts write which objects, and
// finds those that two of them write in turns. It must not know what the accounts' programs are, or
// whether turns are a fault: writers that come to an agreement take a few too.

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/infra"
)

// writesPolicy is the API server's audit policy for Log: who wrote what, without its content.
func writesPolicy() []byte {
	return []byte(`apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules:
- level: None
  resources:
  - {group: "", resources: [events, "serviceaccounts/token"]}
  - {group: events.k8s.io}
  - {group: coordination.k8s.io}
  - {group: authentication.k8s.io}
  - {group: authorization.k8s.io}
- level: Metadata
  verbs: [create, update, patch, delete, get, list, watch, deletecollection] # of the reads, those that are denied
  userGroups: ["system:serviceaccounts"]
- level: None
`)
}

// quiet is how long nobody takes a turn until what was before is over.
const quiet = 15 * time.Second

// writesLog follows an audit log.
type writesLog struct {
	path string

	mu      sync.Mutex
	at      int64
	objects map[object]*turns
	denied  map[request]int // how often; none that was allowed once
}

// request is what an account asks for, of whatever name.
type request struct{ account, verb, group, resource, namespace string }

// object is what is written; the subresource status is another writer's than the rest.
type object struct {
	resource        schema.GroupVersionResource
	namespace, name string
	status          bool
}

type turns struct {
	count   int
	writers map[string]bool
	last    string // who wrote
	when    time.Time
}

// followWrites returns what follows the log at a path, which need not exist yet.
func followWrites(path string) *writesLog {
	return &writesLog{path: path, objects: map[object]*turns{}, denied: map[request]int{}}
}

// event is a line of the log (audit.k8s.io/v1).
type event struct {
	Verb string `json:"verb"`
	User struct {
		Username string `json:"username"`
	} `json:"user"`
	ObjectRef struct {
		Resource, Namespace, Name, Subresource string
		Group                                  string `json:"apiGroup"`
		Version                                string `json:"apiVersion"`
	} `json:"objectRef"`
	ResponseStatus struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
	Annotations map[string]string `json:"annotations"`
	At          time.Time         `json:"stageTimestamp"`
}

// Contested are the objects that accounts write in turns and did until now, the most turns first: in
// each, somebody wrote after somebody else.
func (l *writesLog) Contested() ([]infra.Contest, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.read(); err != nil {
		return nil, fmt.Errorf("read who writes what: %w", err)
	}
	var all []infra.Contest
	for of, t := range l.objects {
		if t.count > 0 && time.Since(t.when) < quiet {
			all = append(all, infra.Contest{
				Resource: of.resource, Namespace: of.namespace, Name: of.name, Status: of.status, Writers: slices.Sorted(maps.Keys(t.writers)), Turns: t.count, Last: t.when,
			})
		}
	}
	slices.SortFunc(all, func(a, b infra.Contest) int {
		return cmp.Or(cmp.Compare(b.Turns, a.Turns), strings.Compare(a.Resource.Resource+"/"+a.Namespace+"/"+a.Name, b.Resource.Resource+"/"+b.Namespace+"/"+b.Name))
	})
	return all, nil
}

// addRequest counts what authorization denies; a quota, a policy and a webhook answer 403 too.
func (l *writesLog) addRequest(account string, e *event) {
	of := request{account, e.Verb, e.ObjectRef.Group, e.ObjectRef.Resource, e.ObjectRef.Namespace}
	if e.ObjectRef.Subresource != "" {
		of.resource += "/" + e.ObjectRef.Subresource
	}
	switch {
	case e.Annotations["authorization.k8s.io/decision"] == "forbid":
		if n, seen := l.denied[of]; !seen || n > 0 {
			l.denied[of]++
		}
	case e.ResponseStatus.Code != 403:
		l.denied[of] = 0
	}
}

// Denied is what accounts asked for and were never allowed, sorted.
func (l *writesLog) Denied() ([]infra.Denial, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.read(); err != nil {
		return nil, fmt.Errorf("read who may not do what: %w", err)
	}
	var all []infra.Denial
	for of, n := range l.denied {
		if n > 0 {
			resource := schema.GroupResource{Group: of.group, Resource: of.resource}
			all = append(all, infra.Denial{Account: of.account, Verb: of.verb, Resource: resource.String(), Namespace: of.namespace, Count: n})
		}
	}
	slices.SortFunc(all, func(a, b infra.Denial) int {
		return cmp.Or(cmp.Compare(a.Account, b.Account), cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Verb, b.Verb), cmp.Compare(a.Namespace, b.Namespace))
	})
	return all, nil
}

// read takes the lines that are complete and new.
func (l *writesLog) read() error {
	f, err := os.Open(l.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was only read
	if info, err := f.Stat(); err != nil {
		return err
	} else if info.Size() < l.at {
		l.at = 0 // the API server began a new file
	}
	if _, err := f.Seek(l.at, io.SeekStart); err != nil {
		return err
	}
	lines := bufio.NewReader(f)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			if errors.Is(err, io.EOF) {
				return nil // what is left is half a line
			}
			return err
		}
		l.at += int64(len(line))
		var e event
		if err := json.Unmarshal(bytes.TrimSpace(line), &e); err != nil {
			return fmt.Errorf("a line of %s is no event: %w", l.path, err)
		}
		l.add(&e)
	}
}

// add counts a write that was accepted. What controllers of Kubernetes write, as accounts of
// kube-system, counts too.
func (l *writesLog) add(e *event) {
	account, ok := strings.CutPrefix(e.User.Username, "system:serviceaccount:")
	if ok {
		l.addRequest(strings.Replace(account, ":", "/", 1), e)
	}
	switch e.Verb {
	case "get", "list", "watch", "deletecollection":
		return // they change no object, or not this one
	}
	if !ok || e.ResponseStatus.Code < 200 || e.ResponseStatus.Code > 299 || e.ObjectRef.Name == "" {
		return
	}
	switch e.ObjectRef.Subresource {
	case "", "status", "scale":
	default:
		return // e.g. binding, eviction: they change something else
	}
	account = strings.Replace(account, ":", "/", 1)
	of := object{
		resource:  schema.GroupVersionResource{Group: e.ObjectRef.Group, Version: e.ObjectRef.Version, Resource: e.ObjectRef.Resource},
		namespace: e.ObjectRef.Namespace, name: e.ObjectRef.Name, status: e.ObjectRef.Subresource == "status",
	}
	t := l.objects[of]
	if t == nil || e.At.Sub(t.when) > quiet {
		t = &turns{writers: map[string]bool{}}
		l.objects[of] = t
	}
	if t.last != "" && t.last != account {
		t.count++
	}
	if t.last != account {
		t.when = e.At
	}
	t.last = account
	t.writers[account] = true
}
