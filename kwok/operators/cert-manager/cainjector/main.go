// The cainjector of cert-manager, from the packages of its module: its own program is a module that
// cannot be compiled alone.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	apiext "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	kscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	apireg "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	config "github.com/cert-manager/cert-manager/internal/apis/config/cainjector"
	"github.com/cert-manager/cert-manager/internal/apis/config/cainjector/scheme"
	"github.com/cert-manager/cert-manager/internal/apis/config/cainjector/validation"
	"github.com/cert-manager/cert-manager/internal/kube"
	"github.com/cert-manager/cert-manager/pkg/apis/config/cainjector/v1alpha1"
	"github.com/cert-manager/cert-manager/pkg/cainjector/configfile"
	cmscheme "github.com/cert-manager/cert-manager/pkg/client/clientset/versioned/scheme"
	"github.com/cert-manager/cert-manager/pkg/controller/cainjector"
	logf "github.com/cert-manager/cert-manager/pkg/logs"
	"github.com/cert-manager/cert-manager/pkg/util"

	"github.com/cert-manager/cert-manager/programs/flags"
)

func main() {
	s, _, err := scheme.NewSchemeAndCodecs()
	flags.Check(err)
	versioned, c := &v1alpha1.CAInjectorConfiguration{}, &config.CAInjectorConfiguration{}
	s.Default(versioned)
	flags.Check(s.Convert(versioned, c, nil))
	file := configfile.New()
	flags.Read("cainjector", os.Args[1:], func(fs *pflag.FlagSet) {
		fs.StringVar(&c.KubeConfig, "kubeconfig", c.KubeConfig, "file of the API server's address")
		fs.StringVar(&c.Namespace, "namespace", c.Namespace, "the one namespace to watch")
		flags.LeaderElection(fs, &c.LeaderElectionConfig)
		fs.BoolVar(&c.EnableDataSourceConfig.Certificates, "enable-certificates-data-source", c.EnableDataSourceConfig.Certificates, "inject from Certificates")
		for name, is := range map[string]*bool{
			"validatingwebhookconfigurations": &c.EnableInjectableConfig.ValidatingWebhookConfigurations,
			"mutatingwebhookconfigurations":   &c.EnableInjectableConfig.MutatingWebhookConfigurations,
			"customresourcedefinitions":       &c.EnableInjectableConfig.CustomResourceDefinitions,
			"apiservices":                     &c.EnableInjectableConfig.APIServices,
		} {
			fs.BoolVar(is, "enable-"+name+"-injectable", *is, "inject into these objects")
		}
		flags.Common(fs, &c.FeatureGates, &c.Logging, &c.EnablePprof, &c.PprofAddress, &c.MetricsListenAddress, &c.MetricsTLSConfig)
	}, file, func() { c = file.Config })
	flags.Apply(validation.ValidateCAInjectorConfiguration(c, nil), c.FeatureGates, &c.Logging)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx = logf.NewContext(ctx, logf.Log, "cainjector")
	ctrl.SetLogger(logf.FromContext(ctx))
	flags.Check(run(ctx, c))
}

func run(ctx context.Context, c *config.CAInjectorConfiguration) error {
	rest, err := kube.BuildClientConfig("", c.KubeConfig)
	if err != nil {
		return err
	}
	all := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{kscheme.AddToScheme, cmscheme.AddToScheme, apiext.AddToScheme, apireg.AddToScheme} {
		if err := add(all); err != nil {
			return err
		}
	}
	options := ctrl.Options{
		Scheme:         all,
		Cache:          cache.Options{ReaderFailOnMissingInformer: true},
		Client:         client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}}}},
		Metrics:        metricsserver.Options{BindAddress: c.MetricsListenAddress},
		LeaderElection: c.LeaderElectionConfig.Enabled, LeaderElectionNamespace: c.LeaderElectionConfig.Namespace,
		LeaderElectionID: "cert-manager-cainjector-leader-election", LeaderElectionReleaseOnCancel: true, LeaderElectionResourceLock: resourcelock.LeasesResourceLock,
		LeaseDuration: &c.LeaderElectionConfig.LeaseDuration, RenewDeadline: &c.LeaderElectionConfig.RenewDeadline, RetryPeriod: &c.LeaderElectionConfig.RetryPeriod,
	}
	if c.Namespace != "" {
		options.Cache.DefaultNamespaces = map[string]cache.Config{c.Namespace: {}}
	}
	manager, err := ctrl.NewManager(util.RestConfigWithUserAgent(rest, "cainjector"), options)
	if err != nil {
		return err
	}
	if c.EnableDataSourceConfig.Certificates {
		if err := waitForCRD(ctx, manager); err != nil {
			return err
		}
	}
	err = cainjector.RegisterAllInjectors(ctx, manager, cainjector.SetupOptions{
		Namespace: c.Namespace, EnableCertificatesDataSource: c.EnableDataSourceConfig.Certificates,
		EnabledReconcilersFor: map[string]bool{
			cainjector.MutatingWebhookConfigurationName:   c.EnableInjectableConfig.MutatingWebhookConfigurations,
			cainjector.ValidatingWebhookConfigurationName: c.EnableInjectableConfig.ValidatingWebhookConfigurations,
			cainjector.APIServiceName:                     c.EnableInjectableConfig.APIServices,
			cainjector.CustomResourceDefinitionName:       c.EnableInjectableConfig.CustomResourceDefinitions,
		},
	})
	if err != nil {
		return err
	}
	return manager.Start(ctx)
}

// waitForCRD waits up to five minutes for the kind that the injectors watch.
func waitForCRD(ctx context.Context, manager ctrl.Manager) error {
	direct, err := client.New(manager.GetConfig(), client.Options{Scheme: manager.GetScheme(), Mapper: manager.GetRESTMapper()})
	if err != nil {
		return err
	}
	return wait.PollUntilContextTimeout(ctx, time.Second, 5*time.Minute, true, func(ctx context.Context) (bool, error) {
		err := direct.Get(ctx, client.ObjectKey{Name: "certificates.cert-manager.io"}, &apiext.CustomResourceDefinition{})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil, err
	})
}
