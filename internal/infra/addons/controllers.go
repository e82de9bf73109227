package addons

import (
	"context"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/stack"
)

// Controllers make Jobs of kinds of their own, whose pods a scheduler places.
const (
	jobSet  = "jobset"
	trainer = "trainer"
)

// controllers are those that are compiled when they are needed: their groups, by their names.
var controllers = map[string]stack.Group{jobSet: stack.GroupJobSet, trainer: stack.GroupTrainer}

// Controllers are the names of the controllers that are compiled when they are needed, sorted.
func Controllers() []string { return slices.Sorted(maps.Keys(controllers)) }

// Does says what a controller does, for people; empty for a scheduler.
func (s Scheduler) Does() string {
	return map[string]string{"controller " + jobSet: "makes Jobs of JobSets", "controller " + trainer: "makes JobSets of TrainJobs"}[s.String()]
}

// ControllerOf is the controller of the kinds of an API group; empty if none of the shipped ones
// is.
func ControllerOf(group string) string {
	if group != "" {
		for _, name := range Controllers() {
			if slices.Contains(admissionOf(name).groups, group) {
				return name
			}
		}
	}
	return ""
}

// WithNeeded are these controllers and those that they need, each once, in the order in which they
// start.
func WithNeeded(names []string) []string {
	names = slices.Clone(names)
	if slices.Contains(names, trainer) {
		names = append(names, jobSet) // it makes a JobSet of each TrainJob, and does not start without that kind
	}
	return slices.Compact(slices.Sorted(slices.Values(names))) // what is needed is first in the alphabet
}

// admissionOf is the part in admission of a controller.
func admissionOf(name string) admission {
	if name == trainer {
		return admission{namespace: "kubeflow-system", service: "kubeflow-trainer-controller-manager", prefix: "kubeflow-trainer-", groups: []string{"trainer.kubeflow.org"}}
	}
	return admission{namespace: "jobset-system", service: "jobset-webhook-service", prefix: "jobset-", groups: []string{"jobset.x-k8s.io", ""}, podLabel: "jobset.sigs.k8s.io/jobset-name"}
}

// launchController prepares a controller. It can make its certificates only where other processes
// of the machine have theirs, below /tmp, so that it gets them from here, as it would from
// cert-manager.
func (r *Runner) launchController(ctx context.Context, s Scheduler, dir, _ string) (*launch, error) {
	a := admissionOf(s.Name)
	var err error
	if a.authority, err = certify(a, dir); err != nil {
		return nil, fmt.Errorf("make a certificate for its webhooks: %w", err)
	}
	return r.launchAdmission(ctx, s, a, dir, nil)
}

// certificatesBelow is the directory below TMPDIR where controller-runtime reads certificates by
// default.
const certificatesBelow = "tmp/k8s-webhook-server/serving-certs"

// certify makes a certificate for a program's Service and for this machine's own address, puts it
// into the process's directory, and gives the PEM by which clients know it.
func certify(a admission, dir string) ([]byte, error) {
	certificate, key, err := cert.GenerateSelfSignedCertKey(a.service+"."+a.namespace+".svc", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{corev1.TLSCertKey: certificate, corev1.TLSPrivateKeyKey: key}
	return certificate, writeCertificates(filepath.Join(dir, certificatesBelow), files, corev1.TLSPrivateKeyKey, corev1.TLSCertKey)
}

// launchAdmission prepares a program with webhooks: it installs its definitions, and writes its
// configuration with the addresses that it listens on and what is given for its webhook server.
func (r *Runner) launchAdmission(ctx context.Context, s Scheduler, a admission, dir string, webhook map[string]any) (*launch, error) {
	ports, err := r.webhookPorts(s)
	if err != nil {
		return nil, err
	}
	health := "127.0.0.1:" + strconv.Itoa(ports[1])
	if r.Only == "" {
		if err := r.serve(a, ports[0]); err != nil {
			return nil, err
		}
	}
	if err := r.install(ctx, s, a, ports[0]); err != nil {
		return nil, err
	}
	server := map[string]any{"host": "127.0.0.1", "port": ports[0]}
	maps.Copy(server, webhook)
	config := map[string]any{"health": map[string]any{"healthProbeBindAddress": health}, "webhook": server}
	maps.Copy(config, s.config)
	raw, err := yaml.Marshal(config)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		return nil, err
	}
	// It dials its own webhooks before it says that it is ready.
	return &launch{args: []string{"--config=" + file}, bind: ports, connect: ports[:1], ready: "http://" + health + "/readyz"}, nil
}

// webhookPorts are the port for a program's webhooks, and that for its health.
func (r *Runner) webhookPorts(s Scheduler) ([]int, error) {
	own := 2
	if r.Only != "" {
		if len(r.Webhooks) == 0 {
			return nil, fmt.Errorf("no port is left for the webhooks of %s", s)
		}
		own = 1
	}
	ports, err := r.Ports.Take(own)
	if err != nil {
		return nil, err
	}
	r.taken = append(r.taken, ports...)
	if r.Only != "" {
		ports, r.Webhooks = append(r.Webhooks[:1:1], ports...), r.Webhooks[1:]
	}
	return ports, nil
}

// Job describes a controller to the runner of cells.
func (s Scheduler) Job() infra.JobController {
	j := infra.JobController{Name: s.Name, Title: titles[s.Name], Version: s.version}
	j.Groups = slices.DeleteFunc(slices.Clone(admissionOf(s.Name).groups), func(group string) bool { return group == "" })
	j.Needs = slices.DeleteFunc(WithNeeded([]string{s.Name}), func(name string) bool { return name == s.Name })
	return j
}

// titles are what the controllers' projects call them.
var titles = map[string]string{jobSet: "JobSet", trainer: "Kubeflow Trainer"}
