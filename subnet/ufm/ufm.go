// Package ufm places tenants' partitions and service levels through the REST API of NVIDIA's Unified Fabric Manager
// (UFM), for fabrics whose subnet manager belongs to UFM, so that Fairlane cannot write its files.
//
// It uses the partition ("PKey GUIDs") resources of the API, as documented in the UFM Enterprise REST API Guide from
// release 6.12 on:
//
//	GET  /resources/pkeys?guids_data=true&qos_conf=true   all partitions, with members and service levels
//	POST /resources/pkeys/add                             add a partition without members, with its service level
//	POST /resources/pkeys                                 add members to a partition
//	PUT  /resources/pkeys/qos_conf                        change the service level
//	POST /actions/remove_guids_from_pkey                  remove members from a partition
//	DELETE /resources/pkeys/PKEY                          delete a partition
//
// UFM generates its subnet manager's files from these resources. According to the guide a changed service level is in
// force only after a restart of UFM's subnet manager; only a path query of subnet administration shows whether the
// level is in force.
//
// No UFM was available: the package is tested against a server of our own that follows the guide.
package ufm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"fairlane/internal/loopback"
)

// Limits and defaults of options.
const (
	DefaultTimeout = 30 * time.Second
	MaxTimeout     = 10 * time.Minute

	// maxAnswer bounds an answer, in bytes: 32,767 partitions with some hundred members each are smaller.
	maxAnswer = 256 << 20
	maxDetail = 300 // bytes of an error's text that are quoted
)

// Kinds of errors, for errors.Is.
var (
	ErrUnreachable = errors.New("UFM does not answer")
	ErrDenied      = errors.New("UFM denies access")
	ErrRefused     = errors.New("UFM refuses the request")
	// ErrConflict means that another manager changed a partition since it was placed.
	ErrConflict = errors.New("changed by another manager")
)

// Options hold the address of UFM and the credentials: either Token or User.
type Options struct {
	// URL is that of the server, such as https://ufm.example. Plain http is for loopback addresses only.
	URL string
	// Token is an access token of UFM (token-based authentication, prefix /ufmRestV3).
	Token string
	// User and Password sign in by basic authentication (prefix /ufmRest).
	User, Password string
	// HTTP makes the requests, with the authorities that verify UFM's certificate; nil means those of the system.
	HTTP *http.Client
	// Timeout bounds each request, up to MaxTimeout; 0 is DefaultTimeout.
	Timeout time.Duration
}

// Client is a client of one UFM. It is safe for concurrent use.
type Client struct {
	base          string // with the prefix of the authentication
	authorization func(*http.Request)
	http          http.Client
	timeout       time.Duration
}

// New returns a client. It fails on options that are missing, contradictory or out of range; it sends nothing.
func New(o Options) (*Client, error) {
	u, err := url.Parse(o.URL)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		// Before an @ there may be a password.
		return nil, fmt.Errorf("address of UFM %q: want https://HOST or https://HOST:PORT", o.URL[strings.LastIndexByte(o.URL, '@')+1:])
	case strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil:
		return nil, fmt.Errorf("address of UFM https://%s…: want no more than https://HOST:PORT", u.Host)
	case u.Scheme == "http" && !loopback.Is(u.Hostname()):
		return nil, fmt.Errorf("address of UFM %q: want https, plain http is for this machine only", o.URL)
	case (o.Token == "") == (o.User == ""):
		return nil, errors.New("UFM credentials: want either a token, or a user with a password")
	case o.User != "" && (o.Password == "" || strings.Contains(o.User, ":")):
		return nil, errors.New("user of UFM: want a name without a colon, and a password")
	case o.Timeout < 0 || o.Timeout > MaxTimeout:
		return nil, fmt.Errorf("timeout of a request %s: want up to %s", o.Timeout, MaxTimeout)
	}
	c := &Client{timeout: o.Timeout}
	if o.HTTP != nil {
		c.http = *o.HTTP
	}
	// No redirects: a request, with its credentials, is never sent to an address from an answer.
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	if c.timeout == 0 {
		c.timeout = DefaultTimeout
	}
	host := u.Scheme + "://" + u.Host
	if o.Token != "" {
		// In the guide, the word Basic precedes a token, too.
		c.base, c.authorization = host+"/ufmRestV3", func(r *http.Request) { r.Header.Set("Authorization", "Basic "+o.Token) }
	} else {
		c.base, c.authorization = host+"/ufmRest", func(r *http.Request) { r.SetBasicAuth(o.User, o.Password) }
	}
	return c, nil
}

// Format prints the client's address for every verb: package fmt would otherwise print the token.
func (c *Client) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, "UFM at "+c.base) }

// call sends a request and decodes the answer into out, when out is not nil. It does not retry: the next read of the
// partitions shows the effect of an unanswered request.
func (c *Client) call(ctx context.Context, method, path string, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return err
	}
	c.authorization(req)
	req.Header.Set("Accept", "application/json")
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("%w: %s %s: %w", ErrUnreachable, method, path, err)
	}
	defer func() { _ = resp.Body.Close() }() // only read from
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return fmt.Errorf("%w: %s %s: read the answer: %w", ErrUnreachable, method, path, err)
	case len(answer) > maxAnswer:
		return fmt.Errorf("%s %s: answer of more than %d bytes", method, path, maxAnswer)
	case resp.StatusCode/100 != 2:
		return refused(method, path, resp.StatusCode, answer)
	case out == nil:
		return nil
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return fmt.Errorf("%s %s: found an answer that is not as UFM's guide has it: %w", method, path, err)
	}
	return nil
}

// refused returns the reason of a refused request.
func refused(method, path string, status int, answer []byte) error {
	kind := ErrRefused
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		kind = ErrDenied
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		kind = ErrUnreachable
	}
	why := strings.Join(strings.Fields(strings.ToValidUTF8(string(answer), "?")), " ")
	if strings.HasPrefix(why, "<") {
		why = "" // a page of the web server in front of UFM
	}
	if len(why) > maxDetail {
		why = strings.ToValidUTF8(why[:maxDetail], "") + "…"
	}
	if why != "" {
		why = ": " + why
	}
	return fmt.Errorf("%w: %s %s: status %d%s", kind, method, path, status, why)
}
