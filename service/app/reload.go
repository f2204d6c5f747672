package app

import (
	"context"
	"crypto/sha256"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"fairlane/api"
	"fairlane/internal/joined"
	"fairlane/service/config"
	"fairlane/service/setup"
)

// reloader reloads the configuration of a running service.
type reloader struct {
	s      *serving
	load   func() (*config.Loaded, error)
	files  map[string][sha256.Size]byte // by key, contents at the start of the files that only a restart reads again
	hangUp chan os.Signal
}

// newReloader catches SIGHUP, which would end the process, until stop is called.
func newReloader(s *serving, load func() (*config.Loaded, error)) (r *reloader, stop func()) {
	r = &reloader{s: s, load: load, files: filesAtStart(&s.config), hangUp: make(chan os.Signal, 1)}
	signal.Notify(r.hangUp, syscall.SIGHUP)
	return r, func() { signal.Stop(r.hangUp) }
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

// filesAtStart hashes the files that the service reads only at its start, by key.
func filesAtStart(c *config.Config) map[string][sha256.Size]byte {
	out := map[string][sha256.Size]byte{}
	for key, path := range map[string]string{
		"admin_token_file": c.AdminTokenFile, "database_password_file": c.DatabasePasswordFile, "oidc.client_secret_file": c.OIDC.ClientSecretFile,
		"alerts.webhook_key_file": c.Receivers.WebhookKeyFile, "alerts.mail.password_file": c.Receivers.Mail.PasswordFile, "audit.export.key_file": c.AuditExport.KeyFile,
	} {
		if text, err := config.Secret(path); err == nil {
			out[key] = sha256.Sum256([]byte(text))
		}
	}
	return out
}

// reload applies the keys that need no restart: all of them or, when anything is wrong, none.
func (r *reloader) reload() {
	log := r.s.log
	l, err := r.load()
	var material *setup.Material
	if err == nil {
		material, err = setup.Load(&l.Config, api.OIDCCallback, nil)
	}
	var level slog.Level
	if err == nil {
		err = level.UnmarshalText([]byte(l.Log.Level))
	}
	if err != nil {
		log.Error("configuration not reloaded; the one before stays in force", "error", joined.OneLine(err.Error()))
		return
	}
	was, now := &r.s.config, &l.Config
	before := r.s.ports.Settings()
	changed := material.Site.Changed(&before)
	restart := []string{}
	contents := filesAtStart(now)
	r.s.reloads.Lock()
	for _, k := range config.Keys() {
		same := k.Same(was, now)
		switch {
		case !k.Reload:
			if _, file := r.files[k.Name]; !same || file && contents[k.Name] != r.files[k.Name] {
				restart = append(restart, k.Name)
			}
		case !same && !slices.Contains(changed, k.Name):
			changed = append(changed, k.Name)
		}
		if k.Reload {
			k.Copy(was, now)
		}
	}
	r.s.reloads.Unlock()
	r.s.ports.Reset(material.Site)
	r.s.level.Set(min(level, r.s.level.Level())) // so that the message below is logged at the old level or the new one
	defer r.s.level.Set(level)
	slices.Sort(changed)
	if len(restart) > 0 {
		log.Warn("configuration reloaded; some of it needs a restart", "changed", changed, "needs_restart", restart)
		return
	}
	log.Info("configuration reloaded", "changed", changed)
}
