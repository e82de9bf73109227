// The kube-controller-manager of Kubernetes, with one constant that it has no flag for.
package main

import (
	"fmt"
	"os"
	"time"
	_ "time/tzdata" // time zones of CronJobs, where the machine has none

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app"
	"k8s.io/kubernetes/pkg/controller/job"
)

// batchPeriod is the environment variable that sets how long the controller of Jobs waits after a
// change of a pod, for more changes to come, before it looks at the Job. Without it, or empty, it
// is what Kubernetes has: one second.
const batchPeriod = "JOB_SYNC_BATCH_PERIOD"

func main() {
	if value := os.Getenv(batchPeriod); value != "" {
		period, err := time.ParseDuration(value)
		if err != nil || period <= 0 {
			fmt.Fprintf(os.Stderr, "kube-controller-manager: %s=%q is no duration above zero, e.g. 100ms\n", batchPeriod, value)
			os.Exit(2)
		}
		job.SyncJobBatchPeriod = period
	}
	os.Exit(cli.Run(app.NewControllerManagerCommand()))
}
