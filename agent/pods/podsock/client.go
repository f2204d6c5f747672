package podsock

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
)

// ErrUnreachable means that no agent answered at the socket: a call may not have been received.
var ErrUnreachable = errors.New("host agent not reachable")

// Client calls the agent of this host. It is safe for concurrent use.
type Client struct {
	socket string
	http   *http.Client
}

// NewClient returns a client of the agent at a socket. Nothing is opened before the first call.
func NewClient(socket string) *Client {
	dialer := &net.Dialer{}
	return &Client{socket, &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, "unix", socket)
		},
		DisableKeepAlives: true, // a plugin makes one call, and no goroutine may stay behind
	}}}
}

// Attach attaches a pod's device, or applies its class again.
func (c *Client) Attach(ctx context.Context, a *Attachment) (*Record, error) {
	var out Record
	return &out, c.call(ctx, http.MethodPut, PathAttachments, a, &out, MaxBody)
}

// Check compares an attachment with its record and its device.
func (c *Client) Check(ctx context.Context, a *Attachment) error {
	return c.call(ctx, http.MethodPost, PathCheck, a, nil, MaxBody)
}

// Release releases an attachment; an unknown one is no error.
func (c *Client) Release(ctx context.Context, k Key) error {
	return c.call(ctx, http.MethodDelete, PathAttachments, k, nil, MaxBody)
}

// List lists all records, with counters if requested.
func (c *Client) List(ctx context.Context, counters bool) ([]Record, error) {
	path := PathAttachments
	if counters {
		path += "?counters=true"
	}
	var out List
	err := c.call(ctx, http.MethodGet, path, nil, &out, MaxList)
	return out.Records, err
}

// Collect releases all attachments of a network but the valid ones, and returns the number of released ones.
func (c *Client) Collect(ctx context.Context, g *GC) (int, error) {
	var out Released
	return out.Released, c.call(ctx, http.MethodPost, PathGC, g, &out, MaxBody)
}

// Status returns the state of the agent.
func (c *Client) Status(ctx context.Context) (*Status, error) {
	var out Status
	return &out, c.call(ctx, http.MethodGet, PathStatus, nil, &out, MaxBody)
}

// call makes one call within CallTimeout. A response other than 200 is a *Problem; a failure below HTTP is ErrUnreachable.
func (c *Client) call(ctx context.Context, method, path string, in, out any, most int64) error {
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return fmt.Errorf("encode request: %w", err)
		}
		limit := MaxBody
		if path == PathGC {
			limit = MaxGC
		}
		if len(b) > limit {
			return Problemf(CodeInvalid, "request: found %d bytes, want at most %d", len(b), limit)
		}
		body = bytes.NewReader(b)
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://agent"+path, body)
	if err != nil {
		return err
	}
	response, err := c.http.Do(request)
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return fmt.Errorf("%w at %s: %w", ErrUnreachable, c.socket, failed.Err) // its URL says nothing
	} else if err != nil {
		return fmt.Errorf("%w at %s: %w", ErrUnreachable, c.socket, err)
	}
	defer func() { _ = response.Body.Close() }() // it was read
	b, err := io.ReadAll(io.LimitReader(response.Body, most+1))
	if err != nil {
		return fmt.Errorf("%w at %s: response: %w", ErrUnreachable, c.socket, err)
	}
	if int64(len(b)) > most {
		return Problemf(CodeInternal, "response of %s: found more than %d bytes, the maximum", c.socket, most)
	}
	if response.StatusCode != http.StatusOK {
		return problem(response.StatusCode, b)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(b, out); err != nil {
		return Problemf(CodeInternal, "response of %s: %w", c.socket, err)
	}
	return nil
}

// problem decodes the problem of a response.
func problem(status int, body []byte) *Problem {
	var p Problem
	if err := json.Unmarshal(body, &p); err != nil || p.Code == "" {
		return Problemf(CodeInternal, "host agent: HTTP status %d: %s", status, Clip(string(body)))
	}
	return &p
}
