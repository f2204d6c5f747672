package kubenode

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"fairlane/kube/kubetest"
)

// Program is a program beside the node, which a test can kill and start again: the service or the controller.
type Program struct {
	Log string // path of its output

	t    testing.TB
	path string
	args []string
	env  []string
	mu   sync.Mutex
	cmd  *exec.Cmd
}

// NewProgram describes a program of the folder Programs, and starts it. It ends with the test.
func NewProgram(t testing.TB, name, dir string, env []string, args ...string) *Program {
	p := &Program{t: t, path: filepath.Join(os.Getenv(Programs), name), args: args, env: env, Log: filepath.Join(dir, name+".log")}
	p.Start()
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			text, _ := os.ReadFile(p.Log) // a missing log is no further fault
			t.Logf("%s: …%s", name, text[max(0, len(text)-4000):])
		}
	})
	return p
}

// Start starts the program, which appends to its log.
func (p *Program) Start() {
	p.mu.Lock()
	defer p.mu.Unlock()
	log, err := os.OpenFile(p.Log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		p.t.Error(err)
		return
	}
	defer func() { _ = log.Close() }() // the child has its own
	p.cmd = exec.CommandContext(context.Background(), p.path, p.args...)
	p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = append(os.Environ(), p.env...), log, log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		p.t.Error(err)
	}
}

// Kill sends SIGKILL and waits for the end.
func (p *Program) Kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil || p.cmd.Process == nil {
		return
	}
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
	p.cmd = nil
}

// PID returns the number of the running process.
func (p *Program) PID() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cmd.Process.Pid
}

// FreeAddress returns an address of this machine on which nothing listens.
func FreeAddress(t testing.TB) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// Service is a running `fairlane serve` on a SQLite file.
type Service struct {
	*Program
	URL   string
	Token string // of the administrator
	dir   string
}

// NewService starts the service and waits until it answers.
func NewService(t testing.TB) *Service {
	t.Helper()
	dir := t.TempDir()
	s := &Service{URL: "http://" + FreeAddress(t), Token: "a-token-of-more-than-thirty-two-letters", dir: dir}
	config := fmt.Sprintf("listen: [%q]\noperations: {listen: [%q]}\ndatabase: %q\nadmin_token_file: %q\nrollouts: {lease: 2s}\ndiscovery: {sources: [\"ethernet:%s/*\", \"ibsim:unix:*\"]}\n",
		s.URL[len("http://"):], FreeAddress(t), filepath.Join(dir, "fairlane.db"), filepath.Join(dir, "token"), filepath.Clean(os.TempDir()))
	for name, text := range map[string]string{"fairlane.yaml": config, "token": s.Token + "\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.Program = NewProgram(t, "fairlane", dir, nil, "serve", "--config", filepath.Join(dir, "fairlane.yaml"))
	s.Answers(t)
	return s
}

// Answers waits until the service answers.
func (s *Service) Answers(t testing.TB) {
	t.Helper()
	kubetest.Eventually(t, time.Minute, func() string {
		if err := s.Call(t.Context(), http.MethodGet, "/fabrics", nil, nil); err != nil {
			return err.Error()
		}
		return ""
	})
}

// Object is a JSON object.
type Object = map[string]any

// Call sends a request as the administrator. A status other than success is an error.
func (s *Service) Call(ctx context.Context, method, path string, body, out any) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	var in io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		in = bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(ctx, method, s.URL+"/api/v1"+path, in)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+s.Token)
	r.Header.Set("Content-Type", "application/json")
	if method == http.MethodPut && !strings.HasSuffix(path, "/tenants") {
		r.Header.Set("If-Match", "*")
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = a.Body.Close() }()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		return err
	}
	if a.StatusCode >= 300 {
		return fmt.Errorf("%s %s: %s %s", method, path, a.Status, text)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(text, out)
}

// Must is Call; a failure ends the test.
func (s *Service) Must(t testing.TB, method, path string, body, out any) {
	t.Helper()
	if err := s.Call(t.Context(), method, path, body, out); err != nil {
		t.Fatal(err)
	}
}

// RollOut rolls a plan of the current declarations out, as an operator does, and waits for its success. It returns the plan.
func (s *Service) RollOut(t testing.TB, fabric string) string {
	t.Helper()
	var plan struct {
		Name string `json:"name"`
	}
	s.Must(t, http.MethodPost, "/fabrics/"+fabric+"/plans", Object{"keep_placements": true}, &plan)
	var rollout struct {
		ID     int64  `json:"id"`
		State  string `json:"state"`
		Result string `json:"result"`
	}
	s.Must(t, http.MethodPost, "/fabrics/"+fabric+"/rollouts", Object{"plan": plan.Name}, &rollout)
	kubetest.Eventually(t, 2*time.Minute, func() string {
		if err := s.Call(t.Context(), http.MethodGet, fmt.Sprintf("/fabrics/%s/rollouts/%d", fabric, rollout.ID), nil, &rollout); err != nil {
			return err.Error()
		}
		if rollout.State == "failed" || rollout.State == "rolled-back" {
			t.Fatalf("rollout %d is %s: %s", rollout.ID, rollout.State, rollout.Result)
		}
		if rollout.State != "succeeded" {
			return "rollout is " + rollout.State
		}
		return ""
	})
	return plan.Name
}

// NewController starts fairlane-kube with exactly the roles of deploy/kubernetes, and an account of the service with the role feeder on
// the fabrics. Its webhook listens on the returned port.
func NewController(t testing.TB, c *kubetest.Cluster, s *Service, fabrics ...string) (*Program, string) {
	t.Helper()
	dir := t.TempDir()
	s.Must(t, http.MethodPost, "/service-accounts", Object{"name": "lab1", "role": "feeder", "fabric": fabrics[0]}, nil)
	for _, fabric := range fabrics[1:] {
		s.Must(t, http.MethodPost, "/fabrics/"+fabric+"/members", Object{"subject": "lab1", "role": "feeder"}, nil)
	}
	var token struct {
		Secret string `json:"secret"`
	}
	s.Must(t, http.MethodPost, "/service-accounts/lab1/tokens", Object{"name": "kubernetes"}, &token)
	if err := os.WriteFile(filepath.Join(dir, "token"), []byte(token.Secret), 0o600); err != nil {
		t.Fatal(err)
	}
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := Kubeconfig(c.As(t, "fairlane-kube", "control-1"), kubeconfig); err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(FreeAddress(t))
	if err != nil {
		t.Fatal(err)
	}
	p := NewProgram(t, "fairlane-kube", dir, []string{"KUBECONFIG=" + kubeconfig}, "--cluster", "lab1", "--manager", s.URL, "--manager-token-file", filepath.Join(dir, "token"),
		"--debounce", "300ms", "--interval", Interval.String(), "--health", "0", "--metrics", "0", "--webhook-port", port)
	return p, port
}

// Interval is the time between two passes of the controller in tests.
const Interval = 2 * time.Second
