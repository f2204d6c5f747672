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

	"fairlane/subnet/mad"
)

// secret reads a one-line file; an empty path is no secret, an empty file is an error.
func secret(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return "", &UsageError{err}
	}
	text := strings.TrimSpace(string(b))
	if text == "" {
		return "", usagef("%s is empty: want the secret as its only line", path)
	}
	return text, nil
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
			if err := c.validate(); err != nil {
				return err
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
