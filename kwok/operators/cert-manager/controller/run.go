package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/clock"

	config "github.com/cert-manager/cert-manager/internal/apis/config/controller"
	defaults "github.com/cert-manager/cert-manager/internal/apis/config/controller/v1alpha1"
	"github.com/cert-manager/cert-manager/internal/controller/feature"
	"github.com/cert-manager/cert-manager/pkg/acme/accounts"
	"github.com/cert-manager/cert-manager/pkg/controller"
	shimgateways "github.com/cert-manager/cert-manager/pkg/controller/certificate-shim/gateways"
	"github.com/cert-manager/cert-manager/pkg/controller/clusterissuers"
	"github.com/cert-manager/cert-manager/pkg/healthz"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/acme" // each registers its kind of issuers
	dnsutil "github.com/cert-manager/cert-manager/pkg/issuer/acme/dns/util"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/ca"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/selfsigned"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/vault"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/venafi"
	logf "github.com/cert-manager/cert-manager/pkg/logs"
	"github.com/cert-manager/cert-manager/pkg/metrics"
	utilfeature "github.com/cert-manager/cert-manager/pkg/util/feature"
)

// run serves probes and metrics, and runs the controllers while this process is the leader.
func run(ctx context.Context, c *config.ControllerConfiguration) error {
	options, err := contextOptions(ctx, c)
	if err != nil {
		return err
	}
	factory, err := controller.NewContextFactory(ctx, options)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	health := healthz.NewServer(c.LeaderElectionConfig.HealthzTimeout)
	probes, err := net.Listen("tcp", c.HealthzListenAddress)
	if err != nil {
		return fmt.Errorf("failed to listen on healthz address %s: %w", c.HealthzListenAddress, err)
	}
	group.Go(func() error { return health.Start(ctx, probes) })
	if c.MetricsListenAddress != "0" {
		listener, err := net.Listen("tcp", c.MetricsListenAddress)
		if err != nil {
			return fmt.Errorf("failed to listen on prometheus address %s: %w", c.MetricsListenAddress, err)
		}
		server := options.Metrics.NewServer(listener)
		context.AfterFunc(ctx, func() { _ = server.Close() })
		go func() { _ = server.Serve(listener) }() // its end is the process's
	}
	group.Go(func() error {
		if !c.LeaderElectionConfig.Enabled {
			return start(ctx, c, factory)
		}
		return lead(ctx, c, factory, health)
	})
	return group.Wait()
}

// lead runs the controllers once this process is the leader, until it is so no more.
func lead(ctx context.Context, c *config.ControllerConfiguration, factory *controller.ContextFactory, health *healthz.Server) error {
	built, err := factory.Build("leader-election")
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(built.RESTConfig)
	if err != nil {
		return err
	}
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	name := "cert-manager-controller"
	lock, err := resourcelock.New(resourcelock.LeasesResourceLock, c.LeaderElectionConfig.Namespace, name, client.CoreV1(), client.CoordinationV1(),
		resourcelock.ResourceLockConfig{Identity: cmp.Or(os.Getenv("HOSTNAME"), host) + "-external-" + name, EventRecorder: built.Recorder})
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lock, LeaseDuration: c.LeaderElectionConfig.LeaseDuration, RenewDeadline: c.LeaderElectionConfig.RenewDeadline, RetryPeriod: c.LeaderElectionConfig.RetryPeriod,
		ReleaseOnCancel: true, WatchDog: health.LeaderHealthzAdaptor,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) { ended <- start(ctx, c, factory) },
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		return err
	}
	go elector.Run(ctx)
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// start runs the controllers that are asked for.
func start(ctx context.Context, c *config.ControllerConfiguration, factory *controller.ContextFactory) error {
	log := logf.FromContext(ctx)
	group, ctx := errgroup.WithContext(ctx)
	known := controller.Known()
	on := enabled(c)
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if !on[name] || c.Namespace != "" && name == clusterissuers.ControllerName {
			log.V(logf.InfoLevel).Info("not starting controller as it's disabled", "controller", name)
			continue
		}
		built, err := known[name](factory)
		if err != nil {
			return fmt.Errorf("error starting controller %s: %w", name, err)
		}
		group.Go(func() error {
			log.V(logf.InfoLevel).Info("starting controller", "controller", name)
			return built.Run(c.NumberOfConcurrentWorkers, ctx)
		})
	}
	shared, err := factory.Build()
	if err != nil {
		return err
	}
	shared.SharedInformerFactory.Start(ctx.Done())
	shared.KubeSharedInformerFactory.Start(ctx.Done())
	shared.HTTP01ResourceMetadataInformersFactory.Start(ctx.Done())
	if utilfeature.DefaultFeatureGate.Enabled(feature.ExperimentalGatewayAPISupport) && c.EnableGatewayAPI {
		shared.GWShared.Start(ctx.Done())
	}
	return group.Wait()
}

// enabled are the controllers that the configuration asks for.
func enabled(c *config.ControllerConfiguration) map[string]bool {
	on, off := map[string]bool{}, []string{}
	all := func() {
		for _, name := range defaults.DefaultEnabledControllers {
			on[name] = true
		}
	}
	for _, name := range c.Controllers {
		if name == "*" {
			all()
		} else if without, ok := strings.CutPrefix(name, "-"); ok {
			off = append(off, without)
		} else {
			on[name] = true
		}
	}
	if len(on) == 0 {
		all()
	}
	if utilfeature.DefaultFeatureGate.Enabled(feature.ExperimentalCertificateSigningRequestControllers) {
		for _, name := range defaults.ExperimentalCertificateSigningRequestControllers {
			on[name] = true
		}
	}
	if utilfeature.DefaultFeatureGate.Enabled(feature.ExperimentalGatewayAPISupport) && c.EnableGatewayAPI {
		on[shimgateways.ControllerName] = true
	}
	for _, name := range off {
		delete(on, name)
	}
	return on
}

func contextOptions(ctx context.Context, c *config.ControllerConfiguration) (controller.ContextOptions, error) {
	solver := c.ACMEHTTP01Config
	var quantities []resource.Quantity
	for _, text := range []string{solver.SolverResourceRequestCPU, solver.SolverResourceRequestMemory, solver.SolverResourceLimitsCPU, solver.SolverResourceLimitsMemory} {
		q, err := resource.ParseQuantity(text)
		if err != nil {
			return controller.ContextOptions{}, fmt.Errorf("error parsing the resources of the ACME HTTP01 solver: %w", err)
		}
		quantities = append(quantities, q)
	}
	nameservers := c.ACMEDNS01Config.RecursiveNameservers
	if len(nameservers) == 0 {
		nameservers = dnsutil.RecursiveNameservers
	}
	return controller.ContextOptions{
		Kubeconfig: c.KubeConfig, APIServerHost: c.APIServerHost, KubernetesAPIQPS: c.KubernetesAPIQPS, KubernetesAPIBurst: c.KubernetesAPIBurst,
		Namespace: c.Namespace, Clock: clock.RealClock{}, Metrics: metrics.New(logf.FromContext(ctx), clock.RealClock{}),
		ACMEOptions: controller.ACMEOptions{
			HTTP01SolverImage: solver.SolverImage, HTTP01SolverResourceRequestCPU: quantities[0], HTTP01SolverResourceRequestMemory: quantities[1],
			HTTP01SolverResourceLimitsCPU: quantities[2], HTTP01SolverResourceLimitsMemory: quantities[3], ACMEHTTP01SolverRunAsNonRoot: solver.SolverRunAsNonRoot,
			HTTP01SolverNameservers: solver.SolverNameservers, DNS01Nameservers: nameservers, DNS01CheckRetryPeriod: c.ACMEDNS01Config.CheckRetryPeriod,
			DNS01CheckAuthoritative: !c.ACMEDNS01Config.RecursiveNameserversOnly, AccountRegistry: accounts.NewDefaultRegistry(),
		},
		IssuerOptions: controller.IssuerOptions{
			ClusterIssuerAmbientCredentials: c.ClusterIssuerAmbientCredentials, IssuerAmbientCredentials: c.IssuerAmbientCredentials, ClusterResourceNamespace: c.ClusterResourceNamespace,
		},
		IngressShimOptions: controller.IngressShimOptions{
			DefaultIssuerName: c.IngressShimConfig.DefaultIssuerName, DefaultIssuerKind: c.IngressShimConfig.DefaultIssuerKind, DefaultIssuerGroup: c.IngressShimConfig.DefaultIssuerGroup,
			DefaultAutoCertificateAnnotations: c.IngressShimConfig.DefaultAutoCertificateAnnotations,
		},
		CertificateOptions: controller.CertificateOptions{EnableOwnerRef: c.EnableCertificateOwnerRef, CopiedAnnotationPrefixes: c.CopiedAnnotationPrefixes},
		SchedulerOptions:   controller.SchedulerOptions{MaxConcurrentChallenges: c.MaxConcurrentChallenges},
		ConfigOptions:      controller.ConfigOptions{EnableGatewayAPI: c.EnableGatewayAPI},
	}, nil
}
