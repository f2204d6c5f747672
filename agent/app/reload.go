package app

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"

	"fairlane/ccconfig/gnmi/gnmitree"
	"fairlane/internal/servertls"
)

// reloader reloads the configuration of a running agent. Certificates need no reload: the listener reads changed ones.
type reloader struct {
	app     *app
	running Config // in force, including reloaded changes
	log     *slog.Logger
	level   *slog.LevelVar
	allowed atomic.Pointer[[]string] // of tls.allowed
	hangUp  chan os.Signal
}

// newReloader catches SIGHUP, which would end the process, until stop is called.
func newReloader(a *app, c Config, log *slog.Logger, level *slog.LevelVar) (r *reloader, stop func()) {
	r = &reloader{app: a, running: c, log: log, level: level, hangUp: make(chan os.Signal, 1)}
	r.allowed.Store(&c.Allowed)
	signal.Notify(r.hangUp, syscall.SIGHUP)
	return r, func() { signal.Stop(r.hangUp) }
}

// authorize permits Set to the clients in the current tls.allowed.
func (r *reloader) authorize(ctx context.Context, c gnmitree.Call) error {
	return gnmitree.AllowSet(*r.allowed.Load()...)(ctx, c)
}

// run reloads at every SIGHUP until the context ends.
func (r *reloader) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.hangUp:
			r.reload()
		}
	}
}

// reload applies the keys that need no restart: all of them or, in case of any error, none.
func (r *reloader) reload() {
	next, err := r.app.config()
	if err == nil {
		err = next.CheckServing()
	}
	if err == nil && next.secure() {
		_, err = servertls.Open(next.tlsFiles(), slog.New(slog.DiscardHandler))
	}
	if err != nil {
		r.log.Error("configuration not reloaded; the one before stays in force", "error", err.Error())
		return
	}
	changed, restart := []string{}, []string{}
	for _, k := range Keys() {
		switch {
		case k.get(&r.running) == k.get(&next):
		case k.Name == "log.level" || k.Name == "tls.allowed":
			changed = append(changed, k.Name)
		default:
			restart = append(restart, k.Name)
		}
	}
	r.running.LogLevel, r.running.Allowed = next.LogLevel, next.Allowed
	r.allowed.Store(&next.Allowed)
	level := next.level()
	r.level.Set(min(level, r.level.Level())) // so that the message below is logged at the old or the new level
	defer r.level.Set(level)
	if len(restart) > 0 {
		r.log.Warn("configuration reloaded; some of it needs a restart", "changed", changed, "needs_restart", restart)
		return
	}
	r.log.Info("configuration reloaded", "changed", changed)
}
