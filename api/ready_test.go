package api

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"fairlane/service/control"
	"fairlane/service/control/usecases"
)

// unready is a store that does not answer a probe before its caller disconnects, or fails it.
type unready struct {
	control.Store
	err error
}

func (u unready) Ping(ctx context.Context) error {
	if u.err != nil {
		return u.err
	}
	<-ctx.Done()
	return ctx.Err()
}

// A readiness caller that disconnects is no fault of the service; a failing store is.
func TestReadinessWithoutACaller(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err    error
		status int
		logged bool
	}{
		"the caller goes away": {nil, clientGone, false},
		"the store fails":      {errors.New("no answer"), http.StatusServiceUnavailable, true},
	} {
		r := newRig(t)
		d := r.deps()
		d.Store = unready{d.Store, tc.err}
		service, err := usecases.New(d)
		if err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		server, err := New(service, Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		ctx, leave := context.WithCancel(t.Context())
		if tc.err == nil {
			leave()
		}
		a := serve(t, server, newRequest(t, http.MethodGet, "/api/v1/ready", "").WithContext(ctx))
		leave()
		if a.status != tc.status || strings.Contains(log.String(), "level=ERROR") != tc.logged {
			t.Errorf("%s: status %d, logged %s", name, a.status, log.String())
		}
	}
}
