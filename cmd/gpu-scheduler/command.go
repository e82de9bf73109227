package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// run is the program gpu-scheduler with the arguments, environment and streams of this process. It
// returns the exit code: 0, or 1 with an error on stderr. SIGINT and SIGTERM end it.
func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	cmd := command(os.Getenv, os.Stdout, os.Stderr)
	cmd.SetArgs(os.Args[1:])
	if err := cmd.ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

const mapFlag = "scheduling-map"

func command(getenv func(string) string, stdout, stderr io.Writer) *cobra.Command {
	root := &cobra.Command{
		Use: "gpu-scheduler", Short: "Place pods on nodes and GPUs by a map", SilenceUsage: true, SilenceErrors: true,
		Long: "Places the pods of a StatefulSet on the nodes and GPUs that a map gives them. examples/gpu-scheduler/README.md describes it.",
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.AddCommand(runCommand(getenv, stderr), readyCommand(), checkCommand(getenv, stdout))
	return root
}

func runCommand(getenv func(string) string, stderr io.Writer) *cobra.Command {
	var file, ready, kubeconfig, namespace string
	s := Scheduler{Log: slog.New(slog.NewTextHandler(stderr, nil))}
	cmd := &cobra.Command{
		Use: "run", Short: "Place pods until a signal ends it", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			m, err := ReadMap(file)
			if err != nil {
				return err
			}
			if s.Namespace = namespace; s.Namespace == "" {
				s.Namespace = getenv("POD_NAMESPACE")
			}
			if s.Namespace == "" {
				return errors.New("--namespace is missing, and POD_NAMESPACE is not set: where may a pod be made as a dry run?")
			}
			if kubeconfig == "" {
				kubeconfig = getenv("KUBECONFIG")
			}
			config, err := clientConfig(kubeconfig)
			if err != nil {
				return err
			}
			if s.Client, err = kubernetes.NewForConfig(config); err != nil {
				return fmt.Errorf("reach the API server: %w", err)
			}
			s.Map, s.Ready = m, readyFile(ready)
			if err := s.Ready(false); err != nil { // one that an earlier container of the pod has left
				return err
			}
			return s.Run(cmd.Context())
		},
	}
	cmd.Flags().StringVar(&file, mapFlag, "", "`file` with the scheduling map")
	cmd.Flags().StringVar(&s.Name, "name", "gpu-scheduler", "place the pods that have this schedulerName")
	cmd.Flags().StringVar(&ready, "ready-file", "", "`file` that exists while the API server sets CUDA_VISIBLE_DEVICES")
	cmd.Flags().StringVar(&kubeconfig, "kubeconfig", "", "`file` for reaching the API server (default: $KUBECONFIG, or else the ServiceAccount of the pod)")
	cmd.Flags().StringVar(&namespace, "namespace", "", "where a pod is made as a dry run (default: $POD_NAMESPACE)")
	_ = cmd.MarkFlagRequired(mapFlag) // the flag exists
	return cmd
}

func clientConfig(kubeconfig string) (*rest.Config, error) {
	if kubeconfig == "" {
		config, err := rest.InClusterConfig()
		if err != nil {
			return nil, fmt.Errorf("reach the API server: %w; outside a pod, use --kubeconfig", err)
		}
		return config, nil
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reach the API server by %s: %w", kubeconfig, err)
	}
	return config, nil
}

// readyFile makes a file, or removes it. Without a name it does nothing.
func readyFile(name string) func(bool) error {
	return func(is bool) error {
		switch {
		case name == "":
			return nil
		case is:
			return os.WriteFile(name, nil, 0o600)
		}
		if err := os.Remove(name); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
}

func readyCommand() *cobra.Command {
	return &cobra.Command{
		Use: "ready FILE", Short: "Exit with 0 if the scheduler is ready, for a readiness probe", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if _, err := os.Stat(args[0]); err != nil {
				return fmt.Errorf("the scheduler is not ready: %w", err)
			}
			return nil
		},
	}
}

func checkCommand(getenv func(string) string, stdout io.Writer) *cobra.Command {
	var file string
	var once bool
	var every time.Duration
	cmd := &cobra.Command{
		Use: "check", Short: "In a pod: compare its node and its GPUs with the map", Args: cobra.NoArgs,
		Long: "Compares NODE_NAME and CUDA_VISIBLE_DEVICES with the entry that the map has for POD_INDEX, again and again. Exits with 1 when they differ.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			m, err := ReadMap(file)
			if err != nil {
				return err
			}
			for {
				line, err := Check(PodOf(getenv), m)
				if err != nil {
					return err
				}
				if _, err := fmt.Fprintln(stdout, line); err != nil || once {
					return err
				}
				select {
				case <-cmd.Context().Done():
					return nil
				case <-time.After(every):
				}
			}
		},
	}
	cmd.Flags().StringVar(&file, mapFlag, "", "`file` with the scheduling map")
	cmd.Flags().BoolVar(&once, "once", false, "compare once and exit, for a readiness probe")
	cmd.Flags().DurationVar(&every, "every", 30*time.Second, "how often to compare and log")
	_ = cmd.MarkFlagRequired(mapFlag) // the flag exists
	return cmd
}
