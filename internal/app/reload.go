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

	"fairlane/internal/config"
	"fairlane/subnet/mad"
)

// portSettings are what reaching fabrics goes by and a reload may change. What is under way goes on with what it began with.
type portSettings struct {
	ccKey    mad.Key
	mKey     mad.Key
	layouts  ccLayouts
	managers subnetManagers      // that are ours to tell
	sources  *config.SourceRules // that fabrics may have; nil allows all
}

// newPortSettings reads the files that a configuration names for them. Its errors are wrong input.
func newPortSettings(c *Config) (s portSettings, err error) {
	var errs [5]error
	s.ccKey, errs[0] = ccKey(c.CCKeyFile)
	s.mKey, errs[1] = mKey(c.MKeyFile)
	s.layouts, errs[2] = newCCLayouts(c.CCLayouts)
	if s.managers, err = readSubnetManagers(c.SubnetManagers); err != nil {
		errs[3] = fmt.Errorf("subnet_managers: %w", err)
	}
	if s.sources, err = config.NewSourceRules(c.Discovery.Sources); err != nil {
		errs[4] = fmt.Errorf("discovery.sources: %w", err)
	}
	if err := errors.Join(errs[:]...); err != nil {
		return s, &UsageError{err}
	}
	return s, nil
}

// changed names the keys of the settings that are others than before.
func (s *portSettings) changed(before *portSettings) (keys []string) {
	for _, x := range []struct {
		key  string
		same bool
	}{
		{"cc_key_file", s.ccKey == before.ccKey}, {"m_key_file", s.mKey == before.mKey},
		{"cc_layouts", reflect.DeepEqual(s.layouts, before.layouts)},
		{"subnet_managers", reflect.DeepEqual(s.managers, before.managers)},
		{"discovery.sources", reflect.DeepEqual(s.sources, before.sources)},
	} {
		if !x.same {
			keys = append(keys, x.key)
		}
	}
	return keys
}

// settings are those in force now.
func (p *ports) settings() portSettings {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.portSettings
}

// reset puts other settings in force.
func (p *ports) reset(s portSettings) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.portSettings = s
}

// reloader reads the configuration of a running service again.
type reloader struct {
	s      *serving
	load   func() (*config.Loaded, error)
	files  map[string][sha256.Size]byte // contents at the start of those that only a restart reads again, by key
	hangUp chan os.Signal
}

// newReloader takes SIGHUP, which would end the process, until stop is called.
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

// applied are the keys whose values a reload puts in force.
var applied = []string{"log.level", "cc_key_file", "m_key_file", "cc_layouts", "subnet_managers", "discovery.sources"}

// onceRead are the contents of files that are read at the start only.
func onceRead(c *Config) map[string][sha256.Size]byte {
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

// reload puts in force what can be, all of it or, when anything is wrong, none.
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
	r.s.level.Set(min(level, r.s.level.Level())) // what is told now is not to be lost
	defer r.s.level.Set(level)
	was.Log.Level, was.CCKeyFile, was.MKeyFile = now.Log.Level, now.CCKeyFile, now.MKeyFile
	was.CCLayouts, was.SubnetManagers, was.Discovery.Sources = now.CCLayouts, now.SubnetManagers, now.Discovery.Sources
	slices.Sort(changed)
	attrs := []any{"changed", append([]string{}, changed...)}
	if len(restart) > 0 {
		log.Warn("configuration reloaded; some of it needs a restart", append(attrs, "needs_restart", restart)...)
		return
	}
	log.Info("configuration reloaded", attrs...)
}
