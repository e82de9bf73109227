// The startupapicheck of cert-manager, from the packages of its module: its own program is a module
// that cannot be compiled alone.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/cert-manager/cert-manager/pkg/util/cmapichecker"

	"github.com/cert-manager/cert-manager/programs/flags"
)

func main() {
	var budget, interval time.Duration
	var kubeconfig, namespace string
	fs := pflag.NewFlagSet("startupapicheck", pflag.ContinueOnError)
	fs.DurationVar(&budget, "wait", 0, "how long to wait for the API")
	fs.DurationVar(&interval, "interval", time.Second, "time between attempts") // cert-manager's own waits for 5 s, while a whole cell takes a minute
	fs.StringVar(&kubeconfig, "kubeconfig", os.Getenv(clientcmd.RecommendedConfigPathEnvVar), "file of the API server's address")
	fs.StringVarP(&namespace, "namespace", "n", os.Getenv("POD_NAMESPACE"), "namespace of the requests")
	fs.BoolP("verbose", "v", false, "say more")
	flags.Check(fs.Parse(os.Args[1:]))
	if fs.NArg() != 2 || fs.Arg(0) != "check" || fs.Arg(1) != "api" {
		flags.Check(fmt.Errorf("unknown arguments %q: want check api", fs.Args()))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	flags.Check(check(ctx, budget, interval, kubeconfig, namespace))
	fmt.Println("The cert-manager API is ready")
}

// check asks at once, and then again until the API answers as it should.
func check(ctx context.Context, budget, interval time.Duration, kubeconfig, namespace string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	if namespace == "" {
		loaded, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(&clientcmd.ClientConfigLoadingRules{ExplicitPath: kubeconfig}, nil).RawConfig()
		if err != nil {
			return err
		}
		if c := loaded.Contexts[loaded.CurrentContext]; c != nil {
			namespace = c.Namespace
		}
	}
	checker, err := cmapichecker.New(config, namespace)
	if err != nil {
		return err
	}
	deadline := time.Now().Add(budget)
	for {
		err := checker.Check(ctx)
		if err == nil {
			return nil
		}
		fmt.Fprintf(os.Stderr, "Not ready: %v\n", err)
		if time.Now().Add(interval).After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(interval):
		}
	}
}
