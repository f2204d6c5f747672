package kill

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"fairlane/test/servetest"
)

// newProcess starts a manager whose rollouts are taken over after a second.
func newProcess(t *testing.T, name, database string) *servetest.Process {
	t.Helper()
	return servetest.New(t, servetest.Options{Name: name, Database: database, Config: "rollouts: {lease: 1s}\n"})
}

// client sends requests to whichever manager answers.
type client struct {
	managers []*servetest.Process
	http     *http.Client
	mu       sync.Mutex
	rng      *rand.Rand
}

var (
	// errGone reports that no manager answered; the request may or may not have been executed.
	errGone = errors.New("no manager answers")
	// errLost reports that the request was executed by a manager that was killed before it stored its answer.
	errLost = errors.New("the answer is lost")
)

// once sends a request to one of the managers. It returns errGone if there was no answer.
func (c *client) once(ctx context.Context, method, path, key string, body any) (status int, answer []byte, err error) {
	var in io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return 0, nil, err
		}
		in = bytes.NewReader(b)
	}
	c.mu.Lock()
	to := c.managers[c.rng.IntN(len(c.managers))]
	c.mu.Unlock()
	r, err := http.NewRequestWithContext(ctx, method, to.URL+"/api/v1"+path, in)
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Authorization", "Bearer "+servetest.Token)
	r.Header.Set("Content-Type", "application/json")
	if method == http.MethodDelete || method == http.MethodPut && path != "/fabrics/lab/tenants" {
		r.Header.Set("If-Match", "*")
	}
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	resp, err := c.http.Do(r)
	if err != nil {
		return 0, nil, fmt.Errorf("%w: %w", errGone, err)
	}
	defer resp.Body.Close()
	if answer, err = io.ReadAll(resp.Body); err != nil {
		return 0, nil, fmt.Errorf("%w: %w", errGone, err)
	}
	return resp.StatusCode, answer, nil
}

// call repeats a request until the answer is other than "unavailable". The key makes it count once.
func (c *client) call(ctx context.Context, method, path, key string, body, out any) (int, error) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		status, answer, err := c.once(ctx, method, path, key, body)
		busy := status == http.StatusConflict && bytes.Contains(answer, []byte("idempotency-in-progress"))
		if err == nil && status < 500 && !busy {
			switch {
			case bytes.Contains(answer, []byte("idempotency-answer-lost")):
				err = errLost
			case status >= 300:
				err = fmt.Errorf("%s %s: %d %s", method, path, status, answer)
			case out != nil:
				err = json.Unmarshal(answer, out)
			}
			return status, err
		}
		if err != nil && !errors.Is(err, errGone) {
			return 0, err
		}
		select {
		case <-ctx.Done():
			return 0, fmt.Errorf("%s %s: %w (last: %d %s %w)", method, path, ctx.Err(), status, answer, err)
		case <-tick.C:
		}
	}
}
