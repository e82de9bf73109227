// The webhook of cert-manager, from the packages of its module: its own program is a module that
// cannot be compiled alone.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/pflag"

	config "github.com/cert-manager/cert-manager/internal/apis/config/webhook"
	"github.com/cert-manager/cert-manager/internal/apis/config/webhook/scheme"
	"github.com/cert-manager/cert-manager/internal/apis/config/webhook/validation"
	"github.com/cert-manager/cert-manager/internal/webhook"
	"github.com/cert-manager/cert-manager/pkg/apis/config/webhook/v1alpha1"
	logf "github.com/cert-manager/cert-manager/pkg/logs"
	"github.com/cert-manager/cert-manager/pkg/webhook/configfile"

	"github.com/cert-manager/cert-manager/programs/flags"
)

func main() {
	s, _, err := scheme.NewSchemeAndCodecs()
	flags.Check(err)
	versioned, c := &v1alpha1.WebhookConfiguration{}, &config.WebhookConfiguration{}
	s.Default(versioned)
	flags.Check(s.Convert(versioned, c, nil))
	file := configfile.New()
	flags.Read("webhook", os.Args[1:], func(fs *pflag.FlagSet) {
		fs.Int32Var(&c.SecurePort, "secure-port", c.SecurePort, "port of the webhooks")
		fs.Int32Var(&c.HealthzPort, "healthz-port", c.HealthzPort, "port of the probes")
		fs.StringVar(&c.KubeConfig, "kubeconfig", c.KubeConfig, "file of the API server's address")
		fs.StringVar(&c.APIServerHost, "api-server-host", c.APIServerHost, "address of the API server")
		flags.TLS(fs, &c.TLSConfig, "")
		flags.Common(fs, &c.FeatureGates, &c.Logging, &c.EnablePprof, &c.PprofAddress, &c.MetricsListenAddress, &c.MetricsTLSConfig)
	}, file, func() { c = file.Config })
	flags.Apply(validation.ValidateWebhookConfiguration(c, nil), c.FeatureGates, &c.Logging)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx = logf.NewContext(ctx, logf.Log, "webhook")
	server, err := webhook.NewCertManagerWebhookServer(logf.FromContext(ctx), *c)
	flags.Check(err)
	flags.Check(server.Run(ctx))
}
