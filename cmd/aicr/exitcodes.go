package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"slices"

	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/httpstatus"
	"github.com/nvidia/aicr-action/internal/verify/validate/agent"
)

// exitCode is one of AICR's exit codes, and what leads to it.
type exitCode struct {
	row reason.Row
	// statuses are HTTP statuses, of servers and of the API server.
	statuses []int
	// reasons are those of errors without a status that says more.
	reasons []reason.Reason
}

// exitTable is the whole of this program's exit codes: those of AICR's own CLI, so that a script
// can use either program.
func exitTable() []exitCode {
	row := func(code int, name reason.Reason, class reason.Class, title, help string) reason.Row {
		return reason.Row{Code: code, Reason: name, Class: class, Title: title, Help: help}
	}
	return []exitCode{
		{row: row(0, "", reason.ClassPassed, "Success", "Nothing to do.")},
		{row: row(1, "FAILED", reason.ClassInfrastructure, "Any other failure", "The message says what failed. If it does not say what to do, please report it.")},
		{
			row: row(2, "INVALID_INPUT", reason.ClassFailed, "Wrong arguments, or a rejected document",
				"A flag, an argument, a recipe, a snapshot, a bundle or another document was refused; the message has the file and line, or what exists. The same code says no: a bundle that aicr verify does not pass, drift with --fail-on-drift, an upgrade that needs attention, a failed readiness check, a chart that is not the locked one."),
			statuses: []int{http.StatusBadRequest, http.StatusConflict, http.StatusPreconditionFailed, http.StatusUnprocessableEntity, http.StatusRequestEntityTooLarge},
			reasons:  []reason.Reason{reason.Usage, reason.BundleFailed, reason.ChartChanged, reason.SettingsInvalid},
		},
		{
			row:      row(3, "NOT_FOUND", reason.ClassFailed, "Something that was named does not exist", "A file, a ConfigMap, a namespace, an address, a chart, or the path of a selector does not exist. The message names it; check the spelling."),
			statuses: []int{http.StatusNotFound, http.StatusGone},
		},
		{
			row:      row(4, "UNAUTHORIZED", reason.ClassInfrastructure, "A login is missing or lacks a permission", "A cluster, a registry or a server does not accept the login, or does not allow the request. Check the kubeconfig and `kubectl auth can-i`, or log in with `docker login` or `helm repo add`."),
			statuses: []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired},
		},
		{
			row:      row(5, "TIMEOUT", reason.ClassTimeout, "Something took longer than it may", "The message has the limit, and what was waited for. Check the network, or give it more time where there is a flag for that."),
			statuses: []int{http.StatusRequestTimeout, http.StatusGatewayTimeout},
		},
		{
			row:     row(6, "UNAVAILABLE", reason.ClassInfrastructure, "A cluster, a registry or a server could not be used", "It could not be reached, or its answer was of no use. The message has the address and the answer. Check the address, the network, the proxy (HTTPS_PROXY) and the kubeconfig, and try again."),
			reasons: []reason.Reason{reason.ClusterAccess, reason.DownloadFailed, reason.ChartDownloadFailed, reason.PublishFailed},
		},
		{
			row:      row(7, "RATE_LIMITED", reason.ClassInfrastructure, "A server wants fewer requests", "Wait, and try again; with a login the limit is often higher."),
			statuses: []int{http.StatusTooManyRequests},
		},
		{
			row:     row(8, "INTERNAL", reason.ClassFailed, "A check of aicr validate failed, or this program itself did", "After aicr validate the result has each failed check, with what was expected. Anything else is a bug: please report it with the message."),
			reasons: []reason.Reason{reason.ValidationFailed, reason.Internal},
		},
		{
			row:     row(9, reason.Interrupted, reason.ClassInterrupted, "A signal ended the command", "Run it again. A second signal ends the command at once, with 128 plus its number."),
			reasons: []reason.Reason{reason.Interrupted},
		},
	}
}

// exitRow is the row of an error. An interrupt counts before all that follows from it; then the nearest status, then
// whether time ran out, then the reason; an error that nothing is known of has code 1.
func exitRow(err error) reason.Row {
	table := exitTable()
	status := statusOf(err)
	if reason.Of(err) == reason.Interrupted {
		status = 0
	}
	if i := slices.IndexFunc(table, func(e exitCode) bool { return status != 0 && slices.Contains(e.statuses, status) }); i >= 0 {
		return table[i].row
	}
	var named *reason.Error
	errors.As(err, &named)
	for _, e := range table {
		if named != nil && slices.Contains(e.reasons, named.Reason) {
			return e.row
		}
	}
	return table[1].row
}

// statusOf is the HTTP status of an error, or the one that says the same; 0 for none.
func statusOf(err error) int {
	if status := httpstatus.Of(err); status != 0 {
		return status
	}
	var api apierrors.APIStatus
	if errors.As(err, &api) {
		return int(api.Status().Code)
	}
	var registry *transport.Error
	if errors.As(err, &registry) {
		return registry.StatusCode
	}
	var job *agent.JobError
	var slow net.Error
	if errors.Is(err, context.DeadlineExceeded) || errors.As(err, &slow) && slow.Timeout() || errors.As(err, &job) && job.Failure == agent.TimedOut {
		return http.StatusGatewayTimeout
	}
	return 0
}

// exitCodes are the rows for explain and the documents.
func exitCodes() []reason.Row {
	var rows []reason.Row
	for _, e := range exitTable() {
		rows = append(rows, e.row)
	}
	return rows
}
