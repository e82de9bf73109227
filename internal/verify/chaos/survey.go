package chaos

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/result"
)

// survey is what is known of the workloads, over time.
type survey struct {
	known map[result.Ref]*memory
	last  []observe.Workload
	down  map[string]bool // nodes that are not Ready
}

// memory is what one workload was before.
type memory struct {
	// want is the largest number of required pods, ran whether a pod of it was ever ready, done
	// whether it has completed.
	want      int
	ran, done bool
	// before: it was not whole before the first step.
	before bool
	there  bool
}

func (s *survey) begin(v *observe.View) {
	s.see(v)
	_, hurt := s.standing()
	for i := range hurt {
		s.known[hurt[i].Workload].before = true
	}
}

func (s *survey) see(v *observe.View) {
	if s.known == nil {
		s.known = map[result.Ref]*memory{}
	}
	s.last, s.down = v.Workloads(), map[string]bool{}
	for i := range v.Nodes {
		if !infra.NodeReady(&v.Nodes[i]) {
			s.down[v.Nodes[i].Name] = true
		}
	}
	for _, m := range s.known {
		m.there = false
	}
	for i := range s.last {
		one := &s.last[i]
		m := s.known[one.Ref]
		if m == nil {
			m = &memory{}
			s.known[one.Ref] = m
		}
		m.there = true
		m.want, m.ran, m.done = max(m.want, one.Want), m.ran || one.Ready > 0, m.done || one.Done
	}
}

// standing counts the workloads that are whole, and returns the others. A deleted one counts as
// lost if it is a pod without a controller that creates it again. Any other deleted workload was
// deleted on purpose.
func (s *survey) standing() (whole int, hurt []result.Survivor) {
	for i := range s.last {
		one := &s.last[i]
		m := s.known[one.Ref]
		want := one.Want
		if one.Ref.Kind == "DaemonSet" {
			want = m.want // its controller requires no pod on a node that does not admit it, and so fewer pods then
		}
		h := result.Survivor{Workload: one.Ref, Ready: one.Ready, Want: want, Before: m.before}
		switch {
		case one.Failed != "":
			h.State, h.Why = result.Lost, one.Failed
		case one.Done || one.Ready >= want:
			whole++
			continue
		case one.Ready > 0:
			h.State = result.Degraded
		case !m.ran:
			h.State = result.Waiting
		default:
			h.State = result.Lost
		}
		if h.Why == "" {
			h.Why = s.why(one)
		}
		hurt = append(hurt, h)
	}
	for ref, m := range s.known {
		if !m.there && !m.done && m.ran && ref.Kind == "Pod" {
			hurt = append(hurt, result.Survivor{Workload: ref, State: result.Lost, Want: 1, Why: "it is gone, and nothing makes it again"})
		}
	}
	result.SortSurvivors(hurt)
	return whole, hurt
}

// why is the first reason for which a workload is not whole: the scheduler's message about a pod,
// or the nodes of its pods.
func (s *survey) why(one *observe.Workload) string {
	lost, stuck := "", ""
	for _, p := range one.Pods {
		switch {
		case p.DeletionTimestamp != nil:
			stuck = fmt.Sprintf("pod %s is Terminating on the stopped node %s", observe.PodName(p), p.Spec.NodeName)
		case p.Spec.NodeName == "":
			facts := observe.FactsOf(p)
			if text, pending := facts.Pending(); pending {
				return text
			}
			return "pod " + observe.PodName(p) + " has no node, and no scheduler has looked at it"
		case s.down[p.Spec.NodeName]:
			lost = fmt.Sprintf("pod %s is on node %s, which is not Ready", observe.PodName(p), p.Spec.NodeName)
		}
	}
	switch {
	case one.Complaint != "":
		return one.Complaint
	case stuck != "" && one.Ref.Kind == "StatefulSet":
		return stuck + "; a StatefulSet makes no other one until it is gone"
	case lost != "":
		return lost
	case one.Ref.Kind == "DaemonSet":
		return "fewer nodes take its pods"
	}
	return stuck
}

// restless says which workload is still on its way to some state; "" if none is.
func (s *survey) restless() string {
	for i := range s.last {
		one := &s.last[i]
		if one.Done || one.Failed != "" {
			continue
		}
		alive, blocked := 0, one.Complaint != ""
		for _, p := range one.Pods {
			state := ""
			facts := observe.FactsOf(p)
			_, pending := facts.Pending()
			switch {
			case p.DeletionTimestamp != nil && p.Annotations[kubelet] == stopped:
				blocked = blocked || one.Ref.Kind == "StatefulSet"
				continue
			case p.DeletionTimestamp != nil:
				state = "is being deleted"
			case p.Spec.NodeName == "" && !pending:
				state = "has no node yet"
			case p.Spec.NodeName == "" || s.down[p.Spec.NodeName]:
				blocked = blocked || one.Ref.Kind == "StatefulSet" // which makes its pods one after the other
			case p.Status.Phase != corev1.PodRunning || !observe.PodReady(p):
				state = "is not ready yet"
			}
			if state != "" {
				return fmt.Sprintf("pod %s %s", observe.PodName(p), state)
			}
			alive++
		}
		if alive < one.Want && !blocked {
			return fmt.Sprintf("%s has %d of %d pods", one.Ref, alive, one.Want)
		}
	}
	return ""
}
