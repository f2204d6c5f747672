package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"fairlane/api/gen"
)

// NewClient returns a client of the service at base, such as "http://127.0.0.1:8470", that sends
// the token. A nil h is an http.Client with a time limit above the server's.
func NewClient(base, token string, h *http.Client) (*gen.ClientWithResponses, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, fmt.Errorf("service URL %q: want http://HOST:PORT or https://HOST:PORT", base)
	}
	if h == nil {
		h = &http.Client{Timeout: slowTimeout + time.Minute}
	}
	auth := func(_ context.Context, r *http.Request) error {
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		return nil
	}
	return gen.NewClientWithResponses(strings.TrimRight(base, "/"), gen.WithHTTPClient(h), gen.WithRequestEditorFn(auth))
}

// ProblemError is an answer that is not success.
type ProblemError struct {
	gen.Problem
}

// Error prints title, detail and the faulty fields, one a line. Of an invalid request the fields are the detail.
func (e *ProblemError) Error() string {
	var b strings.Builder
	b.WriteString(e.Title)
	switch d := deref(e.Detail); {
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

// Problem turns an answer's status and body into nil, when it is a success, or a *ProblemError.
// What does not look like this API is an error too.
func Problem(status int, body []byte) error {
	if status >= 200 && status < 300 {
		return nil
	}
	var p gen.Problem
	if err := json.Unmarshal(body, &p); err != nil || p.Code == "" {
		return fmt.Errorf("the server answered %d %s, and not as Fairlane does: is the URL right?", status, http.StatusText(status))
	}
	p.Status = status
	return &ProblemError{p}
}
