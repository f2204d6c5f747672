// Package config is the configuration of `fairlane serve`: a YAML file, the environment and flags. Every key
// stands once, in the table of keys.go; parsing, messages and `fairlane config check|print|reference` are made of it.
//
// Later ones win: defaults, file, environment, flags. Secrets are never values of the file: a key whose name
// ends in _file names the file that holds one.
package config

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"fairlane/internal/usage"
)

// Config is what the service runs with. The meaning and the range of each field are those of its key in Keys.
type Config struct {
	Listen               []string // HOST:PORT or unix:PATH of the API
	Database             string   // path of a SQLite file, or a postgres:// URL
	DatabasePasswordFile string
	AdminTokenFile       string   // empty: made at the first start and printed once
	CCKeyFile            string   // empty: key 0, which is no key
	MKeyFile             string   // empty: key 0, which is no key
	CCLayouts            []string // entries for ParseCCLayout; deprecated for IBProfiles
	IBProfiles           string
	SubnetManagers       []string // "FABRIC=PATH": the file that says who manages the subnet of a fabric
	PublicURL            string   // address that browsers use; empty: none, cookies are for TLS only when we speak it
	TLS                  TLS
	OIDC                 OIDC
	Operations           Operations
	Log                  Log
	Trace                Trace
	Retention            Retention
	Discovery            Discovery
	Rollouts             Rollouts
	Shutdown             Shutdown
}

// TLS says how the API's listeners are secured; without CertFile they speak plain HTTP.
type TLS struct {
	CertFile, KeyFile string // PEM, read again when they change
	ClientCAFile      string // PEM; certificates signed by it are accepted from clients
	ClientAuth        string // "optional" or "require"; matters with ClientCAFile only
}

// OIDC is the OpenID provider where people can sign in; without Issuer there is none.
type OIDC struct {
	Issuer, ClientID string
	ClientSecretFile string   // empty: a public client
	Name             string   // what people call the provider; empty: the issuer's host
	NameClaim        string   // claim with the user's name
	RolesClaim       string   // claim with groups or roles, parts joined by dots
	Roles            []string // "VALUE=ROLE@DOMAIN": what a value of that claim gives
	Audience         string   // of the provider's tokens that the API takes; empty: none
}

// Operations is the listener for those who run the service: metrics and profiles, without sign-in.
type Operations struct {
	Listen []string // empty: none
	Pprof  bool     // serve /debug/pprof/ there
}

// Log says what is logged on standard error.
type Log struct {
	Level  string // "debug", "info", "warn" or "error"
	Format string // "json" or "text"
}

// Trace says where spans are sent.
type Trace struct {
	Endpoint    string  // URL of an OTLP/HTTP collector; empty: none
	SampleRatio float64 // of requests that come without a decision of their caller, 0 to 1
}

// Retention says for how long what is of no more use is kept; 0 is for ever.
type Retention struct {
	Events, Rollouts, Plans, Snapshots, Audit time.Duration
}

// Discovery limits the sources of fabrics, and says how often discovered fabrics are swept again.
type Discovery struct {
	Interval time.Duration // of live InfiniBand fabrics; 0 is never
	Sources  []string      // entries for ParseSourceRule: where fabrics of the API may be
}

// Rollouts says how a manager works rollouts.
type Rollouts struct {
	Lease time.Duration // a worker without a sign of life for so long is taken for lost
}

// Shutdown says how the service ends.
type Shutdown struct {
	Delay time.Duration // between "not ready" and the end of accepting
	Drain time.Duration // for requests under way
}

// Default returns the configuration of a service that nobody configured.
func Default() Config {
	return Config{
		Listen:   []string{"127.0.0.1:8470"},
		Database: "fairlane.db",
		TLS:      TLS{ClientAuth: "optional"},
		OIDC:     OIDC{NameClaim: "preferred_username", RolesClaim: "groups"},
		Log:      Log{Level: "info", Format: "json"},
		Trace:    Trace{SampleRatio: 1},
		Retention: Retention{
			Events: 30 * 24 * time.Hour, Rollouts: 90 * 24 * time.Hour, Plans: 90 * 24 * time.Hour, Snapshots: 90 * 24 * time.Hour,
		},
		Discovery: Discovery{Interval: time.Minute, Sources: DefaultSources()},
		Rollouts:  Rollouts{Lease: 6 * time.Second},
		Shutdown:  Shutdown{Drain: 30 * time.Second},
	}
}

// Sources are where a configuration comes from; the zero value gives the defaults.
type Sources struct {
	Path   string                   // of the YAML file; empty: none
	Getenv func(name string) string // nil: an empty environment
	Flags  map[string]string        // by name, those that were given
}

// Loaded is a configuration, and where each value came from.
type Loaded struct {
	Config
	from map[string]string
}

// From says where a key's value came from: "default", "FILE:LINE", "FAIRLANE_NAME" or "--flag".
func (l *Loaded) From(key string) string {
	if from, ok := l.from[key]; ok {
		return from
	}
	return "default"
}

// Load reads and checks a configuration. Its error names everything that is wrong, with the place, what was
// found and what is allowed.
func Load(s Sources) (*Loaded, error) {
	l := &Loaded{Config: Default(), from: map[string]string{}}
	keys := Keys()
	var faults []error
	if s.Path != "" {
		faults = append(faults, l.readFile(s.Path, keys)...)
	}
	for _, k := range keys {
		if s.Getenv == nil {
			break
		}
		if v := s.Getenv(k.Env()); v != "" {
			faults = append(faults, l.set(&k, v, k.Env()))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Flags)) {
		i := slices.IndexFunc(keys, func(k Key) bool { return k.Flag == name })
		if i < 0 {
			faults = append(faults, fmt.Errorf("--%s: no such key", name))
			continue
		}
		faults = append(faults, l.set(&keys[i], s.Flags[name], "--"+name))
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	if err := l.check(keys); err != nil {
		return nil, err
	}
	return l, nil
}

// set gives a key a value in its text form.
func (l *Loaded) set(k *Key, value, from string) error {
	if err := k.set(&l.Config, value); err != nil {
		return fmt.Errorf("%s: %s: %w", from, k.Name, err)
	}
	l.from[k.Name] = from
	return nil
}

// check looks at each value's range, and then at what keys mean together.
func (l *Loaded) check(keys []Key) error {
	var faults []error
	for _, k := range keys {
		if k.check == nil {
			continue
		}
		for _, v := range k.values(&l.Config) {
			if err := k.check(v); err != nil {
				faults = append(faults, fmt.Errorf("%s: %s: %w", l.From(k.Name), k.Name, err))
			}
		}
	}
	if err := errors.Join(faults...); err != nil {
		return err // what keys mean together is asked of values that are right
	}
	return errors.Join(l.together()...)
}

// together is the rules between keys.
func (l *Loaded) together() []error {
	var faults []error
	at := func(key, why string) {
		faults = append(faults, fmt.Errorf("%s: %s: %s", l.From(key), key, why))
	}
	if len(l.Listen) == 0 {
		at("listen", "want at least one HOST:PORT or unix:PATH")
	}
	if (l.TLS.CertFile == "") != (l.TLS.KeyFile == "") {
		at("tls.cert_file", "want tls.cert_file and tls.key_file, or neither")
	}
	if l.TLS.ClientCAFile != "" && l.TLS.CertFile == "" {
		at("tls.client_ca_file", "client certificates need TLS: want tls.cert_file and tls.key_file too")
	}
	if l.OIDC.Issuer != "" && (l.OIDC.ClientID == "" || l.PublicURL == "") {
		at("oidc.issuer", "the provider must know us and send browsers back: want oidc.client_id and public_url too")
	}
	if l.OIDC.Issuer == "" && l.OIDC.ClientID != "" {
		at("oidc.client_id", "want oidc.issuer too")
	}
	if l.Operations.Pprof && len(l.Operations.Listen) == 0 {
		at("operations.pprof", "profiles are served on the operations listener: want operations.listen too")
	}
	inURL := passwordInURL(l.Database)
	switch from := l.From("database"); {
	case inURL && from != "FAIRLANE_DATABASE":
		at("database", "the URL holds a password, and others can read it there: want it in the file that database_password_file names, or the whole URL in FAIRLANE_DATABASE")
	case inURL && l.DatabasePasswordFile != "":
		at("database_password_file", "the URL in FAIRLANE_DATABASE has a password already: want one of the two")
	case l.DatabasePasswordFile != "" && !isPostgres(l.Database):
		at("database_password_file", "SQLite has no password: want it with a postgres:// URL only")
	}
	return faults
}

// Secret reads the secret in a file: its text without white space around it. An empty path is no secret, an
// empty file is an error. The text is never part of an error, which is a *usage.Error.
func Secret(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	st, err := os.Stat(path)
	if err != nil {
		return "", usage.Wrap(err)
	}
	if st.Size() > maxSecret || !st.Mode().IsRegular() {
		return "", usage.Errorf("%s: want a regular file of at most %d bytes that holds the secret", path, maxSecret)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return "", usage.Wrap(err)
	}
	text := strings.TrimSpace(string(b))
	if text == "" {
		return "", usage.Errorf("%s is empty: want the secret as its only line", path)
	}
	return text, nil
}

// maxSecret bounds a file with a secret, in bytes.
const maxSecret = 64 << 10
