// Package flags has what the programs of cert-manager share here: their flags for logs, TLS and
// leader election, and how flags and a configuration file come together.
package flags

import (
	"fmt"
	"os"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation/field"
	cliflag "k8s.io/component-base/cli/flag"
	logsapi "k8s.io/component-base/logs/api/v1"

	"github.com/cert-manager/cert-manager/internal/apis/config/shared"
	logf "github.com/cert-manager/cert-manager/pkg/logs"
	"github.com/cert-manager/cert-manager/pkg/util/configfile"
	utilfeature "github.com/cert-manager/cert-manager/pkg/util/feature"
)

// TLS adds the flags of a TLS server, with a prefix of their names.
func TLS(fs *pflag.FlagSet, c *shared.TLSConfig, prefix string) {
	fs.StringVar(&c.Filesystem.CertFile, prefix+"tls-cert-file", c.Filesystem.CertFile, "file of the certificate")
	fs.StringVar(&c.Filesystem.KeyFile, prefix+"tls-private-key-file", c.Filesystem.KeyFile, "file of the key")
	fs.StringVar(&c.Dynamic.SecretNamespace, prefix+"dynamic-serving-ca-secret-namespace", c.Dynamic.SecretNamespace, "namespace of the authority's Secret")
	fs.StringVar(&c.Dynamic.SecretName, prefix+"dynamic-serving-ca-secret-name", c.Dynamic.SecretName, "name of the authority's Secret")
	fs.StringSliceVar(&c.Dynamic.DNSNames, prefix+"dynamic-serving-dns-names", c.Dynamic.DNSNames, "names in the certificate")
	fs.DurationVar(&c.Dynamic.LeafDuration, prefix+"dynamic-serving-leaf-duration", c.Dynamic.LeafDuration, "lifetime of the certificate")
	fs.StringSliceVar(&c.CipherSuites, prefix+"tls-cipher-suites", c.CipherSuites, "cipher suites")
	fs.StringVar(&c.MinTLSVersion, prefix+"tls-min-version", c.MinTLSVersion, "lowest version of TLS")
}

// LeaderElection adds the flags of an election.
func LeaderElection(fs *pflag.FlagSet, c *shared.LeaderElectionConfig) {
	fs.BoolVar(&c.Enabled, "leader-elect", c.Enabled, "elect a leader")
	fs.StringVar(&c.Namespace, "leader-election-namespace", c.Namespace, "namespace of the Lease")
	fs.DurationVar(&c.LeaseDuration, "leader-election-lease-duration", c.LeaseDuration, "how long others wait for a leader that is silent")
	fs.DurationVar(&c.RenewDeadline, "leader-election-renew-deadline", c.RenewDeadline, "how long the leader tries to renew the Lease")
	fs.DurationVar(&c.RetryPeriod, "leader-election-retry-period", c.RetryPeriod, "time between attempts")
}

// Common adds the flags that each of the programs has.
func Common(fs *pflag.FlagSet, gates *map[string]bool, logging *logsapi.LoggingConfiguration, pprof *bool, profiler, metrics *string, tls *shared.TLSConfig) {
	fs.Var(cliflag.NewMapStringBool(gates), "feature-gates", "features that are on or off")
	fs.BoolVar(pprof, "enable-profiling", *pprof, "serve profiles; not supported here")
	fs.StringVar(profiler, "profiler-address", *profiler, "address of the profiles")
	fs.StringVar(metrics, "metrics-listen-address", *metrics, "address of the metrics; 0 for none")
	TLS(fs, tls, "metrics-")
	logf.AddFlags(logging, fs)
}

// Read reads the arguments, and the file that --config names: flags win. add binds the flags to a
// configuration: it is called again for the one of the file, which file gives after load.
func Read(name string, args []string, add func(*pflag.FlagSet), file configfile.ConfigFile, use func()) {
	config := ""
	parse := func() {
		fs := pflag.NewFlagSet(name, pflag.ContinueOnError)
		fs.StringVar(&config, "config", "", "file with the configuration")
		add(fs)
		Check(fs.Parse(args))
		if fs.NArg() > 0 {
			Check(fmt.Errorf("unknown argument %q", fs.Arg(0)))
		}
	}
	parse()
	if config == "" {
		return
	}
	loader, err := configfile.NewConfigurationFSLoader(os.ReadFile, config)
	Check(err)
	if err := loader.Load(file); err != nil {
		Check(fmt.Errorf("failed to load config file %s: %w", config, err))
	}
	use()
	parse()
}

// Apply checks a configuration, sets the feature gates, and starts the log.
func Apply(problems field.ErrorList, gates map[string]bool, logging *logsapi.LoggingConfiguration) {
	if err := problems.ToAggregate(); err != nil {
		Check(fmt.Errorf("error validating flags: %w", err))
	}
	Check(utilfeature.DefaultMutableFeatureGate.SetFromMap(gates))
	logf.InitLogs()
	Check(logf.ValidateAndApply(logging))
}

// Check ends the process if there is an error, with the error as the last line of its log.
func Check(err error) {
	if err == nil {
		return
	}
	logf.FlushLogs()
	fmt.Fprintf(os.Stderr, "fatal: %v\n", err)
	os.Exit(1)
}
