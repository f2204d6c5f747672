package app

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"fairlane/internal/usage"
	"fairlane/service/config"
)


// configFlags adds --config, and the flags that the table of keys names, to a command.
func (a *app) configFlags(cmd *cobra.Command) *string {
	path := cmd.Flags().String("config", "", a.t("serve.flag.config"))
	for _, k := range config.Keys() {
		if k.Flag != "" {
			cmd.Flags().String(k.Flag, "", a.t("serve.flag."+k.Flag))
		}
	}
	return path
}

// configured makes cmd one that runs with the configuration.
func (a *app) configured(cmd *cobra.Command, run func(ctx context.Context, l *config.Loaded) error) *cobra.Command {
	path := a.configFlags(cmd)
	cmd.Args = cobra.NoArgs
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		l, err := loadConfig(cmd, *path)
		if err != nil {
			return err
		}
		return run(cmd.Context(), l)
	}
	return cmd
}

// loadConfig reads the configuration of a command that has configFlags. Its errors are wrong usage.
func loadConfig(cmd *cobra.Command, path string) (*config.Loaded, error) {
	flags := map[string]string{}
	for _, k := range config.Keys() {
		if f := cmd.Flags().Lookup(k.Flag); k.Flag != "" && f != nil && f.Changed {
			flags[k.Flag] = f.Value.String()
		}
	}
	l, err := config.Load(config.Sources{Path: path, Getenv: os.Getenv, Flags: flags})
	if err != nil {
		return nil, &usage.Error{Err: err}
	}
	return l, nil
}
