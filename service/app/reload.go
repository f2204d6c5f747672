package app

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"reflect"
	"slices"
	"syscall"

	"fairlane/ccconfig/ibprofile"
	"fairlane/internal/usage"
	"fairlane/service/config"
	"fairlane/service/placement"
	"fairlane/subnet/mad"
)

// portSettings are the settings for reaching fabrics that a reload may change. Operations under way keep those they began with.
type portSettings struct {
	ccKey    mad.Key
	mKey     mad.Key
	models   deviceModels
	managers placement.Managers  // by fabric, those that Fairlane configures
	sources  *config.SourceRules // allowed for fabrics; nil allows all
}

// newPortSettings reads the files that a configuration names for them. Its errors are usage errors.
func newPortSettings(c *config.Config) (s portSettings, err error) {
	var errs [5]error
	s.ccKey, errs[0] = ccKey(c.CCKeyFile)
	s.mKey, errs[1] = mKey(c.MKeyFile)
	s.models, errs[2] = newDeviceModels(c.IBProfiles, c.CCLayouts)
	if s.managers, err = placement.ReadManagers(c.SubnetManagers); err != nil {
		errs[3] = fmt.Errorf("subnet_managers: %w", err)
	}
	if s.sources, err = config.NewSourceRules(c.Discovery.Sources); err != nil {
		errs[4] = fmt.Errorf("discovery.sources: %w", err)
	}
	if err := errors.Join(errs[:]...); err != nil {
		return s, &usage.Error{Err: err}
	}
	return s, nil
}

// changed names the keys whose settings differ from before.
func (s *portSettings) changed(before *portSettings) []string {
	keys := []string{}
	for _, x := range []struct {
		key  string
		same bool
	}{
		{"cc_key_file", s.ccKey == before.ccKey}, {"m_key_file", s.mKey == before.mKey},
		{"cc_layouts", reflect.DeepEqual(s.models.old, before.models.old)},
		{"ib_profiles", reflect.DeepEqual(s.models.set, before.models.set)},
		{"subnet_managers", reflect.DeepEqual(s.managers, before.managers)},
		{"discovery.sources", reflect.DeepEqual(s.sources, before.sources)},
	} {
		if !x.same {
			keys = append(keys, x.key)
		}
	}
	return keys
}

// settings returns the settings in force.
func (p *ports) settings() portSettings {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.current
}

// sourceAllowed is an error when the configuration does not allow a source.
func (p *ports) sourceAllowed(source string) error { return p.settings().sources.Check(source) }

// ibProfiles are the profiles of InfiniBand devices in force.
func (p *ports) ibProfiles() *ibprofile.Set { return p.settings().models.set }

// reset replaces the settings in force.
func (p *ports) reset(s portSettings) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.current = s
}

// reloader reloads the configuration of a running service.
type reloader struct {
	s      *serving
	load   func() (*config.Loaded, error)
	files  map[string][sha256.Size]byte // by key, contents at the start of the files that only a restart reads again
	hangUp chan os.Signal
}

// newReloader catches SIGHUP, which would end the process, until stop is called.
func newReloader(s *serving, load func() (*config.Loaded, error)) (r *reloader, stop func()) {
	r = &reloader{s: s, load: load, files: onceRead(&s.config), hangUp: make(chan os.Signal, 1)}
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

// applied are the keys that a reload applies.
var applied = []string{"log.level", "cc_key_file", "m_key_file", "cc_layouts", "ib_profiles", "subnet_managers", "discovery.sources"}

// onceRead hashes the files that are read at the start only, by key.
func onceRead(c *config.Config) map[string][sha256.Size]byte {
	out := map[string][sha256.Size]byte{}
	for key, path := range map[string]string{
		"admin_token_file": c.AdminTokenFile, "database_password_file": c.DatabasePasswordFile, "oidc.client_secret_file": c.OIDC.ClientSecretFile,
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
	if err == nil {
		err = checkFiles(&l.Config)
	}
	var next portSettings
	if err == nil {
		next, err = newPortSettings(&l.Config)
	}
	var level slog.Level
	if err == nil {
		err = level.UnmarshalText([]byte(l.Log.Level))
	}
	if err != nil {
		log.Error("configuration not reloaded; the one before stays in force", "error", oneLine(err.Error()))
		return
	}
	was, now := &r.s.config, &l.Config
	before := r.s.ports.settings()
	changed := next.changed(&before)
	restart := []string{}
	contents := onceRead(now)
	for _, k := range config.Keys() {
		same := k.Value(was) == k.Value(now)
		switch {
		case !slices.Contains(applied, k.Name):
			if _, file := r.files[k.Name]; !same || file && contents[k.Name] != r.files[k.Name] {
				restart = append(restart, k.Name)
			}
		case !same && !slices.Contains(changed, k.Name):
			changed = append(changed, k.Name)
		}
	}
	r.s.ports.reset(next)
	r.s.level.Set(min(level, r.s.level.Level())) // so that the message below is logged at the old level or the new one
	defer r.s.level.Set(level)
	was.Log.Level, was.CCKeyFile, was.MKeyFile = now.Log.Level, now.CCKeyFile, now.MKeyFile
	was.CCLayouts, was.IBProfiles = now.CCLayouts, now.IBProfiles
	was.SubnetManagers, was.Discovery.Sources = now.SubnetManagers, now.Discovery.Sources
	slices.Sort(changed)
	if len(restart) > 0 {
		log.Warn("configuration reloaded; some of it needs a restart", "changed", changed, "needs_restart", restart)
		return
	}
	log.Info("configuration reloaded", "changed", changed)
}
