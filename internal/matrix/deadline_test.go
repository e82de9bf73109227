package matrix

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/matrix/gate"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

func TestNewDeadline(t *testing.T) {
	now := time.Now()
	epoch := func(d time.Duration) string { return strconv.FormatInt(now.Add(d).Unix(), 10) }
	tests := map[string]struct {
		epoch   string
		timeout time.Duration
		want    time.Duration // from now; 0 for none
		refused string
	}{
		"none":                           {"", 0, 0, ""},
		"a job timeout":                  {"", 20 * time.Minute, 16 * time.Minute, ""},
		"an epoch":                       {epoch(10 * time.Minute), 0, 10 * time.Minute, ""},
		"the epoch is earlier":           {epoch(10 * time.Minute), time.Hour, 10 * time.Minute, ""},
		"the job timeout is earlier":     {epoch(time.Hour), 20 * time.Minute, 16 * time.Minute, ""},
		"an epoch that has passed":       {epoch(-time.Minute), 0, -time.Minute, ""},
		"an epoch in words":              {"tomorrow", 0, 0, "KWOK_SYNC_DEADLINE_EPOCH"},
		"an epoch of zero":               {"0", 0, 0, "KWOK_SYNC_DEADLINE_EPOCH"},
		"a job timeout without any time": {"", 5 * time.Minute, 0, "at least 6m"},
		"a job timeout below zero":       {"", -time.Minute, 0, "above zero"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			d, err := gate.NewDeadline(func(string) string { return tc.epoch }, tc.timeout, now)
			if tc.refused != "" {
				if reason.Of(err) != reason.Usage || !strings.Contains(err.Error(), tc.refused) {
					t.Errorf("got %v, want it refused with %q", err, tc.refused)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if tc.want == 0 {
				if _, ok := d.Left(); ok {
					t.Errorf("got a deadline at %s, want none", d.At)
				}
				return
			}
			if got := d.At.Sub(now); (got - tc.want).Abs() > time.Second {
				t.Errorf("got %s from now, want %s", got, tc.want)
			}
		})
	}
}

// Budgets shrink to what is left; under 120 s the gate does not begin, with 50 where a sync did not
// get its time.
func TestDeadlineInTheGate(t *testing.T) {
	d := gate.Deadline{At: time.Now().Add(200 * time.Second)}
	if got := d.Shrink(300 * time.Second); got > 200*time.Second || got < 190*time.Second {
		t.Errorf("got a budget of %s, want the 200 s that are left", got)
	}
	if got := d.Shrink(time.Second); got != time.Second {
		t.Errorf("got a budget of %s, want the shorter one", got)
	}
	if why := d.TooLate(); why != "" {
		t.Errorf("200 s left: got %q", why)
	}
	for _, row := range laneTable() {
		through := row.make(nil)
		g := gate.New(&lane.Env{}, through, lane.Budgets{}, gate.Deadline{At: time.Now().Add(119 * time.Second)}, func(string) {})
		_, err := g.Pass(t.Context())
		want := reason.SyncTimeout
		if through.TimeoutReason() != want {
			want = reason.JobDeadline // no sync: 50 is the GitOps lanes' alone
		}
		if reason.Of(err) != want {
			t.Errorf("%s: got %v (%s), want %s", row.Name, err, reason.Of(err), want)
		}
	}
}

// The cell's work ends at the deadline, with its cause; not before the gate had its say.
func TestDeadline_EndsCell(t *testing.T) {
	ctx, release := gate.Deadline{At: time.Now().Add(-gate.GateSpeaksFirst)}.Bind(t.Context())
	defer release()
	<-ctx.Done()
	if got := reason.Of(context.Cause(ctx)); got != reason.JobDeadline {
		t.Errorf("got %s, want %s", got, reason.JobDeadline)
	}
	ctx, release = gate.Deadline{At: time.Now()}.Bind(t.Context())
	defer release()
	if ctx.Err() != nil {
		t.Error("ended before the gate had its say")
	}
}
