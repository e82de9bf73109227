package metrics

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/nvidia/aicr-action/internal/observe/placement"
)

// mostNodes is the largest number of nodes of a cluster for which each node has its own series.
const mostNodes = 256

// metricsPlacement has the metrics of the nodes of pods. Each cluster has its own scope: "workflows", or
// the cell's name. Pods have no series, since there are too many of them.
type metricsPlacement struct {
	describes descriptions

	mu     sync.Mutex
	scopes map[string]*scope
}

// scope is one cluster. Once it has ended, only what counts up is left.
type scope struct {
	observer  *placement.Observer
	submitted func() []placement.Submitted
	topology  placement.Topology
	waits     histogram
	distances histogram
}

// newPlacement is without a cluster.
func newPlacement() *metricsPlacement {
	return &metricsPlacement{describes: describe(), scopes: map[string]*scope{}}
}

// Watch adds a cluster. submitted are the jobs by which gangs and distances are known; nil: there
// are none.
func (p *metricsPlacement) Watch(name string, o *placement.Observer, submitted func() []placement.Submitted, topology placement.Topology) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.scopes[name] = &scope{observer: o, submitted: submitted, topology: topology}
}

// End takes the series away of a cluster that is no more. Its histograms stay.
func (p *metricsPlacement) End(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.scopes[name]; s != nil && s.observer != nil {
		s.read()
		s.observer, s.submitted = nil, nil
	}
}

// read asks the observer, and keeps what outlives it.
func (s *scope) read() *placement.Now {
	var jobs []placement.Submitted
	if s.submitted != nil {
		jobs = s.submitted()
	}
	now := s.observer.Now(jobs, s.topology)
	s.waits, s.distances = histogram{bounds: waitBuckets()}, histogram{bounds: []float64{0, 1, 2, 3}}
	for _, w := range now.Waits {
		s.waits.add(w.Seconds())
	}
	for _, d := range now.Distances {
		s.distances.add(d)
	}
	return now
}

// waitBuckets are in seconds.
func waitBuckets() []float64 {
	return []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300}
}

// histogram counts values by bucket; each bucket includes those of the ones below it, as Prometheus
// requires.
type histogram struct {
	bounds  []float64
	buckets map[float64]uint64
	count   uint64
	sum     float64
}

func (h *histogram) add(v float64) {
	if h.buckets == nil {
		h.buckets = map[float64]uint64{}
	}
	h.count++
	h.sum += v
	for _, b := range h.bounds {
		if v <= b {
			h.buckets[b]++
		}
	}
}

func (h *histogram) metric(d *prometheus.Desc, labels ...string) prometheus.Metric {
	buckets := map[float64]uint64{}
	for _, b := range h.bounds {
		buckets[b] = h.buckets[b]
	}
	return prometheus.MustNewConstHistogram(d, h.count, h.sum, buckets, labels...)
}

// description is one metric.
func description(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("aicr_placement_"+name, help, append([]string{"scope"}, labels...), nil)
}

// descriptions are the metrics of placement.
type descriptions struct {
	gpus, taken, waiting, useless, pods, nodes, nodeGPUs, nodeTaken, nodePods, domainPods, gangs, distance, wait *prometheus.Desc
}

func describe() descriptions {
	few := fmt.Sprintf(" Only of clusters with at most %d nodes.", mostNodes)
	return descriptions{
		gpus:       description("gpus", "GPUs of all nodes of the cluster."),
		taken:      description("gpus_taken", "GPUs that pods hold."),
		waiting:    description("gpus_waiting", "GPUs that pods without a node ask for."),
		useless:    description("gpus_useless", "GPUs that are free on a node with fewer free ones than any waiting pod needs (fragmentation)."),
		pods:       description("pods", "Pods that hold a node (placed) or have none (waiting).", "state"),
		nodes:      description("nodes", "Nodes that have GPUs or pods."),
		nodeGPUs:   description("node_gpus", "GPUs of a node."+few, "node"),
		nodeTaken:  description("node_gpus_taken", "GPUs of a node that pods hold."+few, "node"),
		nodePods:   description("node_pods", "Pods that hold a node."+few, "node"),
		domainPods: description("domain_pods", "Pods that hold a node of a topology domain.", "kind", "domain"),
		gangs:      description("gangs", "Jobs of several pods of which every pod got a node (whole), some did (half) or none did (none).", "placed"),
		distance:   description("job_distance", "Mean distance of the pods of jobs that were placed as a whole: 0 on one node, 1 in one block, 2 under one spine, 3 otherwise."),
		wait:       description("time_to_schedule_seconds", "Time from a pod's creation to its node."),
	}
}

var _ prometheus.Collector = (*metricsPlacement)(nil)

// Describe is a prometheus.Collector's.
func (p *metricsPlacement) Describe(to chan<- *prometheus.Desc) {
	d := &p.describes
	for _, one := range []*prometheus.Desc{d.gpus, d.taken, d.waiting, d.useless, d.pods, d.nodes, d.nodeGPUs, d.nodeTaken, d.nodePods, d.domainPods, d.gangs, d.distance, d.wait} {
		to <- one
	}
}

// Collect is a prometheus.Collector's.
func (p *metricsPlacement) Collect(to chan<- prometheus.Metric) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(p.scopes)) {
		p.scopes[name].collect(&p.describes, name, to)
	}
}

func (s *scope) collect(d *descriptions, name string, to chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v int, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(v), append([]string{name}, labels...)...)
	}
	if s.observer != nil {
		now := s.read()
		gauge(d.gpus, now.GPUs)
		gauge(d.taken, now.Taken)
		gauge(d.waiting, now.Waiting)
		gauge(d.useless, now.Useless)
		gauge(d.pods, now.Pods, "placed")
		gauge(d.pods, now.Pending, "waiting")
		gauge(d.nodes, len(now.Nodes))
		if len(now.Nodes) <= mostNodes {
			for _, n := range now.Nodes {
				gauge(d.nodeGPUs, n.GPUs, n.Name)
				gauge(d.nodeTaken, n.Taken, n.Name)
				gauge(d.nodePods, n.Pods, n.Name)
			}
		}
		for _, one := range now.Domains {
			gauge(d.domainPods, one.Pods, one.Kind, one.Name)
		}
		if s.submitted != nil {
			gauge(d.gangs, now.Gangs.Whole, "whole")
			gauge(d.gangs, now.Gangs.Half, "half")
			gauge(d.gangs, now.Gangs.None, "none")
		}
	}
	to <- s.waits.metric(d.wait, name)
	if s.distances.count > 0 {
		to <- s.distances.metric(d.distance, name)
	}
}
