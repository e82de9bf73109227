package infra

import (
	"errors"
	"syscall"

	"github.com/nvidia/aicr-action/internal/result/reason"
)

// DiskReason is NO_SPACE for a full disk or quota, otherwise the given reason.
func DiskReason(err error, otherwise reason.Reason) reason.Reason {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return reason.NoSpace
	}
	return otherwise
}
