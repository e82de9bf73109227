package everyday

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/refs/problem"
)

// external warns of a Service that is another name for nothing: for an address, for a Service that
// does not exist, or, in the end, for itself.
func (f *finder) external(o *bundle.Object) {
	var s corev1.Service
	if !problem.Read(o, &s) || s.Spec.Type != corev1.ServiceTypeExternalName {
		return
	}
	p := problem.Of(o)
	p.Name, p.Then = s.Spec.ExternalName, "its name leads nowhere"
	if _, err := netip.ParseAddr(s.Spec.ExternalName); err == nil {
		p.Text, p.Then = "has the address "+s.Spec.ExternalName+" as its externalName, which is a name", "DNS finds no such name; a Service without a selector and an EndpointSlice lead to an address"
		f.found = append(f.found, p)
		return
	}
	at, seen := &s, []string{infra.NamespacedName(s.Namespace, s.Name)}
	for at.Spec.Type == corev1.ServiceTypeExternalName {
		name, namespace, ok := serviceOf(at.Spec.ExternalName)
		if !ok {
			return
		}
		next := infra.NamespacedName(namespace, name)
		i := slices.IndexFunc(f.have.Services, func(s corev1.Service) bool { return s.Name == name && s.Namespace == namespace })
		switch {
		case i < 0:
			p.Text = fmt.Sprintf("is another name for Service %s, which does not exist", next)
		case next == seen[0]:
			p.Text = "is another name for itself: " + strings.Join(append(seen, next), ", ")
		case slices.Contains(seen, next):
			return // a circle that it is not in, of which the others are warned
		default:
			at, seen = &f.have.Services[i], append(seen, next)
			continue
		}
		f.found = append(f.found, p)
		return
	}
}

// serviceOf is the Service of a cluster that a name of DNS is of.
func serviceOf(host string) (name, namespace string, ok bool) {
	parts := strings.Split(strings.TrimSuffix(strings.TrimSuffix(host, "."), ".cluster.local"), ".")
	if len(parts) != 3 || parts[2] != "svc" {
		return "", "", false
	}
	return parts[0], parts[1], true
}
