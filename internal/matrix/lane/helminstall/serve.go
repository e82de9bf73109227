package helminstall

import (
	"bufio"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sync"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/cli"
	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	"k8s.io/client-go/rest"

	"github.com/nvidia/aicr-action/internal/charts/render"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/confined"
	"github.com/nvidia/aicr-action/internal/util/reexec"
)

// command is the hidden command that installs. Its argument has the settings.
const command = "install-charts"

// Hidden returns the hidden command that an Installer starts.
func Hidden() []reexec.Command { return []reexec.Command{{Name: command, Run: serve}} }

// server is this side of the pipes.
type server struct {
	watch    *confined.Watch
	limits   render.Limits
	client   lane.HelmClient
	warnings infra.Warnings

	mu      sync.Mutex
	to      *bufio.Writer
	encoder *gob.Encoder
	sent    int // of the warnings
}

// serve installs the requested releases until the input ends.
func serve(args []string) error {
	render.Register()
	var s settings
	if err := confined.ReadSettings(args, &s); err != nil {
		return err
	}
	watch, err := confined.Confine(s.Profile, s.Limits.OfProcess(), render.Subject)
	if err != nil {
		return err
	}
	to := bufio.NewWriter(os.Stdout)
	serving := &server{watch: watch, limits: s.Limits, to: to, encoder: gob.NewEncoder(to)}
	serving.client = lane.HelmClient{
		Kubeconfig: s.Kubeconfig, Dir: s.Dir, Watch: serving.watchClient, Renders: serving.watch.Begin, Rendered: serving.rendered,
		TakesOver: func(w infra.APIWarning) { serving.send(wireEvent{Warning: &w}) },
		Log:       func(line string) { serving.send(wireEvent{Log: line[:min(len(line), mostLine)]}) },
	}
	os.Stdout = os.Stderr // what a library prints must not get between the events
	requests, ended := make(chan wireRelease), make(chan error, 1)
	go func() { ended <- readAll(os.Stdin, requests) }()
	go func() {
		for req := range requests {
			serving.send(wireEvent{End: serving.install(req)})
		}
	}()
	return <-ended // also in the middle of a release: the cell has ended, or its program was killed
}

// mostLine is how much of a line of Helm's is passed on, in bytes.
const mostLine = 64 << 10

func readAll(in io.Reader, requests chan<- wireRelease) error {
	decoder := gob.NewDecoder(bufio.NewReader(in))
	for {
		var req wireRelease
		if err := decoder.Decode(&req); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read a request: %w", err)
		}
		requests <- req
	}
}

// send writes an event. The reader sees by the end of the pipe if that failed.
func (s *server) send(e wireEvent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.encoder.Encode(e); err != nil {
		return
	}
	_ = s.to.Flush()
}

// watchClient passes on the API server's warnings as they arrive.
func (s *server) watchClient(cfg *rest.Config) {
	s.warnings.Watch(cfg)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return warningSender{s, next} })
}

type warningSender struct {
	to   *server
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (w warningSender) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := w.next.RoundTrip(req)
	w.to.mu.Lock()
	found := w.to.warnings.Since(w.to.sent)
	w.to.sent += len(found)
	w.to.mu.Unlock()
	for _, one := range found {
		w.to.send(wireEvent{Warning: &one})
	}
	return resp, err
}

// tooMuch is a text that exceeds a limit.
type tooMuch struct{ what string }

func (e *tooMuch) Error() string { return e.what }

// rendered stops the clocks of a rendering, and checks its output.
func (s *server) rendered(manifest []byte) error {
	s.watch.End()
	if what := s.limits.Over("its templates make", []string{string(manifest)}); what != "" {
		return &tooMuch{what}
	}
	return nil
}

// install installs a release, and converts its error for the pipe.
func (s *server) install(req wireRelease) *wireEnd {
	defer s.watch.End()
	step, err := s.run(req)
	if err == nil {
		return &wireEnd{Step: step}
	}
	end := &wireEnd{Step: step, Err: err.Error()}
	if end.Err == "" {
		end.Err = "an error without a text"
	}
	if over := (*tooMuch)(nil); errors.As(err, &over) {
		end.Limit = over.what
	}
	if named := (*reason.Error)(nil); errors.As(err, &named) {
		end.Reason, end.Component = named.Reason, named.Component
	}
	return end
}

func (s *server) run(req wireRelease) (Step, error) {
	if req.Helm == 4 {
		return installing, s.run4(req)
	}
	cfg, err := s.client.Config(req.Namespace)
	if err != nil {
		return installing, err
	}
	if req.Uninstall {
		uninstall := action.NewUninstall(cfg)
		uninstall.IgnoreNotFound, uninstall.Timeout = true, lane.HookTimeout
		_, err := uninstall.Run(req.Name)
		return installing, err
	}
	if req.Rollback > 0 {
		return installing, rollBack(cfg, req)
	}
	install := action.NewInstall(cfg)
	install.ReleaseName, install.Namespace = req.Name, req.Namespace
	install.CreateNamespace, install.SkipSchemaValidation = req.CreateNamespace, req.SkipSchemaValidation
	install.Timeout = lane.HookTimeout
	values := render.DecodeValues(req.Values)
	if values == nil {
		values = map[string]any{}
	}
	run := func(ch *chart.Chart) (Step, error) {
		if req.Again {
			if err := forgetFailed(cfg, req.Name); err != nil {
				return installing, err
			}
		}
		known, err := exists(cfg, req.Name)
		switch {
		case err != nil:
		case known:
			err = upgrade(cfg, req, ch, values)
		default:
			_, err = install.Run(ch, values)
		}
		return installing, err
	}
	if req.Pull == nil {
		return run(req.Chart.Chart())
	}
	install.Version, install.PlainHTTP = req.Pull.Version, true
	own := cli.New()
	own.RepositoryCache = filepath.Join(s.client.Dir, "cache")
	own.RepositoryConfig = filepath.Join(s.client.Dir, "repositories.yaml")
	path, err := install.LocateChart(req.Pull.Ref, own)
	if err != nil {
		return Pulling, err
	}
	ch, err := loader.Load(path)
	if err != nil {
		return Loading, err
	}
	return run(ch)
}

func rollBack(cfg *action.Configuration, req wireRelease) error {
	last, err := cfg.Releases.Last(req.Name)
	if err != nil {
		return fmt.Errorf("look for release %s in Helm's storage: %w", req.Name, err)
	}
	rollback := action.NewRollback(cfg)
	rollback.Version = last.Version - req.Rollback
	rollback.Timeout, rollback.MaxHistory = lane.HookTimeout, maxHistory
	if rollback.Version < 1 {
		return fmt.Errorf("release %s has no revision before %d", req.Name, last.Version)
	}
	return rollback.Run(req.Name)
}

// maxHistory is Helm's own default.
const maxHistory = 10

// forgetFailed removes the newest revision of a release from Helm's storage if it failed. The objects
// that it created stay: Helm adopts those that have its labels.
func forgetFailed(cfg *action.Configuration, name string) error {
	last, err := cfg.Releases.Last(name)
	if errors.Is(err, driver.ErrReleaseNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for release %s in Helm's storage: %w", name, err)
	}
	if last.Info == nil || last.Info.Status != helmrelease.StatusFailed {
		return nil
	}
	if _, err := cfg.Releases.Delete(name, last.Version); err != nil {
		return fmt.Errorf("remove the failed revision %d of release %s from Helm's storage: %w", last.Version, name, err)
	}
	return nil
}

// exists reports whether Helm's storage has the release.
func exists(cfg *action.Configuration, name string) (bool, error) {
	_, err := cfg.Releases.Last(name)
	if errors.Is(err, driver.ErrReleaseNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for release %s in Helm's storage: %w", name, err)
	}
	return true, nil
}

// upgrade is what `helm upgrade --install` does with a release that exists. CRDs in crds/ are not
// touched.
func upgrade(cfg *action.Configuration, req wireRelease, ch *chart.Chart, values map[string]any) error {
	up := action.NewUpgrade(cfg)
	up.Namespace, up.SkipSchemaValidation, up.Timeout = req.Namespace, req.SkipSchemaValidation, lane.HookTimeout
	up.MaxHistory = maxHistory
	_, err := up.Run(req.Name, ch, values)
	return err
}
