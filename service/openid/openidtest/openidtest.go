// Package openidtest starts a real OpenID provider for tests: tools/oidcserver, built by the test and run as a separate
// process.
package openidtest

import (
	"bufio"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fairlane/internal/testkit/peertest"
)

// Secret is the client secret of the provider's clients "fairlane" and "other".
const Secret = "client-secret"

// Server is a running provider with the users alice (groups staff, fabric-admins), rob (group
// red-team) and "No Good".
type Server struct {
	Issuer string
	t      testing.TB
}

// Start starts a provider whose clients may be redirected to redirect. It ends with the test.
func Start(t testing.TB, redirect string) *Server {
	t.Helper()
	path := filepath.Join(t.TempDir(), "oidcserver")
	compile := exec.CommandContext(t.Context(), "go", "build", "-o", path, ".")
	compile.Dir = filepath.Join(peertest.Root(t), "tools", "oidcserver")
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("build tools/oidcserver: %v\n%s", err, out)
	}
	cmd := exec.Command(path, "-redirect", redirect) //nolint:noctx // ends with its standard input, so that it outlives t.Context
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the OpenID provider ended with %v", err)
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the OpenID provider printed no issuer: %v", err)
	}
	return &Server{Issuer: strings.TrimSpace(line), t: t}
}

// Rotate makes the provider sign with a new key and drop the old one.
func (s *Server) Rotate() {
	s.t.Helper()
	resp, err := http.Post(s.Issuer+"test/rotate", "", nil) //nolint:noctx // a test's own server
	if err != nil {
		s.t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		s.t.Fatalf("rotation returned %s", resp.Status)
	}
}

// SignIn acts as a browser and a user at the provider: it follows the address, fills in the form, and returns the
// address to which the provider redirects the browser.
func (s *Server) SignIn(address, user, password string) string {
	s.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.t.Fatal(err)
	}
	c := &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	at, err := url.Parse(address)
	if err != nil {
		s.t.Fatal(err)
	}
	for range 10 {
		resp, err := c.Get(at.String()) //nolint:noctx // a test's own server
		if err != nil {
			s.t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if id := at.Query().Get("authRequestID"); id != "" && resp.StatusCode == http.StatusOK {
			resp, err = c.PostForm(at.String(), url.Values{"id": {id}, "username": {user}, "password": {password}}) //nolint:noctx // as above
			if err != nil {
				s.t.Fatal(err)
			}
			_ = resp.Body.Close()
		}
		next, err := resp.Location()
		if err != nil {
			s.t.Fatalf("%s returned %s: %s", at, resp.Status, body)
		}
		if !strings.HasPrefix(next.String(), s.Issuer) {
			return next.String()
		}
		at = next
	}
	s.t.Fatal("the OpenID provider sends the browser in circles")
	return ""
}
