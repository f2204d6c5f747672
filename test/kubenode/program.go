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
	"testing"
	"time"

	"fairlane/internal/testkit/proctest"
	"fairlane/kube/kubetest"
)

// NewProgram starts a program of the folder Programs, whose log is in dir. It ends with the test.
func NewProgram(t testing.TB, name, dir string, env []string, args ...string) *proctest.Program {
	t.Helper()
	return proctest.New(t, filepath.Join(dir, name+".log"), func() *exec.Cmd {
		cmd := exec.CommandContext(context.Background(), filepath.Join(os.Getenv(Programs), name), args...)
		cmd.Env = append(os.Environ(), env...)
		return cmd
	})
}

// Service is a running `fairlane serve` on a SQLite file.
type Service struct {
	*proctest.Program

	URL   string
	Token string // of the administrator
}

// NewService starts the service and waits until it answers.
func NewService(t testing.TB) *Service {
	t.Helper()
	dir := t.TempDir()
	s := &Service{URL: "http://" + proctest.FreeAddress(t), Token: "a-token-of-more-than-thirty-two-letters"}
	config := fmt.Sprintf("listen: [%q]\noperations: {listen: [%q]}\ndatabase: %q\nadmin_token_file: %q\nrollouts: {lease: 2s}\ndiscovery: {sources: [\"ethernet:%s/*\", \"ibsim:unix:*\"]}\n",
		s.URL[len("http://"):], proctest.FreeAddress(t), filepath.Join(dir, "fairlane.db"), filepath.Join(dir, "token"), filepath.Clean(os.TempDir()))
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

// Feeder makes the account of a cluster, with the role feeder on the fabrics, and writes its token to a file.
func (s *Service) Feeder(t testing.TB, file string, fabrics ...string) {
	t.Helper()
	s.Must(t, http.MethodPost, "/service-accounts", Object{"name": "lab1", "role": "feeder", "fabric": fabrics[0]}, nil)
	for _, fabric := range fabrics[1:] {
		s.Must(t, http.MethodPost, "/fabrics/"+fabric+"/members", Object{"subject": "lab1", "role": "feeder"}, nil)
	}
	var token struct {
		Secret string `json:"secret"`
	}
	s.Must(t, http.MethodPost, "/service-accounts/lab1/tokens", Object{"name": "kubernetes"}, &token)
	if err := os.WriteFile(file, []byte(token.Secret), 0o600); err != nil {
		t.Fatal(err)
	}
}

// NewController starts fairlane-kube with exactly the roles of deploy/kubernetes, and an account of the service with the role feeder on
// the fabrics. Its webhook listens on the returned port.
func NewController(t testing.TB, c *kubetest.Cluster, s *Service, fabrics ...string) (*proctest.Program, string) {
	t.Helper()
	token := filepath.Join(t.TempDir(), "token")
	s.Feeder(t, token, fabrics...)
	return NewReplica(t, c, s, "control-1", token, "--debounce", "300ms", "--interval", Interval.String())
}

// NewReplica starts a replica of fairlane-kube on a node, with exactly the roles of deploy/kubernetes, the token in a file, and further
// flags. Its webhook listens on the returned port.
func NewReplica(t testing.TB, c *kubetest.Cluster, s *Service, node, token string, flags ...string) (*proctest.Program, string) {
	t.Helper()
	dir := t.TempDir()
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := kubetest.WriteKubeconfig(c.As(t, "fairlane-kube", node), kubeconfig); err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(proctest.FreeAddress(t))
	if err != nil {
		t.Fatal(err)
	}
	p := NewProgram(t, "fairlane-kube", dir, []string{"KUBECONFIG=" + kubeconfig}, append([]string{"--cluster", "lab1", "--manager", s.URL, "--manager-token-file", token,
		"--health", "0", "--metrics", "0", "--webhook-port", port}, flags...)...)
	return p, port
}

// Interval is the time between two passes of the controller in tests.
const Interval = 2 * time.Second
