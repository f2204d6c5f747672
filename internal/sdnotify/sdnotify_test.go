package sdnotify_test

import (
	"context"
	"net"
	"path/filepath"
	"testing"

	"fairlane/internal/sdnotify"
)

func TestStatesAreSentToSystemd(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "notify")
	systemd, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer systemd.Close()
	env := func(socket string) func(string) string {
		return func(k string) string { return map[string]string{"NOTIFY_SOCKET": socket, "WATCHDOG_USEC": "2000"}[k] }
	}
	n := sdnotify.New(env(path))
	if err := n.Send(t.Context(), "READY=1"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); n.Beat(ctx) }()
	b := make([]byte, 100)
	for _, want := range []string{"READY=1", "WATCHDOG=1"} {
		k, err := systemd.Read(b)
		if err != nil || string(b[:k]) != want {
			t.Errorf("sent %q, %v, want %q", b[:k], err, want)
		}
	}
	cancel()
	<-done
	quiet := sdnotify.New(func(string) string { return "" })
	if err := quiet.Send(t.Context(), "READY=1"); err != nil {
		t.Errorf("without systemd: %v", err)
	}
	quiet.Beat(t.Context()) // returns at once
	if err := sdnotify.New(env(path+"x")).Send(t.Context(), "READY=1"); err == nil {
		t.Error("no error without a listener")
	}
}
