package remote

import (
	"crypto/tls"
	"errors"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	apiclient "fairlane/api/client"
	"fairlane/internal/certpool"
	"fairlane/internal/usage"
)

// patience is the time limit of an answer. Measurements and discoveries are the slowest; the service itself ends them
// after five minutes.
const patience = 6 * time.Minute

// client connects to the service.
func (c *cli) client() (*apiclient.ClientWithResponses, error) {
	return c.connect(&http.Client{Timeout: patience})
}

// connect connects with the given or stored token, over an HTTP client.
func (c *cli) connect(h *http.Client) (*apiclient.ClientWithResponses, error) {
	token := c.getenv("FAIRLANE_TOKEN")
	if c.tokenFile != "" {
		b, err := os.ReadFile(c.tokenFile)
		if err != nil {
			return nil, c.usage("err.token-file", "error", err)
		}
		token = strings.TrimSpace(string(b))
	}
	if token == "" {
		all, err := c.credentials()
		if err != nil {
			return nil, err
		}
		token = all[c.base()].Token
	}
	if token == "" {
		return nil, c.usage("err.no-token")
	}
	return c.dial(token, h)
}

// dialAnonymously connects without a token, for requests that need none.
func (c *cli) dialAnonymously() (*apiclient.ClientWithResponses, error) {
	return c.dial("", &http.Client{Timeout: patience})
}

// dial returns a client of the API with the given certificates and authorities.
func (c *cli) dial(token string, h *http.Client) (*apiclient.ClientWithResponses, error) {
	t, err := c.transport()
	if err != nil {
		return nil, err
	}
	h.Transport = t
	client, err := apiclient.New(c.base(), token, h)
	if err != nil {
		return nil, usage.Wrap(err)
	}
	return client, nil
}

// transport is the default transport, or one with the certificates of --ca-file, --cert-file and --key-file.
func (c *cli) transport() (http.RoundTripper, error) {
	file := func(flag, variable string) string {
		if flag != "" {
			return flag
		}
		return c.getenv(variable)
	}
	ca, cert, key := file(c.caFile, "FAIRLANE_CA_FILE"), file(c.certFile, "FAIRLANE_CERT_FILE"), file(c.keyFile, "FAIRLANE_KEY_FILE")
	if ca == "" && cert == "" && key == "" {
		return http.DefaultTransport, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if ca != "" {
		var err error
		switch config.RootCAs, err = certpool.Read(ca); {
		case errors.Is(err, certpool.ErrNone):
			return nil, c.usage("err.ca-file", "file", ca)
		case err != nil:
			return nil, usage.Wrap(err)
		}
	}
	if (cert == "") != (key == "") {
		return nil, c.usage("err.cert-and-key")
	}
	if cert != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, c.usage("err.key-pair", "file", cert, "error", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	t, ok := http.DefaultTransport.(*http.Transport)
	if !ok { // a test has replaced it
		t = &http.Transport{Proxy: http.ProxyFromEnvironment}
	}
	t = t.Clone()
	t.TLSClientConfig = config
	return t, nil
}

func (c *cli) base() string {
	for _, u := range []string{c.url, c.getenv("FAIRLANE_URL")} {
		if u != "" {
			return u
		}
	}
	return DefaultURL
}

// unreachableError reports that nothing answers at the service's address.
type unreachableError struct {
	text string
	err  error
}

// Error returns a message with the address.
func (e *unreachableError) Error() string { return e.text }

// Unwrap returns the error of the connection.
func (e *unreachableError) Unwrap() error { return e.err }

// passing reports whether an error may be temporary, such as while a manager restarts or another takes over.
func passing(err error) bool {
	var gone *unreachableError
	var problem *apiclient.ProblemError
	switch {
	case errors.As(err, &gone):
		return true
	case errors.As(err, &problem):
		return problem.Status >= http.StatusInternalServerError || problem.Status == http.StatusTooManyRequests
	}
	return false
}

// maxTries is the number of requests in vain after which a watch gives up: two minutes.
const maxTries = int(2 * time.Minute / pollEvery)

// patiently repeats a request while the service does not answer, because what is watched continues without it.
func (c *cli) patiently(cmd *cobra.Command, ask func() error) error {
	for tries := 1; ; tries++ {
		err := ask()
		if err == nil || !passing(err) || tries == maxTries || cmd.Context().Err() != nil {
			return err
		}
		if tries == 1 {
			c.say(cmd, "msg.trying-again", "error", clean(err.Error()))
		}
		if err := pause(cmd.Context(), pollEvery); err != nil {
			return err
		}
	}
}
