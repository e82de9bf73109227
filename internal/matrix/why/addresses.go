package why

import (
	"strings"

	"github.com/nvidia/aicr-action/internal/result"
)

// ofThisCluster says of an address or a kind of address that the API server does not give a Service, that this
// is the cell's: each cluster has a range of its own. It is empty for anything else.
func ofThisCluster(f *result.Finding) string {
	switch {
	case strings.Contains(f.Cause, "the provided network does not match the current range"):
		return "  each cluster has its own range of addresses for Services, and this cell another one than yours: a recipe with a fixed address (clusterIP) fits one cluster only; edit: leave clusterIP out"
	case strings.Contains(f.Cause, "is not configured for dual-stack services"):
		return "  this cell has addresses of IPv4 alone, as most clusters; edit: `ipFamilyPolicy: PreferDualStack`, which every cluster takes"
	}
	return ""
}
