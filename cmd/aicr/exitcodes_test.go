package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/httpstatus"
	"github.com/nvidia/aicr-action/internal/verify/validate/agent"
)

// process starts the program as a shell does, and gives its exit code and stderr.
func process(t *testing.T, stdout io.Writer, args ...string) (int, string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var stderr strings.Builder
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), asProgram+"=1", "KUBECONFIG="+filepath.Join(t.TempDir(), "none"), "AICR_ACTION_CACHE="+t.TempDir(), "AICR_ACTION_RECIPES_DIR=")
	cmd.Stdout, cmd.Stderr = stdout, &stderr
	if err := cmd.Run(); cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), stderr.String()
}

// The codes of the real process are AICR's, one of each.
func TestExitCodesOfTheProcess(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/version" { // an API server that answers, and allows nothing
			_, _ = io.WriteString(w, `{"major":"1","minor":"36","gitVersion":"v1.36.1"}`)
			return
		}
		if status, err := strconv.Atoi(strings.Trim(r.URL.Path, "/")); err == nil {
			w.WriteHeader(status)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"not allowed"}`)
	}))
	defer server.Close()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	kubeconfig := write(t, "kubeconfig", "apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: \""+server.URL+"\"}}]\ncontexts: [{name: c, context: {cluster: c}}]\ncurrent-context: c\n")
	made := recipeFile(t)
	for _, test := range []struct {
		code int
		args []string
		says string
	}{
		{0, []string{"version"}, ""},
		{2, []string{"recipe", "--format", "xml"}, "--format"},
		{2, []string{"validate", "-r", made, "-s", write(t, "s.yaml", strings.Replace(read(t, snapshotFile), "v1.33.5", "v1.20.5", 1))}, "K8s.server.version"},
		{3, []string{"recipe", "-c", "no.yaml"}, "criteria file no.yaml does not exist; check the name\nexit code 3 (NOT_FOUND); `aicr explain 3` says more"},
		{3, []string{"query", "--service", "eks", "--selector", "components.none"}, `there is no "none"`},
		{3, []string{"bundle", "-r", server.URL + "/404"}, "the server answers 404"},
		{4, []string{"bundle", "-r", server.URL + "/401"}, "the server answers 401"},
		{4, []string{"recipe", "-s", "cm://a/b", "--kubeconfig", kubeconfig}, "not allowed"},
		{5, []string{"bundle", "-r", server.URL + "/504"}, "(TIMEOUT)"},
		{6, []string{"bundle", "-r", server.URL + "/500"}, "(UNAVAILABLE)"},
		{6, []string{"bundle", "-r", gone.URL}, "connection refused"},
		{7, []string{"bundle", "-r", server.URL + "/429"}, "(RATE_LIMITED)"},
		{8, []string{"validate", "-r", made, "--phase", "deployment", "--kubeconfig", kubeconfig}, "status fail"},
	} {
		if code, stderr := process(t, io.Discard, test.args...); code != test.code || !strings.Contains(stderr, test.says) {
			t.Errorf("%q: got %d, want %d and %q in\n%s", test.args, code, test.code, test.says, stderr)
		}
	}
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = writer.Close() }()
	if err := reader.Close(); err != nil {
		t.Fatal(err)
	}
	if code, stderr := process(t, writer, "explain"); code != 0 || stderr != "" {
		t.Errorf("nobody reads stdout: got %d, want 0 and no message\n%s", code, stderr)
	}
}

// What is nearest to the cause decides, and each reason that this program can meet has a code.
func TestExitRow(t *testing.T) {
	secrets := schema.GroupResource{Resource: "secrets"}
	for _, test := range []struct {
		err  error
		want int
	}{
		{errors.New("surprise"), 1},
		{reason.New(reason.Usage, "a flag"), 2},
		{reason.Wrap(reason.Usage, httpstatus.With(404, errors.New("no file"))), 3},
		{reason.New(reason.ClusterAccess, "no cluster"), 6},
		{reason.New(reason.ClusterAccess, "get: %w", apierrors.NewUnauthorized("who?")), 4},
		{reason.New(reason.ClusterAccess, "get: %w", apierrors.NewForbidden(secrets, "a", errors.New("no"))), 4},
		{reason.New(reason.ClusterAccess, "get: %w", apierrors.NewNotFound(secrets, "a")), 3},
		{reason.New(reason.ClusterAccess, "get: %w", apierrors.NewTooManyRequests("slower", 1)), 7},
		{reason.New(reason.ClusterAccess, "get: %w", apierrors.NewServerTimeout(secrets, "get", 1)), 6},
		{reason.New(reason.ClusterAccess, "get: %w", apierrors.NewTimeoutError("slow", 1)), 5},
		{reason.New(reason.ClusterAccess, "get: %w", context.DeadlineExceeded), 5},
		{reason.Wrap(reason.ClusterAccess, &agent.JobError{Failure: agent.TimedOut}), 5},
		{reason.Wrap(reason.ClusterAccess, &agent.JobError{Failure: agent.Evicted}), 6},
		{reason.New(reason.PublishFailed, "push: %w", &transport.Error{StatusCode: 401}), 4},
		{reason.New(reason.PublishFailed, "push: %w", &transport.Error{StatusCode: 503}), 6},
		{reason.New(reason.BundleFailed, "a chart"), 2},
		{reason.New(reason.ChartChanged, "a chart"), 2},
		{reason.New(reason.ChartDownloadFailed, "a chart: %w", httpstatus.With(404, errors.New("none"))), 3},
		{reason.New(reason.ValidationFailed, "a check"), 8},
		{reason.New(reason.Internal, "a bug"), 8},
		{fmt.Errorf("get: %w", errors.Join(context.DeadlineExceeded, &cli.Interrupt{Signal: syscall.SIGTERM})), 9},
		{fmt.Errorf("a: %w", reason.New(reason.DownloadFailed, "b")), 6},
	} {
		if got := exitRow(test.err).Code; got != test.want {
			t.Errorf("%v: got %d, want %d", test.err, got, test.want)
		}
	}
	for i, e := range exitTable() {
		if e.row.Code != i {
			t.Errorf("row %d has the code %d", i, e.row.Code)
		}
		for _, r := range e.reasons {
			if row := r.Row(); row.Reason != r || slices.Contains(exitTable()[0].reasons, r) {
				t.Errorf("code %d: %s is no reason", i, r)
			}
		}
	}
}

// The page of exit codes is the table.
func TestExitCodesInDocs(t *testing.T) {
	page := read(t, "../../docs/aicr.md")
	for _, row := range exitCodes() {
		if line := fmt.Sprintf("| %s | `%s` | %s |", row.CodeText(), row.Name(), row.Title); !strings.Contains(page, line) {
			t.Errorf("docs/aicr.md lacks %q", line)
		}
	}
}
