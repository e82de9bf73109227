package podrun

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// probe runs the readiness probe until ctx ends, and writes the status when its answer changes. A
// probe of the kind exec is the container's program with the arguments of the probe's command, in
// the same sandbox; one of the kinds httpGet and tcpSocket asks the port on this machine. Defaults
// are those of Kubernetes: every 10 s, 1 s each, ready after 1 success, not ready after 3 failures;
// but until the pod is ready it asks more often, since a cell that waits for it takes a minute.
func (w *worker) probe(ctx context.Context, s state) {
	p := w.pod.Spec.Containers[0].ReadinessProbe
	period := time.Duration(cmp.Or(p.PeriodSeconds, 10)) * time.Second
	if !sleep(ctx, time.Duration(p.InitialDelaySeconds)*time.Second) {
		return
	}
	passed, missed, first := int32(0), int32(0), time.Now()
	for {
		err := w.probeOnce(ctx, time.Duration(cmp.Or(p.TimeoutSeconds, 1))*time.Second)
		if err == nil {
			passed, missed = passed+1, 0
		} else {
			passed, missed = 0, missed+1
		}
		if ctx.Err() != nil {
			return
		}
		is := s.ready
		switch {
		case passed >= cmp.Or(p.SuccessThreshold, 1):
			is = true
		case missed >= cmp.Or(p.FailureThreshold, 3):
			is = false
		}
		why := s.unready
		switch {
		case is:
			why = ""
		case missed >= cmp.Or(p.FailureThreshold, 3):
			why = err.Error()
		}
		if is != s.ready || why != s.unready {
			s.ready, s.unready = is, why
			w.write(ctx, s)
		}
		next := period
		if !s.ready {
			next = min(period, w.unready(first))
		}
		if !sleep(ctx, next) {
			return
		}
	}
}

// unready is how long to wait until a pod that is not ready is asked again. A process is started for
// a probe of the kind exec.
func (w *worker) unready(first time.Time) time.Duration {
	if w.pod.Spec.Containers[0].ReadinessProbe.Exec != nil {
		return time.Second
	}
	return often(first)
}

func (w *worker) probeOnce(ctx context.Context, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	c := &w.pod.Spec.Containers[0]
	p := c.ReadinessProbe
	switch {
	case p.HTTPGet != nil:
		return probeHTTP(ctx, p, w.probed(c))
	case p.TCPSocket != nil:
		return probeTCP(ctx, w.probed(c))
	}
	return w.probeExec(ctx, c)
}

func (w *worker) probeExec(ctx context.Context, c *corev1.Container) error {
	spec, m, err := w.spec(ctx, c)
	if err != nil {
		return err
	}
	command := c.ReadinessProbe.Exec.Command // in which a kubelet does not expand variables
	spec.Args = slices.Clone(command[1:])
	if program, _ := w.r.program(c); program.Unpacked != nil {
		spec.Path = command[0]
	} else {
		for i := range spec.Args {
			spec.Args[i] = m.within(spec.Args[i])
		}
	}
	spec.Name, spec.Log = spec.Name+" (readiness probe)", filepath.Join(w.dir, "probe.log")
	spec.Alone = false // the container's own process has that directory too, and does not end with the probe
	p, err := w.r.Sup.Start(spec)
	if err != nil {
		return err
	}
	select {
	case <-p.Done():
		if code := p.ExitCode(); code != 0 {
			return fmt.Errorf("%s ended with exit code %d", command[0], code)
		}
		return nil
	case <-ctx.Done():
	}
	p.Stop(0)
	return fmt.Errorf("%s did not end in time", command[0])
}

// probedPort is the port of a probe of the kinds httpGet and tcpSocket; false for other probes, and
// for a name that no port of the container has.
func probedPort(p *corev1.Probe, c *corev1.Container) (int, bool) {
	var port intstr.IntOrString
	switch {
	case p == nil:
		return 0, false
	case p.HTTPGet != nil:
		port = p.HTTPGet.Port
	case p.TCPSocket != nil:
		port = p.TCPSocket.Port
	default:
		return 0, false
	}
	if port.Type == intstr.Int {
		return port.IntValue(), true
	}
	for _, named := range c.Ports {
		if named.Name == port.StrVal {
			return int(named.ContainerPort), true
		}
	}
	return 0, false
}

// loopback is where a program that listens on its pod's address listens here.
func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// probed is where on this machine the port of a container's readiness probe is; unsupported has seen
// that the probe has one.
func (w *worker) probed(c *corev1.Container) int {
	port, _ := probedPort(c.ReadinessProbe, c)
	return w.listens.at(port)
}

func probeTCP(ctx context.Context, port int) error {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", loopback(port))
	if err != nil {
		return err
	}
	_ = conn.Close()
	return nil
}

// probeHTTP counts what a kubelet counts: 200 to 399 is success, and of a certificate nothing is
// checked.
func probeHTTP(ctx context.Context, p *corev1.Probe, port int) error {
	target, err := url.Parse(p.HTTPGet.Path) // it may have a query
	if err != nil {
		return err
	}
	target.Scheme, target.Host = strings.ToLower(cmp.Or(string(p.HTTPGet.Scheme), "http")), loopback(port)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return err
	}
	request.Header.Set("User-Agent", "kube-probe/aicr-action")
	for _, h := range p.HTTPGet.HTTPHeaders {
		if strings.EqualFold(h.Name, "Host") {
			request.Host = h.Value
			continue
		}
		request.Header.Add(h.Name, h.Value)
	}
	client := http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}, // and no proxy
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	_ = response.Body.Close() // its content does not matter
	if code := response.StatusCode; code < 200 || code >= 400 {
		return fmt.Errorf("%s %s: %s", request.Method, target, response.Status)
	}
	return nil
}

// unsupportedProbe says why a readiness probe cannot be run; empty if it can, or without a probe.
func unsupportedProbe(c *corev1.Container, anyProgram bool) string {
	p := c.ReadinessProbe
	if p == nil {
		return ""
	}
	elsewhere := ""
	switch {
	case p.Exec != nil && len(p.Exec.Command) > 0:
		if anyProgram {
			return ""
		}
		if len(c.Command) == 0 || path.Base(p.Exec.Command[0]) != path.Base(c.Command[0]) {
			return fmt.Sprintf("its readiness probe runs %s, which is not the container's program", p.Exec.Command[0])
		}
		return ""
	case p.HTTPGet != nil:
		elsewhere = p.HTTPGet.Host
	case p.TCPSocket != nil:
		elsewhere = p.TCPSocket.Host
	default:
		return "its readiness probe is not of the kind exec, httpGet or tcpSocket"
	}
	if elsewhere != "" && elsewhere != "127.0.0.1" && elsewhere != "localhost" {
		return fmt.Sprintf("its readiness probe asks %.100q, which is not the pod", elsewhere)
	}
	if port, ok := probedPort(p, c); !ok || port < 1 || port > 65535 {
		return "its readiness probe names a port that the container does not have"
	}
	return ""
}

// sleep is false if ctx ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
