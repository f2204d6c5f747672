package config

import (
	"net"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairlane/internal/phrase"
)

// Key is one setting.
type Key struct {
	Name string // in the file, levels joined by dots: "tls.cert_file"
	Flag string // of `fairlane serve`, without dashes; empty: none
	Doc  string // its meaning, one sentence without the full stop
	// Reload reports that a reload applies the key; other keys need a restart.
	Reload bool
	// bind returns the field: a pointer to string, []string, bool, float64 or time.Duration.
	bind func(*Config) any
	// check rejects an invalid value, for a list each entry; nil accepts all.
	check func(string) error
	// hide removes secrets from a value, or from an entry of a list, before it is printed; nil prints it unchanged.
	hide func(string) string
}

// Keys returns the table of all keys, in the order of listings.
func Keys() []Key {
	return slices.Concat(serviceKeys(), receiverKeys(), processKeys())
}

// serviceKeys are the keys about what the service does.
func serviceKeys() []Key {
	return []Key{
		{Name: "listen", Flag: "listen", check: isAddress, bind: func(c *Config) any { return &c.Listen },
			Doc: "addresses of the API, HOST:PORT or unix:PATH"},
		{Name: "database", Flag: "database", check: isDatabase, hide: ShownDatabase, bind: func(c *Config) any { return &c.Database },
			Doc: "path of the SQLite file, created at the first start, or a `postgres://` URL"},
		{Name: "database_password_file", bind: func(c *Config) any { return &c.DatabasePasswordFile },
			Doc: "file with the password for the `postgres://` URL"},
		{Name: "admin_token_file", bind: func(c *Config) any { return &c.AdminTokenFile },
			Doc: "file whose only line is the administrator's token, at least 32 characters; without it, one is generated at the first start and printed once"},
		{Name: "cc_key_file", Reload: true, bind: func(c *Config) any { return &c.CCKeyFile },
			Doc: "file with the fabric's CC_Key in hexadecimal; without it, key 0 (no key)"},
		{Name: "m_key_file", Reload: true, bind: func(c *Config) any { return &c.MKeyFile },
			Doc: "file with the M_Key of InfiniBand fabrics in hexadecimal, for devices that require it; without it, key 0 (no key)"},
		{Name: "cc_layouts", Reload: true, check: isCCLayout, bind: func(c *Config) any { return &c.CCLayouts },
			Doc: "deprecated, use `ib_profiles`: InfiniBand devices whose congestion-control layouts differ from annex A10, as `PATTERN=LAYOUT[+LAYOUT]`. PATTERN matches node names; docs/infiniband.md lists the layouts. The first match applies and overrides the layouts of profiles"},
		{Name: "ib_profiles", Reload: true, bind: func(c *Config) any { return &c.IBProfiles },
			Doc: "file with the site's profiles of InfiniBand devices and their assignment to devices (docs/infiniband.md); without it, only the built-in profiles. It must be the same for all managers of a database"},
		{Name: "subnet_managers", Reload: true, check: isFabricFile, bind: func(c *Config) any { return &c.SubnetManagers },
			Doc: "files that describe the subnet manager of a fabric, as `FABRIC=PATH`. Partitions and service levels of plans are written there; for other fabrics they are only verified"},
		{Name: "tls.cert_file", bind: func(c *Config) any { return &c.TLS.CertFile },
			Doc: "certificate chain of the API in PEM, read again when it changes; without it, the API uses plain HTTP"},
		{Name: "tls.key_file", bind: func(c *Config) any { return &c.TLS.KeyFile },
			Doc: "private key of the certificate in PEM"},
		{Name: "tls.client_ca_file", bind: func(c *Config) any { return &c.TLS.ClientCAFile },
			Doc: "authorities in PEM whose client certificates are accepted, read again when they change"},
		{Name: "tls.client_auth", check: oneOf("optional", "require"), bind: func(c *Config) any { return &c.TLS.ClientAuth },
			Doc: "with `tls.client_ca_file`: `optional` or `require` a client certificate"},
		{Name: "public_url", check: isWebURL, bind: func(c *Config) any { return &c.PublicURL },
			Doc: "address that browsers use, such as `https://fairlane.example`; with https, cookies require TLS, also behind a proxy"},
		{Name: "oidc.issuer", check: isWebURL, bind: func(c *Config) any { return &c.OIDC.Issuer },
			Doc: "URL of the OpenID provider for sign-in; without it, there is none"},
		{Name: "oidc.client_id", bind: func(c *Config) any { return &c.OIDC.ClientID },
			Doc: "client ID of this service at the provider"},
		{Name: "oidc.client_secret_file", bind: func(c *Config) any { return &c.OIDC.ClientSecretFile },
			Doc: "file with the client secret of this service at the provider; without it, the service is a public client"},
		{Name: "oidc.name", bind: func(c *Config) any { return &c.OIDC.Name },
			Doc: "display name of the provider; without it, the issuer's host"},
		{Name: "oidc.name_claim", bind: func(c *Config) any { return &c.OIDC.NameClaim },
			Doc: "claim that names the user"},
		{Name: "oidc.roles_claim", bind: func(c *Config) any { return &c.OIDC.RolesClaim },
			Doc: "claim with the user's groups or roles, parts joined by dots as in `realm_access.roles`"},
		{Name: "oidc.roles", check: isRoleLine, bind: func(c *Config) any { return &c.OIDC.Roles },
			Doc: "roles for the values of that claim, as `VALUE=ROLE@DOMAIN`: `admins=fabric-admin@*`, `lab=operator@lab`, `red=tenant-admin@lab/red`"},
		{Name: "oidc.audience", bind: func(c *Config) any { return &c.OIDC.Audience },
			Doc: "audience of the provider's tokens that the API accepts as bearer tokens; without it, none are accepted"},
		{Name: "operations.listen", check: isAddress, bind: func(c *Config) any { return &c.Operations.Listen },
			Doc: "addresses for metrics, which need no sign-in, and for profiles; make them reachable only by operators"},
		{Name: "operations.pprof", bind: func(c *Config) any { return &c.Operations.Pprof },
			Doc: "serve profiles under `/debug/pprof/` at the addresses of `operations.listen`, to users with the permission `diagnostics`"},
		{Name: "log.level", Reload: true, check: oneOf("debug", "info", "warn", "error"), bind: func(c *Config) any { return &c.Log.Level },
			Doc: "minimum level that is logged: `debug`, `info`, `warn` or `error`"},
		{Name: "log.format", check: oneOf("json", "text"), bind: func(c *Config) any { return &c.Log.Format },
			Doc: "format of the log on standard error, one line per record: `json` or `text`"},
		{Name: "trace.endpoint", check: isCollector, bind: func(c *Config) any { return &c.Trace.Endpoint },
			Doc: "URL of an OpenTelemetry collector that accepts OTLP over HTTP, such as `http://127.0.0.1:4318`; without it, no spans are recorded"},
		{Name: "trace.sample_ratio", check: between(0, 1), bind: func(c *Config) any { return &c.Trace.SampleRatio },
			Doc: "share of requests that are traced, 0 to 1; a caller's sampling decision takes precedence"},
		{Name: "metrics.endpoint", check: isCollector, bind: func(c *Config) any { return &c.Metrics.Endpoint },
			Doc: "URL of an OpenTelemetry collector that accepts OTLP over HTTP, to which the metrics of `operations.listen` are pushed; without it, they are not pushed"},
		{Name: "metrics.interval", check: within(time.Second, time.Hour), bind: func(c *Config) any { return &c.Metrics.Interval },
			Doc: "time between two pushes of the metrics, 1s to 1h"},
		{Name: "retention.events", check: keptFor, bind: func(c *Config) any { return &c.Retention.Events },
			Doc: "how long events are kept, at least 24h; 0s: for ever. Those of rollouts that are still needed stay"},
		{Name: "retention.rollouts", check: keptFor, bind: func(c *Config) any { return &c.Retention.Rollouts },
			Doc: "how long the device records of a finished rollout are kept, at least 24h; 0s: for ever. Those of a fabric's latest rollout and of the one in force stay"},
		{Name: "retention.plans", check: keptFor, bind: func(c *Config) any { return &c.Retention.Plans },
			Doc: "how long plans without a rollout are kept, at least 24h; 0s: for ever. A fabric's latest plan stays"},
		{Name: "retention.snapshots", check: keptFor, bind: func(c *Config) any { return &c.Retention.Snapshots },
			Doc: "how long topologies without a plan are kept after they were last seen, at least 24h; 0s: for ever. A fabric's latest topology stays"},
		{Name: "retention.audit", check: keptFor, bind: func(c *Config) any { return &c.Retention.Audit },
			Doc: "how long audit entries are kept, at least 24h; 0s: for ever. An entry records the removed ones, so that the chain still verifies"},
		{Name: "discovery.interval", check: checkRescanInterval, bind: func(c *Config) any { return &c.Discovery.Interval },
			Doc: "approximate interval between rescans of discovered live InfiniBand fabrics, 10s to 24h; 0s: never"},
		{Name: "discovery.sources", Reload: true, check: isSourceRule, bind: func(c *Config) any { return &c.Discovery.Sources },
			Doc: "sources allowed for fabrics, in the forms of docs/security.md; `./` is the working directory of the service. Other sources are rejected, also for existing fabrics"},
		{Name: "series.path", bind: func(c *Config) any { return &c.Series.Path },
			Doc: "folder of the time series of what tenants receive; without it DATABASE.series beside a SQLite file, and with PostgreSQL no series. Each manager needs its own"},
		{Name: "series.advertise", check: isWebURL, bind: func(c *Config) any { return &c.Series.Advertise },
			Doc: "with PostgreSQL and several managers: the address at which the others reach the API of this one, such as `https://10.0.0.11:8470`. Each manager then answers queries about the series of all"},
		{Name: "series.url", check: isWebURL, bind: func(c *Config) any { return &c.Series.URL },
			Doc: "server with Prometheus's remote write and remote read that has the series instead of a folder, such as `https://prometheus.example:9090`; retention, size and alerts are then its own"},
		{Name: "series.token_file", bind: func(c *Config) any { return &c.Series.TokenFile },
			Doc: "file with the bearer token for `series.url`; without it, none is sent"},
		{Name: "series.ca_file", bind: func(c *Config) any { return &c.Series.CAFile },
			Doc: "authorities in PEM that certificates of `series.url` and of other managers are verified against; without it, those of the system"},
		{Name: "series.period", check: measuredEvery, bind: func(c *Config) any { return &c.Series.Period },
			Doc: "time between two measurements of a fabric with a plan in force, 1s to 5m; 0s: no measurements and no series"},
		{Name: "series.retention", check: within(2*time.Hour, 10*365*24*time.Hour), bind: func(c *Config) any { return &c.Series.Retention },
			Doc: "age at which samples are deleted, 2h to 87600h"},
		{Name: "series.ports", check: oneOf("contended", "all"), bind: func(c *Config) any { return &c.Series.Ports },
			Doc: "ports whose rates and counts are kept: `contended`, those at either end of a contended link, or `all`, also every port from which tenants send"},
		{Name: "series.max_gb", check: between(0, 1e6), bind: func(c *Config) any { return &c.Series.MaxGB },
			Doc: "size in 10^9 bytes beyond which the oldest samples are deleted, up to two hours late; 0: no limit"},
		{Name: "series.watch.ports", check: isWatchedPort, bind: func(c *Config) any { return &c.Series.Watch.Ports },
			Doc: "ports that are read every `series.watch.period`, as `FABRIC/PORT` such as `lab/leaf1/P4`; PORT may be a pattern such as `leaf1/*`. At most 64 entries, and 64 ports of a fabric"},
		{Name: "series.watch.period", check: within(time.Second, time.Minute), bind: func(c *Config) any { return &c.Series.Watch.Period },
			Doc: "time between two readings of the ports in `series.watch.ports`, 1s to 1m and at most `series.period`"},
	}
}

// processKeys are the keys about how a manager runs.
func processKeys() []Key {
	return []Key{
		{Name: "rollouts.lease", check: within(200*time.Millisecond, time.Hour), bind: func(c *Config) any { return &c.Rollouts.Lease },
			Doc: "time without a heartbeat after which a rollout worker counts as lost and another manager continues its work; 200ms to 1h, the same on all managers"},
		{Name: "shutdown.delay", check: within(0, 5*time.Minute), bind: func(c *Config) any { return &c.Shutdown.Delay },
			Doc: "time between \"not ready\" and the end of accepting requests, so that a load balancer can react, up to 5m"},
		{Name: "shutdown.drain", check: within(time.Second, time.Hour), bind: func(c *Config) any { return &c.Shutdown.Drain },
			Doc: "time for requests in progress to finish, 1s to 1h"},
	}
}

// Env returns the environment variable of the key: FAIRLANE_ and the name in capitals, dots as underscores.
func (k *Key) Env() string {
	return "FAIRLANE_" + strings.ToUpper(strings.ReplaceAll(k.Name, ".", "_"))
}

// Kind names the type of the value for users.
func (k *Key) Kind() string {
	switch k.bind(&Config{}).(type) {
	case *[]string:
		return "list"
	case *bool:
		return "true or false"
	case *float64:
		return "number"
	case *time.Duration:
		return "duration"
	}
	return "text"
}

// Copy copies the key's value from one configuration to another.
func (k *Key) Copy(to, from *Config) {
	switch p := k.bind(to).(type) {
	case *string:
		*p = *k.bind(from).(*string)
	case *[]string:
		*p = slices.Clone(*k.bind(from).(*[]string))
	case *bool:
		*p = *k.bind(from).(*bool)
	case *float64:
		*p = *k.bind(from).(*float64)
	case *time.Duration:
		*p = *k.bind(from).(*time.Duration)
	}
}

// Same reports whether the key has the same value in two configurations.
func (k *Key) Same(a, b *Config) bool { return slices.Equal(k.values(a), k.values(b)) }

// set parses the text form; commas separate the entries of a list.
func (k *Key) set(c *Config, text string) error {
	switch p := k.bind(c).(type) {
	case *string:
		*p = text
	case *[]string:
		*p = splitList(text)
	case *bool:
		v, err := strconv.ParseBool(text)
		if err != nil {
			return found(strconv.Quote(text), phrase.Of("want.boolean"))
		}
		*p = v
	case *float64:
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return found(strconv.Quote(text), phrase.Of("want.number"))
		}
		*p = v
	case *time.Duration:
		v, err := time.ParseDuration(text)
		if err != nil {
			return found(strconv.Quote(text), phrase.Of("config.want-duration"))
		}
		*p = v
	}
	return nil
}

func splitList(text string) []string {
	var out []string
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

// values returns the value as texts: one, or the entries of a list.
func (k *Key) values(c *Config) []string {
	switch p := k.bind(c).(type) {
	case *[]string:
		return *p
	case *string:
		return []string{*p}
	case *bool:
		return []string{strconv.FormatBool(*p)}
	case *float64:
		return []string{strconv.FormatFloat(*p, 'g', -1, 64)}
	case *time.Duration:
		return []string{p.String()}
	}
	return nil
}

// Value returns the value as printable text, with secrets hidden.
func (k *Key) Value(c *Config) string {
	list := slices.Clone(k.values(c))
	for i := range list {
		if k.hide != nil {
			list[i] = k.hide(list[i])
		}
	}
	return strings.Join(list, ", ")
}

func oneOf(words ...string) func(string) error {
	return func(s string) error {
		if !slices.Contains(words, s) {
			return found(strconv.Quote(s), phrase.Of("list.whole", "list", words))
		}
		return nil
	}
}

func between(low, high float64) func(string) error {
	return func(s string) error {
		if v, err := strconv.ParseFloat(s, 64); err != nil || !(v >= low && v <= high) {
			return found(s, phrase.Of("want.between", "kind", phrase.Of("want.number"), "min", low, "max", high))
		}
		return nil
	}
}

// keptFor accepts 0, which means for ever, and times long enough that a mistyped unit does not empty the store.
func keptFor(s string) error {
	if d, err := time.ParseDuration(s); err == nil && d == 0 {
		return nil
	}
	if err := within(24*time.Hour, 100*366*24*time.Hour)(s); err != nil {
		return found(s, phrase.Of("config.want-retention"))
	}
	return nil
}

// checkRescanInterval accepts 0, which means never, and intervals long enough not to burden a fabric.
func checkRescanInterval(s string) error {
	if d, err := time.ParseDuration(s); err == nil && d == 0 {
		return nil
	}
	if err := within(10*time.Second, 24*time.Hour)(s); err != nil {
		return found(s, phrase.Of("config.want-interval"))
	}
	return nil
}

// measuredEvery accepts 0, which means never, and periods of measurements.
func measuredEvery(s string) error {
	if d, err := time.ParseDuration(s); err == nil && d == 0 {
		return nil
	}
	if err := within(time.Second, 5*time.Minute)(s); err != nil {
		return found(s, phrase.Of("config.want-period"))
	}
	return nil
}

func within(low, high time.Duration) func(string) error {
	return func(s string) error {
		if v, err := time.ParseDuration(s); err != nil || v < low || v > high {
			return found(s, phrase.Of("want.range", "min", low.String(), "max", high.String()))
		}
		return nil
	}
}

// isAddress accepts HOST:PORT and unix:PATH.
func isAddress(s string) error {
	if path, ok := strings.CutPrefix(s, "unix:"); ok && path != "" {
		return nil
	}
	_, port, err := net.SplitHostPort(s)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return found(strconv.Quote(s), phrase.Of("config.want-address"))
	}
	return nil
}

// isPostgres reports whether a database is a PostgreSQL URL rather than the path of a SQLite file.
func isPostgres(database string) bool {
	return strings.HasPrefix(database, "postgres://") || strings.HasPrefix(database, "postgresql://")
}

func isDatabase(s string) error {
	scheme, _, isURL := strings.Cut(s, "://")
	switch {
	case s == "":
		return fault(phrase.Of("config.no-database"))
	case !isURL:
		return nil
	case !isPostgres(s):
		return fault(phrase.Of("config.database-scheme", "scheme", strconv.Quote(scheme)))
	}
	u, err := url.Parse(s)
	if err != nil { // the error repeats the URL, which may contain a password
		return fault(phrase.Of("config.database-url"))
	}
	if strings.Trim(u.Path, "/") == "" {
		return found(ShownDatabase(s), phrase.Of("config.want-database-name"))
	}
	return nil
}

// passwordInURL reports whether a PostgreSQL URL contains a password, as user information or as a parameter.
func passwordInURL(s string) bool {
	if !isPostgres(s) {
		return false
	}
	u, err := url.Parse(s)
	if err != nil {
		return false
	}
	_, user := u.User.Password()
	return user || u.Query().Has("password") || u.Query().Has("sslpassword")
}

// ShownDatabase returns a database for printing, with passwords in a PostgreSQL URL replaced by "xxxxx".
func ShownDatabase(s string) string {
	if !isPostgres(s) {
		return s
	}
	u, err := url.Parse(s)
	if err != nil {
		return "postgres://(unreadable)"
	}
	q := u.Query()
	for _, name := range []string{"password", "sslpassword"} {
		if q.Has(name) {
			q.Set(name, "xxxxx")
			u.RawQuery = q.Encode()
		}
	}
	return u.Redacted()
}

func isCollector(s string) error {
	if s == "" {
		return nil
	}
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.User != nil || (u.Scheme != "http" && u.Scheme != "https") {
		return fault(phrase.Of("config.want-collector"))
	}
	return nil
}

// isWatchedPort checks only the form; the fabric may be discovered later.
func isWatchedPort(s string) error {
	fabric, port, _ := strings.Cut(s, "/")
	if _, err := path.Match(port, ""); err != nil || fabric == "" || port == "" {
		return found(strconv.Quote(s), phrase.Of("config.want-port-pattern"))
	}
	return nil
}

func isWebURL(s string) error {
	if s == "" {
		return nil
	}
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || (u.Scheme != "http" && u.Scheme != "https") {
		return fault(phrase.Of("config.want-web-url"))
	}
	return nil
}

// isFabricFile checks only the form; placement.ReadManagers reads the file.
func isFabricFile(s string) error {
	if fabric, path, ok := strings.Cut(s, "="); !ok || strings.TrimSpace(fabric) == "" || strings.TrimSpace(path) == "" {
		return found(strconv.Quote(s), phrase.Verbatim("FABRIC=PATH"))
	}
	return nil
}

// isRoleLine checks only the form; openid.ParseMapping checks the roles.
func isRoleLine(s string) error {
	value, grant, ok := strings.Cut(s, "=")
	if !ok || strings.TrimSpace(value) == "" || !strings.Contains(grant, "@") {
		return found(strconv.Quote(s), phrase.Verbatim("VALUE=ROLE@DOMAIN"))
	}
	return nil
}
