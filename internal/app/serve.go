package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"fairlane/subnet/mad"
)

// Config is the configuration of `fairlane serve`. Later ones win: defaults, the file, the
// environment (FAIRLANE_ and the key in capitals), flags.
type Config struct {
	Listen         string `yaml:"listen"`           // HOST:PORT of the API
	Database       string `yaml:"database"`         // path of the SQLite file
	AdminTokenFile string `yaml:"admin_token_file"` // file with the administrator's token; empty: made once and printed
	CCKeyFile      string `yaml:"cc_key_file"`      // file with the fabric's CC_Key in hexadecimal; empty: 0, no key
}

func defaultConfig() Config {
	return Config{Listen: "127.0.0.1:8470", Database: "fairlane.db"}
}

// readConfig applies a file, when a path is given, and the environment to the defaults. An unknown key is an error.
func readConfig(path string, getenv func(string) string) (Config, error) {
	c := defaultConfig()
	if path != "" {
		r, err := os.Open(path)
		if err != nil {
			return c, &UsageError{err}
		}
		defer func() { _ = r.Close() }() // read only
		dec := yaml.NewDecoder(r)
		dec.KnownFields(true)
		if err := dec.Decode(&c); err != nil {
			return c, usagef("%s: %w; want the keys listen, database, admin_token_file, cc_key_file", path, err)
		}
	}
	for name, field := range map[string]*string{
		"FAIRLANE_LISTEN": &c.Listen, "FAIRLANE_DATABASE": &c.Database,
		"FAIRLANE_ADMIN_TOKEN_FILE": &c.AdminTokenFile, "FAIRLANE_CC_KEY_FILE": &c.CCKeyFile,
	} {
		if v := getenv(name); v != "" {
			*field = v
		}
	}
	if c.Database == "" {
		return c, usagef("database: want the path of the SQLite file")
	}
	if _, _, err := net.SplitHostPort(c.Listen); err != nil {
		return c, usagef("listen %q: want HOST:PORT", c.Listen)
	}
	return c, nil
}

// secret reads a one-line file; an empty path is no secret.
func secret(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return "", &UsageError{err}
	}
	return strings.TrimSpace(string(b)), nil
}

func ccKey(path string) (mad.Key, error) {
	text, err := secret(path)
	if err != nil || text == "" {
		return 0, err
	}
	v, err := strconv.ParseUint(strings.TrimPrefix(strings.ToLower(text), "0x"), 16, 64)
	if err != nil {
		return 0, usagef("%s: want a CC_Key of 1 to 16 hexadecimal digits", path) // never the content
	}
	return mad.Key(v), nil
}

func (a *app) serveCommand() *cobra.Command {
	var path, listen, database string
	cmd := &cobra.Command{
		Use: "serve", Short: a.t("serve.short"), Long: a.t("serve.long"), Args: cobra.NoArgs,
		Example: "  fairlane serve --config fairlane.yaml\n  fairlane serve --database /var/lib/fairlane/fairlane.db --listen 127.0.0.1:8470",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := readConfig(path, os.Getenv)
			if err != nil {
				return err
			}
			if listen != "" {
				c.Listen = listen
			}
			if database != "" {
				c.Database = database
			}
			return a.runServe(cmd.Context(), c)
		},
	}
	cmd.Flags().StringVar(&path, "config", "", a.t("serve.flag.config"))
	cmd.Flags().StringVar(&listen, "listen", "", a.t("serve.flag.listen"))
	cmd.Flags().StringVar(&database, "database", "", a.t("serve.flag.database"))
	return cmd
}

func (a *app) runServe(ctx context.Context, c Config) (err error) {
	key, err := ccKey(c.CCKeyFile)
	if err != nil {
		return err
	}
	given, err := secret(c.AdminTokenFile)
	if err != nil {
		return err
	}
	m, err := openManager(ctx, c.Database, &ports{ccKey: key})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.close()) }()
	generated, err := m.service.Bootstrap(ctx, given)
	if err != nil {
		return err
	}
	if generated != "" {
		_, _ = fmt.Fprintln(a.stderr, a.t("serve.token", "token", generated))
	}
	log := slog.New(slog.NewJSONHandler(a.stderr, nil))
	h, err := m.handler(log)
	if err != nil {
		return err
	}
	return serveHTTP(ctx, c.Listen, h, func(addr net.Addr) { log.Info("listening", "addr", addr.String(), "database", c.Database) })
}
