// Package client is the Go client of the API. Its requests are generated from the contract; what is
// written by hand makes one, and turns an answer that is not success into an error.
package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"fairlane/api/gen"
	"fairlane/internal/phrase"
)

// Timeout is the time limit of a client without its own http.Client. It exceeds the server's limit for the slowest operations.
const Timeout = 6 * time.Minute

// New returns a client of the service at base, such as "http://127.0.0.1:8470", that sends
// the token. A nil h is an http.Client with Timeout.
func New(base, token string, h *http.Client) (*ClientWithResponses, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, &phrase.Error{Text: phrase.Of("usage.service-url", "url", strconv.Quote(base))}
	}
	if h == nil {
		h = &http.Client{Timeout: Timeout}
	}
	auth := func(_ context.Context, r *http.Request) error {
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		return nil
	}
	return NewClientWithResponses(strings.TrimRight(base, "/"), WithHTTPClient(h), WithRequestEditorFn(auth))
}

// ProblemError is an answer that is not success.
type ProblemError struct {
	gen.Problem
}

// Error prints title, detail and the faulty fields, one a line. Of an invalid request the fields are the detail.
func (e *ProblemError) Error() string {
	var b strings.Builder
	b.WriteString(e.Title)
	var d string
	if e.Detail != nil {
		d = *e.Detail
	}
	switch {
	case e.Code == "invalid" && len(e.Errors) > 0:
		b.WriteString(":")
	case e.Code == "not-found" && d != "": // which says all that the title does
		b.Reset()
		b.WriteString(d)
	case d != "":
		b.WriteString(": " + d)
	}
	for _, f := range e.Errors {
		where := f.Pointer
		if where == "" {
			where = string(f.In)
		}
		b.WriteString("\n  " + where + ": " + f.Detail)
	}
	return b.String()
}

// BadInput reports that the caller must change the request, rather than try again.
func (e *ProblemError) BadInput() bool {
	switch e.Status {
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType:
		return true
	}
	return false
}

// Check turns an answer's status and body into nil, when it is a success, or a *ProblemError.
// What does not look like this API is an error too.
func Check(status int, body []byte) error {
	if status >= 200 && status < 300 {
		return nil
	}
	var p gen.Problem
	if err := json.Unmarshal(body, &p); err != nil || p.Code == "" {
		return fmt.Errorf("the server returned %d %s in a form that Fairlane does not use: check the URL", status, http.StatusText(status))
	}
	p.Status = status
	return &ProblemError{p}
}
