package cmdline

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"fairlane/internal/usage"
	"fairlane/service/config"
)

// ConfigFlags adds --config, and the flags in the table of keys, to a command.
func (a *App) ConfigFlags(cmd *cobra.Command) *string {
	path := cmd.Flags().String("config", "", a.T("serve.flag.config"))
	for _, k := range config.Keys() {
		if k.Flag != "" {
			cmd.Flags().String(k.Flag, "", a.T("serve.flag."+k.Flag))
		}
	}
	return path
}

// Configured makes cmd run with the configuration.
func (a *App) Configured(cmd *cobra.Command, run func(ctx context.Context, l *config.Loaded) error) *cobra.Command {
	path := a.ConfigFlags(cmd)
	cmd.Args = cobra.NoArgs
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		l, err := LoadConfig(cmd, *path)
		if err != nil {
			return err
		}
		return run(cmd.Context(), l)
	}
	return cmd
}

// LoadConfig reads the configuration of a command with ConfigFlags. Its errors are usage errors.
func LoadConfig(cmd *cobra.Command, path string) (*config.Loaded, error) {
	flags := map[string]string{}
	for _, k := range config.Keys() {
		if f := cmd.Flags().Lookup(k.Flag); k.Flag != "" && f != nil && f.Changed {
			flags[k.Flag] = f.Value.String()
		}
	}
	l, err := config.Load(config.Sources{Path: path, Getenv: os.Getenv, Flags: flags})
	if err != nil {
		return nil, usage.Wrap(err)
	}
	return l, nil
}
