package intact

import (
	"regexp"
	"strings"
	"time"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/observe"
)

// waitFor is how long after the gate the API server enforces what the bundle has that denies pods;
// zero if it has nothing of the kind.
func waitFor(e *bundle.Expectation) time.Duration {
	switch r := reachOf(e); {
	case r.everywhere:
		return inForce
	case len(r.in) > 0:
		return limitsInForce
	}
	return 0
}

// reach is where what a bundle has at admission has a say: everywhere, as policies have, or in namespaces.
type reach struct {
	everywhere bool
	in         map[string]bool
}

// reachOf is that of what can deny a pod or another object. Quotas and limits, and the pod security level of a
// namespace, are asked about objects of their own namespace and of no other.
func reachOf(e *bundle.Expectation) reach {
	r := reach{in: map[string]bool{}}
	for i := range e.Objects {
		o := e.Objects[i].Object
		switch o.GetKind() {
		case validatingBinding, mutating + "Binding":
			r.everywhere = true
		case "ResourceQuota", "LimitRange":
			r.in[o.GetNamespace()] = true
		case "Namespace":
			if o.GetLabels()["pod-security.kubernetes.io/enforce"] != "" {
				r.in[o.GetName()] = true
			}
		}
	}
	return r
}

// has reports whether something of the bundle has a say about objects of a namespace.
func (r reach) has(namespace string) bool { return r.everywhere || r.in[namespace] }

// denials are how the API server says that it rejects a request for what a recipe has set, however
// many other objects there are: a policy that denies or cannot change it, or that cannot be evaluated at all
// (then no binding is named), a quota whose resources the pod does not specify, a
// LimitRange (also by the limits that it fills in), a pod security level. Any other error is not the recipe's, or the dry run's own.
var denials = regexp.MustCompile(`(?:ValidatingAdmissionPolicy|policy) ['"][^'"]+['"](?: with binding '[^']+')? denied request: .*` +
	`|failed quota: [^:]+: must specify .*` +
	`|\[?(?:maximum|minimum) \S+ usage per (?:Container|Pod) is .*` +
	`|\[?\S+ max limit to request ratio per (?:Container|Pod) is .*` +
	`|violates PodSecurity .*` +
	`|resources\.requests: Invalid value: "[^"]*": must be less than or equal to \S+ limit of \S+`)

// reasonOf is what a request was denied for; empty if it was not, or for another error.
func reasonOf(err error) string {
	if err == nil {
		return ""
	}
	if why := denials.FindString(err.Error()); why != "" {
		return why
	}
	if over, ok := observe.QuotaOverrun(err.Error()); ok && overdrawn(over) {
		return over.Text
	}
	return ""
}

// How an error names the quota or the policy that denied a request; the others are of the namespace.
var (
	ofQuota  = regexp.MustCompile(`(?:exceeded|failed) quota: ([^,:]+)`)
	ofPolicy = regexp.MustCompile(`^(?:ValidatingAdmissionPolicy|policy) ['"]([^'"]+)['"]`)
)

// blamed is the object of the recipe for which a request in a namespace was denied; nil if it is not
// the recipe's.
func blamed(e *bundle.Expectation, namespace, why string) *bundle.Object {
	kind, name := "LimitRange", ""
	switch m := ofPolicy.FindStringSubmatch(why); {
	case m != nil:
		kind, name, namespace = "ValidatingAdmissionPolicy", m[1], ""
		if strings.HasPrefix(why, "policy ") { // one that changes objects, and fails at it
			kind = mutating
		}
	case ofQuota.MatchString(why):
		kind, name = "ResourceQuota", ofQuota.FindStringSubmatch(why)[1]
	case strings.Contains(why, "violates PodSecurity"):
		kind, name, namespace = "Namespace", namespace, ""
	}
	for i := range e.Objects {
		if o := e.Objects[i].Object; o.GetKind() == kind && (name == "" || o.GetName() == name) && o.GetNamespace() == namespace {
			return &e.Objects[i]
		}
	}
	return nil
}

// overdrawn reports whether a quota allows less than there is already, or than one pod alone asks for. One
// that is only used up has room for each pod again, once the one before it is gone; the dry run asks for one more.
func overdrawn(over observe.Overrun) bool {
	for name := range over.Requested {
		asked, have, limit := over.Requested[name], over.Used[name], over.Limited[name]
		if have.Cmp(limit) > 0 || asked.Cmp(limit) > 0 {
			return true
		}
	}
	return false
}
