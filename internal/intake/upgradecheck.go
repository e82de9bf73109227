package intake

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/Masterminds/semver/v3"
	"k8s.io/client-go/tools/clientcmd"
)

// withUpgradeCheck is the first version of AICR's CLI that has upgrade-check.
const withUpgradeCheck = "0.22.0"

// unansweredError says why AICR's CLI was not asked, or gave no answer: one before 0.22.0, or one whose version says nothing.
type unansweredError struct{ err error }

func (e *unansweredError) Error() string { return e.err.Error() }
func (e *unansweredError) Unwrap() error { return e.err }

// Unanswered is what the runner knows it by: it is no failure.
func (*unansweredError) Unanswered() {}

// UpgradeCheck has the CLI say, in JSON, what a cluster has against the recipe in the file cluster, and what the bundle that it
// made has against the recipe that it was made of. dir is the directory that Bundle got, deployer the CLI's
// own name of it. The error of a version that has no upgrade-check has the method Unanswered.
func (e *Exec) UpgradeCheck(ctx context.Context, dir, deployer, recipe, kubeconfig string) (cluster, bundle string, err error) {
	version, unknown := semver.NewVersion(e.version)
	released := unknown == nil && version.Major()+version.Minor() > 0 // a build of no release is 0.0.0-dev
	if released && version.LessThan(semver.MustParse(withUpgradeCheck)) {
		return "", "", &unansweredError{fmt.Errorf("AICR's CLI has upgrade-check from %s on, and this one is %s", withUpgradeCheck, e.version)}
	}
	port, err := serverPort(kubeconfig)
	if err != nil {
		return "", "", err
	}
	cli := e.cli
	cli.Env = []string{"KUBECONFIG=" + kubeconfig}
	ask := func(from, to string) (string, error) {
		args := e.dataFlags("upgrade-check", "--from", from, "--to", to, "--deployer", deployer, "--format", "json", "--fail-on-error=false")
		var out answerText
		cli.Stdout = &out
		_, err := cli.Run(ctx, cmp.Or(e.Limit, defaultLimit), dir, []int{port}, args...)
		if err != nil && !released && ctx.Err() == nil { // it may have no such command
			err = &unansweredError{err}
		}
		return out.String(), err
	}
	if cluster, err = ask("cluster", recipe); err != nil {
		return "", "", err
	}
	made := filepath.Join(dir, recipeName)
	from := made
	if _, err := os.Stat(filepath.Join(dir, "bundle", recipeName)); err == nil { // of a bundle that was pushed, nothing may be left
		from = filepath.Join(dir, "bundle")
	}
	bundle, err = ask(from, made)
	return cluster, bundle, err
}

// answerText is what a command prints, of at most mostFile bytes.
type answerText struct{ strings.Builder }

func (a *answerText) Write(p []byte) (int, error) {
	if a.Len()+len(p) > mostFile {
		return 0, fmt.Errorf("it printed more than %d bytes", mostFile)
	}
	return a.Builder.Write(p)
}

// serverPort is the port of a kubeconfig's API server: the only one that the CLI may connect to.
func serverPort(kubeconfig string) (int, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return 0, err
	}
	at, err := url.Parse(config.Host)
	if err != nil {
		return 0, err
	}
	port, err := strconv.Atoi(cmp.Or(at.Port(), "443"))
	if err != nil {
		return 0, errors.New("the kubeconfig's server has no port")
	}
	return port, nil
}
