package agentapp

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"sync/atomic"
	"syscall"

	"fairlane/internal/gnmid"
	"fairlane/internal/servertls"
)

// reloader reads the configuration of a running agent again. Certificates need no reload: they are read when they change.
type reloader struct {
	app     *app
	running Config // with what reloads changed
	log     *slog.Logger
	level   *slog.LevelVar
	allowed atomic.Pointer[[]string] // of tls.allowed
	hangUp  chan os.Signal
}

// newReloader takes SIGHUP, which would end the process, until stop is called.
func newReloader(a *app, c Config, log *slog.Logger, level *slog.LevelVar) (r *reloader, stop func()) {
	r = &reloader{app: a, running: c, log: log, level: level, hangUp: make(chan os.Signal, 1)}
	r.allowed.Store(&c.Allowed)
	signal.Notify(r.hangUp, syscall.SIGHUP)
	return r, func() { signal.Stop(r.hangUp) }
}

// authorize lets those set something who are allowed to now.
func (r *reloader) authorize(ctx context.Context, c gnmid.Call) error {
	return gnmid.AllowSet(*r.allowed.Load()...)(ctx, c)
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

// reload puts in force what can be, all of it or, when anything is wrong, none.
func (r *reloader) reload() {
	next, err := r.app.config()
	if err == nil {
		err = next.CheckServing()
	}
	if err == nil && !next.Insecure {
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
		case slices.Contains([]string{"log.level", "tls.allowed"}, k.Name):
			changed = append(changed, k.Name)
		default:
			restart = append(restart, k.Name)
		}
	}
	r.running.LogLevel, r.running.Allowed = next.LogLevel, next.Allowed
	r.allowed.Store(&next.Allowed)
	level := next.level()
	r.level.Set(min(level, r.level.Level())) // what is told now is not to be lost
	defer r.level.Set(level)
	if len(restart) > 0 {
		r.log.Warn("configuration reloaded; some of it needs a restart", "changed", changed, "needs_restart", restart)
		return
	}
	r.log.Info("configuration reloaded", "changed", changed)
}
