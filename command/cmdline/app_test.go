package cmdline_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"fairlane/command/cmdline/cmdlinetest"
)

// signalError ends a context as an error of package signal does.
type signalError string

func (e signalError) Error() string { return string(e) }

func (e signalError) Is(target error) bool { return target == context.Canceled }

func TestErrorTextOfAnInterruption(t *testing.T) {
	t.Parallel()
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	cause := fmt.Errorf("bench x: %w", context.Canceled)
	signaled, stop := context.WithCancelCause(t.Context()) // as package signal does
	stop(signalError("interrupt signal received"))
	for _, c := range []struct {
		lang string
		ctx  context.Context
		err  error
		want string
	}{
		{"en", canceled, cause, "bench x: interrupted"},
		{"zh", canceled, cause, "bench x: 已中断"},
		{"en", signaled, fmt.Errorf("dial: %w", context.Cause(signaled)), "dial: interrupted"},
		{"zh", signaled, errors.Join(context.Cause(signaled), cause), "已中断\nbench x: 已中断"},
		{"zh", signaled, errors.New("disk full"), "disk full"},
		{"en", canceled, errors.Join(cause, errors.New("disk full")), "bench x: interrupted\ndisk full"},
		{"en", t.Context(), cause, "bench x: context canceled"}, // an error of another context
		{"en", canceled, errors.New("disk full"), "disk full"},
	} {
		if got := cmdlinetest.App(t, c.lang).ErrorText(c.ctx, c.err); got != c.want {
			t.Errorf("%v: %q, want %q", c.err, got, c.want)
		}
	}
}
