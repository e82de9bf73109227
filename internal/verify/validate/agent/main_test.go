package agent_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/command/cli/docio"
	"github.com/nvidia/aicr-action/internal/testkit/workers"
	"github.com/nvidia/aicr-action/internal/verify/snapshot/collect"
	"github.com/nvidia/aicr-action/internal/verify/validate/agent"
)

// TestMain makes this test binary the program that the pods of TestOnTheRealStack run: the agent's,
// and a helper that says what it sees.
func TestMain(m *testing.M) {
	workers.Serve(cli.Hidden())
	if code, ok := agent.DispatchRunChecks(); ok {
		os.Exit(code)
	}
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "show":
			os.Exit(show(os.Args[2:]))
		case "check":
			os.Exit(check(os.Args[2]))
		case "write":
			os.Exit(write(os.Args[2], os.Args[3]))
		case "serve":
			os.Exit(serve(os.Args[2]))
		case "snapshot":
			os.Exit(takeSnapshot(os.Args[3]))
		}
	}
	os.Exit(m.Run())
}

// write is an init container: it writes a file, and ends.
func write(file, text string) int {
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("wrote " + strings.TrimPrefix(file, file[:strings.LastIndex(file, "/scratch/")]))
	return 0
}

// serve answers requests for /ready until SIGTERM ends it.
func serve(port string) int {
	http.HandleFunc("/ready", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "yes") })
	fmt.Println(http.ListenAndServe(":"+port, nil))
	return 1
}

func check(file string) int {
	if _, err := os.Stat(file); err != nil {
		return 1
	}
	return 0
}

// show prints a line for each argument: a variable, a file, a port that it dials. Then it writes
// the file READY and waits for SIGTERM, which is exit code 7.
func show(args []string) int {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM)
	fmt.Println("pid", os.Getpid())
	for _, arg := range args {
		kind, what, _ := strings.Cut(arg, ":")
		switch kind {
		case "env":
			fmt.Printf("%s=%s\n", what, os.Getenv(what))
		case "read":
			data, err := os.ReadFile(what)
			fmt.Printf("read: %s %v\n", bytes.TrimSpace(data), err)
		case "deny":
			_, err := os.ReadFile(what)
			fmt.Printf("deny: %v\n", err != nil)
		case "incluster":
			config, err := rest.InClusterConfig()
			if err == nil {
				_, err = kubernetes.NewForConfigOrDie(config).Discovery().ServerVersion()
			}
			fmt.Printf("incluster: %v\n", err)
		case "dial":
			conn, err := net.DialTimeout("tcp", what, 5*time.Second)
			if err == nil {
				_ = conn.Close()
			}
			fmt.Printf("dial: %v\n", err == nil)
		}
	}
	if err := os.WriteFile(os.Getenv("READY"), nil, 0o600); err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("waiting")
	<-ended
	return 7
}

// takeSnapshot is `aicr snapshot --output ADDRESS`: the real collectors, and the real way into a
// ConfigMap.
func takeSnapshot(address string) int {
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(clientcmd.NewDefaultClientConfigLoadingRules(), nil).ClientConfig()
	if err != nil {
		fmt.Println(err)
		return 1
	}
	kube, dyn := kubernetes.NewForConfigOrDie(config), dynamic.NewForConfigOrDie(config)
	taken, failures := collect.Take(context.Background(), collect.Options{Kube: kube, Dynamic: dyn})
	for _, f := range failures {
		fmt.Println(f)
	}
	data, err := cli.DocumentYAML(taken)
	if err == nil {
		places := docio.Places{Client: func() (kubernetes.Interface, error) { return kube, nil }}
		err = places.Write(context.Background(), "snapshot", address, "yaml", data)
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}
