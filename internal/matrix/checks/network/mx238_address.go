package network

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
)

var addressOfNoService = judge.Check{
	ID: "MX238", Name: "address-of-no-service", Needs: judge.Rendered, Until: judge.Settled,
	Title: "Addresses in arguments, variables and ConfigMaps are those of Services",
	Why: "NAME.NAMESPACE.svc is the address of a Service (https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/#services). Nothing looks it up before a program does, and simulated pods run none. " +
		"Only addresses in namespaces to which the recipe delivers count: what others have is not known.",
	Fix:  "Correct the name, the namespace or the port of the address, or deliver the Service.",
	Says: "has the address %s, and there is no Service %s", Then: "no program gets an answer there",
	Others: map[string]judge.Message{"port": {Says: "has the address %s, and Service %s has no port %d (it has %s)", Then: "no program gets an answer there"}},
	Run: func(s *judge.Scope) {
		a := addresses{s, ownNamespaces(s), map[string]bool{}}
		for _, p := range s.Pods() {
			eachText(p, func(path, text string) { a.judge(p.Object, path, text) })
		}
		for _, o := range s.Rendered(judge.KindsOf("", "ConfigMap")...) {
			if c := facts.As[corev1.ConfigMap](s.Index, o); c != nil {
				for _, key := range slices.Sorted(maps.Keys(c.Data)) {
					a.judge(o, fmt.Sprintf("data[%q]", key), c.Data[key])
				}
			}
		}
	},
}

// eachText gives the arguments and the variables of a pod's containers, with their fields.
func eachText(p facts.PodTemplate, see func(path, text string)) {
	for _, c := range p.Containers() {
		for i, text := range c.Command {
			see(fmt.Sprintf("%s.command[%d]", c.Path, i), text)
		}
		for i, text := range c.Args {
			see(fmt.Sprintf("%s.args[%d]", c.Path, i), text)
		}
		for i, v := range c.Env {
			see(fmt.Sprintf("%s.env[%d].value", c.Path, i), v.Value)
		}
	}
}

// inCluster is the address of a Service, with the port after it.
var inCluster = regexp.MustCompile(`\b([a-z](?:[-a-z0-9]{0,61}[a-z0-9])?)\.([a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?)\.svc(?:\.cluster\.local)?\b\.?(?::(\d{1,5})\b)?`)

// addresses judges texts, each address of an object once.
type addresses struct {
	*judge.Scope
	own  map[string]bool // the recipe's namespaces
	seen map[string]bool
}

func (a *addresses) judge(o *bundle.Object, path, text string) {
	if !strings.Contains(text, ".svc") {
		return
	}
	for _, m := range inCluster.FindAllStringSubmatch(text, -1) {
		name, namespace := m[1], m[2]
		if full := infra.NamespacedName(namespace, name); a.own[namespace] && !a.seen[o.Ref().String()+m[0]] {
			a.seen[o.Ref().String()+m[0]] = true
			svc := a.Service(namespace, name)
			port, _ := strconv.ParseUint(m[3], 10, 16)
			switch {
			case svc == nil && lacksService(a.Scope, namespace, name, o.Ref()):
				a.Report(o, path, m[0], full).SetBy(name + "." + namespace)
			case svc != nil && port > 0 && svc.Spec.ClusterIP != corev1.ClusterIPNone && !answers(svc, int32(port)): // a headless one only leads to pods
				a.ReportAs("port", o, path, m[0], full, port, portsOf(svc)).SetBy(m[0])
			}
		}
	}
}

func portsOf(svc *corev1.Service) string {
	var all []string
	for _, p := range svc.Spec.Ports {
		all = append(all, strconv.Itoa(int(p.Port)))
	}
	return strings.Join(all, ", ")
}
