package kill

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

const token = "a-token-of-more-than-thirty-two-letters"

// process is one `fairlane serve`, which may be killed and started again.
type process struct {
	t      *testing.T
	config string
	url    string
	log    string

	mu  sync.Mutex
	cmd *exec.Cmd
}

// newProcess writes the configuration of a manager and starts it.
func newProcess(t *testing.T, name, database string) *process {
	t.Helper()
	dir := t.TempDir()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, config: filepath.Join(dir, "fairlane.yaml"), url: "http://" + addr, log: filepath.Join(dir, name+".log")}
	tokenFile := filepath.Join(dir, "token")
	config := fmt.Sprintf("listen: [%q]\ndatabase: %q\nadmin_token_file: %q\nrollouts: {lease: 1s}\n", addr, database, tokenFile)
	for path, text := range map[string]string{p.config: config, tokenFile: token + "\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p.start()
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			text, _ := os.ReadFile(p.log)
			t.Logf("the end of %s:\n%s", p.log, text[max(0, len(text)-3000):])
		}
	})
	return p
}

// start starts the process; a test binary that was started so is the program itself.
func (p *process) start() {
	p.mu.Lock()
	defer p.mu.Unlock()
	log, err := os.OpenFile(p.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		p.t.Error(err)
		return
	}
	defer log.Close() // the child has its own
	p.cmd = exec.Command(os.Args[0], "serve", "--config", p.config)
	p.cmd.Env = append(os.Environ(), childVariable+"=1")
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		p.t.Error(err)
	}
}

// kill sends SIGKILL and waits until nothing is left of the process.
func (p *process) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil || p.cmd.Process == nil {
		return
	}
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
	p.cmd = nil
}

// client speaks to whichever manager answers.
type client struct {
	managers []*process
	http     *http.Client
	mu       sync.Mutex
	rng      *rand.Rand
}

var (
	// errGone says that no manager answered; whether the request was done is not known.
	errGone = errors.New("no manager answers")
	// errLost says that the request was done, by a manager that was killed before it kept its answer.
	errLost = errors.New("the answer is lost")
)

// once sends a request to one of the managers. It returns errGone when there was no answer.
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
	r, err := http.NewRequestWithContext(ctx, method, to.url+"/api/v1"+path, in)
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Authorization", "Bearer "+token)
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

// call sends a request until it is answered with something else than "not now". The key makes it count once.
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
