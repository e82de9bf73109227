// The controller of cert-manager, from the packages of its module: its own program is a module that
// cannot be compiled alone.
package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/pflag"

	config "github.com/cert-manager/cert-manager/internal/apis/config/controller"
	"github.com/cert-manager/cert-manager/internal/apis/config/controller/scheme"
	"github.com/cert-manager/cert-manager/internal/apis/config/controller/validation"
	"github.com/cert-manager/cert-manager/pkg/apis/config/controller/v1alpha1"
	"github.com/cert-manager/cert-manager/pkg/controller/configfile"
	logf "github.com/cert-manager/cert-manager/pkg/logs"

	"github.com/cert-manager/cert-manager/programs/flags"
)

func main() {
	s, _, err := scheme.NewSchemeAndCodecs()
	flags.Check(err)
	versioned, c := &v1alpha1.ControllerConfiguration{}, &config.ControllerConfiguration{}
	s.Default(versioned)
	flags.Check(s.Convert(versioned, c, nil))
	file := configfile.New()
	flags.Read("controller", os.Args[1:], func(fs *pflag.FlagSet) { add(fs, c) }, file, func() { c = file.Config })
	flags.Apply(validation.ValidateControllerConfiguration(c, nil), c.FeatureGates, &c.Logging)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(logf.NewContext(ctx, logf.Log, "controller"), c); err != nil && !errors.Is(err, context.Canceled) {
		flags.Check(err)
	}
}

// add adds the flags of the controller.
func add(fs *pflag.FlagSet, c *config.ControllerConfiguration) {
	fs.StringVar(&c.APIServerHost, "master", c.APIServerHost, "address of the API server")
	fs.StringVar(&c.KubeConfig, "kubeconfig", c.KubeConfig, "file of the API server's address")
	fs.Float32Var(&c.KubernetesAPIQPS, "kube-api-qps", c.KubernetesAPIQPS, "requests per second")
	fs.IntVar(&c.KubernetesAPIBurst, "kube-api-burst", c.KubernetesAPIBurst, "requests at once")
	fs.StringVar(&c.Namespace, "namespace", c.Namespace, "the one namespace to watch")
	fs.StringVar(&c.ClusterResourceNamespace, "cluster-resource-namespace", c.ClusterResourceNamespace, "namespace of what ClusterIssuers own")
	flags.LeaderElection(fs, &c.LeaderElectionConfig.LeaderElectionConfig)
	fs.StringSliceVar(&c.Controllers, "controllers", c.Controllers, "controllers to start; * for all, -NAME for all but one")
	fs.BoolVar(&c.ClusterIssuerAmbientCredentials, "cluster-issuer-ambient-credentials", c.ClusterIssuerAmbientCredentials, "")
	fs.BoolVar(&c.IssuerAmbientCredentials, "issuer-ambient-credentials", c.IssuerAmbientCredentials, "")
	fs.BoolVar(&c.EnableCertificateOwnerRef, "enable-certificate-owner-ref", c.EnableCertificateOwnerRef, "Certificates own their Secrets")
	fs.BoolVar(&c.EnableGatewayAPI, "enable-gateway-api", c.EnableGatewayAPI, "")
	fs.StringSliceVar(&c.CopiedAnnotationPrefixes, "copied-annotation-prefixes", c.CopiedAnnotationPrefixes, "")
	fs.IntVar(&c.NumberOfConcurrentWorkers, "concurrent-workers", c.NumberOfConcurrentWorkers, "workers of each controller")
	fs.IntVar(&c.MaxConcurrentChallenges, "max-concurrent-challenges", c.MaxConcurrentChallenges, "")
	fs.StringVar(&c.HealthzListenAddress, "internal-healthz-listen-address", c.HealthzListenAddress, "address of the probes")
	fs.DurationVar(&c.LeaderElectionConfig.HealthzTimeout, "internal-healthz-leader-election-timeout", c.LeaderElectionConfig.HealthzTimeout, "")

	shim := &c.IngressShimConfig
	fs.StringSliceVar(&shim.DefaultAutoCertificateAnnotations, "auto-certificate-annotations", shim.DefaultAutoCertificateAnnotations, "")
	fs.StringVar(&shim.DefaultIssuerName, "default-issuer-name", shim.DefaultIssuerName, "")
	fs.StringVar(&shim.DefaultIssuerKind, "default-issuer-kind", shim.DefaultIssuerKind, "")
	fs.StringVar(&shim.DefaultIssuerGroup, "default-issuer-group", shim.DefaultIssuerGroup, "")

	dns := &c.ACMEDNS01Config
	fs.StringSliceVar(&dns.RecursiveNameservers, "dns01-recursive-nameservers", dns.RecursiveNameservers, "")
	fs.BoolVar(&dns.RecursiveNameserversOnly, "dns01-recursive-nameservers-only", dns.RecursiveNameserversOnly, "")
	fs.DurationVar(&dns.CheckRetryPeriod, "dns01-check-retry-period", dns.CheckRetryPeriod, "")

	http := &c.ACMEHTTP01Config
	fs.StringVar(&http.SolverImage, "acme-http01-solver-image", http.SolverImage, "")
	fs.StringVar(&http.SolverResourceRequestCPU, "acme-http01-solver-resource-request-cpu", http.SolverResourceRequestCPU, "")
	fs.StringVar(&http.SolverResourceRequestMemory, "acme-http01-solver-resource-request-memory", http.SolverResourceRequestMemory, "")
	fs.StringVar(&http.SolverResourceLimitsCPU, "acme-http01-solver-resource-limits-cpu", http.SolverResourceLimitsCPU, "")
	fs.StringVar(&http.SolverResourceLimitsMemory, "acme-http01-solver-resource-limits-memory", http.SolverResourceLimitsMemory, "")
	fs.BoolVar(&http.SolverRunAsNonRoot, "acme-http01-solver-run-as-non-root", http.SolverRunAsNonRoot, "")
	fs.StringSliceVar(&http.SolverNameservers, "acme-http01-solver-nameservers", http.SolverNameservers, "")

	flags.Common(fs, &c.FeatureGates, &c.Logging, &c.EnablePprof, &c.PprofAddress, &c.MetricsListenAddress, &c.MetricsTLSConfig)
}
