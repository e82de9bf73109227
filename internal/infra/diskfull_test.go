package infra

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/nvidia/aicr-action/internal/reason"
)

// A process that ended for want of space is not to blame.
func TestDeathReason(t *testing.T) {
	tests := map[string]struct {
		log  string
		want reason.Reason
	}{
		"disk full":      {"starting\n{\"msg\":\"failed to create WAL\",\"error\":\"write /x/0.tmp: no space left on device\"}\n", reason.NoSpace},
		"something else": {"starting\npanic: nil pointer\n", reason.ComponentDied},
		"nothing said":   {"", reason.ComponentDied},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			log := filepath.Join(t.TempDir(), "etcd.log")
			if err := os.WriteFile(log, []byte(tc.log), 0o644); err != nil {
				t.Fatal(err)
			}
			if got := deathReason(log, reason.ComponentDied); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
			if got := (&DeathError{Log: log}).Reason(); got != tc.want {
				t.Errorf("of the death: got %s, want %s", got, tc.want)
			}
		})
	}
}
