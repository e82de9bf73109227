package observe

import (
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Overrun is what a quota has no room for, by the quota's names of resources.
type Overrun struct {
	Text                     string // the API server's
	Requested, Used, Limited map[string]resource.Quantity
}

// overrun is how the API server says that a quota has no room for one object more.
var overrun = regexp.MustCompile(`exceeded quota: [^,]+, requested: (\S+), used: (\S+), limited: (\S+)`)

// QuotaOverrun reads an error of a request that a quota has no room for; false for another error.
func QuotaOverrun(message string) (Overrun, bool) {
	m := overrun.FindStringSubmatch(message)
	if m == nil {
		return Overrun{}, false
	}
	return Overrun{m[0], amounts(m[1]), amounts(m[2]), amounts(m[3])}, true
}

// amounts reads a list like "pods=1,requests.cpu=100m".
func amounts(list string) map[string]resource.Quantity {
	all := map[string]resource.Quantity{}
	for entry := range strings.SplitSeq(list, ",") {
		name, amount, _ := strings.Cut(entry, "=")
		if q, err := resource.ParseQuantity(amount); err == nil {
			all[name] = q
		}
	}
	return all
}
