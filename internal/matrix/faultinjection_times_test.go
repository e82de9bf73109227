package matrix

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result"
)

// verdictTimes is where the time of each red is noted, for `bench -verdicts`. No test asserts it: it is a figure of a machine.
var verdictTimes = flag.String("verdicts", "", "file to which a line is appended for each failed cell of the fault-injection suite: how long after the object that shows the fault its verdict came")

// births has, of a cell that fails, when each object was created, and when its verdict was there.
type births struct {
	env       *lane.Env
	delivered time.Time
	verdict   time.Time
	// of is by kind namespace/name.
	of map[string]time.Time
}

// read lists the objects of a cluster that still runs.
func (b *births) read() {
	if b == nil || b.env == nil || b.env.Clients == nil || !b.verdict.IsZero() {
		return
	}
	b.verdict, b.of = time.Now(), map[string]time.Time{}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	lists, _ := b.env.Clients.Discovery.ServerPreferredResources() // of a group without a server, nothing can be there
	for _, l := range lists {
		gv, err := schema.ParseGroupVersion(l.GroupVersion)
		if err != nil {
			continue
		}
		for i := range l.APIResources {
			r := &l.APIResources[i]
			if !slices.Contains(r.Verbs, "list") {
				continue
			}
			all, err := b.env.Clients.Dynamic.Resource(gv.WithResource(r.Name)).List(ctx, metav1.ListOptions{})
			if err != nil {
				continue
			}
			for _, o := range all.Items {
				b.of[o.GetKind()+" "+o.GetNamespace()+"/"+o.GetName()] = o.GetCreationTimestamp().Time
			}
		}
	}
}

// verdictTime is a line of the file.
type verdictTime struct {
	Cell   string  `json:"cell"`
	Reason string  `json:"reason"`
	Cause  string  `json:"cause"`
	Object string  `json:"object,omitempty"`
	After  float64 `json:"after"` // seconds, from Object's creation or else from the delivery's beginning
}

// note appends the line of a red that came after the delivery began.
func (b *births) note(t *testing.T, r *result.Result) {
	t.Helper()
	if b == nil || b.verdict.IsZero() || r.Status != result.Failed && r.Status != result.Timeout {
		return
	}
	_, cell, _ := strings.Cut(t.Name(), "/")
	line := verdictTime{Cell: cell, Reason: string(r.Reason), Cause: r.Cause}
	since := b.delivered
	if len(r.Findings) > 0 {
		var shown []string
		for _, p := range r.Findings[0].Pods {
			shown = append(shown, "Pod "+p)
		}
		if o := r.Findings[0].Object; o != nil {
			shown = append(shown, o.Kind+" "+o.Namespace+"/"+o.Name)
		}
		for _, key := range shown {
			if at, ok := b.of[key]; ok && at.After(since) {
				since, line.Object = at, key
				break
			}
		}
	}
	line.After = b.verdict.Sub(since).Seconds()
	raw, err := json.Marshal(line)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(*verdictTimes, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err == nil {
		_, err = f.Write(append(raw, '\n'))
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Errorf("-verdicts: %v", err)
	}
}
