// Package programs is the table of the programs that can run on this machine for pods of a recipe:
// which image each is for, what it is compiled from, where it listens, and which stand-ins give way
// to it. It chooses which of them run for a bundle, and compiles them. It must not start any, and
// must not know which platform makes the cluster.
package programs

import (
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/stack"
)

// row is a program for an image.
type row struct {
	// Name is what people call it.
	Name string
	// images are the repositories of its image, without the registry: mirrors have others.
	images []string
	// group is what it is compiled from; empty for a row without a program, whose pods are
	// simulated unless the user gives one.
	group stack.Group
	// part is the program of the group; empty for its one program.
	part string
	// command, if set, is the one command of the image that this is the program of.
	command string
	// job means that Jobs run it; other programs are those of Deployments and StatefulSets.
	job bool
	// hidden is the command of this program that stands in for it, in place of a compiled one.
	hidden string
	// at is where the program is in its image. It is set for one that reads files at paths which no
	// argument names: its process then has a root of its own, with this program and the container's
	// volumes.
	at string
	// args are those that it gets before the container's own, which decide where both name a flag.
	args    []string
	listens []infra.Listen
	// config is the configuration file that has settings of listens.
	config *infra.ConfigFile
	// off are its servers whose ports have no setting.
	off []infra.Off
	// controller is the name by which --controller runs the same program beside a recipe; empty for
	// one that is no controller of users' jobs.
	controller string
	// noise are parts of lines about errors that it logs because nodes are simulated.
	noise []string
	// kinds are those whose stand-ins give way, since the program does their work; condition is the
	// one that it then reports.
	kinds     []schema.GroupKind
	condition string
	// judges are kinds that the program reads into what it makes of others, and rejects is the
	// reason of the event by which it says that it leaves one out.
	judges  []schema.GroupKind
	rejects string
	// cannot says why the program cannot do its work for these objects of its bundle; empty if it
	// can.
	cannot func(objects []bundle.Object) string
	// why says what a row without a program lacks.
	why string
}

// compiled is the part of the stack that the row is compiled as.
func (r *row) compiled() stack.Part {
	parts := r.group.Parts()
	if i := slices.IndexFunc(parts, func(p stack.Part) bool { return p.Name == r.part }); i >= 0 {
		return parts[i]
	}
	return parts[0]
}

// table has every program, and the operators that are known and have none.
func table() []row {
	monitoring := func(kind string) schema.GroupKind {
		return schema.GroupKind{Group: "monitoring.coreos.com", Kind: kind}
	}
	certs := func(kind string) schema.GroupKind { return schema.GroupKind{Group: certificatesGroup, Kind: kind} }
	metrics := infra.Listen{Flag: "metrics-listen-address", Default: "0.0.0.0:9402"}
	const notServed = "its module cannot be compiled alone; --program IMAGE, or IMAGE=FILE, gives it one"
	return []row{
		{
			Name: "prometheus-operator", images: []string{"prometheus-operator/prometheus-operator"}, group: stack.GroupPrometheusOperator,
			listens: []infra.Listen{{Flag: "web.listen-address", Default: ":8080"}},
			noise:   []string{"Failed to synchronize kubelet endpoints", "http: TLS handshake error"}, // nodes have no address; its caBundle is written later
			kinds:   []schema.GroupKind{monitoring("Prometheus"), monitoring("Alertmanager")}, condition: "Available",
			judges:  []schema.GroupKind{monitoring("PrometheusRule"), monitoring("ServiceMonitor"), monitoring("PodMonitor"), monitoring("Probe"), monitoring("ScrapeConfig"), monitoring("AlertmanagerConfig")},
			rejects: "InvalidConfiguration",
		},
		{
			Name: "cert-manager-controller", images: []string{"jetstack/cert-manager-controller"}, group: stack.GroupCertManager, part: "cert-manager-controller",
			listens: []infra.Listen{metrics, {Flag: "internal-healthz-listen-address", Default: "0.0.0.0:9403"}},
			kinds:   []schema.GroupKind{certs("Certificate"), certs("Issuer"), certs("ClusterIssuer")}, condition: "Ready", cannot: foreignIssuer,
		},
		{
			Name: "cert-manager-webhook", images: []string{"jetstack/cert-manager-webhook"}, group: stack.GroupCertManager, part: "cert-manager-webhook",
			noise:   []string{"no tls.Certificate available yet"}, // until it has made its authority
			listens: []infra.Listen{metrics, {Flag: "secure-port", Default: "6443"}, {Flag: "healthz-port", Default: "6080"}},
		},
		{
			Name: "cert-manager-cainjector", images: []string{"jetstack/cert-manager-cainjector"}, group: stack.GroupCertManager, part: "cert-manager-cainjector",
			listens: []infra.Listen{metrics},
		},
		{Name: "cert-manager-startupapicheck", images: []string{"jetstack/cert-manager-startupapicheck"}, group: stack.GroupCertManager, part: "cert-manager-startupapicheck", job: true, args: []string{"--interval=200ms"}},
		{Name: "kube-webhook-certgen", images: []string{"ingress-nginx/kube-webhook-certgen", "jkroepke/kube-webhook-certgen"}, hidden: certgenCommand, job: true},
		{
			Name: "nfd-master", images: []string{"nfd/node-feature-discovery"}, command: "nfd-master", group: stack.GroupNFD, part: "nfd-master", at: "/usr/bin/nfd-master",
			listens: []infra.Listen{{Flag: "port", Default: "8080"}},
		},
		{
			Name: "nfd-gc", images: []string{"nfd/node-feature-discovery"}, command: "nfd-gc", group: stack.GroupNFD, part: "nfd-gc", at: "/usr/bin/nfd-gc",
			listens: []infra.Listen{{Flag: "port", Default: "8080"}},
		},
		{Name: "gpu-operator", images: []string{"nvidia/gpu-operator"}, why: notServed},
		{Name: "network-operator", images: []string{"nvidia/cloud-native/network-operator"}, why: notServed},
		{Name: "skyhook-operator", images: []string{"nvidia/skyhook/operator"}, why: notServed},
		{Name: "grove-operator", images: []string{"ai-dynamo/grove/grove-operator"}, why: notServed},
		{Name: "kai-operator", images: []string{"nvidia/kai-scheduler/operator", "kai-scheduler/kai-scheduler/operator"}, why: notServed},
		{Name: "dynamo-operator", images: []string{"nvidia/ai-dynamo/kubernetes-operator"}, why: notServed},
		{Name: "nim-operator", images: []string{"nvidia/k8s-nim-operator"}, why: notServed},
		{Name: "slurm-operator", images: []string{"slinkyproject/slurm-operator"}, why: notServed},
		{
			Name: "kubeflow-trainer", images: []string{"kubeflow/trainer/trainer-controller-manager"}, group: stack.GroupTrainer, at: manager, controller: "trainer",
			config:  &infra.ConfigFile{Flag: "config", APIVersion: "config.trainer.kubeflow.org/v1alpha1", Kind: "Configuration", Hosts: []string{"webhook.host"}},
			listens: []infra.Listen{{Setting: "webhook.port", Default: "9443"}, {Setting: "metrics.bindAddress", Default: ":8443"}, {Setting: "health.healthProbeBindAddress", Default: ":8081"}},
		},
		{
			Name: "jobset", images: []string{"jobset/jobset"}, group: stack.GroupJobSet, at: manager, controller: "jobset",
			config:  &infra.ConfigFile{Flag: "config", APIVersion: "config.jobset.x-k8s.io/v1alpha1", Kind: "Configuration", Hosts: []string{"webhook.host"}},
			listens: []infra.Listen{{Setting: "webhook.port", Default: "9443"}, {Flag: "metrics-bind-address", Setting: "metrics.bindAddress", Default: ":8443"}, {Flag: "health-probe-bind-address", Setting: "health.healthProbeBindAddress", Default: ":8081"}},
		},
		{
			Name: "kueue", images: []string{"kueue/kueue"}, group: stack.GroupKueue, at: manager,
			config: &infra.ConfigFile{Flag: "config", APIVersion: "config.kueue.x-k8s.io/v1beta2", Kind: "Configuration", Hosts: []string{"webhook.host"}},
			off:    []infra.Off{{Gate: "VisibilityOnDemand", Port: 8082}},
			kinds:  []schema.GroupKind{{Group: queuesGroup, Kind: "ClusterQueue"}, {Group: queuesGroup, Kind: "LocalQueue"}}, condition: "Active",
			listens: []infra.Listen{{Setting: "webhook.port", Default: "9443"}, {Setting: "metrics.bindAddress", Default: ":8443"}, {Setting: "health.healthProbeBindAddress", Default: ":8081"}, {Setting: "pprofBindAddress"}},
		},
		{
			Name: "coscheduling", images: []string{"scheduler-plugins/kube-scheduler"}, group: stack.GroupCoscheduling, at: "/bin/kube-scheduler",
			listens: []infra.Listen{{Flag: "secure-port", Default: "10259"}},
			noise:   []string{"missing content for CA bundle"}, // the API server has no aggregation layer's authority
		},
		{Name: "scheduler-plugins-controller", images: []string{"scheduler-plugins/controller"}, why: "only the scheduler of its module is compiled, which needs no status of PodGroups; --program IMAGE, or IMAGE=FILE, gives it one"},
	}
}

// manager is where the images of controllers that kubebuilder has laid out have their program.
const manager = "/manager"

// rowOf is the row of a container, and the version that its image names; nil if there is none. An image
// that cannot be read has none: the API server's check of it is another's.
func rowOf(c *corev1.Container) (row *row, version string) {
	image := c.Image
	ref, err := name.ParseReference(image, name.WeakValidation)
	if err != nil {
		return nil, ""
	}
	repository := "/" + ref.Context().RepositoryStr()
	if tag, ok := ref.(name.Tag); ok {
		version = tag.TagStr()
	} else if before, _, ok := strings.Cut(image, "@"); ok { // NAME:TAG@DIGEST
		if tag, err := name.NewTag(before, name.WeakValidation); err == nil && strings.HasSuffix(before, ":"+tag.TagStr()) {
			version = tag.TagStr()
		}
	}
	for _, r := range table() {
		for _, of := range r.images {
			program := infra.Program{Image: image, Command: r.command}
			if strings.HasSuffix(repository, "/"+of) && program.Of(c) {
				return &r, version
			}
		}
	}
	return nil, ""
}
