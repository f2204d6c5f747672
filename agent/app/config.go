package app

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"fairlane/agent/host"
	"fairlane/ccconfig/nic/nicparam"
	"fairlane/internal/loopback"
	"fairlane/internal/phrase"
	"fairlane/internal/yamltree"
)

// Config is the agent's configuration. Keys documents the meaning and the range of each field.
type Config struct {
	Listen                     []string
	Insecure                   bool
	Certificate, Key, ClientCA string
	Allowed                    []string
	Target                     string
	Reflection                 bool
	Root                       string
	Devices                    []string // empty: all
	Backends                   []nicparam.Backend
	Rate32, UndocumentedGD     bool
	DMS                        host.DMSAddress
	Journal                    string
	Pods                       Pods
	Sweep, Fresh, FreshNV      time.Duration
	Counters, Sample           time.Duration
	SetsPerSecond              float64
	Subscriptions              int
	LogLevel, LogFormat        string
}

// Default returns the configuration without any settings.
func Default() Config {
	return Config{
		Listen: []string{"[::]:9339"}, Root: "/", Backends: host.Backends(), Journal: "/var/lib/fairlane-agent/journal",
		Pods:  Pods{State: "/var/lib/fairlane-agent/pods", AllowedUID: []uint32{0}},
		Sweep: 10 * time.Second, Fresh: time.Second, FreshNV: 5 * time.Minute, Counters: 500 * time.Millisecond, Sample: time.Second,
		SetsPerSecond: 10, Subscriptions: 64, LogLevel: "info", LogFormat: "json",
	}
}

// Key is one setting of the file.
type Key struct {
	Name string // components joined by dots
	Kind string // displayed
	Doc  string // its meaning, in one sentence without the full stop

	set func(*Config, *yaml.Node) error
	get func(*Config) string
}

// secure reports whether the agent serves gNMI with TLS. An agent without addresses serves only the CNI plugin.
func (c *Config) secure() bool { return !c.Insecure && len(c.Listen) > 0 }

// Keys returns the table of all keys, in the order in which they are listed.
func Keys() []Key {
	return slices.Concat(connectionKeys(), hostKeys(), podKeys(), clusterKeys(), paceKeys())
}

// connectionKeys configure who may connect, and how.
func connectionKeys() []Key {
	return []Key{
		listKey("listen", "Addresses on which the agent serves gNMI, HOST:PORT; with pods.socket there may be none", func(c *Config) *[]string { return &c.Listen }),
		flagKey("insecure", "Serve without TLS, on loopback addresses only; every process on the host can then change all settings", func(c *Config) *bool { return &c.Insecure }),
		textKey("tls.certificate", "PEM file of the agent's certificate, read again when it changes", func(c *Config) *string { return &c.Certificate }),
		textKey("tls.key", "PEM file of the certificate's key", func(c *Config) *string { return &c.Key }),
		textKey("tls.client_ca", "PEM file of the authorities that sign client certificates; clients without one are rejected", func(c *Config) *string { return &c.ClientCA }),
		listKey("tls.allowed", "Names in certificates, such as manager.example.net, of clients that may change settings; other clients may only read", func(c *Config) *[]string { return &c.Allowed }),
		textKey("target", "Name that requests use in prefix.target; empty: the host's name", func(c *Config) *string { return &c.Target }),
		flagKey("reflection", "Offer gRPC server reflection, for clients that do not know gNMI", func(c *Config) *bool { return &c.Reflection }),
	}
}

// hostKeys configure the host.
func hostKeys() []Key {
	return []Key{
		textKey("root", "Root directory of the host's files; not / in a container that mounts them elsewhere", func(c *Config) *string { return &c.Root }),
		{"devices", "auto, or list of text", "Network devices, RDMA devices or PCI addresses whose cards are served; auto: all RoCE cards", func(c *Config, n *yaml.Node) error {
			if n.Kind == yaml.ScalarNode && n.Value == "auto" {
				c.Devices = nil
				return nil
			}
			return texts(n, &c.Devices)
		}, func(c *Config) string {
			if len(c.Devices) == 0 {
				return "auto"
			}
			return "[" + strings.Join(c.Devices, ", ") + "]"
		}},
		{"back_ends", "list of " + words(host.Backends()), "Back ends that the agent may use, even if the host offers more", func(c *Config, n *yaml.Node) error {
			var names []string
			if err := texts(n, &names); err != nil {
				return err
			}
			c.Backends = nil
			for i, name := range names {
				if !slices.Contains(host.Backends(), nicparam.Backend(name)) {
					return fault(phrase.Of("agentconfig.at", "line", n.Content[i].Line, "text", found(name, phrase.Of("want.one-of", "values", host.Backends()))))
				}
				c.Backends = append(c.Backends, nicparam.Backend(name))
			}
			return nil
		}, func(c *Config) string { return "[" + words(c.Backends) + "]" }},
		flagKey("assume.rate_32", "Cards have 32-bit rate registers; the host does not report their width", func(c *Config) *bool { return &c.Rate32 }),
		flagKey("assume.undocumented_gd", "Cards accept values of rpg_gd that the vendor does not document", func(c *Config) *bool { return &c.UndocumentedGD }),
		textKey("dms.address", "Address at which the vendor's management service serves gNMI, HOST:PORT; empty: not used", func(c *Config) *string { return &c.DMS.Target }),
		textKey("dms.ca", "PEM file of the authorities that sign its certificate; empty: no TLS, on loopback addresses only", func(c *Config) *string { return &c.DMS.CA }),
		textKey("dms.certificate", "PEM file of the agent's client certificate for it", func(c *Config) *string { return &c.DMS.Certificate }),
		textKey("dms.key", "PEM file of that certificate's key", func(c *Config) *string { return &c.DMS.Key }),
		textKey("dms.server_name", "Name in its certificate; empty: the host part of its address", func(c *Config) *string { return &c.DMS.ServerName }),
		textKey("journal", "Path prefix of the journal of settings and previous values: this and .a, .b, .note, .lock; the directory must exist and belong to the agent alone", func(c *Config) *string { return &c.Journal }),
	}
}

// paceKeys configure limits and intervals.
func paceKeys() []Key {
	return []Key{
		spanKey("intervals.sweep", "Time between two sweeps for changes by others", 100*time.Millisecond, func(c *Config) *time.Duration { return &c.Sweep }),
		spanKey("intervals.fresh", "Maximum age of parameter values in responses", 0, func(c *Config) *time.Duration { return &c.Fresh }),
		spanKey("intervals.fresh_nv", "The same for the non-volatile configuration; a query takes seconds", 0, func(c *Config) *time.Duration { return &c.FreshNV }),
		spanKey("intervals.counters", "The same for counters and links", 0, func(c *Config) *time.Duration { return &c.Counters }),
		spanKey("intervals.sample", "Shortest sample interval that subscribers may request", 10*time.Millisecond, func(c *Config) *time.Duration { return &c.Sample }),
		{"limits.sets_per_second", "number, 0.1 to 1000", "Rate of accepted transactions, with a burst of 5 s", func(c *Config, n *yaml.Node) error {
			return scalar(n, &c.SetsPerSecond, func(s string) (float64, error) {
				f, err := strconv.ParseFloat(s, 64)
				if err != nil || !(f >= 0.1 && f <= 1000) {
					return 0, fault(phrase.Of("topofile.want-number", "min", 0.1, "max", 1000))
				}
				return f, nil
			})
		}, func(c *Config) string { return strconv.FormatFloat(c.SetsPerSecond, 'g', -1, 64) }},
		{"limits.subscriptions", "number, 1 to 10000", "Subscriptions that may be open", func(c *Config, n *yaml.Node) error {
			return scalar(n, &c.Subscriptions, func(s string) (int, error) {
				i, err := strconv.Atoi(s)
				if err != nil || i < 1 || i > 10000 {
					return 0, fault(phrase.Of("topofile.want-number", "min", 1, "max", 10000))
				}
				return i, nil
			})
		}, func(c *Config) string { return strconv.Itoa(c.Subscriptions) }},
		oneKey("log.level", "Least level that is logged on standard error", func(c *Config) *string { return &c.LogLevel }, "debug", "info", "warn", "error"),
		oneKey("log.format", "Form of the log", func(c *Config) *string { return &c.LogFormat }, "json", "text"),
	}
}

func textKey(name, doc string, p func(*Config) *string) Key {
	return Key{name, "text", doc, func(c *Config, n *yaml.Node) error {
		return scalar(n, p(c), func(s string) (string, error) { return s, nil })
	}, func(c *Config) string { return strconv.Quote(*p(c)) }}
}

func oneKey(name, doc string, p func(*Config) *string, of ...string) Key {
	k := textKey(name, doc, p)
	k.Kind = strings.Join(of, ", ")
	k.set = func(c *Config, n *yaml.Node) error {
		return scalar(n, p(c), func(s string) (string, error) {
			if !slices.Contains(of, s) {
				return "", fault(phrase.Of("want.one-of", "values", of))
			}
			return s, nil
		})
	}
	return k
}

func flagKey(name, doc string, p func(*Config) *bool) Key {
	return Key{name, "true or false", doc, func(c *Config, n *yaml.Node) error { return scalar(n, p(c), parseFlag) },
		func(c *Config) string { return strconv.FormatBool(*p(c)) }}
}

func parseFlag(s string) (bool, error) {
	v, err := strconv.ParseBool(s)
	if err != nil {
		err = fault(phrase.Of("want.boolean"))
	}
	return v, err
}

func listKey(name, doc string, p func(*Config) *[]string) Key {
	return Key{name, "list of text", doc, func(c *Config, n *yaml.Node) error { return texts(n, p(c)) },
		func(c *Config) string { return "[" + strings.Join(*p(c), ", ") + "]" }}
}

func spanKey(name, doc string, least time.Duration, p func(*Config) *time.Duration) Key {
	return Key{name, "duration, " + least.String() + " to 1h", doc, func(c *Config, n *yaml.Node) error {
		return scalar(n, p(c), func(s string) (time.Duration, error) {
			d, err := time.ParseDuration(s)
			if err != nil || d < least || d > time.Hour {
				return 0, fault(phrase.Of("agentconfig.want-duration", "min", least.String()))
			}
			return d, nil
		})
	}, func(c *Config) string { return p(c).String() }}
}

func words[T ~string](all []T) string {
	out := make([]string, len(all))
	for i, w := range all {
		out[i] = string(w)
	}
	return strings.Join(out, ", ")
}

func scalar[T any](n *yaml.Node, to *T, read func(string) (T, error)) error {
	if n.Kind != yaml.ScalarNode || yamltree.IsNull(n) {
		return fault(phrase.Of("agentconfig.no-value", "line", n.Line))
	}
	v, err := read(n.Value)
	if err != nil {
		return fault(phrase.Of("agentconfig.at", "line", n.Line, "text", found(n.Value, phrase.OfError(err))))
	}
	*to = v
	return nil
}

// found returns the text about an invalid value: the value, and the valid values.
func found(value string, want phrase.Text) phrase.Text {
	return phrase.Of("yaml.found", "found", strconv.Quote(nicparam.Clip(value)), "want", want)
}

func fault(said phrase.Text) error { return &phrase.Error{Text: said} }

// maxList bounds a list in the file.
const maxList = 256

func texts(n *yaml.Node, to *[]string) error {
	if n.Kind != yaml.SequenceNode || len(n.Content) > maxList {
		return fault(phrase.Of("agentconfig.want-list", "line", n.Line, "max", maxList))
	}
	out := make([]string, len(n.Content))
	for i, c := range n.Content {
		if err := scalar(c, &out[i], func(s string) (string, error) {
			if s == "" {
				return "", fault(phrase.Of("want.text"))
			}
			return s, nil
		}); err != nil {
			return err
		}
	}
	*to = out
	return nil
}

// maxConfig bounds the file, in bytes.
const maxConfig = 1 << 20

// Load reads a configuration file, or uses the defaults when there is no path, and checks it. The error names all faults,
// with their lines.
func Load(path string) (Config, error) {
	c := Default()
	if path == "" {
		return c, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return c, err
	}
	defer func() { _ = f.Close() }() // nothing was written
	b, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	if err != nil {
		return c, err
	}
	if len(b) > maxConfig {
		return c, fault(phrase.Of("agentconfig.too-large", "file", path, "max", maxConfig))
	}
	if err := parse(b, &c); err != nil {
		return c, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

func parse(b []byte, c *Config) error {
	root, err := yamltree.Only(b)
	var bad *yamltree.SyntaxError
	var second *yamltree.SecondError
	switch {
	case errors.As(err, &bad) && bad.Line > 0:
		return phrase.Because(err, phrase.Of("agentconfig.at", "line", bad.Line, "text", phrase.Of("topofile.not-yaml", "reason", bad.Text)))
	case errors.As(err, &second):
		return phrase.Because(err, phrase.Of("agentconfig.at", "line", second.Line, "text", phrase.Of("agentconfig.second-document")))
	case err != nil || root == nil:
		return err // nil: all comments
	}
	keys := map[string]Key{}
	for _, k := range Keys() {
		keys[k.Name] = k
	}
	return errors.Join(walk(root, "", keys, c)...)
}

// walk reads settings by the table of keys, which is also the reference in docs/agent.md; yamltree.Decoder would need a
// second list.
func walk(n *yaml.Node, prefix string, keys map[string]Key, c *Config) []error {
	if n.Kind != yaml.MappingNode {
		return []error{fault(phrase.Of("agentconfig.want-settings", "line", n.Line, "prefix", prefix))}
	}
	var errs []error
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		at, v := n.Content[i], n.Content[i+1]
		name := prefix + at.Value
		k, ok := keys[name]
		isSection := false
		for other := range keys {
			isSection = isSection || strings.HasPrefix(other, name+".")
		}
		switch {
		case seen[name]:
			errs = append(errs, fault(phrase.Of("agentconfig.twice", "line", at.Line, "key", nicparam.Clip(name))))
		case ok:
			if err := k.set(c, v); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", name, err))
			}
		case isSection:
			errs = append(errs, walk(v, name+".", keys, c)...)
		default:
			errs = append(errs, fault(phrase.Of("agentconfig.unknown", "line", at.Line, "key", strconv.Quote(nicparam.Clip(name)))))
		}
		seen[name] = true
	}
	return errs
}

// CheckServing checks the settings needed for serving: security and the path of the journal.
func (c *Config) CheckServing() error {
	var errs []error
	if len(c.Listen) == 0 && c.Pods.Socket == "" {
		errs = append(errs, fault(phrase.Of("agentconfig.no-address")))
	}
	for _, l := range c.Listen {
		h, _, err := net.SplitHostPort(l)
		if err != nil {
			errs = append(errs, fault(phrase.Of("agentconfig.address", "found", strconv.Quote(l))))
			continue
		}
		if c.Insecure && !loopback.Is(h) {
			errs = append(errs, fault(phrase.Of("agentconfig.not-loopback", "found", strconv.Quote(l))))
		}
	}
	files := map[string]string{"tls.certificate": c.Certificate, "tls.key": c.Key, "tls.client_ca": c.ClientCA}
	for _, name := range []string{"tls.certificate", "tls.key", "tls.client_ca"} {
		switch {
		case c.Insecure && files[name] != "":
			errs = append(errs, fault(phrase.Of("agentconfig.tls-insecure", "key", name, "found", strconv.Quote(files[name]))))
		case c.secure() && files[name] == "":
			errs = append(errs, fault(phrase.Of("agentconfig.no-file", "key", name)))
		}
	}
	if c.secure() && len(c.Allowed) == 0 {
		errs = append(errs, fault(phrase.Of("agentconfig.no-allowed")))
	}
	if !filepath.IsAbs(c.Journal) {
		errs = append(errs, fault(phrase.Of("agentconfig.journal", "found", strconv.Quote(c.Journal))))
	}
	return errors.Join(append(errs, c.Pods.check()...)...)
}

// Reference returns the table of all keys in Markdown, as in docs/agent.md.
func Reference() string {
	c := Default()
	var b strings.Builder
	b.WriteString("| key | value | default | meaning |\n|---|---|---|---|\n")
	for _, k := range Keys() {
		fmt.Fprintf(&b, "| `%s` | %s | `%s` | %s |\n", k.Name, k.Kind, strings.ReplaceAll(k.get(&c), "|", `\|`), k.Doc)
	}
	return b.String()
}

// level returns the lowest logged level.
func (c *Config) level() slog.Level {
	return map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}[c.LogLevel]
}

// logger returns the configured log, and its level, which a reload may change.
func (c *Config) logger(w io.Writer) (*slog.Logger, *slog.LevelVar) {
	level := new(slog.LevelVar)
	level.Set(c.level())
	o := &slog.HandlerOptions{Level: level}
	if c.LogFormat == "text" {
		return slog.New(slog.NewTextHandler(w, o)), level
	}
	return slog.New(slog.NewJSONHandler(w, o)), level
}

// target returns the target name of requests.
func (c *Config) target() string {
	name, _ := os.Hostname() // an unknown name is empty, and then any name is accepted
	return cmp.Or(c.Target, name)
}
