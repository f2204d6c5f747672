// Package config is the configuration of `fairlane serve`: a YAML file, the environment and flags. Every key
// stands once, in the table of keys.go; parsing, messages and `fairlane config check|print|reference` are made of it.
//
// Later ones win: defaults, file, environment, flags. Secrets are never values of the file: a key whose name
// ends in _file names the file that holds one.
package config

import (
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"fairlane/internal/phrase"
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
	return byDefault
}

// byDefault is where a value that nobody gave comes from.
const byDefault = "default"

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
			faults = append(faults, fault(phrase.Of("config.no-key", "flag", name)))
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
		return at(from, k.Name, err)
	}
	l.from[k.Name] = from
	return nil
}

// fault is an error that is a sentence.
func fault(said phrase.Text) error { return &phrase.Error{Text: said} }

// found says what a value is and what it may be.
func found(what string, want phrase.Text) error {
	return fault(phrase.Of("problem.found", "found", what, "want", want))
}

// at says where the value of a key that is wrong came from.
func at(from, key string, err error) error {
	label := phrase.Verbatim(from)
	if from == byDefault {
		label = phrase.Of("config.default")
	}
	return phrase.Because(err, phrase.Of("labelled", "label", label, "text", phrase.Of("labelled", "label", key, "text", err)))
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
				faults = append(faults, at(l.From(k.Name), k.Name, err))
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
	wrong := func(key string, why phrase.Text) {
		faults = append(faults, at(l.From(key), key, fault(why)))
	}
	if len(l.Listen) == 0 {
		wrong("listen", phrase.Of("config.no-listener"))
	}
	if (l.TLS.CertFile == "") != (l.TLS.KeyFile == "") {
		wrong("tls.cert_file", phrase.Of("config.half-pair"))
	}
	if l.TLS.ClientCAFile != "" && l.TLS.CertFile == "" {
		wrong("tls.client_ca_file", phrase.Of("config.client-ca"))
	}
	if l.OIDC.Issuer != "" && (l.OIDC.ClientID == "" || l.PublicURL == "") {
		wrong("oidc.issuer", phrase.Of("config.issuer-alone"))
	}
	if l.OIDC.Issuer == "" && l.OIDC.ClientID != "" {
		wrong("oidc.client_id", phrase.Of("config.no-issuer"))
	}
	if l.Operations.Pprof && len(l.Operations.Listen) == 0 {
		wrong("operations.pprof", phrase.Of("config.no-operations"))
	}
	inURL := passwordInURL(l.Database)
	switch from := l.From("database"); {
	case inURL && from != "FAIRLANE_DATABASE":
		wrong("database", phrase.Of("config.password-in-url"))
	case inURL && l.DatabasePasswordFile != "":
		wrong("database_password_file", phrase.Of("config.two-passwords"))
	case l.DatabasePasswordFile != "" && !isPostgres(l.Database):
		wrong("database_password_file", phrase.Of("config.sqlite-password"))
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
		return "", usage.Of(phrase.Of("config.no-secret-file", "path", path, "max", maxSecret))
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return "", usage.Wrap(err)
	}
	text := strings.TrimSpace(string(b))
	if text == "" {
		return "", usage.Of(phrase.Of("config.empty-secret", "path", path))
	}
	return text, nil
}

// maxSecret bounds a file with a secret, in bytes.
const maxSecret = 64 << 10
