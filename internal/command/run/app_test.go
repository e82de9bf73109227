package run

import (
	"errors"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/result/reason"
)

// Who has no network reads what to do.
func TestOffline(t *testing.T) {
	t.Parallel()
	err := offline(reason.Wrap(reason.ChartDownloadFailed, errors.New("download chart a: no such host")))
	if got := reason.Of(err); got != reason.ChartDownloadFailed || !strings.Contains(err.Error(), "no such host; without a network, put the chart") {
		t.Errorf("got %s: %v", got, err)
	}
	if other := errors.New("a"); offline(other).Error() != "a" || offline(nil) != nil {
		t.Error("another error is changed")
	}
}
