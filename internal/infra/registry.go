package infra

import (
	"context"
	"net/http"
	"time"

	"github.com/nvidia/aicr-action/internal/util/wait"
)

// WaitRegistry waits, at most 60 s, until a registry answers on host:port over plain HTTP.
func WaitRegistry(ctx context.Context, host string) error {
	return wait.For(ctx, "the registry on "+host, wait.Options{Budget: 60 * time.Second}, func(ctx context.Context) wait.Result {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second) // a port that is mapped to nothing may take a connection and say nothing
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+host+"/v2/", nil)
		if err != nil {
			return wait.Never(err)
		}
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			return wait.NotYet("%v", err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return wait.NotYet("GET /v2/: %s", resp.Status)
		}
		return wait.Done()
	})
}
