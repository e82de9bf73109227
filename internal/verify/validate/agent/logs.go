package agent

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"

	corev1 "k8s.io/api/core/v1"
)

// mostLog is how much of a log is read: more than any result has, in bytes.
const mostLog = 16 << 20

// StreamLogs follows the log of the validation Job's pod and writes it to Config.Logs, until the
// container ends or ctx does.
func (d *Deployer) StreamLogs(ctx context.Context) error {
	j := d.job()
	stream, err := j.openLog(ctx, true)
	if err != nil {
		return err
	}
	defer func() { _ = stream.Close() }() // it was only read
	if _, err := io.Copy(cmp.Or[io.Writer](d.config.Logs, os.Stderr), stream); err != nil {
		return failed("follow the log of "+j.String(), j.namespace, err)
	}
	return nil
}

// GetPodLogs retrieves the whole log of the Job's pod, at most 16 MiB of it.
func (d *Deployer) GetPodLogs(ctx context.Context) (string, error) {
	return d.job().log(ctx)
}

func (j job) log(ctx context.Context) (string, error) {
	stream, err := j.openLog(ctx, false)
	if err != nil {
		return "", err
	}
	defer func() { _ = stream.Close() }() // it was only read
	data, err := io.ReadAll(io.LimitReader(stream, mostLog))
	return string(data), failed("read the log of "+j.String(), j.namespace, err)
}

func (j job) openLog(ctx context.Context, follow bool) (io.ReadCloser, error) {
	p, err := j.pod(ctx)
	if err != nil {
		return nil, failed("find the pod of "+j.String(), j.namespace, err)
	}
	if p == nil {
		return nil, j.fail(noResult, "has no pod, so there is no log")
	}
	stream, err := j.clientset.CoreV1().Pods(j.namespace).GetLogs(p.Name, &corev1.PodLogOptions{Container: container, Follow: follow}).Stream(ctx)
	if err != nil {
		return nil, failed(fmt.Sprintf("read the log of pod %s on node %s", p.Name, p.Spec.NodeName), j.namespace, err)
	}
	return stream, nil
}
