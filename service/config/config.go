// Package config reads the configuration of `fairlane serve`: a YAML file, the environment and flags. The table in
// keys.go defines each key once; parsing, messages and `fairlane config check|print|reference` are generated from it.
//
// Precedence, lowest first: defaults, file, environment, flags. The file never contains secrets: a key whose name ends
// in _file names a file that holds one.
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

// Config is the configuration of the service. Keys defines the meaning and the range of each field.
type Config struct {
	Listen               []string // HOST:PORT or unix:PATH of the API
	Database             string   // path of a SQLite file, or a postgres:// URL
	DatabasePasswordFile string
	AdminTokenFile       string   // empty: created at the first start and printed once
	CCKeyFile            string   // empty: key 0, which means no key
	MKeyFile             string   // empty: key 0, which means no key
	CCLayouts            []string // entries for ParseCCLayout; deprecated for IBProfiles
	IBProfiles           string
	SubnetManagers       []string // "FABRIC=PATH": the file that describes the subnet manager of a fabric
	PublicURL            string   // address that browsers use; empty: none, and cookies are TLS-only if the service itself speaks TLS
	TLS                  TLS
	OIDC                 OIDC
	Operations           Operations
	Log                  Log
	Trace                Trace
	Metrics              Metrics
	Retention            Retention
	Discovery            Discovery
	Series               Series
	Receivers            Receivers
	AuditExport          AuditExport
	Rollouts             Rollouts
	Shutdown             Shutdown
}

// TLS configures the API's listeners; without CertFile they speak plain HTTP.
type TLS struct {
	CertFile, KeyFile string // PEM, reloaded when they change
	ClientCAFile      string // PEM; client certificates signed by these authorities are accepted
	ClientAuth        string // "optional" or "require"; has an effect only with ClientCAFile
}

// OIDC is the OpenID provider for sign-in; without Issuer there is none.
type OIDC struct {
	Issuer, ClientID string
	ClientSecretFile string   // empty: a public client
	Name             string   // display name of the provider; empty: the issuer's host
	NameClaim        string   // claim with the user's name
	RolesClaim       string   // claim with groups or roles, nested names joined by dots
	Roles            []string // "VALUE=ROLE@DOMAIN": grant for a value of that claim
	Audience         string   // of the provider's tokens that the API accepts; empty: accepts none
}

// Operations is the listener for operators of the service: metrics and profiles, without sign-in.
type Operations struct {
	Listen []string // empty: none
	Pprof  bool     // serve /debug/pprof/ there
}

// Log configures the log on standard error.
type Log struct {
	Level  string // "debug", "info", "warn" or "error"
	Format string // "json" or "text"
}

// Trace configures where spans are sent.
type Trace struct {
	Endpoint    string  // URL of an OTLP/HTTP collector; empty: none
	SampleRatio float64 // of requests without a sampling decision of their caller, 0 to 1
}

// Metrics configures where metrics are pushed.
type Metrics struct {
	Endpoint string        // URL of an OTLP/HTTP collector; empty: none
	Interval time.Duration // between two pushes
}

// Retention is how long the service keeps records that it no longer needs; 0: for ever.
type Retention struct {
	Events, Rollouts, Plans, Snapshots, Audit time.Duration
}

// Discovery limits the sources of fabrics and sets the interval of rescans.
type Discovery struct {
	Interval time.Duration // between rescans of live InfiniBand fabrics; 0: no rescans
	Sources  []string      // entries for ParseSourceRule: sources that clients of the API may name
}

// Series configures the time series of tenants' shares.
type Series struct {
	Path      string        // folder; empty: in the directory of the SQLite file; none with PostgreSQL
	Advertise string        // address of the API for other managers; empty: they are not queried
	URL       string        // of a server that has the series instead of a folder; empty: none
	TokenFile string        // of that server; empty: none
	CAFile    string        // authorities of that server and of other managers; empty: the system's
	Period    time.Duration // between two measurements of a fabric; 0: no series
	Retention time.Duration // age at which samples are deleted
	Ports     string        // whose counts are kept: "contended" or "all"
	Watch     Watch
	MaxGB     float64 // size of the stored blocks in 10^9 bytes beyond which the oldest are deleted; 0: no limit
}

// Watch configures ports that are read more often than their fabric is measured.
type Watch struct {
	Ports  []string // "FABRIC/PORT"; the port may be a pattern of path.Match
	Period time.Duration
}

// maxWatched is the largest number of entries of Watch.Ports.
const maxWatched = 64

// Folder is the folder of the series of a service on a database; empty when it keeps none.
func (s Series) Folder(database string) string {
	switch {
	case s.Period == 0 || s.URL != "":
		return ""
	case s.Path == "" && !isPostgres(database):
		return database + ".series"
	}
	return s.Path
}

// Rollouts configures how a manager works on rollouts.
type Rollouts struct {
	Lease time.Duration // a worker without a heartbeat for this long is considered lost
}

// Shutdown configures how the service stops.
type Shutdown struct {
	Delay time.Duration // between reporting "not ready" and closing the listeners
	Drain time.Duration // limit for finishing open requests
}

// Default returns the configuration of a service with no settings given.
func Default() Config {
	return Config{
		Listen:   []string{"127.0.0.1:8470"},
		Database: "fairlane.db",
		TLS:      TLS{ClientAuth: "optional"},
		OIDC:     OIDC{NameClaim: "preferred_username", RolesClaim: "groups"},
		Log:      Log{Level: "info", Format: "json"},
		Trace:    Trace{SampleRatio: 1},
		Metrics:  Metrics{Interval: time.Minute},
		Retention: Retention{
			Events: 30 * 24 * time.Hour, Rollouts: 90 * 24 * time.Hour, Plans: 90 * 24 * time.Hour, Snapshots: 90 * 24 * time.Hour,
		},
		Series:    Series{Period: 15 * time.Second, Retention: 28 * 24 * time.Hour, Ports: "contended", Watch: Watch{Period: time.Second}, MaxGB: 5},
		Receivers: defaultReceivers(),
		Discovery: Discovery{Interval: time.Minute, Sources: DefaultSources()},
		Rollouts:  Rollouts{Lease: 6 * time.Second},
		Shutdown:  Shutdown{Drain: 30 * time.Second},
	}
}

// Sources are the inputs of a configuration; the zero value gives the defaults.
type Sources struct {
	Path   string                   // of the YAML file; empty: none
	Getenv func(name string) string // nil: an empty environment
	Flags  map[string]string        // by name, only those that were given
}

// Loaded is a configuration with the origin of each value.
type Loaded struct {
	Config
	from map[string]string
}

// From returns the origin of a key's value: "default", "FILE:LINE", "FAIRLANE_NAME" or "--flag".
func (l *Loaded) From(key string) string {
	if from, ok := l.from[key]; ok {
		return from
	}
	return byDefault
}

// byDefault is the origin of a value that no source sets.
const byDefault = "default"

// Load reads and checks a configuration. Its error names every fault: where it is, what was found, and what is allowed.
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

// set sets a key from the text form of a value.
func (l *Loaded) set(k *Key, value, from string) error {
	if err := k.set(&l.Config, value); err != nil {
		return at(from, k.Name, err)
	}
	l.from[k.Name] = from
	return nil
}

// fault returns a sentence as an error.
func fault(said phrase.Text) error { return &phrase.Error{Text: said} }

// found returns an error with the value found and the values allowed.
func found(what string, want phrase.Text) error {
	return fault(phrase.Of("problem.found", "found", what, "want", want))
}

// at adds the origin of a key's invalid value to an error.
func at(from, key string, err error) error {
	label := phrase.Verbatim(from)
	if from == byDefault {
		label = phrase.Of("config.default")
	}
	return phrase.Because(err, phrase.Of("labelled", "label", label, "text", phrase.Of("labelled", "label", key, "text", err)))
}

// check checks each value's range, and then the rules between keys.
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
		return err // the rules between keys assume valid values
	}
	return errors.Join(l.together()...)
}

// together checks the rules between keys.
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
	l.receiversTogether(wrong)
	switch {
	case l.Series.URL != "" && l.Series.Path != "":
		wrong("series.url", phrase.Of("config.series-twice"))
	case l.Series.Advertise != "" && (!isPostgres(l.Database) || l.Series.Path == ""):
		wrong("series.advertise", phrase.Of("config.series-advertise"))
	case l.Series.TokenFile != "" && l.Series.URL == "":
		wrong("series.token_file", phrase.Of("config.series-token"))
	}
	switch w := &l.Series.Watch; {
	case len(w.Ports) > maxWatched:
		wrong("series.watch.ports", phrase.Of("config.watch-many", "n", len(w.Ports), "max", maxWatched))
	case len(w.Ports) > 0 && w.Period > l.Series.Period:
		wrong("series.watch.period", phrase.Of("config.watch-period", "period", l.Series.Period))
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

// Secret reads the secret in a file: its text without surrounding white space. With an empty path it returns no secret;
// an empty file is an error. The error is a *usage.Error and never contains the secret.
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

// maxSecret is the maximum size of a file with a secret, in bytes.
const maxSecret = 64 << 10
