package lane

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// F39: a request to an API server that hangs ends with the cell, before the answer and in the middle of it.
func TestHelmRequestsEndWithTheCell(t *testing.T) {
	for name, begin := range map[string]string{"no answer": "", "half an answer": "half"} {
		t.Run(name, func(t *testing.T) {
			hang := make(chan struct{})
			asked := make(chan struct{}, 1)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if begin != "" {
					_, _ = io.WriteString(w, begin)
					_ = http.NewResponseController(w).Flush()
				}
				asked <- struct{}{}
				<-hang
			}))
			t.Cleanup(server.Close)
			t.Cleanup(func() { close(hang) })
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() {
				client := &http.Client{Transport: boundTransport{ctx, http.DefaultTransport}}
				resp, err := client.Get(server.URL)
				if err == nil {
					_, err = io.ReadAll(resp.Body)
					_ = resp.Body.Close()
				}
				ended <- err
			}()
			<-asked
			cancel()
			select {
			case err := <-ended:
				if err == nil {
					t.Error("a request that never got its answer succeeded")
				}
			case <-time.After(10 * time.Second):
				t.Fatal("the request outlives the cell")
			}
		})
	}
}
